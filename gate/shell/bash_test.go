package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A ran is one program that bash started, as the program itself noted.
type ran struct {
	dir  string
	argv []string
}

// bench is a directory in which lines are run: programs r (succeeds), q (fails) and p (prints its operands) note how they
// were called, and nothing else is on the path but the wrappers under test.
type bench struct{ root, work string }

func newBench(t *testing.T) bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := bench{root: root, work: filepath.Join(root, "w")}
	for _, dir := range []string{"bin", "home", "w/d/e", "w/x"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const note = `#!/bin/sh
printf '%s\037' "$PWD" "${0##*/}" "$@" "` + "\036" + `" >> "$NOTES"
`
	for name, end := range map[string]string{"r": "exit 0", "r2": "exit 0", "q": "exit 1", "p": `printf '%s\n' "$*"`} {
		if err := os.WriteFile(filepath.Join(root, "bin", name), []byte(note+end+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "bash", "env", "timeout", "nice", "xargs", "find", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("needs %s", name)
		}
		if err := os.Symlink(path, filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// run gives the line to bash and returns what it started, in order.
func (b bench) run(t *testing.T, line string) (calls []ran, output string) {
	t.Helper()
	if err := os.RemoveAll(b.work); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"d/e", "x"} {
		if err := os.MkdirAll(filepath.Join(b.work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.txt", "b.txt", "d/c.txt"} {
		if err := os.WriteFile(filepath.Join(b.work, name), []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	notes := filepath.Join(b.root, "notes")
	os.Remove(notes)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", line)
	cmd.Dir = b.work
	cmd.Env = []string{"PATH=" + filepath.Join(b.root, "bin"), "HOME=" + filepath.Join(b.root, "home"), "NOTES=" + notes, "LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	data, _ := os.ReadFile(notes)
	for record := range bytes.SplitSeq(data, []byte("\036\037")) {
		fields := strings.Split(string(record), "\037")
		if len(fields) < 3 {
			continue
		}
		calls = append(calls, ran{dir: fields[0], argv: fields[1 : len(fields)-1]})
	}
	return calls, string(out)
}

func (b bench) options() Options {
	return Options{Dir: b.work, Home: filepath.Join(b.root, "home")}
}

// noted reports whether a command is one of the programs that note their calls.
func noted(name string) bool {
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "r", "r2", "q", "p":
		return true
	}
	return false
}

// fits reports whether the argument vector argv is one that the words can be.
func fits(words []Word, argv []string, more bool) bool {
	if len(words) == 0 {
		return len(argv) == 0 || more
	}
	word := words[0]
	if word.Splits || word.State == Pattern {
		for n := 0; n <= len(argv); n++ {
			if fits(words[1:], argv[n:], more) {
				return true
			}
		}
		return false
	}
	if len(argv) == 0 {
		return false
	}
	switch word.State {
	case Exact:
		if argv[0] != word.Text {
			return false
		}
	case Several:
		if !slices.Contains(word.Values, argv[0]) {
			return false
		}
	}
	return fits(words[1:], argv[1:], more)
}

func fitsDir(d Dir, dir string) bool {
	return d.Path == "" || d.Unsure || d.Path == dir || slices.Contains(d.Others, dir)
}

// compare checks what bash ran against what Parse lists: nothing ran that is not listed, and what is listed without a
// condition ran.
func compare(t *testing.T, line string, calls []ran, cmds []Command) {
	t.Helper()
	used := make([]bool, len(cmds))
	describe := func() string {
		var out strings.Builder
		for _, c := range cmds {
			fmt.Fprintf(&out, "\n  %+v", c)
		}
		return out.String()
	}
	fit := func(c Command, call ran) bool {
		return filepath.Base(c.Name()) == call.argv[0] && fits(c.Words[1:], call.argv[1:], c.XArgs) && fitsDir(c.Dir, call.dir)
	}
next:
	for _, call := range calls {
		for _, exactly := range []bool{true, false} {
			for _, repeated := range []bool{false, true} {
				for i, c := range cmds {
					inexact := slices.ContainsFunc(c.Words, func(w Word) bool { return w.State != Exact })
					if used[i] && !c.Repeated || c.Repeated != repeated || exactly == inexact || !fit(c, call) {
						continue
					}
					used[i] = true
					continue next
				}
			}
		}
		t.Errorf("%q: bash ran %q in %s, which is not listed:%s", line, call.argv, call.dir, describe())
	}
	for _, c := range cmds {
		if noted(c.Name()) && !c.Conditional && !c.Repeated && !slices.ContainsFunc(calls, func(call ran) bool { return fit(c, call) }) {
			t.Errorf("%q: %q is listed without a condition, but did not run; calls: %q", line, joinTexts(c.Words), calls)
		}
	}
}

// compareListed checks only that nothing ran that is not listed.
func compareListed(t *testing.T, line string, calls []ran, cmds []Command) {
	t.Helper()
	relaxed := slices.Clone(cmds)
	for i := range relaxed {
		relaxed[i].Conditional = true
	}
	compare(t, line, calls, relaxed)
}
