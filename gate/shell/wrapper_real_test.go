package shell

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestUnwrapAgreesWithTheRealProgram runs each line of testdata/wrapper-real.txt with a stand-in for the inner command, and compares what the stand-in
// was called with to what unwrap says. Programs that are not on this machine are left out.
func TestUnwrapAgreesWithTheRealProgram(t *testing.T) {
	for _, line := range realLines(t) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			argv := testWords(line)
			name := argv[0].Text
			if name == "env" && len(argv) > 1 && argv[1].Text == "time" { // the program, not the word of the shell
				name = "time"
			}
			if _, err := exec.LookPath(name); err != nil && name != "command" && name != "exec" && name != "builtin" {
				t.Logf("%s is not installed", name)
				return
			}
			if needsRoot(argv[0].Text) && os.Geteuid() != 0 {
				t.Skip("needs root: changes user or namespaces")
			}
			want, output := runReal(t, line)
			got, err := innermost(testWords(line), 0)
			if err != nil {
				t.Fatalf("refused: %v\nreally ran %q\n%s", err, want, output)
			}
			slices.Sort(got)
			for i := range min(len(want), len(got)) { // rsync, zip and fd add operands
				if strings.HasPrefix(want[i], got[i]+" ") {
					want[i] = got[i]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-real +unwrap:\n%s%s", diff, output)
			}
		})
	}
}

func needsRoot(name string) bool {
	switch name {
	case "sudo", "doas", "su", "runuser", "chroot", "unshare", "nsenter", "setpriv", "sg", "chrt", "choom", "systemd-run", "pkexec":
		return true
	}
	return false
}

// innermost gives the calls of the stand-in that unwrap knows of.
func innermost(argv []Word, depth int) ([]string, *Error) {
	if argv[0].Text == "PROBE" {
		return []string{spacedText(argv)}, nil
	}
	inners, err := unwrap(argv, Stdin{})
	if err != nil || depth > 10 {
		return nil, err
	}
	var calls []string
	for _, i := range inners {
		words := i.Argv
		if i.Script != nil {
			words = testWords(i.Script.Text)
		}
		if len(words) == 0 {
			continue
		}
		more, err := innermost(words, depth+1)
		if err != nil {
			return nil, err
		}
		calls = append(calls, more...)
	}
	return calls, nil
}

// runReal runs the line and gives the calls of the stand-in.
func runReal(t *testing.T, line string) (calls []string, output string) {
	dir, err := os.MkdirTemp("", "probe") // t.TempDir would put the line into the path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	log, probe := filepath.Join(dir, "log"), filepath.Join(dir, "probe")
	text := "#!/bin/sh\n{ printf PROBE; for a; do printf ' %s' \"$a\"; done; echo; } >> " + log + "\n"
	// A process that another test starts meanwhile would hold the script open to write, and it could not be run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(probe, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(log, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(line, "PROBE", probe))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C", "PARALLEL_HOME="+dir)
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for call := range strings.Lines(string(data)) {
		calls = append(calls, strings.ReplaceAll(strings.TrimSpace(call), probe, "PROBE"))
	}
	slices.Sort(calls)
	return slices.Compact(calls), string(out)
}

// testWords reads a line of words with single or double quotes. A word with a dollar sign, other than in single quotes,
// is known only at run time, and may be several unless it is quoted.
func testWords(line string) []Word {
	var words []Word
	var text []byte
	open, dynamic, splits := false, false, false
	var quote byte
	end := func() {
		if open {
			w := Word{Text: string(text), State: Exact, Splits: splits}
			if dynamic {
				w.State = Unknown
			}
			words = append(words, w)
		}
		text, open, dynamic, splits = nil, false, false, false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\n'):
			end()
		case c == '\\' && quote == 0:
			i++
			text, open = append(text, line[i]), true
		default:
			if c == '$' && quote != '\'' {
				dynamic = true
				splits = quote == 0
			}
			text, open = append(text, c), true
		}
	}
	end()
	return words
}

func spacedText(words []Word) string {
	var parts []string
	for _, w := range words {
		parts = append(parts, w.Text)
	}
	return strings.Join(parts, " ")
}

func realLines(t *testing.T) []string {
	lines, err := os.ReadFile("testdata/wrapper-real.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(lines)), "\n")
}
