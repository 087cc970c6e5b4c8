package ltl

// A fact is a formula about the whole trace, with the place of its cells in the memory of all facts.
type fact struct {
	formula Formula
	at      int
}

// factSize is the number of cells that a fact needs. All are 0 before the first call.
func factSize(f Formula) int {
	switch f := f.(type) {
	case Called, CalledN, InOrder:
		return 1
	case CalledWith, BranchCalled, WithinSteps, After:
		return 2
	case InstanceBefore:
		return 3
	case Before:
		return 4
	case CalledWithResult:
		return 4
	case AllBefore:
		return len(f.Tools) + 1
	default:
		return 0
	}
}

// What the decisive cell of an ordering holds.
const (
	undecided = iota
	decidedYes
	decidedNo
)

func decision(ok bool) int {
	if ok {
		return decidedYes
	}
	return decidedNo
}

// update takes the next event into account. It reports whether the event was a Maybe.
func (f fact) update(memory []int, e *Event) (maybe bool) {
	m := memory[f.at : f.at+factSize(f.formula)]
	if !f.decides() {
		return f.take(m, e)
	}
	if m[0] == undecided {
		f.take(m, e)
		if m[0] != undecided {
			clear(m[1:]) // however it came to this
		}
	}
	return false
}

// decides reports whether the first cell of f holds a decision, after which nothing matters.
func (f fact) decides() bool {
	switch f.formula.(type) {
	case Before, After, AllBefore, InstanceBefore, WithinSteps:
		return true
	default:
		return false
	}
}

func (f fact) take(m []int, e *Event) (maybe bool) {
	switch f := f.formula.(type) {
	case Called:
		if e.Name == f.Tool {
			m[0] = 1
		}
	case CalledWith:
		switch e.has(f.Tool, f.Args) {
		case Yes:
			m[0] = 1
		case Maybe:
			m[1] = 1
			return true
		}
	case CalledWithResult:
		t := e.has(f.Tool, f.Args)
		if t == No || e.HasResult && !resultIs(e.Result, f.Result) {
			break
		}
		cell := 0 // found: for certain, perhaps; result to come: for certain, perhaps
		if !e.HasResult {
			cell = 2
		}
		if t == Maybe {
			cell++
		}
		m[cell] = 1
		return t == Maybe
	case CalledN:
		if e.Name == f.Tool {
			m[0] = min(m[0]+1, f.N+1)
		}
	case InOrder:
		if m[0] < len(f.Tools) && e.Name == f.Tools[m[0]] {
			m[0]++
		}
	case Before:
		f.update(m, e)
	case After:
		if e.Name == f.A && m[0] == undecided {
			m[0] = decision(m[1] == 1)
		}
		if e.Name == f.B {
			m[1] = 1
		}
	case AllBefore:
		if e.Name == f.Target && m[0] == undecided {
			m[0] = decidedYes
			for _, seen := range m[1 : len(f.Tools)+1] {
				if seen == 0 {
					m[0] = decidedNo
				}
			}
		}
		for i, t := range f.Tools {
			if e.Name == t {
				m[i+1] = 1
			}
		}
	case BranchCalled:
		if e.Name == f.Right {
			m[0] = 1
		}
		if e.Name == f.Wrong {
			m[1] = 1
		}
	case InstanceBefore:
		if e.Name == f.B && m[0] == undecided {
			if m[2]++; m[2] == f.M {
				m[0] = decision(m[1] >= f.N)
			}
		}
		if e.Name == f.A {
			m[1] = min(m[1]+1, f.N)
		}
	case WithinSteps: // cell 1: calls since the first a, that one included
		if m[1] > 0 || e.Name == f.A {
			m[1] = min(m[1]+1, f.K+2)
		}
		if m[1] > 0 && m[0] == undecided {
			if e.Name == f.B {
				m[0] = decidedYes
			} else if m[1] > f.K {
				m[0] = decidedNo
			}
		}
	}
	return false
}

// update keeps: the decision, whether a was there, whether it had a step, and which.
func (f Before) update(m []int, e *Event) {
	if e.Name == f.B && m[0] == undecided {
		m[0] = decision(m[1] == 1 && (m[2] == 0 || e.Step == nil || m[3] < *e.Step))
	}
	if e.Name == f.A && m[1] == 0 {
		m[1] = 1
		if e.Step != nil {
			m[2], m[3] = 1, *e.Step
		}
	}
}

// value is what the fact is worth. Where hopeful is set a Maybe counts as a match.
func (f fact) value(memory []int, hopeful bool) Value {
	m := memory[f.at:]
	either := func(cell int) bool { return m[cell] == 1 || hopeful && m[cell+1] == 1 }
	switch f := f.formula.(type) {
	case Called:
		return valueOf(m[0] == 1, True, PFalse)
	case CalledWith:
		return valueOf(either(0), True, PFalse)
	case CalledWithResult:
		return valueOf(either(0), True, valueOf(either(2), Pending, PFalse))
	case CalledN:
		return countValue(f.Op, m[0], f.N)
	case InOrder:
		return valueOf(m[0] == len(f.Tools), True, Pending)
	case Before, AllBefore, InstanceBefore, WithinSteps:
		return valueOf(m[0] == undecided, Pending, valueOf(m[0] == decidedYes, True, False))
	case After:
		return valueOf(m[0] == undecided, PFalse, valueOf(m[0] == decidedYes, True, False))
	case BranchCalled:
		if m[1] == 1 {
			return False
		}
		return valueOf(m[0] == 1, valueOf(f.Wrong == "", True, PTrue), Pending)
	default:
		return PFalse
	}
}

// holds is what the fact is if the trace ends here.
func (f fact) holds(memory []int, hopeful bool) bool {
	return f.value(memory, hopeful) > Pending
}
