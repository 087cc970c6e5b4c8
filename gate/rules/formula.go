package rules

import (
	"bytes"
	"fmt"
	"slices"

	"gatehouse/gate/ltl"
)

// A monitored is a rule that is a formula: what its ltl.Monitor knows.
//
// A formula may be about every call, so each call is a step. But once a call that no atom names would leave the monitor
// as it is, such calls need not be shown to it: then the memory is quiet, and the rule is not touched by them.
//
// Atoms about one call see what patterns see: all names of a call, and values as digests. A call that may not have run is
// the monitor's business: it judges what the trace is with it and without it.
type monitored struct {
	r       *rule
	monitor *ltl.Monitor
	tools   []string
	patient bool // it never counts positions
	current *Event
	quiet   bool
	touched bool
}

// loadFormula returns the machine of a rule that is a formula.
func (r *rule) loadFormula(data []byte) (machine, error) {
	f, err := ltl.Parse(r.formula, nil)
	if err != nil {
		return nil, err
	}
	if m := r.asPast(f); m != nil {
		return m, m.load(data)
	}
	m := &monitored{r: r}
	a := &adapter{m: m}
	f = a.adapt(f)
	m.tools, m.patient = a.tools, !a.counts
	if data == nil {
		m.monitor, err = ltl.NewMonitor(f)
		return m, err
	}
	if len(data) < 1 || data[0] > 1 {
		return nil, errMemory
	}
	m.quiet = data[0] == 1
	m.monitor, err = ltl.Load(f, data[1:])
	return m, err
}

// isQuiet reports whether calls that a formula does not name leave alone what data says; fresh is the answer where
// nothing is remembered.
func isQuiet(data []byte, fresh bool) bool {
	if data == nil {
		return fresh
	}
	return len(data) > 0 && data[0] == 1
}

func (m *monitored) step(e *Event, env *Surroundings) (finding, error) {
	j, err := m.take(e)
	if err != nil {
		return finding{}, err
	}
	f := finding{broken: j.Value.Refuses() && j.AtFault(), maybe: j.Uncertain}
	if f.broken {
		f.detail = witness(j)
	}
	return f, nil
}

func (m *monitored) take(e *Event) (ltl.Judgement, error) {
	m.current = e.certain()
	m.touched = true
	event := e.Event
	if !slices.Contains(m.tools, event.Name) {
		for _, name := range e.Also {
			if slices.Contains(m.tools, name) {
				event.Name = name // facts know one name only
				break
			}
		}
	}
	j, err := m.monitor.Step(event)
	if err != nil {
		return j, fmt.Errorf("rule %s: %w", m.r.ID, err)
	}
	return j, nil
}

// witness names the part of the formula that fails.
func witness(j ltl.Judgement) string {
	for _, w := range j.Witnesses {
		if w.New {
			return w.Formula.String()
		}
	}
	return ""
}

func (m *monitored) save() ([]byte, error) {
	if !m.touched {
		return nil, nil
	}
	data, err := m.monitor.Save()
	if err != nil {
		return nil, err
	}
	quiet := byte(0)
	if still, err := m.still(data); err != nil {
		return nil, err
	} else if still {
		quiet = 1
	}
	return append([]byte{quiet}, data...), nil
}

// still reports whether a call that the formula does not name would leave what data says as it is. It takes that step.
func (m *monitored) still(data []byte) (bool, error) {
	if !m.patient {
		return false, nil
	}
	j, err := m.take(&Event{Event: ltl.Event{Name: "\x00"}})
	if err != nil || j.AtFault() {
		return false, nil
	}
	next, err := m.monitor.Save()
	if err != nil {
		return false, err
	}
	return bytes.Equal(withoutCalls(data), withoutCalls(next)), nil
}

// withoutCalls cuts the number of calls out of what a monitor saved.
func withoutCalls(data []byte) []byte {
	const key = `"calls":`
	i := bytes.Index(data, []byte(key))
	if i < 0 {
		return data
	}
	end := i + len(key)
	for end < len(data) && data[end] >= '0' && data[end] <= '9' {
		end++
	}
	return append(bytes.Clone(data[:i]), data[end:]...)
}

func (m *monitored) owed() (broken, maybe bool) { return false, false }

// An adapter puts patterns in the place of the atoms about one call, and notes what the formula names.
type adapter struct {
	m      *monitored
	tools  []string
	counts bool
	n      int
}

func (a *adapter) tool(names ...string) {
	for _, name := range names {
		a.tools = appendNew(a.tools, name)
	}
}

func (a *adapter) event(*ltl.Event) *Event { return a.m.current }

func (a *adapter) all(list []ltl.Formula) []ltl.Formula {
	out := make([]ltl.Formula, len(list))
	for i, f := range list {
		out[i] = a.adapt(f)
	}
	return out
}

func (a *adapter) adapt(f ltl.Formula) ltl.Formula {
	switch f := f.(type) {
	case ltl.Now:
		a.tool(f.Tool)
		return a.match(target{tools: []string{f.Tool}})
	case ltl.NowWith:
		a.tool(f.Tool)
		return a.nowWith(f)
	case ltl.Not:
		return ltl.Not{F: a.adapt(f.F)}
	case ltl.And:
		return ltl.And{All: a.all(f.All)}
	case ltl.Or:
		return ltl.Or{Any: a.all(f.Any)}
	case ltl.Implies:
		return ltl.Implies{If: a.adapt(f.If), Then: a.adapt(f.Then)}
	case ltl.Unary:
		return ltl.Unary{Op: f.Op, F: a.adapt(f.F)}
	case ltl.Binary:
		return ltl.Binary{Op: f.Op, L: a.adapt(f.L), R: a.adapt(f.R)}
	case ltl.CountBefore:
		return ltl.CountBefore{F: a.adapt(f.F), Op: f.Op, N: f.N}
	case ltl.At:
		a.counts = true
		return ltl.At{Index: f.Index, F: a.adapt(f.F)}
	case ltl.Each:
		return ltl.Each{Pattern: a.adapt(f.Pattern), Body: a.adapt(f.Body)}
	case ltl.Some:
		return ltl.Some{Pattern: a.adapt(f.Pattern), Body: a.adapt(f.Body)}
	default:
		a.fact(f)
		return f
	}
}

func (a *adapter) fact(f ltl.Formula) {
	switch f := f.(type) {
	case ltl.Called:
		a.tool(f.Tool)
	case ltl.CalledWith:
		a.tool(f.Tool)
	case ltl.CalledWithResult:
		a.tool(f.Tool)
	case ltl.CalledN:
		a.tool(f.Tool)
	case ltl.Before:
		a.tool(f.A, f.B)
	case ltl.After:
		a.tool(f.A, f.B)
	case ltl.AllBefore:
		a.tool(f.Tools...)
		a.tool(f.Target)
	case ltl.BranchCalled:
		a.tool(f.Right, f.Wrong)
	case ltl.InstanceBefore:
		a.tool(f.A, f.B)
	case ltl.InOrder:
		a.tool(f.Tools...)
	case ltl.WithinSteps:
		a.tool(f.A, f.B)
		a.counts = true
	}
}

func (a *adapter) match(t target) ltl.Formula {
	a.n++
	return ltl.Match{Name: fmt.Sprintf("p%d", a.n), Pattern: &bridge{pattern{t}, &Surroundings{}, a.event}}
}

// nowWith is the pattern that a NowWith is. Objects are compared by the formula itself.
func (a *adapter) nowWith(f ltl.NowWith) ltl.Formula {
	t := target{tools: []string{f.Tool}}
	var vars []string
	for _, c := range f.Args {
		if _, object := c.Value.(map[string]any); object {
			return f
		}
		if c.Var != "" {
			vars = appendNew(vars, c.Var)
		}
		t.with = append(t.with, equals{arg: c.Name, value: c.Value, name: c.Var})
	}
	if vars == nil {
		return a.match(t)
	}
	slices.Sort(vars)
	a.n++
	return ltl.Bind{Name: fmt.Sprintf("p%d", a.n), Vars: vars, Pattern: &bindBridge{pattern{t}, &Surroundings{}, vars, a.event}}
}

// about are the tools that a formula names, and whether calls of others leave a monitor that has seen nothing as it is.
func (r *rule) about() (tools []string, fresh bool) {
	m, err := r.loadFormula(nil)
	if err != nil {
		return nil, false
	}
	switch m := m.(type) {
	case *past:
		return m.tools, m.unmoved()
	case *monitored:
		data, err := m.monitor.Save()
		if err != nil {
			return m.tools, false
		}
		fresh, err = m.still(data)
		return m.tools, fresh && err == nil
	default:
		return nil, false
	}
}
