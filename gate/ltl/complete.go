package ltl

import "slices"

// Holds reports whether f holds on a trace that has ended. The formula is read at the first position. Where the trace is
// empty, no call is anything, "G" holds, "F" does not, and there is no past.
//
// A Maybe counts against the formula, and so does a call that may not have run: it holds if it does so either way.
func Holds(f Formula, trace []Event) bool {
	if inDoubt(trace) {
		m, err := after(f, trace)
		return err == nil && m.Holds()
	}
	c := complete{trace: trace}
	return c.first(f, true)
}

type complete struct {
	trace []Event
	// bound says which events match a pattern with the values that are looked at; nil outside of each and some.
	bound func(pattern Formula) func(i int) Truth
}

// first judges f at position 0. Where pessimist is set a Maybe is taken as it is worst for f, else as it is best.
func (c complete) first(f Formula, pessimist bool) bool {
	if len(c.trace) > 0 {
		return c.all(f, pessimist)[0]
	}
	switch f := f.(type) {
	case Not:
		return !c.first(f.F, !pessimist)
	case And:
		return !slices.ContainsFunc(f.All, func(k Formula) bool { return !c.first(k, pessimist) })
	case Or:
		return slices.ContainsFunc(f.Any, func(k Formula) bool { return c.first(k, pessimist) })
	case Implies:
		return !c.first(f.If, !pessimist) || c.first(f.Then, pessimist)
	case Unary:
		return f.Op == 'G' || f.Op == 'H'
	case Binary:
		return f.Op == 'W' || f.Op == 'R'
	case CountBefore:
		return f.Op.holds(0, f.N)
	case Each:
		return true
	case Now, NowWith, Match, Bind, Some, At:
		return false
	default:
		return c.fact(f, pessimist)
	}
}

// all judges f at each position.
func (c complete) all(f Formula, pessimist bool) []bool {
	n := len(c.trace)
	out := make([]bool, n)
	each := func(at func(i int) bool) []bool {
		for i := range out {
			out[i] = at(i)
		}
		return out
	}
	switch f := f.(type) {
	case Now, NowWith, Match, Bind:
		atom := c.atom(f)
		return each(func(i int) bool {
			t := atom(i)
			return t == Yes || t == Maybe && !pessimist
		})
	case Not:
		v := c.all(f.F, !pessimist)
		return each(func(i int) bool { return !v[i] })
	case And, Or:
		vs := make([][]bool, 0, 2)
		for _, k := range kids(f) {
			vs = append(vs, c.all(k, pessimist))
		}
		_, and := f.(And)
		return each(func(i int) bool {
			return and != slices.ContainsFunc(vs, func(v []bool) bool { return v[i] != and })
		})
	case Implies:
		l, r := c.all(f.If, !pessimist), c.all(f.Then, pessimist)
		return each(func(i int) bool { return !l[i] || r[i] })
	case Unary:
		return c.unary(f, c.all(f.F, pessimist))
	case Binary:
		return c.binary(f, c.all(f.L, pessimist), c.all(f.R, pessimist))
	case CountBefore:
		low, high := c.all(f.F, true), c.all(f.F, false)
		few, many := 0, 0 // for certain, and at most
		return each(func(i int) bool {
			if i > 0 && low[i-1] {
				few++
			}
			if i > 0 && high[i-1] {
				many++
			}
			if pessimist {
				return worst(f.Op, few, many, f.N)
			}
			return best(f.Op, few, many, f.N)
		})
	case At:
		holds := f.Index < n && c.all(f.F, pessimist)[f.Index]
		return each(func(int) bool { return holds })
	case Each:
		bodies := c.bodies(f.Pattern, f.Body, pessimist)
		return each(func(i int) bool {
			b := bind(f.Pattern, &c.trace[i], varsOf(f.Pattern))
			held := !slices.ContainsFunc(b.Sure, func(k string) bool { return !bodies(k)[i] })
			if pessimist {
				held = held && !b.Any && !slices.ContainsFunc(b.Maybe, func(k string) bool { return !bodies(k)[i] })
			}
			return held
		})
	case Some:
		bodies := c.bodies(f.Pattern, f.Body, pessimist)
		return each(func(i int) bool {
			b := bind(f.Pattern, &c.trace[i], varsOf(f.Pattern))
			held := slices.ContainsFunc(b.Sure, func(k string) bool { return bodies(k)[i] })
			if !pessimist {
				held = held || b.Any || slices.ContainsFunc(b.Maybe, func(k string) bool { return bodies(k)[i] })
			}
			return held
		})
	default:
		holds := c.fact(f, pessimist)
		return each(func(int) bool { return holds })
	}
}

// worst reports whether every number between few and many compares with n as it should, best whether one does.
func worst(op Op, few, many, n int) bool {
	return op.holds(few, n) && op.holds(many, n)
}

func best(op Op, few, many, n int) bool {
	return op.holds(few, n) || op.holds(many, n) || op == EQ && few < n && n < many
}

func (c complete) unary(f Unary, v []bool) []bool {
	n := len(v)
	out := make([]bool, n)
	for k := range out {
		i, after := k, k-1 // forwards: the neighbour that is judged already is the one before
		if f.Op == 'G' || f.Op == 'F' {
			i, after = n-1-k, n-k
		}
		at := func(v []bool, i int, none bool) bool {
			if i < 0 || i >= n {
				return none
			}
			return v[i]
		}
		switch f.Op {
		case 'G', 'H':
			out[i] = v[i] && at(out, after, true)
		case 'F', 'O':
			out[i] = v[i] || at(out, after, false)
		case 'X':
			out[i] = at(v, i+1, false)
		case 'Y':
			out[i] = at(v, i-1, false)
		}
	}
	return out
}

func (c complete) binary(f Binary, l, r []bool) []bool {
	n := len(l)
	out := make([]bool, n)
	if f.Op == 'S' {
		since := false
		for i := range out {
			since = r[i] || l[i] && since
			out[i] = since
		}
		return out
	}
	later := f.Op != 'U' // what holds at the end if nothing has decided it
	for i := n - 1; i >= 0; i-- {
		if f.Op == 'R' {
			later = r[i] && (l[i] || later)
		} else {
			later = r[i] || l[i] && later
		}
		out[i] = later
	}
	return out
}

// atom returns what f says of each event.
func (c complete) atom(f Formula) func(i int) Truth {
	if len(varsOf(f)) == 0 {
		return func(i int) Truth { return plain(f, &c.trace[i]) }
	}
	if c.bound == nil {
		return func(int) Truth { return Maybe } // a variable that nothing binds: Check refuses it
	}
	return c.bound(f)
}

// plain is the truth of an atom without variables.
func plain(f Formula, e *Event) Truth {
	switch f := f.(type) {
	case Now:
		return truth(e.Name == f.Tool)
	case NowWith:
		return e.has(f.Tool, f.Args)
	case Match:
		return f.Pattern.Match(e)
	default:
		return Maybe
	}
}

// bodies judges the body of each or some at all positions, for the values that are asked for.
func (c complete) bodies(pattern, body Formula, pessimist bool) func(key string) []bool {
	vars := varsOf(pattern)
	matches := make(map[string][]Bound) // of each pattern in the body, by its text
	known := make(map[string][]bool)
	return func(key string) []bool {
		if v, ok := known[key]; ok {
			return v
		}
		inside := complete{trace: c.trace, bound: func(p Formula) func(i int) Truth {
			all, ok := matches[p.String()]
			if !ok {
				for i := range c.trace {
					all = append(all, bind(p, &c.trace[i], vars))
				}
				matches[p.String()] = all
			}
			return func(i int) Truth { return all[i].truth(key) }
		}}
		v := inside.all(body, pessimist)
		known[key] = v
		return v
	}
}

// bind says with which values of vars e matches a pattern.
func bind(pattern Formula, e *Event, vars []string) Bound {
	var b Bound
	switch p := pattern.(type) {
	case NowWith:
		return p.bind(e, vars)
	case Bind:
		b = p.Pattern.Bind(e)
	}
	if len(b.Sure)+len(b.Maybe) > maxBound {
		return Bound{Any: true}
	}
	return b
}

// truth says whether the event of b matches with the values of key.
func (b Bound) truth(key string) Truth {
	switch {
	case slices.Contains(b.Sure, key):
		return Yes
	case b.Any || slices.Contains(b.Maybe, key):
		return Maybe
	default:
		return No
	}
}

// fact judges what is said of the trace as a whole.
func (c complete) fact(f Formula, pessimist bool) bool {
	first := func(tool string) int { return c.nth(tool, 1) }
	counts := func(t Truth) bool { return t == Yes || t == Maybe && !pessimist }
	switch f := f.(type) {
	case Constant:
		return f.Holds
	case Called:
		return first(f.Tool) >= 0
	case CalledWith:
		return slices.ContainsFunc(c.trace, func(e Event) bool { return counts(e.has(f.Tool, f.Args)) })
	case CalledWithResult:
		return slices.ContainsFunc(c.trace, func(e Event) bool {
			return e.HasResult && resultIs(e.Result, f.Result) && counts(e.has(f.Tool, f.Args))
		})
	case CalledN:
		return f.Op.holds(c.times(f.Tool), f.N)
	case Before:
		a, b := first(f.A), first(f.B)
		return a >= 0 && a < b && c.earlierStep(a, b)
	case After:
		a, b := first(f.A), first(f.B)
		return b >= 0 && a > b
	case AllBefore:
		t := first(f.Target)
		return t >= 0 && !slices.ContainsFunc(f.Tools, func(tool string) bool { a := first(tool); return a < 0 || a >= t })
	case BranchCalled:
		return first(f.Right) >= 0 && (f.Wrong == "" || first(f.Wrong) < 0)
	case InstanceBefore:
		a, b := c.nth(f.A, f.N), c.nth(f.B, f.M)
		return a >= 0 && a < b
	case InOrder:
		return c.inOrder(f.Tools) == len(f.Tools)
	case WithinSteps:
		a := first(f.A)
		if a < 0 {
			return false
		}
		b := slices.IndexFunc(c.trace[a:], func(e Event) bool { return e.Name == f.B })
		return b >= 0 && b <= f.K
	default:
		return false
	}
}

// nth returns the position of the nth call of a tool, counted from 1, or -1.
func (c complete) nth(tool string, n int) int {
	return slices.IndexFunc(c.trace, func(e Event) bool {
		if e.Name == tool {
			n--
		}
		return n == 0
	})
}

func (c complete) times(tool string) int {
	n := 0
	for i := range c.trace {
		if c.trace[i].Name == tool {
			n++
		}
	}
	return n
}

func (c complete) earlierStep(a, b int) bool {
	s, t := c.trace[a].Step, c.trace[b].Step
	return s == nil || t == nil || *s < *t
}

// inOrder returns how many of the tools, from the first on, occur in this order.
func (c complete) inOrder(tools []string) int {
	n := 0
	for i := range c.trace {
		if n < len(tools) && c.trace[i].Name == tools[n] {
			n++
		}
	}
	return n
}
