package shell

import (
	"os"
	"strings"
	"testing"
)

// TestUnwrap reads lines and what they run from testdata/wrapper.txt: words, or "sh: " and a text, or "stdin"; then marks in brackets. Several are
// joined by " + ". A refusal is "!" and its kind. Words with a dollar sign are known only at run time.
func TestUnwrap(t *testing.T) {
	for _, test := range unwrapCases(t) {
		t.Run(test.line, func(t *testing.T) {
			inners, err := unwrap(testWords(test.line), test.stdin)
			got := shown(inners)
			if err != nil {
				got = "!" + string(err.Kind)
				if err.Message == "" || err.Source == "" {
					t.Errorf("incomplete error %+v", err)
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s\n%v", got, test.want, err)
			}
		})
	}
}

type unwrapCase struct {
	line, want string
	stdin      Stdin
}

func unwrapCases(t *testing.T) []unwrapCase {
	var cases []unwrapCase
	table, err := os.ReadFile("testdata/wrapper.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		line, want, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if ok {
			cases = append(cases, unwrapCase{line: line, want: strings.TrimSpace(want)})
		}
	}
	return append(cases,
		unwrapCase{line: "fish", stdin: Stdin{Known: true, Text: "rm x\n"}, want: "stdin"},
		unwrapCase{line: "fish", stdin: Stdin{Known: true, Text: "rm (x)\n"}, want: "!unsupported"},
		unwrapCase{line: "sh -c 'rm \"$@\"' _ a", want: `sh: rm "$@" [params=_ a]`},
		unwrapCase{line: "crontab -", stdin: Stdin{Known: true, Text: "# x\nMAILTO=a\n*/5 * * * * rm x % in\n@daily ls\n"},
			want: "sh: rm x  [anywhere background repeated] + sh: ls [anywhere background repeated]"},
		unwrapCase{line: "crontab", stdin: Stdin{Known: true, Text: "SHELL=/x\n"}, want: "!unsupported"},
	)
}

func shown(inners []inner) string {
	var parts []string
	for _, i := range inners {
		text := spacedText(i.Argv)
		if i.Script != nil {
			text = "sh: " + i.Script.Text
			if i.Script.State != Exact {
				text = "sh? " + i.Script.Text
			}
		}
		if i.FromStdin {
			text = "stdin"
		}
		for n, w := range i.Argv {
			if n == 0 && w.State != Exact {
				text = "? " + text
			}
		}
		var marks []string
		for _, a := range i.Env {
			if a.Unset {
				marks = append(marks, "-"+a.Name)
			} else {
				marks = append(marks, a.Name+"="+a.Value.Text)
			}
		}
		if i.Dir != nil {
			marks = append(marks, "dir="+i.Dir.Text)
		}
		for _, m := range []struct {
			set  bool
			name string
		}{
			{i.UnknownDir, "anywhere"}, {i.Remote, "remote"}, {i.XArgs, "xargs"}, {i.Background, "background"},
			{i.Repeated, "repeated"}, {i.Maybe, "maybe"}, {i.SameShell, "here"},
		} {
			if m.set {
				marks = append(marks, m.name)
			}
		}
		if i.Script != nil && len(i.Params) > 0 {
			marks = append(marks, "params="+spacedText(i.Params))
		}
		if len(marks) > 0 {
			text += " [" + strings.Join(marks, " ") + "]"
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " + ")
}
