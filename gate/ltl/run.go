package ltl

import "slices"

// A run computes one step of one lane.
type run struct {
	*program
	world   *world // its memory is that after the step
	index   int    // position of this call
	place   int    // its position in the world; once no at(n, ...) asks for it, some later one
	hopeful bool
	seen    *sight
	blended bool // each and some remember what may not have happened

	quantified []bool // what each and some say at this call
	vals       []bool // of settled nodes, at this call
	left       []dnf  // of all others
	work       int
	tooMuch    bool
}

func (m *Monitor) run(next *snapshot, w *world, hopeful bool) *run {
	return &run{
		program: m.program, world: w, index: next.calls - 1, place: next.calls - w.missed - 1, hopeful: hopeful,
		blended: next.blended, vals: m.scratch.vals, left: m.scratch.left,
	}
}

// step returns the lane after the call, and what fails in it. best is the lane before the call that takes each Maybe as
// it is best.
func (r *run) step(l, best *lane) (lane, []Witness) {
	next := lane{cells: slices.Clone(l.cells), open: make([]dnf, len(l.open)), parts: make([]partState, len(l.parts))}
	r.settle(next.cells, r.vals, r.hopeful,
		func(i int) Truth { return r.seen.atoms[i] }, func(i int) bool { return r.quantified[i] })
	r.unsettled(l.open, next.open)

	var found [][]Witness // by part, if there are any
	for i := range r.parts {
		state, ws := r.part(&r.parts[i], &l.parts[i], &best.parts[i])
		next.parts[i] = state
		if ws != nil && found == nil {
			found = make([][]Witness, len(r.parts))
		}
		if ws != nil {
			found[i] = ws
		}
	}
	var all []Witness
	if found != nil {
		r.tree.failing(next.parts, func(part int) { all = append(all, found[part]...) })
	}
	return next, all
}

// part takes the call into account in what is left of a part.
//
// Where each or some bring into an open part what may not have happened, it may have failed for good for that reason
// alone. Then best says whether the call can be the first one that breaks it.
func (r *run) part(p *part, was, best *partState) (partState, []Witness) {
	murky := p.murky && r.blended
	if !p.always {
		s := partState{left: r.progress(was.left)}
		s.value = r.value(s.left)
		if !s.value.Refuses() {
			return s, nil
		}
		return s, []Witness{{p.formula, -1, s.value, was.value != False || murky && best.value != False}}
	}
	s := partState{value: was.value, failed: was.failed, failedAt: was.failedAt}
	s.value = Pending
	var found []Witness
	judge := func(in instance) {
		v := r.value(in.left)
		s.value = min(s.value, v)
		if v.Refuses() {
			w := Witness{p.formula, in.at, v, true}
			if p.whole {
				w.At = -1
			}
			found = append(found, w)
		}
		switch {
		case v == True:
		case v == False:
			if !s.failed {
				s.failed, s.failedAt = true, in.at
			}
		case slices.ContainsFunc(s.instances, func(o instance) bool { return o.left.equal(in.left) }):
		default:
			s.instances = append(s.instances, in)
		}
	}
	for _, in := range was.instances {
		judge(instance{r.progress(in.left), in.at})
	}
	if !p.whole || r.place == 0 {
		judge(instance{r.at(p.root), r.index})
	}
	r.tooMuch = r.tooMuch || len(s.instances) > maxInstances
	if was.failed {
		s.value = False
	}
	if s.value.Refuses() && found == nil {
		found = []Witness{{p.formula, was.failedAt, False, murky && !best.failed}}
		if p.whole {
			found[0].At = -1
		}
	}
	return s, found
}

// at is what is left of node i, judged at this call.
func (r *run) at(i int) dnf {
	if r.nodes[i].settled {
		return r.certain(r.vals[i])
	}
	return r.left[i]
}

// unsettled computes the nodes that are not settled, operands first.
func (r *run) unsettled(was, next []dnf) {
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.settled {
			continue
		}
		switch n.op {
		case opFact, opConst, opNext, opWeakNext:
			r.left[i] = r.owed[i]
		case opAnd:
			r.left[i] = r.certain(true)
			for _, k := range n.kids {
				r.left[i] = r.and(r.left[i], r.at(k))
			}
		case opOr:
			r.left[i] = nil
			for _, k := range n.kids {
				r.left[i] = r.or(r.left[i], r.at(k))
			}
		case opAlways:
			r.left[i] = r.and(r.at(n.l), r.owed[i])
		case opEventually:
			r.left[i] = r.or(r.at(n.l), r.owed[i])
		case opUntil, opWeakUntil:
			r.left[i] = r.or(r.at(n.r), r.and(r.at(n.l), r.owed[i]))
		case opRelease, opStrongRelease:
			r.left[i] = r.and(r.at(n.r), r.or(r.at(n.l), r.owed[i]))
		case opPrevious, opWeakPrevious:
			r.left[i] = r.progress(was[n.cell])
			next[n.cell] = r.at(n.l)
		case opOnce:
			r.left[i] = r.or(r.at(n.l), r.progress(was[n.cell]))
			next[n.cell] = r.left[i]
		case opEver:
			r.left[i] = r.and(r.at(n.l), r.progress(was[n.cell]))
			next[n.cell] = r.left[i]
		case opSince:
			r.left[i] = r.or(r.at(n.r), r.and(r.at(n.l), r.progress(was[n.cell])))
			next[n.cell] = r.left[i]
		case opTrigger:
			r.left[i] = r.and(r.at(n.r), r.or(r.at(n.l), r.progress(was[n.cell])))
			next[n.cell] = r.left[i]
		case opAtLeast, opFewer:
			r.count(i, n, was[n.cell:], next[n.cell:])
		case opAt:
			left := was[n.cell]
			if r.place == n.k {
				left = r.at(n.l)
			} else {
				left = r.progress(left)
			}
			r.left[i], next[n.cell] = left, left
		}
	}
}

// count goes on with "at least 1, 2, ... k so far", or with the denial of each.
func (r *run) count(i int, n *node, was, next []dnf) {
	least := n.op == opAtLeast
	before := r.certain(least) // "at least 0"
	for k := range n.k {
		now := r.progress(was[k])
		if least {
			next[k] = r.or(now, r.and(r.at(n.l), before))
		} else {
			next[k] = r.and(now, r.or(r.at(n.l), before))
		}
		before = now
	}
	r.left[i] = before
}

// progress takes the call into account in what was left before it.
func (r *run) progress(d dnf) dnf {
	var out dnf
	for _, c := range d {
		all := r.certain(true)
		for _, id := range c {
			all = r.and(all, r.redeem(id))
		}
		out = r.or(out, all)
	}
	return out
}

// redeem is what an obligation becomes with the call.
func (r *run) redeem(id int) dnf {
	if id >= len(r.nodes) {
		return r.at(id - len(r.nodes))
	}
	switch n := &r.nodes[id]; n.op {
	case opFact, opConst:
		return r.owed[id]
	case opNext, opWeakNext:
		return r.at(n.l)
	case opAt:
		if r.place == n.k {
			return r.at(n.l)
		}
		return r.owed[id]
	default:
		return r.left[id]
	}
}

func (r *run) and(a, b dnf) dnf {
	if !r.affords(len(a)*len(b), a, b) {
		return nil
	}
	return r.bounded(and(a, b))
}

func (r *run) or(a, b dnf) dnf {
	if !r.affords(len(a)+len(b), a, b) {
		return nil
	}
	return r.bounded(or(a, b))
}

// affords reports whether there is work left for that many clauses, made of those of a and b.
func (r *run) affords(clauses int, a, b dnf) bool {
	longest := 1
	if len(a) > 0 {
		longest += len(a[len(a)-1])
	}
	if len(b) > 0 {
		longest += len(b[len(b)-1])
	}
	r.work += clauses * longest
	r.tooMuch = r.tooMuch || r.work > maxWork
	return !r.tooMuch
}

func (r *run) bounded(d dnf) dnf {
	if len(d) > maxClauses {
		r.tooMuch = true
		return nil
	}
	return d
}

// value is what a remainder is worth on a trace that goes on.
func (r *run) value(d dnf) Value {
	v := False
	for _, c := range d {
		least := True
		for _, id := range c {
			least = min(least, r.literal(id))
		}
		v = max(v, least)
	}
	return v
}

func (r *run) literal(id int) Value {
	if id >= len(r.nodes) {
		return Pending
	}
	switch n := &r.nodes[id]; n.op {
	case opConst:
		return valueOf(n.neg, PFalse, PTrue)
	case opFact:
		v := r.facts[n.index].value(r.world.memory, r.hopeful != n.neg)
		if n.neg {
			return v.not()
		}
		return v
	default:
		return Pending
	}
}

// holds reports whether a part holds if the trace ends here.
func (r *run) holds(i int) bool {
	s := &r.world.lanes[0].parts[i]
	if r.parts[i].always {
		return !s.failed && !slices.ContainsFunc(s.instances, func(in instance) bool { return !r.ends(in.left) })
	}
	return r.ends(s.left)
}

func (r *run) ends(d dnf) bool {
	return slices.ContainsFunc(d, func(c clause) bool {
		return !slices.ContainsFunc(c, func(id int) bool { return !r.end(id) })
	})
}

// end is what an obligation is worth where no call follows.
func (r *run) end(id int) bool {
	empty := id >= len(r.nodes) // there was no call at all
	if empty {
		id -= len(r.nodes)
	}
	switch n := &r.nodes[id]; n.op {
	case opConst:
		return !n.neg
	case opFact:
		return r.facts[n.index].holds(r.world.memory, r.hopeful != n.neg) != n.neg
	case opAlways, opWeakNext, opWeakUntil, opRelease, opEver, opTrigger, opWeakPrevious, opFewer:
		return true
	case opAtom, opAt:
		return n.neg
	case opQuant:
		return r.quants[n.index].each
	case opAnd:
		return !slices.ContainsFunc(n.kids, func(k int) bool { return !r.end(k + len(r.nodes)) })
	case opOr:
		return slices.ContainsFunc(n.kids, func(k int) bool { return r.end(k + len(r.nodes)) })
	default:
		return false
	}
}
