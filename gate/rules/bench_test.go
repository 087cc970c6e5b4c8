package rules

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"gatehouse/gate/ltl"
	"gatehouse/gate/memory"
	"gatehouse/internal/wire"
)

// twoHundred is a set as a large house has it: rules of all kinds, most of them about tools of their own, some about
// every call.
func twoHundred(t testing.TB) *Set {
	t.Helper()
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range 200 {
		id, tool := fmt.Sprintf("rule-%d", i), fmt.Sprintf("tool_%d", i/2)
		if i%10 == 0 {
			tool = "git_push"
		}
		switch i % 7 {
		case 0:
			fmt.Fprintf(&b, "- {id: %s, never: {tool: %s, with: {force: true}}, why: history is shared}\n", id, tool)
		case 1:
			fmt.Fprintf(&b, "- {id: %s, before: {first: {tool: pytest, succeeded: true}, then: %s, since: [Edit, Write]}}\n", id, tool)
		case 2:
			fmt.Fprintf(&b, "- {id: %s, require: {tool: %s, where: {remote: [origin, upstream]}}}\n", id, tool)
		case 3:
			fmt.Fprintf(&b, "- {id: %s, at_most: {call: %s, times: 1000000}}\n", id, tool)
		case 4:
			fmt.Fprintf(&b, "- {id: %s, ltl: 'G(now(\"%s\") -> O(now(\"pytest\")))'}\n", id, tool)
		case 5:
			fmt.Fprintf(&b, "- {id: %s, before: {first: {tool: Read, with: {file_path: $f}}, then: {tool: [Edit, %s], with: {file_path: $f}}}}\n", id, tool)
		default:
			fmt.Fprintf(&b, "- {id: %s, never: {tool: \"*\", where: {\"*\": [\"**/secret-%d\", \"*.pem%d\"]}}, mode: stop}\n", id, i, i)
		}
	}
	return parse(t, b.String())
}

// behind returns the memory of a set after n calls.
func behind(t testing.TB, s *Set, n int) Memories {
	t.Helper()
	m := Memories{new(memory.State), new(memory.State)}
	ok := 0
	for i := range n {
		e := Event{Event: ltl.Event{Name: []string{"pytest", "Read", "Edit", "ls", "git_push", "tool_7"}[i%6], Status: &ok}}
		e.Args = map[string]any{"file_path": fmt.Sprintf("/w/f%d", i%100), "remote": "origin"}
		if err := s.Record(m, []Event{e}, Surroundings{}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// cpu reports the time of the processor beside that of the clock, which says little on a machine that is shared.
func cpu(b *testing.B) func() {
	used := func() int64 {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return r.Utime.Nano() + r.Stime.Nano()
	}
	from := used()
	return func() { b.ReportMetric(float64(used()-from)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkCheck(b *testing.B) {
	s := twoHundred(b)
	l := &lines{t: b, set: s, env: Surroundings{Project: "/w", Home: "/home/u", Cwd: "/w"}}
	events := l.events("git add a.go && git commit -m 'fix: x' && git push origin main")
	for _, calls := range []int{10, 100_000} {
		m := behind(b, s, calls)
		b.Run(fmt.Sprintf("behind=%d", calls), func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				s.Judge(m, events, l.env)
			}
		})
	}
}

// BenchmarkFirstCheck is what a process pays that checks one line: the compiled set is read and the rules that the line
// concerns are decoded.
func BenchmarkFirstCheck(b *testing.B) {
	s := twoHundred(b)
	var w wire.Writer
	s.Append(&w)
	data := string(w.Bytes())
	l := &lines{t: b, set: s, env: Surroundings{Project: "/w", Home: "/home/u", Cwd: "/w"}}
	m := behind(b, s, 100_000)
	for name, line := range map[string]string{"ls": "ls -l src", "push": "git add a.go && git push origin main"} {
		events := l.events(line)
		b.Run(name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				again, err := Read(wire.NewReader(data))
				if err != nil {
					b.Fatal(err)
				}
				again.Judge(m, events, l.env)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	s := twoHundred(b)
	var w wire.Writer
	s.Append(&w)
	data := string(w.Bytes())
	b.ReportMetric(float64(len(data)), "bytes")
	defer cpu(b)()
	for b.Loop() {
		if _, err := Read(wire.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	s := twoHundred(b)
	l := &lines{t: b, set: s, env: Surroundings{Project: "/w", Home: "/home/u", Cwd: "/w"}}
	events := l.events("git push origin main")
	m := behind(b, s, 100)
	defer cpu(b)()
	for b.Loop() {
		if err := s.Record(m, events, l.env); err != nil {
			b.Fatal(err)
		}
	}
}

func TestMemoryDoesNotGrowWithTheTrace(t *testing.T) {
	s := twoHundred(t)
	size := func(m Memories) int {
		n := 0
		for key, data := range m.Session.Rules {
			n += len(key) + len(data)
		}
		return n
	}
	// All values of variables are met in either case.
	short, long := size(behind(t, s, 600)), size(behind(t, s, 3_000))
	if long > short+1000 {
		t.Errorf("%d bytes after twice the calls, %d before", long, short)
	}
}
