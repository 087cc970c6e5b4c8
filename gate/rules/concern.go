package rules

import (
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// Concerns reports whether Judge may have something to say about calls with these names. It is false only where no memory
// and no argument could make a difference.
func (s *Set) Concerns(calls []call.Call) bool {
	if s.always() {
		return true
	}
	for i := range calls {
		c := &calls[i]
		if s.has(c.Name) || len(c.Argv) > 0 && s.has(toolName(path.Base(c.Argv[0]))) || s.Concerns(c.Elsewhere) {
			return true
		}
	}
	return false
}

// ConcernsTool is Concerns for a call of a client's own tool.
func (s *Set) ConcernsTool(name string) bool {
	if s.always() || s.has(name) {
		return true
	}
	common, ok := commonTool(name)
	return ok && s.has(common)
}

// always reports whether every call may concern a rule.
func (s *Set) always() bool { return s.stops || s.every != "" || len(s.formulas) > 0 }

// has reports whether a rule is about calls of that name.
func (s *Set) has(name string) bool {
	found := false
	s.named(name, func(string) { found = true })
	return found
}

// concerned returns the numbers of the rules that the events concern, ascending.
func (s *Set) concerned(m Memories, events []Event) []int {
	marks := make([]uint64, (len(s.slots)+63)/64)
	mark := func(packed string) {
		for at := 0; at < len(packed); {
			n, size := unpack(packed[at:])
			marks[n/64] |= 1 << (n % 64)
			at += size
		}
	}
	if len(events) == 0 {
		return nil
	}
	mark(s.every)
	for _, f := range s.formulas {
		if !isQuiet(recall(m.of(f.scope), f.key), f.fresh) {
			marks[f.rule/64] |= 1 << (f.rule % 64)
		}
	}
	for i := range events {
		e := &events[i]
		s.named(e.Name, mark)
		for _, name := range e.Also {
			s.named(name, mark)
		}
	}
	var all []int
	for i := range s.slots {
		if marks[i/64]&(1<<(i%64)) != 0 {
			all = append(all, i)
		}
	}
	return all
}

func (s *Set) named(name string, mark func(string)) {
	if i, ok := slices.BinarySearchFunc(s.names, name, func(e entry, name string) int { return strings.Compare(e.name, name) }); ok {
		mark(s.names[i].rules)
	}
	for i := range s.wide {
		if globMatch(toolGlob(s.wide[i].name), name) {
			mark(s.wide[i].rules)
		}
	}
}
