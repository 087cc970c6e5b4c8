package ltl

// settle computes the settled nodes at one call, from the memory of the earlier ones, and brings the memory up to date.
// atom gives the truth of an atom; a Maybe is taken as hopeful says. quant gives each and some.
func (p *program) settle(cells []uint32, vals []bool, hopeful bool, atom func(index int) Truth, quant func(index int) bool) {
	for i := range p.nodes {
		n := &p.nodes[i]
		if !n.settled {
			continue
		}
		v := false
		switch n.op {
		case opAtom:
			switch t := atom(n.index); t {
			case Maybe:
				v = hopeful
			default:
				v = (t == Yes) != n.neg
			}
		case opAnd:
			v = true
			for _, k := range n.kids {
				v = v && vals[k]
			}
		case opOr:
			for _, k := range n.kids {
				v = v || vals[k]
			}
		case opQuant:
			v = quant(n.index)
		case opAtLeast:
			v = int(cells[n.cell]) >= n.k
			if vals[n.l] && !v {
				cells[n.cell]++
			}
		case opFewer:
			v = int(cells[n.cell]) < n.k
			if !vals[n.l] && v {
				cells[n.cell]++
			}
		default:
			was := cells[n.cell] == 1
			now := vals[n.l]
			switch n.op {
			case opPrevious, opWeakPrevious:
				v = was
			case opOnce:
				now = now || was
			case opEver:
				now = now && was
			case opSince:
				now = vals[n.r] || now && was
			case opTrigger:
				now = vals[n.r] && (now || was)
			}
			if n.op != opPrevious && n.op != opWeakPrevious {
				v = now
			}
			cells[n.cell] = 0
			if now {
				cells[n.cell] = 1
			}
		}
		vals[i] = v
	}
}

// blend makes cells what is best, or worst, of them and of other.
func (p *program) blend(cells, other []uint32, best bool) {
	for i := range p.nodes {
		n := &p.nodes[i]
		if !n.settled || !n.remembers() {
			continue
		}
		c := &cells[n.cell]
		if best == (n.op == opFewer) { // which counts what is bad
			*c = min(*c, other[n.cell])
		} else {
			*c = max(*c, other[n.cell])
		}
	}
}

// remembers reports whether a settled node has a cell.
func (n *node) remembers() bool {
	switch n.op {
	case opPrevious, opWeakPrevious, opOnce, opEver, opSince, opTrigger, opAtLeast, opFewer:
		return true
	default:
		return false
	}
}
