package ltl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A world is one way in which the calls so far may have gone: each call that may not have run did, or is no part of the
// trace. As long as there is no such call there is one world. Worlds that go on alike are one, so their number depends on
// the formula: before("a", "b") has a handful. Only each and some do not tell them apart, but remember for every
// combination of values what is worst and what is best in any of them.
type world struct {
	missed int // calls that did not run in it
	memory []int
	lanes  []lane
}

// maxWorlds is the number of worlds that a monitor follows.
const maxWorlds = 128

// errDoubt says that the calls that may not have run leave more ways open than a monitor can follow.
var errDoubt = errors.New("too many calls may or may not have run: split the formula into several")

// split returns w with that many lanes. Until now they were the same.
func (w world) split(lanes int) world {
	if len(w.lanes) < lanes {
		w.lanes = []lane{w.lanes[0], w.lanes[0]}
	}
	return w
}

// values are what the formula is worth in w: with each Maybe as it is worst, and as it is best.
func (w *world) values(p *program) (worst, best Value) {
	return p.tree.value(w.lanes[0].parts), p.tree.value(w.lanes[len(w.lanes)-1].parts)
}

// take returns the world that w is after the call has run in it, and adds to sum what that means.
func (m *Monitor) take(next *snapshot, w world, memory []int, seen *sight, quants [][]bool, sum *outcome) (world, error) {
	after := world{missed: w.missed, memory: memory, lanes: make([]lane, len(w.lanes))}
	witnesses := make([][]Witness, len(w.lanes))
	for i := range w.lanes {
		r := m.run(next, &after, i == 1)
		r.seen, r.quantified = seen, quants[i]
		best := &w.lanes[len(w.lanes)-1]
		after.lanes[i], witnesses[i] = r.step(&w.lanes[i], best)
		if r.tooMuch {
			return w, fmt.Errorf("%s: %w", m.text, errOpen)
		}
	}
	worst, best := after.values(m.program)
	certain := best.Refuses() && anyNew(witnesses[len(witnesses)-1]) && !(next.blended && m.program.murky)
	sum.add(worst, best, witnesses[0], certain)
	return after, nil
}

// An outcome is what the worlds say together.
type outcome struct {
	Judgement
	some    bool // there was a world
	fault   bool // in some world the call is to blame
	certain bool // in all of them, however each Maybe is taken
}

func (v *outcome) add(worst, best Value, ws []Witness, certain bool) {
	if !v.some {
		v.Value, v.Possible, v.some, v.certain = worst, best, true, true
	}
	fault := worst.Refuses() && anyNew(ws)
	v.Value, v.Possible, v.certain = min(v.Value, worst), max(v.Possible, best), v.certain && fault && certain
	if worst.Refuses() && v.Witnesses == nil || fault && !v.fault {
		v.Witnesses = ws
	}
	v.fault = v.fault || fault
}

// skip adds a world in which the call did not run.
func (v *outcome) skip(worst, best Value) { v.add(worst, best, nil, false) }

func (v *outcome) judgement() Judgement {
	j := v.Judgement
	j.Uncertain = v.fault && !v.certain
	return j
}

// distinct returns the worlds of s without those that go on like another one.
func (p *program) distinct(s *snapshot) []world {
	last := -1 // position that an at(n, ...) waits for
	for i := range p.nodes {
		if p.nodes[i].op == opAt {
			last = max(last, p.nodes[i].k)
		}
	}
	var all []world
	seen := make(map[string]bool, len(s.worlds))
	for _, w := range s.worlds {
		if s.calls-w.missed > last+1 {
			w.missed = 0 // its position makes no difference any more, only that there was a call
		}
		if key := w.key(); !seen[key] {
			seen[key] = true
			all = append(all, w)
		}
	}
	return all
}

// key is what w depends on as it goes on. Where an instance began makes no difference.
func (w *world) key() string {
	k := []byte{}
	number := func(n int) { k = binary.AppendVarint(k, int64(n)) }
	remainders := func(ds ...dnf) {
		number(len(ds))
		for _, d := range ds {
			number(len(d))
			for _, c := range d {
				number(len(c))
				for _, id := range c {
					number(id)
				}
			}
		}
	}
	number(w.missed)
	for _, n := range w.memory {
		number(n)
	}
	for i := range w.lanes {
		l := &w.lanes[i]
		for _, c := range l.cells {
			number(int(c))
		}
		remainders(l.open...)
		for j := range l.parts {
			s := &l.parts[j]
			remainders(s.left)
			number(int(s.value))
			number(len(s.instances))
			for _, in := range s.instances {
				remainders(in.left)
			}
			if s.failed {
				number(1)
			} else {
				number(0)
			}
		}
	}
	return string(k)
}

func inDoubt(trace []Event) bool {
	return slices.ContainsFunc(trace, func(e Event) bool { return e.Doubt })
}

// after returns a monitor of f that has seen a trace.
func after(f Formula, trace []Event) (*Monitor, error) {
	m, err := NewMonitor(f)
	if err != nil {
		return nil, err
	}
	for i := range trace {
		if _, err := m.Step(trace[i]); err != nil {
			return nil, err
		}
	}
	return m, nil
}
