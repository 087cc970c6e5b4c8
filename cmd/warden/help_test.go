package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatehouse/internal/cli"
)

func quiet() cli.Streams {
	return cli.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer), Getenv: func(string) string { return "" }}
}

func TestEveryCommandHasHelpAndExamplesThatParse(t *testing.T) {
	root := newRoot(quiet())
	for _, cmd := range append(root.Commands(), root) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the summary should be one phrase without a full stop", cmd.CommandPath())
		}
		if cmd != root && len(cmd.Short) > 66 {
			t.Errorf("%s: in the list of commands, its summary does not fit into 80 columns", cmd.CommandPath())
		}
		if cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: no description or no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			if err := parses(t, strings.TrimSpace(line)); err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
			}
		}
	}
}

// parses reports what is wrong with a command line of this program, without running it.
func parses(t *testing.T, line string) error {
	t.Helper()
	words := split(line)
	if len(words) == 0 || words[0] != "warden" {
		t.Fatalf("%q is no command of warden", line)
	}
	root := newRoot(quiet())
	root.InitDefaultHelpCmd()
	cmd, args, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	cmd.SetContext(context.Background())
	if cmd.Args == nil {
		return nil
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// split takes a line apart at spaces, with double quotes around a word.
func split(line string) []string {
	words := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1)
	for i, word := range words {
		words[i] = strings.Trim(word, `"`)
	}
	return words
}

// TestDocsNameRealCommands reads the command lines in the documentation: each must be one that this program takes.
func TestDocsNameRealCommands(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := map[string]bool{}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
			for line := range strings.Lines(string(block[1])) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "sudo ")
				line = strings.Replace(line, "go run ./cmd/warden", "warden", 1)
				if !strings.HasPrefix(line, "warden") {
					continue
				}
				if err := parses(t, line); err != nil {
					t.Errorf("%s: %q: %v", file, line, err)
				}
				seen[split(line)[1]] = true
			}
		}
	}
	for _, cmd := range newRoot(quiet()).Commands() {
		if !seen[cmd.Name()] && !slices.Contains([]string{"help", "completion", "exit-codes"}, cmd.Name()) {
			t.Errorf("the documentation never shows warden %s", cmd.Name())
		}
	}
}

func TestTryTellsTheStoryAndCleansUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	streams := quiet()
	streams.Getenv = os.Getenv
	if code := Main(context.Background(), []string{"try"}, streams); code != cli.Yes {
		t.Fatalf("exit code %d\n%s\n%s", code, streams.Out, streams.Err)
	}
	out := streams.Out.(*bytes.Buffer).String()
	for _, part := range []string{"demo  drifted", "demo  in sync", "+  - npm test", "vendor-gate: accept d-", "demo  mismatch"} {
		if !strings.Contains(out, part) {
			t.Errorf("the story has no %q:\n%s", part, out)
		}
	}
	if got := strings.Count(out, "one message to the operator"); got != 5 {
		t.Errorf("%d messages, want 5: two drifts, two that are over, one mismatch", got)
	}
	matchesReadme(t, out)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// matchesReadme fails the test unless the lines of README's transcript come in this order in the output, but for what
// differs from run to run. The transcript leaves lines out.
func matchesReadme(t *testing.T, out string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	transcript := regexp.MustCompile("(?s)```text\n(.*?)```").FindSubmatch(readme)
	if transcript == nil {
		t.Fatal("README.md has no transcript")
	}
	varying := regexp.MustCompile(`[0-9a-f]{12,}`)
	lines := strings.Split(varying.ReplaceAllString(out, "X"), "\n")
	for want := range strings.Lines(varying.ReplaceAllString(string(transcript[1]), "X")) {
		want = strings.TrimRight(want, "\n")
		i := slices.Index(lines, want)
		if i < 0 {
			t.Fatalf("README.md shows a line that is not in the output at its place: %q", want)
		}
		lines = lines[i+1:]
	}
}
