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
	Version int    `json:"version"`
	Formula string `json:"formula"`
	Calls   int    `json:"calls"`
	savedWorld
	Others  []savedWorld `json:"others,omitempty"` // worlds beside the first one; their lanes have no tables
	Blended bool         `json:"blended,omitempty"`
}

type savedWorld struct {
	Missed int         `json:"missed,omitempty"`
	Memory []int       `json:"memory,omitempty"`
	Lanes  []savedLane `json:"lanes"`
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
	s := saved{Version: savedVersion, Formula: m.text, Calls: m.now.calls, savedWorld: m.now.worlds[0].save(), Blended: m.now.blended}
	for i := range s.Lanes {
		for _, v := range m.now.views[i] {
			s.Lanes[i].Tables = append(s.Lanes[i].Tables, v.base.save())
		}
	}
	for i := range m.now.worlds[1:] {
		s.Others = append(s.Others, m.now.worlds[i+1].save())
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("save monitor: %w", err)
	}
	return data, nil
}

func (w *world) save() savedWorld {
	s := savedWorld{Missed: w.missed, Memory: w.memory}
	for _, l := range w.lanes {
		sl := savedLane{Cells: l.cells, Open: l.open}
		for _, p := range l.parts {
			sp := savedPart{Left: p.left, Value: p.value, Failed: p.failed, FailedAt: p.failedAt}
			for _, in := range p.instances {
				sp.Instances = append(sp.Instances, savedInstance{in.left, in.at})
			}
			sl.Parts = append(sl.Parts, sp)
		}
		s.Lanes = append(s.Lanes, sl)
	}
	return s
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
	if s.Version != savedVersion || s.Formula != m.text || s.Calls < 0 || len(s.Lanes) < 1 || len(s.Lanes) > 2 ||
		len(s.Others) >= maxWorlds {
		return errSaved
	}
	if s.Calls == 0 {
		return nil // nothing else can be known then
	}
	now := snapshot{calls: s.Calls, blended: s.Blended}
	for _, sw := range append([]savedWorld{s.savedWorld}, s.Others...) {
		w, err := p.world(&sw, s.Calls, len(s.Lanes))
		if err != nil {
			return err
		}
		now.worlds = append(now.worlds, w)
	}
	for _, sl := range s.Lanes {
		if len(sl.Tables) != len(p.quants) {
			return errSaved
		}
		var views []view
		for i, st := range sl.Tables {
			t, err := st.table(len(p.quants[i].body.cells), m.limit)
			if err != nil {
				return err
			}
			views = append(views, t.view())
		}
		now.views = append(now.views, views)
	}
	m.now = now
	return nil
}

// world returns the world that was saved as s.
func (p *program) world(s *savedWorld, calls, lanes int) (world, error) {
	w := world{missed: s.Missed, memory: s.Memory}
	if len(s.Memory) != p.memory || len(s.Lanes) != lanes || s.Missed < 0 || s.Missed > calls ||
		slices.ContainsFunc(s.Memory, func(n int) bool { return n < 0 }) && !hasSteps(p) {
		return w, errSaved
	}
	for _, f := range p.facts {
		if !f.valid(s.Memory) {
			return w, errSaved
		}
	}
	for _, sl := range s.Lanes {
		if len(sl.Cells) != len(p.cells) || len(sl.Open) != len(p.open) || len(sl.Parts) != len(p.parts) || !p.validAll(sl.Open) {
			return w, errSaved
		}
		l := lane{cells: sl.Cells, open: sl.Open, parts: make([]partState, len(p.parts))}
		for i, sp := range sl.Parts {
			if !p.valid(sp.Left) || sp.Value > True || len(sp.Instances) > maxInstances {
				return w, errSaved
			}
			l.parts[i] = partState{left: sp.Left, value: sp.Value, failed: sp.Failed, failedAt: sp.FailedAt}
			for _, in := range sp.Instances {
				if !p.valid(in.Left) || in.At < 0 {
					return w, errSaved
				}
				l.parts[i].instances = append(l.parts[i].instances, instance{in.Left, in.At})
			}
		}
		w.lanes = append(w.lanes, l)
	}
	return w, nil
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
