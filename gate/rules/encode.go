package rules

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"gatehouse/gate/ltl"
	"gatehouse/internal/wire"
)

// magic is the first line of a compiled set; the number is that of its form.
const magic = "gatehouse/rules/2\n"

// A Set are the rules that are in force. It can be used by several goroutines at once.
type Set struct {
	settings settings
	slots    []slot
	names    []entry // by name
	wide     []entry // patterns of names
	every    string  // rules that every call concerns
	formulas []formula
	stops    bool // a rule stops everything, which every call then meets
	compiled string
}

// A slot is a rule that is decoded when it is needed.
type slot struct {
	data string
	rule atomic.Pointer[rule]
}

// An entry says which rules a tool concerns.
type entry struct {
	name  string
	rules string // packed numbers
}

// A formula is a rule that every call may concern, until its memory says otherwise.
type formula struct {
	rule  int
	key   string
	scope Scope
	fresh bool // it is quiet from the beginning
}

// newSet compiles rules. The form that is in use is always the one that was read back.
func newSet(shared settings, rules []*rule) (*Set, error) {
	var w wire.Writer
	w.Raw(magic)
	shared.append(&w)
	w.Uint(uint64(len(rules)))
	names, wide := make(map[string][]int), make(map[string][]int)
	var every []int
	var formulas []formula
	stops := false
	for i, r := range rules {
		stops = stops || r.Mode == StopAll
		var one wire.Writer
		r.append(&one)
		w.Text(string(one.Bytes()))
		tools, all := r.tools()
		if r.Kind == LTL {
			about, fresh := r.about()
			formulas = append(formulas, formula{i, r.key, r.Scope, fresh})
			tools, all = about, false
		}
		if all {
			every = append(every, i)
			continue
		}
		for _, name := range tools {
			if isGlob(name) {
				wide[name] = append(wide[name], i)
			} else {
				names[name] = append(names[name], i)
			}
		}
	}
	appendEntries(&w, names)
	appendEntries(&w, wide)
	w.Text(pack(every))
	w.Uint(uint64(len(formulas)))
	for _, f := range formulas {
		w.Uint(uint64(f.rule))
		w.Text(f.key)
		w.Uint(uint64(f.scope))
		w.Bool(f.fresh)
	}
	w.Bool(stops)
	s := &Set{compiled: string(w.Bytes())}
	return s.read(wire.NewReader(s.compiled))
}

// Append writes the compiled set.
func (s *Set) Append(w *wire.Writer) { w.Text(s.compiled) }

// tools are the names of tools whose calls concern the rule, which is no formula; all: every call does.
func (r *rule) tools() (names []string, all bool) {
	for _, p := range []pattern{r.first, r.then, r.since} {
		for _, t := range p {
			for _, name := range t.tools {
				if name == "*" {
					return nil, true
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names, false
}

func appendEntries(w *wire.Writer, entries map[string][]int) {
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)
	w.Uint(uint64(len(names)))
	for _, name := range names {
		w.Text(name)
		w.Text(pack(entries[name]))
	}
}

// pack writes numbers one after the other, each as a varint.
func pack(list []int) string {
	var packed []byte
	for _, n := range list {
		packed = binary.AppendUvarint(packed, uint64(n))
	}
	return string(packed)
}

func (s *settings) append(w *wire.Writer) {
	w.Uint(uint64(s.mode))
	w.Uint(uint64(s.scope))
	w.Uint(uint64(s.retries))
	w.Bool(s.consecutive)
	w.Uint(uint64(s.finishRetries))
	w.Bool(s.announce)
}

func (r *rule) append(w *wire.Writer) {
	w.Text(r.ID)
	w.Text(r.key)
	w.Uint(uint64(r.Kind))
	w.Uint(uint64(r.Mode))
	w.Uint(uint64(r.Scope))
	w.Text(r.Why)
	w.Text(r.Fix)
	w.Text(r.At)
	w.Texts(r.From)
	w.Text(r.Library)
	r.first.append(w)
	r.then.append(w)
	r.since.append(w)
	w.Uint(uint64(r.times))
	w.Text(r.formula)
}

func (p pattern) append(w *wire.Writer) {
	w.Uint(uint64(len(p)))
	for _, t := range p {
		w.Texts(t.tools)
		w.Uint(uint64(len(t.with)))
		for _, c := range t.with {
			w.Text(c.arg)
			w.Text(c.name)
			appendValue(w, c.value)
		}
		w.Uint(uint64(len(t.where)))
		for _, c := range t.where {
			w.Text(c.arg)
			w.Texts(c.patterns)
			w.Uint(uint64(c.use))
		}
		w.Uint(uint64(t.exists))
		w.Uint(uint64(t.succeeded))
		w.Bool(t.sure)
	}
}

// The kinds of values in a compiled set.
const (
	valueNone = iota
	valueFalse
	valueTrue
	valueInt
	valueText
	valueFloat
	valueList
)

func appendValue(w *wire.Writer, v any) {
	switch v := v.(type) {
	case bool:
		if v {
			w.Uint(valueTrue)
		} else {
			w.Uint(valueFalse)
		}
	case int64:
		w.Uint(valueInt)
		w.Int(v)
	case float64:
		w.Uint(valueFloat)
		w.Text(spelled(v))
	case string:
		w.Uint(valueText)
		w.Text(v)
	case []any:
		w.Uint(valueList)
		w.Uint(uint64(len(v)))
		for _, x := range v {
			appendValue(w, x)
		}
	default:
		w.Uint(valueNone)
	}
}

// asFormula is what the rule says, as a formula that judges events by their arguments alone.
func (r *rule) asFormula() ltl.Formula {
	return r.formulaOf(&Surroundings{}, func(e *ltl.Event) *Event { return &Event{Event: *e} })
}

func (s *Set) rule(i int) (*rule, error) {
	if r := s.slots[i].rule.Load(); r != nil {
		return r, nil
	}
	r, err := readRule(s.slots[i].data)
	if err != nil {
		return nil, fmt.Errorf("compiled rules: rule %d: %w", i+1, err)
	}
	s.slots[i].rule.Store(r)
	return r, nil
}
