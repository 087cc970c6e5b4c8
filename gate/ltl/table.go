package ltl

import (
	"encoding/binary"
	"errors"
	"slices"
)

// A table holds the memory of the body of each or some for every combination of values that a call has had. It never goes
// through the values: those with the same memory form a class, and a call that does not have a value does the same to all
// values of a class. Where two classes become one, the smaller joins the greater, as in a union of disjoint sets.
type table struct {
	class  map[string]int // of each value whose memory once differed from that of values never seen
	parent []int          // of each class: itself, or the class that it joined
	size   []int
	state  []string // memory of each class that joined no other
	slot   []int    // its place in roots
	roots  []int
	unseen string // memory of the values that no call has had
}

// maxStates is the number of different memories that values can have at the same time.
const maxStates = 4096

// errValues says that a formula would have to remember more values than the monitor may.
var errValues = errors.New("too many different values to remember")

func newTable(cells []uint32) *table {
	return &table{class: make(map[string]int), unseen: pack(cells)}
}

func pack(cells []uint32) string {
	b := make([]byte, 0, 4*len(cells))
	for _, c := range cells {
		b = binary.LittleEndian.AppendUint32(b, c)
	}
	return string(b)
}

func unpack(state string) []uint32 {
	cells := make([]uint32, len(state)/4)
	for i := range cells {
		cells[i] = binary.LittleEndian.Uint32([]byte(state[4*i:]))
	}
	return cells
}

// root returns the class that c has become, and shortens the way there.
func (t *table) root(c int) int {
	for t.parent[c] != c {
		t.parent[c] = t.parent[t.parent[c]]
		c = t.parent[c]
	}
	return c
}

// newClass returns a class with that memory, which must be no other class's.
func (t *table) newClass(state string) int {
	c := len(t.parent)
	t.parent, t.size, t.state = append(t.parent, c), append(t.size, 0), append(t.state, state)
	t.slot = append(t.slot, len(t.roots))
	t.roots = append(t.roots, c)
	return c
}

func (t *table) clone() *table {
	c := *t
	c.class = make(map[string]int, len(t.class))
	for k, v := range t.class {
		c.class[k] = v
	}
	c.parent, c.size = slices.Clone(t.parent), slices.Clone(t.size)
	c.state, c.slot, c.roots = slices.Clone(t.state), slices.Clone(t.slot), slices.Clone(t.roots)
	return &c
}

// A view is a table as it would be some calls later. The table itself does not change.
type view struct {
	base   *table
	states []string          // of the classes, in the order of base.roots
	over   map[string]string // memory of values that those calls had
	unseen string
}

func (t *table) view() view {
	v := view{base: t, states: make([]string, len(t.roots)), unseen: t.unseen}
	for i, r := range t.roots {
		v.states[i] = t.state[r]
	}
	return v
}

func (v *view) lookup(key string) string {
	if s, ok := v.over[key]; ok {
		return s
	}
	if c, ok := v.base.class[key]; ok {
		return v.states[v.base.slot[v.base.root(c)]]
	}
	return v.unseen
}

// next returns the view one call later: step says what the call does to a memory of a value that it has, rest what it does
// to all others.
func (v *view) next(keys []string, step func(key, state string) string, rest func(state string) string) view {
	n := view{base: v.base, states: make([]string, len(v.states)), unseen: rest(v.unseen)}
	for i, s := range v.states {
		n.states[i] = rest(s)
	}
	if len(v.over)+len(keys) > 0 {
		n.over = make(map[string]string, len(v.over)+len(keys))
	}
	for key, s := range v.over {
		n.over[key] = rest(s)
	}
	for _, key := range keys {
		n.over[key] = step(key, v.lookup(key))
	}
	return n
}

// fits reports whether the table, once v is committed, holds no more than limit values.
func (t *table) fits(v *view, limit int) bool {
	if len(t.class)+len(v.over) <= limit {
		return len(t.roots)+len(v.over) <= maxStates || t.distinct(v) <= maxStates
	}
	if live := t.live(v); live > limit {
		return false
	}
	return t.distinct(v) <= maxStates
}

func (t *table) live(v *view) int {
	n := 0
	for _, s := range v.over {
		if s != v.unseen {
			n++
		}
	}
	for key, c := range t.class {
		if _, again := v.over[key]; !again && v.states[t.slot[t.root(c)]] != v.unseen {
			n++
		}
	}
	return n
}

func (t *table) distinct(v *view) int {
	seen := make(map[string]bool)
	for _, s := range v.states {
		seen[s] = true
	}
	for _, s := range v.over {
		seen[s] = true
	}
	return len(seen)
}

// commit makes the table what v says.
func (t *table) commit(v *view) {
	roots := t.roots
	t.roots, t.unseen = nil, v.unseen
	at := make(map[string]int, len(roots)+1) // class by memory
	for i, r := range roots {
		t.state[r] = v.states[i]
		first, ok := at[v.states[i]]
		if !ok {
			at[v.states[i]] = r
			t.slot[r] = len(t.roots)
			t.roots = append(t.roots, r)
			continue
		}
		if t.size[r] > t.size[first] {
			t.slot[r] = t.slot[first]
			t.roots[t.slot[r]] = r
			at[v.states[i]] = r
			r, first = first, r
		}
		t.parent[r] = first
		t.size[first] += t.size[r]
	}
	for key, s := range v.over {
		if old, ok := t.class[key]; ok {
			t.size[t.root(old)]--
		}
		if s == v.unseen {
			delete(t.class, key)
			continue
		}
		c, ok := at[s]
		if !ok {
			c = t.newClass(s)
			at[s] = c
		}
		t.class[key] = c
		t.size[c]++
	}
	if len(t.parent) > 2*len(t.class)+64 || t.forgotten() > 1024+len(t.class)/2 {
		t.compact()
	}
}

// forgotten is the number of values that are remembered and need not be: their memory is that of values never seen.
func (t *table) forgotten() int {
	for _, r := range t.roots {
		if t.state[r] == t.unseen {
			return t.size[r]
		}
	}
	return 0
}

// compact forgets classes that joined others, and values whose memory is that of values never seen.
func (t *table) compact() {
	c := table{class: make(map[string]int, len(t.class)), unseen: t.unseen}
	at := make(map[string]int)
	for key, class := range t.class {
		s := t.state[t.root(class)]
		if s == t.unseen {
			continue
		}
		to, ok := at[s]
		if !ok {
			to = c.newClass(s)
			at[s] = to
		}
		c.class[key] = to
		c.size[to]++
	}
	*t = c
}
