package call_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/gate/call"
	"gatehouse/gate/spec"
)

func translate(t *testing.T, line string) []call.Call {
	t.Helper()
	calls, err := spec.Line(line, spec.Options{})
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return calls
}

// known prints what is known: a name, then ! for ran, ? for maybe ran, - for did not run, then the status.
func known(calls []call.Call, outcomes []call.Outcome) string {
	marks := map[call.Known]string{call.Ran: "!", call.MaybeRan: "?", call.DidNotRun: "-"}
	var words []string
	for i, o := range outcomes {
		word := calls[i].Argv[0] + marks[o.Known]
		if o.Status != nil {
			word += fmt.Sprint(*o.Status)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestWhatIsKnownOfTheCallsOfALine(t *testing.T) {
	const unknown = -1000
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		{"a", 0, "a!0"},
		{"a", 3, "a!3"},
		{"a", unknown, "a!"},
		{"a", -1, "a!"},
		{"a", 127, "a?127"},
		{"a", 130, "a!130"},
		{"a; b", 0, "a! b!0"},
		{"a\nb # and no more", 1, "a! b!1"},
		{"a; b", 143, "a! b?"},
		{"a && b", 0, "a!0 b!0"},
		{"a && b", 2, "a! b?"},
		{"a && b", -1, "a! b?"},
		{"a && b", unknown, "a! b?"},
		{"a || b", 0, "a! b?"},
		{"a || b", 2, "a! b!2"},
		{"a && b || c", 2, "a! b? c!2"},
		{"a && b && c", 0, "a!0 b!0 c!0"},
		{"a || true", 0, "a! true?"},
		{"a && true", 5, "a!5 true-"},
		{"true && a", 5, "true!0 a!5"},
		{"false || a", 5, "false!1 a!5"},
		{"true || a", 0, "true!0 a-"},
		{"a || exit 1", 0, "a!0 exit-"},
		{"a || exit 3", 3, "a! exit!3"},
		{"a || exit 1; b", 0, "a!0 exit- b!0"},
		{"a || exit 1; b", 2, "a!0 exit- b!2"},
		{"a || exit 1; b", 1, "a! exit? b?"},
		{"exit 0; b", 0, "exit!0 b-"},
		{"a; exit", 2, "a! exit!2"},
		{"set -e; a; b", 0, "set! a!0 b!0"},
		{"set -e; a; b", 2, "set! a! b?"},
		{"set -euo pipefail; a | b; c", 0, "set! a!0 b!0 c!0"},
		{"set -o pipefail; a | b", 0, "set! a!0 b!0"},
		{"set -o pipefail; a | b", 2, "set! a! b!"},
		{"set -e; a || b; c", 0, "set! a! b? c!0"},
		{"set -e; set +e; a; b", 0, "set! set!0 a! b!0"},
		{"pytest | tee log", 0, "pytest! tee!0"},
		{"pytest | tee log && b", 0, "pytest! tee!0 b!0"},
		{"pytest |& tee log; b", 0, "pytest! tee! b!0"},
		{"X=1 a --b >f 2>&1 && c", 0, "a!0 c!0"},
		{"X=1; a", 2, "a!2"},
		{"X=1 && a", 2, "a!2"},
		{"cat <<E >f\nx && y\nE\na", 2, "cat! a!2"},
		{"cat >f <<-'E'\n\tx\n\tE", 0, "cat!0"},
		{"! a", 0, "a!"},
		{"! a", 1, "a!0"},
		{"! a", 2, "a!"},
		{"! a | b", 1, "a! b!0"},
		{"! a && b", 0, "a! b!0"},
		{"! a && b", 2, "a! b!2"},
		{"! a && b", 1, "a! b?"},
		{"! a || b", 0, "a! b?"},
		{"! a || b", 3, "a!0 b!3"},
		{"a && ! b", 0, "a!0 b!"},
		{"set -e; ! a; b", 0, "set! a! b!0"},
		{"! true && a", 1, "true!0 a-"},
		{"! exit 3", 3, "exit!"},
		{"!a", 0, "!a!0"},
		{"if a; then b; fi", 0, "a! b?"},
		{"if a && b; then (c); fi", 0, "a! b? c?"},
		{"{ a; b; }", 0, "a! b!"},
		{"a && (b; c)", 0, "a! b? c?"},
		{"f(){ a; b; }; f", 0, "a! b!"},
		{"a & b", 0, "a? b!"},
		{"while a; do b; done", 0, "a? b?"},
		{"x=$(a); b", 0, "a! b!"},
		{"b $(a)", 3, "a! b!3"},
		{"b && c $(a)", 1, "b! a? c?"},
		{"b && c $(a && d)", 0, "b!0 a? d? c!0"},
		{"b <(a) >(d)", 0, "a? d? b!0"},
		{"timeout 5 a", 0, "timeout!0 a!0"},
		{"timeout 5 a", 3, "timeout!3 a!3"},
		{"timeout 5 a", 124, "timeout!124 a!"},
		{"timeout 5 a", 127, "timeout?127 a?"},
		{"env X=1 nice a && b", 0, "env!0 nice!0 a!0 b!0"},
		{"time a | b", 3, "time!3 a! b!3"},
		{"sudo a", 0, "sudo!0 a!0"},
		{"sudo a", 1, "sudo!1 a?"},
		{"bash -c 'a && b'", 0, "bash!0 a!0 b!0"},
		{"bash -euo pipefail -c 'a | b; c'", 0, "bash!0 a!0 b!0 c!0"},
		{"bash -lc 'a || b' || c", 0, "bash! a! b? c?"},
		{"bash -lc 'if a; then b; fi'", 0, "bash!0 a! b?"},
		{"find . -exec a {} \\;", 0, "find!0 a?"},
		{"ls | xargs a", 0, "ls! xargs!0 a?"},
		{"python -m pytest", 0, "python!0 pytest!0"},
		{"trap a EXIT; b", 0, "trap! b! a?"},
		{"exec a", 0, "exec! a!"},
		{"ssh host a", 0, "ssh!0"},
	} {
		calls := translate(t, c.line)
		status := &c.status
		if c.status == unknown {
			status = nil
		}
		if got := known(calls, call.Outcomes(c.line, calls, status)); got != c.want {
			t.Errorf("%q ended with %d: got %s, want %s", c.line, c.status, got, c.want)
		}
	}
	if out := call.Outcomes("", nil, nil); len(out) != 0 {
		t.Errorf("nothing has the outcomes %v", out)
	}
}

// A line that does not belong to the calls is no reason to claim anything.
func TestCallsThatAreNotOfTheLineMaybeRan(t *testing.T) {
	calls, zero := translate(t, "a && b"), 0
	if got := known(calls, call.Outcomes("a; b", calls, &zero)); got == "a!0 b!0" {
		t.Errorf("got %s", got)
	}
	if got := known(calls, call.Outcomes("something else", calls, &zero)); got != "a! b?" {
		t.Errorf("got %s", got)
	}
}

// What is said of random lines is true of what bash does with them.
func TestWhatIsKnownIsTrueOfBash(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	names := []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"}
	for i, name := range names { // each ends with the status that its digit of $S says
		program := fmt.Sprintf("#!/bin/sh\ns=${S#%s}\ns=${s%%${s#?}}\necho %s $s >>%s\nexit $s\n", strings.Repeat("?", i), name, log)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const seed, lines = 7, 150
	random := rand.New(rand.NewPCG(seed, 1))
	sure, statuses := 0, 0
	for range lines {
		g := generator{random: random, names: names}
		line := g.list(g.random.IntN(3))
		var s strings.Builder
		for range names {
			s.WriteString([]string{"0", "0", "3", "4"}[random.IntN(4)])
		}
		os.Remove(log)
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "S=" + s.String()}
		var exit *exec.ExitError
		out, err := cmd.CombinedOutput()
		if err != nil && !errors.As(err, &exit) || len(out) > 0 {
			t.Fatalf("%q: %v: %s", line, err, out)
		}
		status := cmd.ProcessState.ExitCode()
		text, _ := os.ReadFile(log)
		ran := map[string]string{}
		for l := range bytes.Lines(text) {
			f := strings.Fields(string(l))
			ran[f[0]] = f[1]
		}
		calls := translate(t, line)
		for _, told := range []*int{&status, nil} {
			outcomes := call.Outcomes(line, calls, told)
			for i, o := range outcomes {
				name := calls[i].Argv[0]
				if !strings.HasPrefix(name, "p") {
					continue
				}
				real, did := ran[name]
				if o.Known == call.Ran && !did || o.Known == call.DidNotRun && did || o.Status != nil && fmt.Sprint(*o.Status) != real {
					t.Errorf("%q ended with %d, %s: %s is said to have %s, status %v; it ran: %v, with status %s",
						line, status, known(calls, outcomes), name, o.Known, o.Status, did, real)
				}
				if o.Known != call.MaybeRan {
					sure++
				}
				if o.Status != nil {
					statuses++
				}
			}
		}
	}
	t.Logf("%d times something is known, and %d statuses", sure, statuses)
	if sure < 400 || statuses < 30 {
		t.Errorf("only %d times something is known, and %d statuses", sure, statuses)
	}
}

// A generator makes lines in which each program stands once.
type generator struct {
	random *rand.Rand
	names  []string
	quoted bool // within bash -c
}

func (g *generator) list(depth int) string {
	line := g.pipeline(depth)
	for g.random.IntN(3) > 0 && len(g.names) > 1 {
		line += []string{" && ", " || ", "; ", "\n"}[g.random.IntN(4)] + g.pipeline(depth)
	}
	return line
}

func (g *generator) pipeline(depth int) string {
	line := g.command(depth)
	if g.random.IntN(5) == 0 {
		line += " | " + g.command(0)
	}
	if g.random.IntN(12) == 0 {
		line = "! " + line
	}
	return line
}

func (g *generator) command(depth int) string {
	n := g.random.IntN(22)
	if len(g.names) == 0 || n < 2 {
		return []string{"true", "false", ":", "X=1"}[g.random.IntN(4)]
	}
	if depth > 0 {
		switch n {
		case 2:
			return "( " + g.list(depth-1) + " )"
		case 3:
			return "{ " + g.list(depth-1) + "; }"
		case 4:
			return "if " + g.list(depth-1) + "; then " + g.list(depth-1) + "; fi"
		case 5, 7:
			if g.quoted {
				break
			}
			g.quoted = true
			script := g.list(depth - 1)
			g.quoted = false
			return "bash " + []string{"-c '", "-eo pipefail -c '", "-uc '"}[g.random.IntN(3)] + script + "'"
		case 6:
			return "timeout 9 " + g.program()
		case 8:
			return "set -" + []string{"e", "o pipefail", "eo pipefail"}[g.random.IntN(3)]
		case 9:
			return "set +e"
		case 10:
			return "exit " + []string{"0", "5", ""}[g.random.IntN(3)]
		case 11:
			return "env A=1 nice " + g.program()
		}
	}
	if n == 12 {
		return "V=$(" + g.program() + ")"
	}
	if n == 13 {
		return g.program() + " $(" + g.program() + ")"
	}
	return g.program()
}

func (g *generator) program() string {
	if len(g.names) == 0 {
		return "true"
	}
	name := g.names[0]
	g.names = g.names[1:]
	return name
}
