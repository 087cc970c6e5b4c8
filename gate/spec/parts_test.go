package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// formText is a form on one line: the path, then each part as word:what.
func formText(f *call.Form) string {
	var b strings.Builder
	b.WriteString(strings.Join(f.Path, " "))
	if f.Lost {
		b.WriteString(" lost")
	}
	if f.More {
		b.WriteString(" more")
	}
	for _, p := range f.Parts {
		fmt.Fprintf(&b, " | %d:%s", p.Word, [...]string{"?", "sub ", "", "= ", "--"}[p.Role])
		b.WriteString(p.Flag)
		if p.HasValue {
			b.WriteString("=")
		}
		b.WriteString(p.Value)
		for _, mark := range []struct {
			set  bool
			text string
		}{{p.Dynamic, "dynamic"}, {p.Open, "open"}, {p.Glob, "glob"}, {p.Off, "off"}, {p.Cut, "cut"}, {p.Path, "path"}} {
			if mark.set {
				b.WriteString(" " + mark.text)
			}
		}
		if (p.Role == call.Flag || p.Role == call.Stranger || p.Role == call.Subcommand) && p.Level > 0 {
			fmt.Fprintf(&b, " @%d", p.Level)
		}
	}
	return b.String()
}

func TestAFormSaysWhatEachWordIs(t *testing.T) {
	packs := packsForTest(t)
	for _, test := range []struct{ line, want string }{
		{"git", "git"},
		{"git -C d push -fu origin main", "git push | 1:-C=d | 3:sub push @1 | 4:--force @1 | 4:--set-upstream @1 | 5:= origin | 6:= main"},
		{"/usr/bin/git status", "git status | 1:sub status @1"},
		{"git remote rm x", "git remote remove | 1:sub remote @1 | 2:sub remove @2 | 3:= x"},
		{"git frob -x y", "git frob lost | 1:sub frob @1 | 2:?-x @1 | 3:= y"},
		{"git push --forc", "git push | 1:sub push @1 | 2:?--forc @1"},
		{"git push --force-w", "git push | 1:sub push @1 | 2:--force-with-lease cut @1"},
		{"git push --no-force", "git push | 1:sub push @1 | 2:--force off @1"},
		{`git push o "$B" "x$B" $B`, "git push | 1:sub push @1 | 2:= o | 3:= $B dynamic open | 4:= x$B dynamic | 5:= $B dynamic open"},
		{`git commit -m "$M" -n`, "git commit | 1:sub commit @1 | 2:--message=$M dynamic @1 | 4:--no-verify @1"},
		{"git commit -m $M", "git commit | 1:sub commit @1 | 2:--message=$M dynamic open @1"},
		{"git add * a* ./*", "git add | 1:sub add @1 | 2:= * dynamic open glob path | 3:= a* dynamic path | 4:= ./* dynamic path"},
		{"rm -rf -- -x *", "rm | 1:--recursive | 1:--force | 2:-- | 3:= -x path | 4:= * dynamic open glob path"},
		{"find . -execdir rm x", "find | 1:= . path | 2:-exec ; rm | 1:= x path"},
		{"tar xzf a.tar d", "tar | 1:--extract | 1:--gzip | 1:--file=a.tar | 3:= d path"},
		{"tar -xf", "tar | 1:--extract | 1:--file"},
		{"jq --arg x", "jq | 1:--arg | 1:--arg=x"},
		{"ls | xargs jq --arg x", "ls ; xargs | 1:= jq | 2:= --arg | 3:= x ; jq more | 1:--arg | 1:--arg=x"},
		{"python3 -m pytest -q", "python | 1:-m=pytest | 3:= -q ; pytest | 1:--quiet"},
		{"python3.11 -cx", "python | 1:-c=x"},
		{"npm t", "npm test | 1:sub test @1"},
		{"gunzip x", "gunzip | 1:= x path"},
		{"[[ -v x ]]", "test | 1:= -v | 2:= x"},
		{"dd if=a of=b x", "dd | 1:if=a | 2:of=b | 3:= x"},
		{"kill -9 1", "kill | 1:--signal=9 | 2:= 1"},
		{"head -5 x", "head | 1:--lines=5 | 2:= x path"},
		{"find . -name '*.c' -exec rm -f {} +", "find | 1:= . path | 2:-name=*.c | 4:-exec=rm -f {} + ; rm | 1:--force | 2:= {} dynamic path"},
		{"find . ! -newerxy f", "find | 1:= . path | 3:?-newerxy | 4:= f"},
		{"foo -abc --x=1 y -- -z", "foo | 1:?-abc | 2:?--x=1 | 3:= y | 4:-- | 5:= -z"},
		{`foo --x="$Y" "--$Z" $W`, "foo | 1:?--x=$Y dynamic | 2:?--$Z dynamic open | 3:= $W dynamic open"},
		{`grep "-$X" f`, "grep | 1:?-$X dynamic open | 2:= f"},
		{"ls | xargs git push", "ls ; xargs | 1:= git | 2:= push ; git push more | 1:sub push @1 | 2:= $operands dynamic open"},
		{"ls | xargs -I{} git push {}", "ls ; xargs | 1:-I={} | 2:= git | 3:= push | 4:= {} ; git push | 1:sub push @1 | 2:= {} dynamic open"},
		{"chmod -x f", "chmod | 1:= -x | 2:= f path"},
		{"echo -n -q", "echo | 1:-n | 2:= -q"},
		{"diff <(sort a) b", "sort | 1:= a path ; diff | 1:= <(sort a) dynamic path | 2:= b path"},
	} {
		list, err := Line(test.line, Options{Packs: packs, Forms: true, Shell: shell.Options{Dir: "/w", Home: "/h"}})
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		var got []string
		for i := range list {
			got = append(got, formText(list[i].Form))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ; ")); diff != "" {
			t.Errorf("%s: %s", test.line, diff)
		}
	}
}

func TestWhatRunsElsewhereHasAFormToo(t *testing.T) {
	list, err := Line("ssh box 'ls -l; rm -rf x'", Options{Packs: packsForTest(t), Forms: true})
	if err != nil || len(list) != 1 || len(list[0].Elsewhere) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if got := formText(list[0].Elsewhere[1].Form); got != "rm | 1:--recursive | 1:--force | 2:= x path" {
		t.Error(got)
	}
}

// Whatever the words are, each of them stands in the form once, or as the value of the option before it, and the form
// changes nothing else.
func TestAnyWordsMakeAProperForm(t *testing.T) {
	packs := packsForTest(t)
	names := append(packs.Names(), "nosuchcommand")
	word := rapid.OneOf(
		rapid.SampledFrom([]string{"-", "--", "-x", "-rf", "--force", "-n5", "+5", "a=b", "-a=b", "--a=b", "{}", ";", "+", "", "é", "-é"}),
		rapid.StringMatching(`-{0,2}[a-zA-Z]{0,6}=?[a-z./@:]{0,4}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		c := shell.Command{Words: []shell.Word{{Text: name, State: shell.Exact}}, Dir: shell.Dir{Path: "/w"}}
		for range rapid.IntRange(0, 8).Draw(t, "words") {
			text := word.Draw(t, "word")
			if name != "nosuchcommand" && rapid.Bool().Draw(t, "known") {
				text = someWord(t, packs, name)
			}
			c.Words = append(c.Words, shell.Word{Text: text, State: rapid.SampledFrom([]shell.State{shell.Exact, shell.Unknown}).Draw(t, "state")})
		}
		made := Translate([]shell.Command{c, c}, Options{Packs: packs, Forms: true})
		plain := Translate([]shell.Command{c, c}, Options{Packs: packs})
		if diff := cmp.Diff(text(t, plain[1]), text(t, made[1])); diff != "" {
			t.Fatalf("with a form it is another call:\n%s", diff)
		}
		properForm(t, &c, made[0].Form)
		if diff := cmp.Diff(made[0].Form, made[1].Form); diff != "" {
			t.Fatalf("the second time it is another form:\n%s", diff)
		}
	})
}

func properForm(t reporter, c *shell.Command, f *call.Form) {
	t.Helper()
	subs, last := 0, 0
	said := make([]bool, len(c.Words))
	value := false // the part before has a value
	for _, p := range f.Parts {
		switch {
		case p.Word < max(last, 1) || p.Word >= len(c.Words):
			t.Fatalf("the part of word %d stands behind that of word %d: %s", p.Word, last, formText(f))
		case p.Role == call.Subcommand:
			subs++
		}
		for i := last + 1; i < p.Word; i++ {
			said[i] = value || between(c.Words[i].Text)
		}
		said[p.Word] = true
		last, value = p.Word, value && p.Word == last || p.Role == call.Flag && (p.HasValue || p.Flag == "-exec")
		if p.Word > 0 && c.Words[p.Word].State != shell.Exact && p.Role == call.Operand && !p.Dynamic {
			t.Fatalf("word %d is not marked as dynamic: %s", p.Word, formText(f))
		}
	}
	for i := last + 1; i < len(c.Words); i++ {
		said[i] = value || between(c.Words[i].Text)
	}
	if len(f.Path) != subs+1 || f.Path[0] == "" {
		t.Fatalf("the path does not have the subcommands: %s", formText(f))
	}
	for i := 1; i < len(said); i++ {
		if !said[i] {
			t.Fatalf("nothing is said of word %d, %q: %s", i, c.Words[i].Text, formText(f))
		}
	}
}

// between reports whether a word joins others in an expression of find.
func between(text string) bool {
	return strings.Contains(" ( ) ! , -a -and -o -or -not ", " "+text+" ") && text != ""
}
