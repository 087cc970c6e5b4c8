package ltl

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// saved is the form of a monitor on disk. Its size depends on the formula and on the values that are remembered.
type saved struct {
	Version int         `json:"version"`
	Formula string      `json:"formula"`
	Calls   int         `json:"calls"`
	Memory  []int       `json:"memory,omitempty"`
	Lanes   []savedLane `json:"lanes"`
}

type savedLane struct {
	Cells  []uint32     `json:"cells,omitempty"`
	Open   []dnf        `json:"open,omitempty"`
	Parts  []savedPart  `json:"parts"`
	Tables []savedTable `json:"tables,omitempty"`
}

type savedPart struct {
	Left      dnf             `json:"left,omitempty"`
	Value     Value           `json:"value"`
	Failed    bool            `json:"failed,omitempty"`
	FailedAt  int             `json:"failed_at,omitempty"`
	Instances []savedInstance `json:"instances,omitempty"`
}

type savedInstance struct {
	Left dnf `json:"left"`
	At   int `json:"at"`
}

type savedTable struct {
	Unseen  []uint32     `json:"unseen"`
	Classes []savedClass `json:"classes,omitempty"`
}

type savedClass struct {
	Cells  []uint32 `json:"cells"`
	Values [][]byte `json:"values"`
}

const savedVersion = 1

// Save returns what the monitor knows. The same knowledge always gives the same bytes.
func (m *Monitor) Save() ([]byte, error) {
	s := saved{Version: savedVersion, Formula: m.text, Calls: m.now.calls, Memory: m.now.memory}
	for _, l := range m.now.lanes {
		sl := savedLane{Cells: l.cells, Open: l.open}
		for _, p := range l.parts {
			sp := savedPart{Left: p.left, Value: p.value, Failed: p.failed, FailedAt: p.failedAt}
			for _, in := range p.instances {
				sp.Instances = append(sp.Instances, savedInstance{in.left, in.at})
			}
			sl.Parts = append(sl.Parts, sp)
		}
		for _, v := range l.views {
			sl.Tables = append(sl.Tables, v.base.save())
		}
		s.Lanes = append(s.Lanes, sl)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("save monitor: %w", err)
	}
	return data, nil
}

func (t *table) save() savedTable {
	values := make(map[string][][]byte)
	for key, c := range t.class {
		if s := t.state[t.root(c)]; s != t.unseen {
			values[s] = append(values[s], []byte(key))
		}
	}
	out := savedTable{Unseen: unpack(t.unseen)}
	for _, s := range slices.Sorted(maps.Keys(values)) {
		slices.SortFunc(values[s], slices.Compare[[]byte])
		out.Classes = append(out.Classes, savedClass{unpack(s), values[s]})
	}
	return out
}

var errSaved = errors.New("not the state of a monitor of this formula")

// Load returns the monitor of f that Save wrote. What does not fit f is an error.
func Load(f Formula, data []byte) (*Monitor, error) {
	m, err := NewMonitor(f)
	if err != nil {
		return nil, err
	}
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("load monitor: %w", err)
	}
	if err := m.load(&s); err != nil {
		return nil, fmt.Errorf("load monitor: %w", err)
	}
	return m, nil
}

func (m *Monitor) load(s *saved) error {
	p := m.program
	fresh := m.now.lanes[0]
	if s.Version != savedVersion || s.Formula != m.text || s.Calls < 0 || len(s.Memory) != p.memory ||
		len(s.Lanes) < 1 || len(s.Lanes) > 2 {
		return errSaved
	}
	if slices.ContainsFunc(s.Memory, func(n int) bool { return n < 0 }) && !hasSteps(p) {
		return errSaved
	}
	for _, f := range p.facts {
		if !f.valid(s.Memory) {
			return errSaved
		}
	}
	now := snapshot{calls: s.Calls, memory: s.Memory}
	for _, sl := range s.Lanes {
		if len(sl.Cells) != len(p.cells) || len(sl.Open) != len(p.open) || len(sl.Parts) != len(p.parts) ||
			len(sl.Tables) != len(p.quants) || !p.validAll(sl.Open) {
			return errSaved
		}
		l := lane{cells: sl.Cells, open: sl.Open, parts: make([]partState, len(p.parts))}
		for i, sp := range sl.Parts {
			if !p.valid(sp.Left) || sp.Value > True || len(sp.Instances) > maxInstances {
				return errSaved
			}
			l.parts[i] = partState{left: sp.Left, value: sp.Value, failed: sp.Failed, failedAt: sp.FailedAt}
			for _, in := range sp.Instances {
				if !p.valid(in.Left) || in.At < 0 {
					return errSaved
				}
				l.parts[i].instances = append(l.parts[i].instances, instance{in.Left, in.At})
			}
		}
		for i, st := range sl.Tables {
			t, err := st.table(len(p.quants[i].body.cells), m.limit)
			if err != nil {
				return err
			}
			l.views = append(l.views, t.view())
		}
		now.lanes = append(now.lanes, l)
	}
	if s.Calls == 0 {
		now.lanes = []lane{fresh} // nothing else can be known then
	}
	m.now = now
	return nil
}

// hasSteps reports whether a fact remembers the number of a step, which the host may count as it likes.
func hasSteps(p *program) bool {
	return slices.ContainsFunc(p.facts, func(f fact) bool { _, ok := f.formula.(Before); return ok })
}

// valid reports whether the memory of f can be used as it is.
func (f fact) valid(memory []int) bool {
	in, ok := f.formula.(InOrder)
	return !ok || memory[f.at] <= len(in.Tools)
}

// valid reports whether d has the only form that a remainder has, and is about nodes that there are.
func (p *program) valid(d dnf) bool {
	if len(d) > maxClauses {
		return false
	}
	for _, c := range d {
		for i, id := range c {
			if id < 0 || id >= 2*len(p.nodes) || i > 0 && c[i-1] >= id {
				return false
			}
			if id < len(p.nodes) && p.nodes[id].settled {
				return false
			}
		}
	}
	return true
}

func (p *program) validAll(ds []dnf) bool {
	return !slices.ContainsFunc(ds, func(d dnf) bool { return !p.valid(d) })
}

func (s savedTable) table(cells, limit int) (*table, error) {
	if len(s.Unseen) != cells || len(s.Classes) > maxStates {
		return nil, errSaved
	}
	t := newTable(s.Unseen)
	for _, c := range s.Classes {
		state := pack(c.Cells)
		if len(c.Cells) != cells || state == t.unseen || slices.Contains(t.state, state) {
			return nil, errSaved
		}
		class := t.newClass(state)
		for _, v := range c.Values {
			if _, again := t.class[string(v)]; again || len(t.class) >= limit {
				return nil, errSaved
			}
			t.class[string(v)] = class
			t.size[class]++
		}
	}
	return t, nil
}
