package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// Whatever the words are, a call keeps them all, names each argument once, and says so if it does not understand them.
func TestAnyWordsMakeAProperCall(t *testing.T) {
	packs := packsForTest(t)
	names := packs.Names()
	word := rapid.OneOf(
		rapid.SampledFrom([]string{"-", "--", "-x", "-rf", "--force", "--no-verify", "-n5", "-5", "+5", "=", "a=b", "-a=b", "--a=b", "{}", ";", "+", "(", "!", "", "~", "é"}),
		rapid.StringMatching(`-{0,2}[a-zA-Z]{0,6}=?[a-z./@:]{0,4}`),
		rapid.String(),
	)
	state := rapid.SampledFrom([]shell.State{shell.Exact, shell.Exact, shell.Exact, shell.Unknown, shell.Maybe, shell.Pattern, shell.Several})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		c := shell.Command{Words: []shell.Word{{Text: name, State: shell.Exact}}, Dir: shell.Dir{Path: "/w"}}
		for range rapid.IntRange(0, 8).Draw(t, "words") {
			text := word.Draw(t, "word")
			if rapid.Bool().Draw(t, "known") {
				text = someWord(t, packs, name)
			}
			w := shell.Word{Text: text, State: state.Draw(t, "state")}
			if w.State != shell.Exact && w.State != shell.Unknown {
				w.Values = []string{text, text + "x"}
			}
			c.Words = append(c.Words, w)
		}
		c.XArgs = rapid.Bool().Draw(t, "xargs")
		for _, effects := range []bool{false, true} {
			made := Translate([]shell.Command{c, c}, Options{Packs: packs, Effects: effects, Root: "/w"})
			proper(t, c, made[0])
			if !effects {
				if diff := cmp.Diff(text(t, made[0].Args), text(t, made[1].Args)); diff != "" {
					t.Fatalf("the second time it is another call:\n%s", diff)
				}
			}
		}
	})
}

// someWord draws a flag or subcommand of the executable.
func someWord(t *rapid.T, packs *Packs, name string) string {
	n, _, _ := packs.find(name)
	var words []string
	for _, f := range n.flags {
		words = append(words, f.text)
	}
	for _, s := range n.subs {
		words = append(words, s.name)
	}
	if len(words) == 0 {
		return "x"
	}
	return rapid.SampledFrom(words).Draw(t, "of the spec")
}

// A reporter is what rapid.T and testing.T share.
type reporter interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func proper(t reporter, c shell.Command, got call.Call) {
	if len(got.Argv) != len(c.Words) {
		t.Fatalf("argv %q", got.Argv)
	}
	for i, w := range c.Words {
		if got.Argv[i] != w.Text {
			t.Fatalf("argv %q", got.Argv)
		}
	}
	seen := map[string]bool{}
	for _, a := range got.Args {
		if seen[a.Name] {
			t.Fatalf("argument %s comes twice in %s", a.Name, text(t, got.Args))
		}
		seen[a.Name] = true
		switch a.Value.(type) {
		case bool, int, string, []string:
		default:
			t.Fatalf("argument %s is a %T", a.Name, a.Value)
		}
	}
	for _, e := range got.Effects {
		if e.Sure != call.Unknown && !e.Remote && e.Path != "" && !strings.HasPrefix(e.Path, "/") && !e.Pattern {
			t.Fatalf("%+v has no absolute path", e)
		}
	}
	if !json.Valid([]byte(text(t, got))) {
		t.Fatalf("no JSON: %s", text(t, got))
	}
}

// FuzzLine looks for lines on which the translation panics, or makes an improper call.
func FuzzLine(f *testing.F) {
	packs := packsForTest(f)
	for _, w := range wantedLines(f) {
		f.Add(w.Line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		o := Options{Packs: packs, Shell: shell.Options{Dir: "/w", Home: "/home/u"}, Effects: true, Forms: true}
		commands, err := shell.Parse(line, o.Shell)
		if err != nil {
			return
		}
		for _, c := range Translate(commands, o) {
			if _, err := json.Marshal(c); err != nil {
				t.Fatal(err)
			}
		}
	})
}
