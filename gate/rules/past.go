package rules

import (
	"bytes"

	"gatehouse/gate/ltl"
	"gatehouse/internal/wire"
)

// A past is a rule of the form G(f) where f speaks of this call and those before it, which most formulas are. It needs no
// monitor: each operator is known from its value one call earlier. Every value is kept twice, with each maybe taken as it
// is worst for the formula and as it is best. A call that may not have run leaves what is worse of the value before it and
// that which it makes, and what is better.
type past struct {
	r     *rule
	nodes []node // operands before operators; the last one is f
	tools []string
	seen  [2]bool // there was a call: for certain, and perhaps
}

// A node is a part of the formula.
type node struct {
	op     byte // as in ltl, 'p' for a pattern, '#' for count_before
	a, b   int  // operands
	tool   target
	cmp    ltl.Op
	n      int
	kept   bool    // a later call depends on its value
	now    [2]bool // at this call: worst, best
	before [2]bool // one call earlier
	count  [2]int  // how often the operand held before, for "#"
	was    [2]int  // count, one call earlier
}

const (
	worst = iota
	best
)

// asPast returns the machine of a formula of that form, or nil.
func (r *rule) asPast(f ltl.Formula) *past {
	g, ok := f.(ltl.Unary)
	if !ok || g.Op != 'G' {
		return nil
	}
	m := &past{r: r}
	if m.add(g.F) < 0 {
		return nil
	}
	return m
}

func (m *past) push(n node) int {
	switch n.op {
	case 'O', 'S':
		n.kept = true
	case 'H':
		n.kept = true
		n.now = [2]bool{true, true} // of no call
	case 'Y':
		m.nodes[n.a].kept = true
	}
	m.nodes = append(m.nodes, n)
	return len(m.nodes) - 1
}

// add adds a part and returns its index, -1 if it is of another form.
func (m *past) add(f ltl.Formula) int {
	switch f := f.(type) {
	case ltl.Now:
		m.tools = appendNew(m.tools, f.Tool)
		return m.push(node{op: 'p', tool: target{tools: []string{f.Tool}}})
	case ltl.NowWith:
		t := target{tools: []string{f.Tool}}
		for _, c := range f.Args {
			if _, object := c.Value.(map[string]any); object || c.Var != "" {
				return -1
			}
			t.with = append(t.with, equals{arg: c.Name, value: c.Value})
		}
		m.tools = appendNew(m.tools, f.Tool)
		return m.push(node{op: 'p', tool: t})
	case ltl.Not:
		return m.unary('!', f.F)
	case ltl.And:
		return m.chain('&', f.All)
	case ltl.Or:
		return m.chain('|', f.Any)
	case ltl.Implies:
		return m.binary('>', f.If, f.Then)
	case ltl.Unary:
		if f.Op == 'Y' || f.Op == 'O' || f.Op == 'H' {
			return m.unary(f.Op, f.F)
		}
	case ltl.Binary:
		if f.Op == 'S' {
			return m.binary('S', f.L, f.R)
		}
	case ltl.CountBefore:
		if i := m.unary('#', f.F); i >= 0 && f.Op != ltl.EQ {
			m.nodes[i].cmp, m.nodes[i].n = f.Op, f.N
			return i
		}
	}
	return -1
}

func (m *past) unary(op byte, f ltl.Formula) int {
	a := m.add(f)
	if a < 0 {
		return -1
	}
	return m.push(node{op: op, a: a})
}

func (m *past) binary(op byte, f, g ltl.Formula) int {
	a := m.add(f)
	if a < 0 {
		return -1
	}
	b := m.add(g)
	if b < 0 {
		return -1
	}
	return m.push(node{op: op, a: a, b: b})
}

func (m *past) chain(op byte, all []ltl.Formula) int {
	if len(all) == 0 {
		return -1
	}
	left := m.add(all[0])
	for _, f := range all[1:] {
		right := m.add(f)
		if left < 0 || right < 0 {
			return -1
		}
		left = m.push(node{op: op, a: left, b: right})
	}
	return left
}

func (m *past) step(e *Event, env *Surroundings) (finding, error) {
	for i := range m.nodes {
		n := &m.nodes[i]
		n.before = n.now
		n.was = n.count
		n.now = m.value(n, e.certain(), env)
	}
	f := m.nodes[len(m.nodes)-1].now
	if e.Doubt {
		m.doubt()
		m.seen[best] = true
		return finding{broken: !f[worst], maybe: true}, nil
	}
	m.seen = [2]bool{true, true}
	return finding{broken: !f[worst], maybe: f[best]}, nil
}

// doubt takes into account that the call may not have run.
func (m *past) doubt() {
	for i := range m.nodes {
		n := &m.nodes[i]
		n.now = [2]bool{n.now[worst] && n.before[worst], n.now[best] || n.before[best]}
		n.count[worst] = n.was[worst]
	}
}

// value is what a part is worth at this call. Operands come first, so theirs is known, and before is that of one call
// earlier.
func (m *past) value(n *node, e *Event, env *Surroundings) (v [2]bool) {
	a, b := &m.nodes[n.a], &m.nodes[n.b]
	if n.op == 'p' {
		t := n.tool.match(e, env)
		return [2]bool{t == ltl.Yes, t != ltl.No}
	}
	if n.op == '#' {
		return m.counted(n, a)
	}
	for side := range v {
		other := 1 - side
		switch n.op {
		case '!':
			v[side] = !a.now[other]
		case '&':
			v[side] = a.now[side] && b.now[side]
		case '|':
			v[side] = a.now[side] || b.now[side]
		case '>':
			v[side] = !a.now[other] || b.now[side]
		case 'Y':
			v[side] = m.seen[side] && a.before[side]
		case 'O':
			v[side] = a.now[side] || n.before[side]
		case 'H':
			v[side] = a.now[side] && n.before[side]
		case 'S':
			v[side] = b.now[side] || a.now[side] && n.before[side]
		}
	}
	return v
}

// counted compares how often the operand held before this call, which a maybe makes more where that is worse.
func (m *past) counted(n, a *node) (v [2]bool) {
	for side := range v {
		from := side
		if n.cmp == ltl.LT || n.cmp == ltl.LE {
			from = 1 - side
		}
		switch c := n.count[from]; n.cmp {
		case ltl.LT:
			v[side] = c < n.n
		case ltl.LE:
			v[side] = c <= n.n
		case ltl.GT:
			v[side] = c > n.n
		default:
			v[side] = c >= n.n
		}
	}
	for side := range n.count {
		if a.now[side] {
			n.count[side] = min(n.count[side]+1, n.n+1) // more makes no difference
		}
	}
	return v
}

// state is what later calls depend on.
func (m *past) state() []byte {
	var w wire.Writer
	switch {
	case m.seen[worst]:
		w.Uint(1)
	case m.seen[best]:
		w.Uint(2)
	default:
		w.Uint(0)
	}
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.op == '#' {
			w.Uint(uint64(n.count[worst]))
			w.Uint(uint64(n.count[best]))
		}
		if !n.kept {
			continue
		}
		b := uint64(0)
		if n.now[worst] {
			b |= 1
		}
		if n.now[best] {
			b |= 2
		}
		w.Uint(b)
	}
	return w.Bytes()
}

func (m *past) load(data []byte) error {
	if data == nil {
		return nil
	}
	if len(data) == 0 || data[0] > 1 {
		return errMemory
	}
	r := wire.NewReader(string(data[1:]))
	seen := number64(r, 3)
	m.seen = [2]bool{seen == 1, seen > 0}
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.op == '#' {
			n.count = [2]int{number64(r, n.n+2), number64(r, n.n+2)}
		}
		if n.kept {
			b := number64(r, 4)
			n.now = [2]bool{b&1 != 0, b&2 != 0}
		}
	}
	return r.Done()
}

// save returns the state, after a mark that says whether calls that the formula does not name leave it as it is. It takes
// the step of such a call.
func (m *past) save() ([]byte, error) {
	data := m.state()
	quiet := byte(0)
	if m.still(data) {
		quiet = 1
	}
	return append([]byte{quiet}, data...), nil
}

func (m *past) still(data []byte) bool {
	f, _ := m.step(&Event{Event: ltl.Event{Name: "\x00"}}, &Surroundings{})
	return !f.broken && bytes.Equal(data, m.state())
}

// unmoved reports whether calls that the formula does not name make no difference to a machine that has seen nothing.
// Whether there was a call does, where an operator looks back on one.
func (m *past) unmoved() bool {
	m.still(nil)
	for i := range m.nodes {
		n := &m.nodes[i]
		was, none := n.now, [2]bool{} // what it is worth where nothing is before
		switch n.op {
		case 'Y':
			was = m.nodes[n.a].now
		case 'H':
			none = [2]bool{true, true}
		case 'O', 'S':
		default:
			was = none
		}
		if was != none || n.count != [2]int{} {
			return false
		}
	}
	return m.still(m.state())
}

func (m *past) owed() (broken, maybe bool) { return false, false }
