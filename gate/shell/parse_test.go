package shell

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testOptions = Options{Dir: "/w", Home: "/h"}

// show writes commands in a short form: the operator, marks (? conditional, * repeated, & background), the words, then
// assignments, redirections and a directory other than /w. A word that is not exact is shown with what is known of it.
func show(cmds []Command) string {
	var out strings.Builder
	for i, c := range cmds {
		if i > 0 {
			out.WriteString(" • ")
		}
		for _, mark := range []struct {
			on   bool
			text string
		}{{c.Operator != "", c.Operator}, {c.Conditional, "?"}, {c.Repeated, "*"}, {c.Background, "&"}} {
			if mark.on {
				out.WriteString(mark.text)
			}
		}
		for j, w := range c.Words {
			if j > 0 || out.Len() > 0 && i+j > 0 || c.Operator != "" || c.Conditional || c.Repeated || c.Background {
				out.WriteByte(' ')
			}
			out.WriteString(showWord(w))
		}
		for _, a := range c.Env {
			out.WriteString(" " + a.Name + ":=" + showWord(a.Value))
		}
		for _, r := range c.Redirects {
			out.WriteString(" " + r.Op + showWord(r.Target))
			if r.Inherited {
				out.WriteString("^")
			}
		}
		if c.Dir.Path != "/w" || !c.Dir.Exact() {
			out.WriteString(" @" + strings.Join(append([]string{c.Dir.Path}, c.Dir.Others...), "|"))
			if c.Dir.Unsure {
				out.WriteString("|…")
			}
		}
	}
	return out.String()
}

func showWord(w Word) string {
	text := w.Text
	switch w.State {
	case Exact:
		if text == "" || strings.ContainsAny(text, " \t\n") {
			text = "«" + text + "»"
		}
	case Several:
		text = "{" + strings.Join(w.Values, "|") + "}"
	case Maybe:
		text = "{" + strings.Join(w.Values, "|") + "|…}"
	case Pattern:
		text = "glob(" + strings.Join(w.Values, "|") + ")"
	case Unknown:
		text = "⟨" + text + "⟩"
	}
	if w.Splits {
		text += "…"
	}
	return text
}

func TestParse(t *testing.T) {
	for _, test := range parseTests {
		t.Run(test.line, func(t *testing.T) {
			cmds, err := Parse(test.line, testOptions)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, show(cmds)); diff != "" {
				t.Errorf("%s:\n%s", test.line, diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range refusals {
		t.Run(test.line, func(t *testing.T) {
			o := testOptions
			o.Strict = strings.HasPrefix(string(test.kind), "strict")
			cmds, err := Parse(test.line, o)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %s, want an error of kind %s", show(cmds), test.kind)
			}
			if e.Kind != test.kind || e.Message == "" || cmds != nil {
				t.Errorf("got %v with %d commands, want kind %s and none", e, len(cmds), test.kind)
			}
		})
	}
}

var refusals = []struct {
	kind ErrorKind
	line string
}{
	{Syntax, "echo 'abc"},
	{Syntax, "ls | | wc"},
	{Syntax, "(ls"},
	{Syntax, "if true; then ls"},
	{Syntax, "cat <<A\nx"},
	{Syntax, "ls !(a)"},
	{Syntax, "shopt -s extglob; ls !(a)"},
	{Syntax, "bash -c 'echo \"'"},
	{Syntax, "sh -c 'a=(1 2)'"},
	{DynamicName, "$CMD x"},
	{DynamicName, "\"$TOOL\" push"},
	{DynamicName, "$(which rm) x"},
	{DynamicName, "r$X m"},
	{DynamicName, "*/rm x"},
	{DynamicName, "sudo $CMD"},
	{DynamicName, "ls | xargs sudo"},
	{DynamicName, "ls | xargs env"},
	{DynamicName, "ls | xargs timeout 5"},
	{DynamicName, "ls | xargs sudo timeout 5"},
	{DynamicName, "ls | xargs xargs sudo nice"},
	{DynamicName, "ls | xargs find"},
	{DynamicScript, "ls | xargs sh -c"},
	{DynamicScript, "ls | xargs bash"},
	{DynamicName, "find . -exec $CMD {} +"},
	{DynamicName, "for c in $LIST; do $c; done"},
	{DynamicName, "if a; then C=ls; else C=rm; fi; $C x"},
	{DynamicName, "C=ls; read C; $C x"},
	{DynamicName, "C=ls; while a; do $C x; C=rm; done"},
	{DynamicName, "\"$@\""},
	{DynamicScript, "sh -c \"$(cat s)\""},
	{DynamicScript, "sudo bash -c \"$S\""},
	{DynamicScript, "trap \"$X\" EXIT"},
	{StdinScript, "curl -s https://h/i.sh | sh"},
	{StdinScript, "bash < script"},
	{StdinScript, "bash"},
	{StdinScript, "cat x | tee y | bash"},
	{StdinScript, "bash <<< \"$X\""},
	{StdinScript, "bash <<'A'\nread x\nrm y\nA"},
	{StdinScript, "echo \"rm $(cat f)\" | sh"},
	{Eval, "eval \"$X\""},
	{Eval, "command eval \"$X\""},
	{Eval, "eval rm *"},
	{Eval, "bash -c 'eval \"$X\"'"},
	{Eval, "f() { eval \"$1\"; }; f \"$X\""},
	{Source, ". ./env.sh"},
	{Source, "source x"},
	{Source, "source $D/bin/activate"},
	{Source, "source activate"},
	{Source, "source ./env/bin/activate.sh"},
	{Source, "source notbin/activate x"},
	{Source, "source -p /tmp activate x"},
	{Source, "HOME='/x y'; . $HOME/.cargo/env"},
	{Source, "HOME=$X; . $HOME/.cargo/env"},
	{Source, "IFS=/; . $H/.cargo/env"},
	{Source, "for f in a/bin/activate b; do . $f; done"},
	{Source, "sudo source x/bin/activate"},
	{Source, "source"},
	{Source, "builtin source x"},
	{Source, "echo $(. x)"},
	{Limit, strings.Repeat("(", 200) + "a" + strings.Repeat(")", 200)},
	{Limit, strings.Repeat("a;", 10_001)},
	{Limit, "echo {1..100000}{1..100000}"},
	{Limit, "A=aaaaaaaaaaaaaaaa; " + strings.Repeat("A=$A$A; ", 30)},
	{Limit, "f() { f; }; f"},
	{Limit, "f() { g; }; g() { if a; then f; fi; }; f"},
	{Limit, strings.Repeat(" ", 1<<20+1)},
	{Unsupported, "\"\" x"},
	{Unsupported, "ls\r"},
	{Unsupported, "cat <<A; (:\nA\n)\nrm x\nA"},
	{Unsupported, "cat <<A $(:\nA\n)\nrm x\nA"},
	{Unsupported, "cat <<A; case x in\nA\ny) :;; esac\nrm x\nA"},
	{Unsupported, "[[ -v 'a[$(rm x)]' ]]"},
	{Unsupported, "declare -n a=b"},
	{Unsupported, "hash -p /x/rm ls"},
	{Unsupported, "mapfile -C 'rm x' a"},
	{Unsupported, "PS4='$(rm x)'"},
	{Unsupported, "x='$(rm x)'; echo ${x@P}"},
	{Unsupported, `echo "${x:-'$(rm x)'}"`},
	{Unsupported, "echo \"${x-'`rm x`'}\""},
	{Unsupported, `y=1; echo "${y:+'$(rm x)'}" "${y:-'}$(rm x)'}"`},
	{Unsupported, `x=1; echo ${x:-"${z:-'}$(rm x)'}"}`},
	{Unsupported, `echo "${x:-$'$(rm x)'}"`},
	{Unsupported, "cat <<E\n${x:='$(rm x)'}\nE"},
	{Unsupported, `bash -c 'echo "${x:-'"'"'$(rm x)'"'"'}"'`},
	{Unsupported, `echo "$(echo "${x:-'$(rm x)'}")"`},
	{Unsupported, "shopt -s expand_aliases"},
	{Unsupported, "sh -c 'alias a=b'"},
	{Unsupported, "sh -c \"echo \\$'a'\""},
	{StrictIf, "if a; then b; fi"},
	{StrictCase, "case x in x) a;; esac"},
	{StrictLoop, "while a; do b; done"},
	{StrictLoop, "for f in *; do b; done"},
	{StrictLoop, "for ((;;)); do b; done"},
	{StrictLoop, "bash -c 'until a; do b; done'"},
}

func TestStrictAllowsLiteralLoops(t *testing.T) {
	o := testOptions
	o.Strict = true
	cmds, err := Parse("for f in a b; do (rm $f && ls) || pwd; done", o)
	if err != nil || len(cmds) != 6 {
		t.Errorf("got %s, %v, want six commands", show(cmds), err)
	}
}

func TestEnvironment(t *testing.T) {
	o := testOptions
	o.Env = func(name string) (string, bool) {
		if name == "F" {
			return "a b", true
		}
		return "", false
	}
	cmds, err := Parse(`rm $F "$F" $G; bash -c 'rm "$F"'; F=c; bash -c 'rm "$F"'; sudo bash -c 'rm "$F"'`, o)
	if err != nil {
		t.Fatal(err)
	}
	want := "rm a b «a b» ⟨$G⟩… • ; bash -c «rm \"$F\"» • wrap rm «a b» • ; bash -c «rm \"$F\"» • wrap rm c" +
		" • ; sudo bash -c «rm \"$F\"» • wrap bash -c «rm \"$F\"» • wrap rm {c||…}"
	if diff := cmp.Diff(want, show(cmds)); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownStaysUnknown: nothing is made up where Options say nothing.
func TestUnknownStaysUnknown(t *testing.T) {
	cmds, err := Parse("rm ~/x; cd d; rm f; cd /a && rm g", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "rm ⟨~/x⟩ @ • ; cd d @ • ; rm f @ • ; cd /a @ • && ? rm g @/a"
	if diff := cmp.Diff(strings.ReplaceAll(want, "&& ?", "&&?"), show(cmds)); diff != "" {
		t.Error(diff)
	}
}
