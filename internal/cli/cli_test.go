package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestRunTurnsErrorsIntoExitCodes(t *testing.T) {
	for _, row := range []struct {
		name   string
		args   []string
		err    error
		code   int
		stderr string
	}{
		{name: "nothing wrong", args: []string{"do"}, code: 0},
		{name: "a no that was shown", args: []string{"do"}, err: Exit(No), code: 1},
		{name: "could not tell, shown", args: []string{"do"}, err: Exit(Unknown), code: 2},
		{name: "a fault", args: []string{"do"}, err: errors.New("open x: broken"), code: 2, stderr: "prog: open x: broken\n"},
		{name: "an unknown flag", args: []string{"do", "--jsno"}, code: 2, stderr: "prog: unknown flag: --jsno; did you mean --json?\n"},
		{name: "an unknown flag like none", args: []string{"do", "--zzzzzz"}, code: 2,
			stderr: "prog: unknown flag: --zzzzzz; see \"prog do --help\"\n"},
		{name: "an unknown command", args: []string{"dp"}, code: 2, stderr: "prog: unknown command \"dp\" for \"prog\"; did you mean do?\n"},
		{name: "a command like none", args: []string{"zzzzzz"}, code: 2,
			stderr: "prog: unknown command \"zzzzzz\" for \"prog\"; see \"prog --help\"\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := &cobra.Command{Use: "prog", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
			do := &cobra.Command{Use: "do", RunE: func(*cobra.Command, []string) error { return row.err }}
			do.Flags().Bool("json", false, "")
			root.AddCommand(do)
			var out, errOut bytes.Buffer
			code := Run(context.Background(), root, row.args, Streams{In: strings.NewReader(""), Out: &out, Err: &errOut,
				Getenv: func(string) string { return "" }})
			if code != row.code || errOut.String() != row.stderr {
				t.Errorf("code %d, stderr %q; want %d, %q", code, errOut.String(), row.code, row.stderr)
			}
		})
	}
}

func TestPrintableQuotesWhatCouldDisturb(t *testing.T) {
	for name, want := range map[string]string{
		"policy/gate.yaml": "policy/gate.yaml",
		"":                 `""`,
		"a b":              `"a b"`,
		"a\nb":             `"a\nb"`,
		"\x1b[31mred":      `"\x1b[31mred"`,
		"a\u202eb":         `"a\u202eb"`,
		"\xff":             `"\xff"`,
		"größe":            "größe",
	} {
		if got := Printable(name); got != want {
			t.Errorf("Printable(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestLineStaysOneHarmlessLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext \"quoted\"": "plain\ttext \"quoted\"",
		"a\nb\r":                 `a\nb\r`,
		"\x1b]0;title\a":         `\x1b]0;title\a`,
		"x\u202ey":               `x\u202ey`,
		"\xff\xfe":               `\xff\xfe`,
		"\x00":                   `\x00`,
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Line(text) {
			if r < ' ' && r != '\t' || r == 0x7f || r == 0x202e {
				t.Fatalf("Line(%q) has %U", text, r)
			}
		}
	})
}

func TestWhatShowsNothingIsEscaped(t *testing.T) {
	for text, want := range map[string]string{"a\ufe0fb": `a\ufe0fb`, "a\u3164b": `a\u3164b`, "a\u2800b": `a\u2800b`, "a\tb": "a\tb", "é": "é"} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %s, want %s", text, got, want)
		}
	}
	if got, want := Printable("a\u3164b"), `"a\u3164b"`; got != want {
		t.Errorf("Printable = %s, want %s", got, want)
	}
}
