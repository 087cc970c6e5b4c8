package harness

import (
	"strconv"
	"strings"
	"testing"

	"gatehouse/gate/call"
)

func TestProgramsThatWaitForCommands(t *testing.T) {
	for line, want := range map[string]bool{
		"bash": true, "bash -l": true, "bash -i x.sh": true, "bash -s": true, "bash x.sh": false, "bash -lc ls": false, "bash --norc": true,
		"python3": true, "python3 -i x.py": true, "python3 -": true, "python3 -q": true, "python3 x.py -i": false, "python3 -m pytest": false, "python3.13": true,
		"python3 -c 1": false, "python3 --version": false, "node": true, "node app.js": false, "node -e 1": false, "node --print 1": false, "node -i": true,
		"ruby": true, "ruby x.rb": false, "psql": true, "psql db": true, "psql -c x db": false, "psql --command=x": false, "mysql -e x": false,
		"sqlite3": true, "sqlite3 a.db": true, "sqlite3 a.db .tables": false, "ssh box": true, "vim a": true, "less a": true, "su": true, "su -c ls": false,
		"gdb -x f": false, "gdb a.out": true, "git log": false, "ls": false, "nc -l 80": true, "redis-cli": true, "redis-cli get x": false, "/usr/bin/python3": true,
	} {
		if got := talks(&call.Call{Argv: strings.Fields(line)}); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	inner := call.Call{Argv: []string{"bash"}}
	if !talks(&call.Call{Argv: strings.Fields("docker exec -it c bash"), Elsewhere: []call.Call{inner}}) {
		t.Error("a shell in a container is not seen")
	}
	if talks(&call.Call{Argv: strings.Fields("ssh box ls"), Elsewhere: []call.Call{{Argv: []string{"ls"}}}}) {
		t.Error("a command on another host counts as a talk")
	}
	for target, want := range map[string]bool{"script.sh": false, "/dev/tty": true} {
		c := call.Call{Argv: []string{"python3"}, Meta: call.Meta{Redirects: []call.Redirect{{Op: "<", Target: target}}}}
		if talks(&c) != want {
			t.Errorf("python3 < %s: %v", target, !want)
		}
	}
}

func TestKeystrokes(t *testing.T) {
	for typed, want := range map[string]string{
		"ls{enter}": "ls", "ls\n": "ls", "ls\r": "ls", "ls\nrm x\n": "ls\nrm x", "": "tool", "{enter}": "tool", "\n": "tool", "\x03": "tool",
		"ls": "no", "{up}{enter}": "no", "rm x\x7f\n": "no", "rm \\\n": "no", "l\ts\n": "no", "{Ctrl+r}x{enter}": "no", "ls\x1b[A\n": "no",
	} {
		r := keystrokes("write_bash", object{"input": typed}, "input")
		got := r.Line
		switch {
		case len(r.Objections) > 0:
			got = "no"
		case r.Tool != nil:
			got = "tool"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

func TestCommandsInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		input object
		want  string
	}{
		"text":            {object{"command": "ls"}, "ls"},
		"vector":          {object{"command": []any{"ls", "-l"}}, "[ls -l]"},
		"cmd":             {object{"cmd": "ls"}, "ls"},
		"empty":           {object{"command": " "}, "no"},
		"missing":         {object{}, "no"},
		"number":          {object{"command": 5.0}, "no"},
		"mixed":           {object{"command": []any{"ls", 5.0}}, "no"},
		"empty vector":    {object{"command": []any{}}, "no"},
		"number, and cmd": {object{"command": 5.0, "cmd": "ls"}, "no"},
		"two":             {object{"command": "ls", "cmd": "rm x"}, "no"},
	} {
		r := command(c.input)
		got := r.Line
		switch {
		case len(r.Objections) > 0:
			got = "no"
		case r.Argv != nil:
			got = "[" + strings.Join(r.Argv, " ") + "]"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestFilesOfAPatch(t *testing.T) {
	r := tool("apply_patch", object{"command": "*** Begin Patch\n*** Add File: a b\n+x\n  *** Update File: c\n*** Move to: ../d\n*** Delete File:e\n*** End Patch\n"})
	got := r.Tool.Args["paths"]
	if want := []any{"a b", "c", "../d", "e"}; !equal(got, want) || len(r.Objections) > 0 {
		t.Errorf("%v, want %v", got, want)
	}
	if r := tool("apply_patch", object{"input": "*** Begin Patch\n*** End Patch"}); len(r.Objections) != 1 {
		t.Error("a patch without files is let pass")
	}
	if r := tool("patch", object{"path": "x", "old_string": "a"}); len(r.Objections) != 0 { // Hermes
		t.Error("a patch of another kind is refused")
	}
}

func equal(got any, want []any) bool {
	list, ok := got.([]any)
	if !ok || len(list) != len(want) {
		return false
	}
	for i := range want {
		if list[i] != want[i] {
			return false
		}
	}
	return true
}

func TestExitStatuses(t *testing.T) {
	number := func(p *int) int {
		if p == nil {
			return -99
		}
		return *p
	}
	for text, want := range map[string]int{
		"x\n<shellId: 0 completed with exit code 0>": 0, "<shellId: 3 completed with exit code 12>\n": 12, "x": -99,
		"<shellId: 0 completed with exit code 0>\nx": -99, "<b>": -99, "": -99, "x <shellId: 0 completed with exit code 0>": -99,
	} {
		if got := number(statusBehind(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := number(statusOf(object{"result": object{"details": object{"exitCode": 7.0}}})); got != 7 {
		t.Errorf("nested: %d", got)
	}
}

func TestStatusesOfGemini(t *testing.T) {
	const end = "\nProcess Group PGID: 7\n</untrusted_context>"
	for content, want := range map[string]string{
		"Output: x\nExit Code: 3" + end: "3", "Output: x" + end: "0", "Output: x": "?", "Output: Exit Code: 0\nExit Code: 0\nExit Code: 1" + end: "1",
	} {
		var e event
		geminiOutcome(object{"llmContent": content}, false, &e)
		got := "?"
		if e.outcome.Status != nil {
			got = strconv.Itoa(*e.outcome.Status)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
	var e event
	geminiOutcome(object{"llmContent": "Output: " + end}, true, &e)
	if e.outcome.Status != nil {
		t.Error("what runs in the background has a status")
	}
}
