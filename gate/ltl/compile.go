package ltl

import "slices"

// A program is a formula made ready for the monitor: "!" is pushed down to the atoms, so that every node is monotone in
// its operands, and the nodes stand in the order in which they can be computed, operands first.
type program struct {
	nodes  []node
	atoms  []Formula // Now, NowWith, Match, Bind
	facts  []fact
	quants []quant
	parts  []part
	tree   branch
	cells  []uint32 // memory of settled nodes as it is before the first call
	open   []dnf    // memory of the other nodes as it is before the first call
	memory int      // cells of all facts
	murky  bool     // a part is

	owed []dnf // the obligation of each node
	met  dnf   // no obligation
}

type op uint8

const (
	opAtom op = iota
	opFact
	opConst
	opAnd // of nothing: holds
	opOr  // of nothing: does not
	opNext
	opWeakNext // holds at the last call
	opAlways
	opEventually
	opUntil
	opWeakUntil
	opRelease
	opStrongRelease
	opPrevious
	opWeakPrevious // holds at the first call
	opOnce
	opEver // historically
	opSince
	opTrigger // the dual of since
	opAtLeast // l held at k earlier calls
	opFewer   // the dual: l, which is denied, failed at fewer than k earlier calls
	opAt
	opQuant
)

type node struct {
	op      op
	neg     bool // of an atom, fact or constant: it is denied. Of opAt: it holds where there is no such call
	l, r    int
	kids    []int
	settled bool
	cell    int // in cells or open
	k       int // for counts and positions
	index   int // in atoms, facts or quants
}

// A quant is each or some.
type quant struct {
	each    bool
	vars    []string
	pattern Formula
	body    *program
}

// A branch is the formula down to the parts that are judged by themselves.
type branch struct {
	and  bool
	kids []branch
	part int // of a branch without kids
}

// A part is a node that is judged by itself, or one that always has to hold: then each position is an instance.
type part struct {
	formula Formula
	root    int
	always  bool
	whole   bool // all instances say the same
	murky   bool // it is not decided at once, and there is an each or some in it
}

func compile(f Formula) *program {
	p := new(program)
	p.tree = p.branch(f, false)
	p.met = certain(true)
	for i := range p.parts {
		p.parts[i].murky = p.quantifies(p.parts[i].root) && !(p.parts[i].always && p.nodes[p.parts[i].root].settled)
		p.murky = p.murky || p.parts[i].murky
	}
	for i := range p.nodes {
		p.owed = append(p.owed, obligation(i))
	}
	return p
}

// quantifies reports whether there is an each or some at node i or below it.
func (p *program) quantifies(i int) bool {
	n := &p.nodes[i]
	switch n.op {
	case opQuant:
		return true
	case opAtom, opFact, opConst:
		return false
	case opAnd, opOr:
		return slices.ContainsFunc(n.kids, p.quantifies)
	case opUntil, opWeakUntil, opRelease, opStrongRelease, opSince, opTrigger:
		return p.quantifies(n.l) || p.quantifies(n.r)
	default:
		return p.quantifies(n.l)
	}
}

func (p *program) certain(holds bool) dnf {
	if holds {
		return p.met
	}
	return nil
}

func (p *program) branch(f Formula, neg bool) branch {
	switch f := f.(type) {
	case Not:
		return p.branch(f.F, !neg)
	case And:
		return p.branches(!neg, neg, f.All...)
	case Or:
		return p.branches(neg, neg, f.Any...)
	case Implies:
		return branch{and: neg, kids: []branch{p.branch(f.If, !neg), p.branch(f.Then, neg)}}
	case Unary:
		if always(f, neg) {
			p.parts = append(p.parts, part{formula: negate(f, neg), root: p.node(f.F, neg), always: true, whole: wholeTrace(f.F)})
			return branch{part: len(p.parts) - 1}
		}
	}
	p.parts = append(p.parts, part{formula: negate(f, neg), root: p.node(f, neg)})
	return branch{part: len(p.parts) - 1}
}

func (p *program) branches(and, neg bool, fs ...Formula) branch {
	b := branch{and: and}
	for _, f := range fs {
		b.kids = append(b.kids, p.branch(f, neg))
	}
	return b
}

// node adds f, denied if neg is set, and returns its place.
func (p *program) node(f Formula, neg bool) int {
	choose := func(plain, denied op) op {
		if neg {
			return denied
		}
		return plain
	}
	switch f := f.(type) {
	case Constant:
		return p.add(node{op: opConst, neg: f.Holds == neg})
	case Now, NowWith, Match, Bind:
		p.atoms = append(p.atoms, f)
		return p.add(node{op: opAtom, neg: neg, index: len(p.atoms) - 1, settled: true})
	case Not:
		return p.node(f.F, !neg)
	case And:
		return p.all(choose(opAnd, opOr), neg, f.All)
	case Or:
		return p.all(choose(opOr, opAnd), neg, f.Any)
	case Implies:
		return p.join(choose(opOr, opAnd), p.node(f.If, !neg), p.node(f.Then, neg))
	case Unary:
		l := p.node(f.F, neg)
		switch f.Op {
		case 'G':
			return p.add(node{op: choose(opAlways, opEventually), l: l})
		case 'F':
			return p.add(node{op: choose(opEventually, opAlways), l: l})
		case 'X':
			return p.add(node{op: choose(opNext, opWeakNext), l: l})
		case 'Y':
			return p.past(node{op: choose(opPrevious, opWeakPrevious), l: l}, neg)
		case 'O':
			return p.past(node{op: choose(opOnce, opEver), l: l}, neg)
		default:
			return p.past(node{op: choose(opEver, opOnce), l: l}, !neg)
		}
	case Binary:
		l, r := p.node(f.L, neg), p.node(f.R, neg)
		switch f.Op {
		case 'U':
			return p.add(node{op: choose(opUntil, opRelease), l: l, r: r})
		case 'W':
			return p.add(node{op: choose(opWeakUntil, opStrongRelease), l: l, r: r})
		case 'R':
			return p.add(node{op: choose(opRelease, opUntil), l: l, r: r})
		default:
			return p.past(node{op: choose(opSince, opTrigger), l: l, r: r}, neg)
		}
	case CountBefore:
		return p.countBefore(f, neg)
	case At:
		return p.memory_(node{op: opAt, neg: neg, l: p.node(f.F, neg), k: f.Index})
	case Each:
		return p.quant(true, f.Pattern, f.Body, neg)
	case Some:
		return p.quant(false, f.Pattern, f.Body, neg)
	default:
		at := p.memory
		p.memory += factSize(f)
		p.facts = append(p.facts, fact{f, at})
		return p.add(node{op: opFact, neg: neg, index: len(p.facts) - 1})
	}
}

func (p *program) add(n node) int {
	p.nodes = append(p.nodes, n)
	return len(p.nodes) - 1
}

func (p *program) all(o op, neg bool, fs []Formula) int {
	var nodes []int
	for _, f := range fs {
		nodes = append(nodes, p.node(f, neg))
	}
	return p.join(o, nodes...)
}

func (p *program) join(o op, nodes ...int) int {
	n := node{op: o, kids: nodes, settled: true}
	for _, k := range nodes {
		n.settled = n.settled && p.nodes[k].settled
	}
	return p.add(n)
}

// past adds an operator that remembers; holds says what it remembers before the first call.
func (p *program) past(n node, holds bool) int {
	n.settled = p.nodes[n.l].settled && (n.op != opSince && n.op != opTrigger || p.nodes[n.r].settled)
	if n.settled {
		n.cell = len(p.cells)
		p.cells = append(p.cells, 0)
		if holds {
			p.cells[n.cell] = 1
		}
		return p.add(n)
	}
	n.cell = len(p.open)
	p.open = append(p.open, certain(holds))
	return p.add(n)
}

// memory_ adds a node that waits for its position.
func (p *program) memory_(n node) int {
	n.cell = len(p.open)
	p.open = append(p.open, obligation(len(p.nodes)))
	return p.add(n)
}

func (p *program) countBefore(f CountBefore, neg bool) int {
	least, most := bounds(f.Op, f.N)
	// Both parts of the comparison: at least this many, and fewer than that many.
	var parts []int
	if least > 0 {
		parts = append(parts, p.count(f.F, least, neg))
	}
	if most >= 0 {
		parts = append(parts, p.count(f.F, most+1, !neg))
	}
	o := opAnd
	if neg {
		o = opOr
	}
	if most == none && !neg {
		return p.join(opOr)
	} else if most == none {
		return p.join(opAnd)
	}
	return p.join(o, parts...)
}

// count adds "f held at least k times", or its denial.
func (p *program) count(f Formula, k int, neg bool) int {
	n := node{op: opAtLeast, l: p.node(f, neg), k: k}
	if neg {
		n.op = opFewer
	}
	n.settled = p.nodes[n.l].settled
	if n.settled {
		n.cell = len(p.cells)
		p.cells = append(p.cells, 0)
		return p.add(n)
	}
	n.cell = len(p.open)
	for range k {
		p.open = append(p.open, certain(neg))
	}
	return p.add(n)
}

func (p *program) quant(each bool, pattern, body Formula, neg bool) int {
	inside := new(program)
	inside.node(body, neg)
	p.quants = append(p.quants, quant{each != neg, varsOf(pattern), pattern, inside})
	return p.add(node{op: opQuant, index: len(p.quants) - 1, settled: true})
}
