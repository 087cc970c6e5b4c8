package ltl

// Judge says what f is worth on a trace that goes on, and what fails. It works through the whole trace; a Monitor gives
// the same Value, Possible, AtFault and Uncertain call by call.
//
// Where a call may not have run it asks a Monitor; a formula that is too large for one is taken as broken.
func Judge(f Formula, trace []Event) Judgement {
	if inDoubt(trace) {
		m, err := after(f, trace[:len(trace)-1])
		if err == nil {
			var j Judgement
			if j, err = m.Step(trace[len(trace)-1]); err == nil {
				return j
			}
		}
		return Judgement{Witnesses: []Witness{{f, -1, False, true}}}
	}
	now := partial{complete{trace: trace}}
	before := partial{}
	if len(trace) > 0 {
		before = partial{complete{trace: trace[:len(trace)-1]}}
	}
	var j Judgement
	j.Value, j.Witnesses = now.explain(f, true, false, before)
	var best []Witness
	j.Possible, best = now.explain(f, false, false, before)
	j.Uncertain = j.AtFault() && !anyNew(best)
	return j
}

type partial struct{ complete }

// first judges f at position 0, which need not exist.
func (p partial) first(f Formula, pessimist bool) Value {
	if len(p.trace) > 0 {
		return p.all(f, pessimist)[0]
	}
	switch f := f.(type) {
	case Not:
		return p.first(f.F, !pessimist).not()
	case And:
		v := True
		for _, k := range f.All {
			v = min(v, p.first(k, pessimist))
		}
		return v
	case Or:
		v := False
		for _, k := range f.Any {
			v = max(v, p.first(k, pessimist))
		}
		return v
	case Implies:
		return max(p.first(f.If, !pessimist).not(), p.first(f.Then, pessimist))
	case Now, NowWith, Match, Bind, Unary, Binary, CountBefore, At, Each, Some:
		return Pending
	default:
		return p.fact(f, pessimist)
	}
}

// all judges f at each position.
func (p partial) all(f Formula, pessimist bool) []Value {
	n := len(p.trace)
	out := make([]Value, n)
	fill := func(v Value) []Value {
		for i := range out {
			out[i] = v
		}
		return out
	}
	switch f := f.(type) {
	case Now, NowWith, Match, Bind, Each, Some:
		for i, held := range p.complete.all(f, pessimist) {
			if held {
				out[i] = True
			}
		}
		return out
	case Not:
		for i, v := range p.all(f.F, !pessimist) {
			out[i] = v.not()
		}
		return out
	case And:
		fill(True)
		for _, k := range f.All {
			for i, v := range p.all(k, pessimist) {
				out[i] = min(out[i], v)
			}
		}
		return out
	case Or:
		for _, k := range f.Any {
			for i, v := range p.all(k, pessimist) {
				out[i] = max(out[i], v)
			}
		}
		return out
	case Implies:
		r := p.all(f.Then, pessimist)
		for i, v := range p.all(f.If, !pessimist) {
			out[i] = max(v.not(), r[i])
		}
		return out
	case Unary:
		return p.unary(f.Op, p.all(f.F, pessimist))
	case Binary:
		return p.binary(f.Op, p.all(f.L, pessimist), p.all(f.R, pessimist))
	case CountBefore:
		return p.countBefore(f, pessimist)
	case At:
		if f.Index >= n {
			return fill(Pending)
		}
		return fill(p.all(f.F, pessimist)[f.Index])
	default:
		return fill(p.fact(f, pessimist))
	}
}

func (p partial) unary(op byte, v []Value) []Value {
	n := len(v)
	out := make([]Value, n)
	switch op {
	case 'G', 'F': // the rest of the trace may do either
		later := Pending
		for i := n - 1; i >= 0; i-- {
			if op == 'G' {
				later = min(v[i], later)
			} else {
				later = max(v[i], later)
			}
			out[i] = later
		}
	case 'X':
		for i := range out {
			out[i] = Pending
			if i+1 < n {
				out[i] = v[i+1]
			}
		}
	case 'Y':
		copy(out[1:], v)
	case 'O', 'H':
		for i := range out {
			out[i] = v[i]
			if i > 0 && op == 'O' {
				out[i] = max(v[i], out[i-1])
			} else if i > 0 {
				out[i] = min(v[i], out[i-1])
			}
		}
	}
	return out
}

func (p partial) binary(op byte, l, r []Value) []Value {
	out := make([]Value, len(l))
	if op == 'S' {
		since := False
		for i := range out {
			since = max(r[i], min(l[i], since))
			out[i] = since
		}
		return out
	}
	later := Pending
	for i := len(l) - 1; i >= 0; i-- {
		if op == 'R' {
			later = min(r[i], max(l[i], later))
		} else {
			later = max(r[i], min(l[i], later))
		}
		out[i] = later
	}
	return out
}

// countBefore takes "at least n" as the nth greatest of the values so far, and "fewer than n" as its mirror.
func (p partial) countBefore(f CountBefore, pessimist bool) []Value {
	atLeast := func(n int, pessimist bool) []Value {
		out := make([]Value, len(p.trace))
		var tally [True + 1]int
		v := p.all(f.F, pessimist)
		for i := range out {
			if i > 0 {
				tally[v[i-1]]++
			}
			for need, x := n, True; ; x-- {
				if need -= tally[x]; need <= 0 || x == False {
					if n <= 0 {
						x = True
					}
					out[i] = x
					break
				}
			}
		}
		return out
	}
	out := make([]Value, len(p.trace))
	least, most := bounds(f.Op, f.N)
	for i := range out {
		out[i] = True
	}
	if least > 0 {
		for i, v := range atLeast(least, pessimist) {
			out[i] = min(out[i], v)
		}
	}
	if most >= 0 {
		for i, v := range atLeast(most+1, !pessimist) {
			out[i] = min(out[i], v.not())
		}
	} else if most == none {
		for i := range out {
			out[i] = False
		}
	}
	return out
}

const (
	unbounded = -1
	none      = -2 // no number is that small
)

// bounds turns a comparison into the least and the greatest number that it lets be.
func bounds(op Op, n int) (least, most int) {
	switch op {
	case EQ:
		return n, n
	case GE:
		return n, unbounded
	case GT:
		return n + 1, unbounded
	case LE:
		return 0, n
	case LT:
		if n == 0 {
			return 0, none
		}
		return 0, n - 1
	default:
		return 0, none
	}
}

func valueOf(ok bool, yes, no Value) Value {
	if ok {
		return yes
	}
	return no
}

// fact judges what is said of the trace as a whole.
func (p partial) fact(f Formula, pessimist bool) Value {
	held := p.complete.fact(f, pessimist)
	first := func(tool string) int { return p.nth(tool, 1) }
	switch f := f.(type) {
	case Constant:
		return valueOf(held, PTrue, PFalse)
	case Called, CalledWith:
		return valueOf(held, True, PFalse)
	case CalledWithResult:
		if held {
			return True
		}
		for i := range p.trace {
			if t := p.trace[i].has(f.Tool, f.Args); !p.trace[i].HasResult && (t == Yes || t == Maybe && !pessimist) {
				return Pending
			}
		}
		return PFalse
	case CalledN:
		return countValue(f.Op, p.times(f.Tool), f.N)
	case Before:
		if first(f.B) < 0 {
			return Pending
		}
	case AllBefore:
		if first(f.Target) < 0 {
			return Pending
		}
	case InstanceBefore:
		if p.nth(f.B, f.M) < 0 {
			return Pending
		}
	case After:
		if first(f.A) < 0 {
			return PFalse
		}
	case WithinSteps:
		a := first(f.A)
		if !held && (a < 0 || len(p.trace)-1 < a+f.K) {
			return Pending
		}
	case BranchCalled:
		if f.Wrong != "" && first(f.Wrong) >= 0 {
			return False
		}
		return valueOf(held, valueOf(f.Wrong == "", True, PTrue), Pending)
	case InOrder:
		return valueOf(held, True, Pending)
	}
	return valueOf(held, True, False)
}

// countValue is what a comparison with a number that only grows is worth.
func countValue(op Op, count, n int) Value {
	held := op.holds(count, n)
	switch op {
	case GE, GT:
		return valueOf(held, True, PFalse)
	case EQ:
		if count < n {
			return PFalse
		}
	}
	return valueOf(held, PTrue, False)
}
