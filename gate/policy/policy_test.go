package policy

import (
	"strings"
	"sync"
	"testing"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

var bundled = sync.OnceValue(spec.Bundled)

// parse makes a policy of a file's text.
func parse(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse("gate.yaml", []byte(text), bundled())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// listed makes a policy with these entries; one that begins with { is YAML already.
func listed(t testing.TB, allow, deny []string) *Policy {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: 1\n")
	for _, l := range []struct {
		key  string
		list []string
	}{{"allow", allow}, {"deny", deny}} {
		if len(l.list) > 0 {
			b.WriteString(l.key + ":\n")
		}
		for _, text := range l.list {
			if !strings.HasPrefix(text, "{") {
				text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
			}
			b.WriteString("  - " + text + "\n")
		}
	}
	return parse(t, b.String())
}

// calls translates a line.
func calls(t testing.TB, line string) []call.Call {
	t.Helper()
	list, err := spec.Line(line, spec.Options{
		Packs: bundled(), Forms: true, Effects: true, Shell: shell.Options{Dir: "/w", Home: "/home/u"},
	})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return list
}

// onPath is a machine whose programs lie in /usr/bin.
var onPath = Host{Find: func(name string) string { return "/usr/bin/" + name }}

// last returns the last call of a line that nothing runs: the first of a chain of wrappers at its end.
func last(t testing.TB, line string) *call.Call {
	t.Helper()
	list := calls(t, line)
	at := len(list) - 1
	for at > 0 && list[at].Meta.Operator == "wrap" && !strings.Contains(line, "xargs") {
		at--
	}
	return &list[at]
}
