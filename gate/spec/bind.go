package spec

import (
	"slices"

	"gatehouse/gate/shell"
)

// A bound is a run of operands that one positional argument gets.
type bound struct {
	operand  int // index in the node
	from, to int // in the parser's ops
}

// bind gives the operands of the last command to its positional arguments, each taking as many as it may while those
// behind it still get what they need. What is left over goes to extra.
func (p *parser) bind(bounds []bound) []bound {
	n := p.top()
	plain := len(p.ops)
	if n.dashdash >= 0 {
		if i := slices.IndexFunc(p.ops, func(o op) bool { return o.dash }); i >= 0 {
			plain = i
		}
	}
	need, at := 0, 0
	for i := range n.operands {
		if p.active(i) && (n.operands[i].nargs == 0 || n.operands[i].nargs == '+') {
			need++
		}
	}
	for i := range n.operands {
		if !p.active(i) {
			continue
		}
		o := &n.operands[i]
		left := plain - at
		take := 0
		switch o.nargs {
		case 0:
			take = min(1, left)
			need--
		case '?':
			take = min(1, max(left-need, 0))
		case '+':
			need--
			take = max(left-need, min(1, left))
		case '*':
			take = max(left-need, 0)
		}
		if take == 0 && (o.nargs == 0 || o.nargs == '+') && !p.open && !p.given("help") && !p.given("version") {
			p.failed, p.matched = true, false
		}
		if take > 0 {
			bounds = append(bounds, bound{i, at, at + take})
			p.chosen(o, at, at+take)
			at += take
		}
	}
	for ; at < plain; at++ {
		p.matched = false
		p.extra = append(p.extra, p.ops[at].word)
	}
	if plain < len(p.ops) {
		bounds = append(bounds, bound{n.dashdash, plain, len(p.ops)})
	}
	if len(p.extra) > 1 {
		slices.Sort(p.extra)
	}
	return bounds
}

// active reports whether a positional argument exists beside the options that were given, and takes plain operands.
func (p *parser) active(i int) bool {
	n := p.top()
	if n.onlyDash && i == n.dashdash {
		return false
	}
	return !slices.ContainsFunc(n.operands[i].unless, p.given)
}

func (p *parser) chosen(o *operand, from, to int) {
	if len(o.choices) == 0 {
		return
	}
	for _, op := range p.ops[from:to] {
		if p.words[op.word].State == shell.Exact && !slices.Contains(o.choices, p.words[op.word].Text) {
			p.failed, p.matched = true, false
		}
	}
}
