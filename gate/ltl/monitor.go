package ltl

import (
	"errors"
	"fmt"
	"slices"
)

// A Monitor judges a formula call by call. A step costs what the formula is long, and not what the trace is: what is
// settled at a call is remembered as the value of each operator about the past, what is open as a remainder of the
// formula, variables as one memory for each combination of values (a lookup for those that a call has).
//
// After a call that may not have run it follows both ways, as worlds (world.go).
//
// A Monitor is for one goroutine at a time.
type Monitor struct {
	formula Formula
	text    string
	program *program
	limit   int
	now     snapshot
	scratch scratch
}

// maxValues is the number of combinations of values that each each or some of a Monitor remembers.
const maxValues = 1 << 17

// errOpen says that more is open at once than a monitor can hold. The formula has to be split into several.
var errOpen = errors.New("too many obligations are open at once: split the formula into several")

// NewMonitor returns a monitor that has seen no call.
func NewMonitor(f Formula) (*Monitor, error) {
	if err := Check(f); err != nil {
		return nil, err
	}
	m := &Monitor{formula: f, text: f.String(), program: compile(f), limit: maxValues}
	if len(m.program.nodes) > 4*maxNodes {
		return nil, fmt.Errorf("formula: count_before makes it too large: split it into several")
	}
	p := m.program
	first := lane{cells: p.cells, open: p.open, parts: make([]partState, len(p.parts))}
	var views []view
	for _, q := range p.quants {
		views = append(views, newTable(q.body.cells).view())
	}
	m.now = snapshot{views: [][]view{views}, worlds: []world{{memory: make([]int, p.memory), lanes: []lane{first}}}}
	r := m.run(&m.now, &m.now.worlds[0], false)
	for i, part := range p.parts {
		first.parts[i].value = Pending
		if n := &p.nodes[part.root]; !part.always && (n.op == opFact || n.op == opConst) {
			first.parts[i].value = r.literal(part.root)
		}
		first.parts[i].left = obligation(part.root + len(p.nodes))
	}
	m.scratch.vals, m.scratch.left = make([]bool, len(p.nodes)), make([]dnf, len(p.nodes))
	return m, nil
}

// Formula returns what is monitored.
func (m *Monitor) Formula() Formula { return m.formula }

// Step takes the next call into account. After an error the monitor is what it was before.
func (m *Monitor) Step(e Event) (Judgement, error) {
	next, j, err := m.step(&m.now, &e)
	if err != nil {
		return Judgement{}, err
	}
	for i := range next.views {
		for q := range next.views[i] {
			v := &next.views[i][q]
			if !v.base.fits(v, m.limit) {
				return Judgement{}, fmt.Errorf("%s: %w: %d", m.text, errValues, m.limit)
			}
		}
	}
	if len(next.views) > len(m.now.views) {
		for q := range next.views[1] { // from here on the sides differ
			next.views[1][q].base = next.views[1][q].base.clone()
		}
	}
	for i := range next.views {
		for q := range next.views[i] {
			v := &next.views[i][q]
			v.base.commit(v)
			*v = v.base.view()
		}
	}
	m.now = next
	return j, nil
}

// Holds reports whether the formula holds if the trace ends here.
func (m *Monitor) Holds() bool {
	for i := range m.now.worlds {
		r := m.run(&m.now, &m.now.worlds[i], false)
		if !m.program.tree.holds(func(i int) bool { return r.holds(i) }) {
			return false
		}
	}
	return true
}

// A snapshot is what a monitor knows after some calls. It is never changed, but for the tables behind its views.
type snapshot struct {
	calls   int
	worlds  []world
	views   [][]view // of each and some, by lane
	blended bool     // views hold what may not have happened
}

// A lane is one way to take each Maybe. There is one as long as no call was a Maybe; then each Maybe as it is worst, and
// as it is best.
type lane struct {
	cells []uint32
	open  []dnf
	parts []partState
}

// A partState is what is left of a part.
type partState struct {
	left      dnf
	value     Value
	failed    bool // an instance failed for good
	failedAt  int
	instances []instance // those that are open
}

type instance struct {
	left dnf
	at   int // position of the first one that has come to this
}

type scratch struct {
	vals []bool
	left []dnf
}

func (m *Monitor) step(now *snapshot, e *Event) (snapshot, Judgement, error) {
	p := m.program
	ran := *e
	ran.Doubt = false
	seen := look(p, &ran)
	maybe := seen.maybe || e.Doubt && len(p.quants) > 0
	memories := make([][]int, len(now.worlds))
	for i := range now.worlds {
		memories[i] = slices.Clone(now.worlds[i].memory)
		for _, f := range p.facts {
			if f.update(memories[i], &ran) {
				maybe = true
			}
		}
	}
	next := snapshot{calls: now.calls + 1, views: make([][]view, len(now.views)), blended: now.blended || e.Doubt && len(p.quants) > 0}
	was := now.views
	if maybe && len(was) == 1 {
		was = [][]view{was[0], was[0]}
		next.views = make([][]view, 2)
	}
	quants := make([][]bool, len(was)) // what each and some say, by lane
	for lane := range was {
		quants[lane], next.views[lane] = p.look(seen, was[lane], lane == 1, e.Doubt)
	}
	var sum outcome
	for i := range now.worlds {
		w, err := m.take(&next, now.worlds[i].split(len(was)), memories[i], seen, quants, &sum)
		if err != nil {
			return snapshot{}, Judgement{}, err
		}
		next.worlds = append(next.worlds, w)
	}
	if e.Doubt {
		for i := range now.worlds {
			w := now.worlds[i].split(len(was))
			w.missed++
			sum.skip(w.values(p))
			next.worlds = append(next.worlds, w)
		}
	}
	if len(next.worlds) > 1 {
		if next.worlds = p.distinct(&next); len(next.worlds) > maxWorlds {
			return snapshot{}, Judgement{}, fmt.Errorf("%s: %w", m.text, errDoubt)
		}
	}
	return next, sum.judgement(), nil
}

func (b *branch) value(parts []partState) Value {
	if len(b.kids) == 0 {
		return parts[b.part].value
	}
	v := valueOf(b.and, True, False)
	for i := range b.kids {
		k := b.kids[i].value(parts)
		if b.and {
			v = min(v, k)
		} else {
			v = max(v, k)
		}
	}
	return v
}

func (b *branch) holds(part func(i int) bool) bool {
	if len(b.kids) == 0 {
		return part(b.part)
	}
	for i := range b.kids {
		if b.kids[i].holds(part) != b.and {
			return !b.and
		}
	}
	return b.and
}

// failing calls found for each part to which the failure of b is due.
func (b *branch) failing(parts []partState, found func(part int)) {
	if !b.value(parts).Refuses() {
		return
	}
	if len(b.kids) == 0 {
		found(b.part)
	}
	for i := range b.kids {
		b.kids[i].failing(parts, found)
	}
}
