package rules

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"gatehouse/gate/memory"
	"gatehouse/internal/wire"
)

// bookKey is the place of the book in a memory.
const bookKey = "rules"

// A book is what is remembered of refusals: which calls pass when they are insisted on, and how often a rule refused.
type book struct {
	warned []warning
	tries  []try
	bad    bool // it could not be read; then nothing passes for being insisted on, and all attempts are used up
}

type warning struct {
	key        string // of the rule
	call       string // digest
	generation string // in which it was refused
}

type try struct {
	key string
	n   int
}

// keeper is the memory that has the book.
func (m Memories) keeper() *memory.State {
	if m.Session != nil {
		return m.Session
	}
	return m.Project
}

func (m Memories) book() *book {
	st := m.keeper()
	if st == nil {
		return &book{}
	}
	data, ok := st.Extra[bookKey]
	if !ok {
		return &book{}
	}
	b := &book{}
	r := wire.NewReader(string(data))
	for range r.Len() {
		b.warned = append(b.warned, warning{r.Text(), r.Text(), r.Text()})
	}
	for range r.Len() {
		b.tries = append(b.tries, try{r.Text(), number64(r, maxCount+1)})
	}
	if r.Done() != nil {
		return &book{bad: true}
	}
	return b
}

func (m Memories) keep(b *book) {
	st := m.keeper()
	switch {
	case st == nil:
	case len(b.warned) == 0 && len(b.tries) == 0:
		delete(st.Extra, bookKey)
	default:
		var w wire.Writer
		w.Uint(uint64(len(b.warned)))
		for _, x := range b.warned {
			w.Text(x.key)
			w.Text(x.call)
			w.Text(x.generation)
		}
		w.Uint(uint64(len(b.tries)))
		for _, x := range b.tries {
			w.Text(x.key)
			w.Uint(uint64(min(x.n, maxCount)))
		}
		if st.Extra == nil {
			st.Extra = make(map[string][]byte)
		}
		st.Extra[bookKey] = w.Bytes()
	}
}

// insists reports whether the call was refused by that rule, in an earlier answer of the model, and is made again as it
// was.
func (b *book) insists(key string, e *Event, env *Surroundings) bool {
	return slices.ContainsFunc(b.warned, func(w warning) bool {
		return w.key == key && (env.Generation == "" || w.generation != env.Generation) && w.call == identity(e)
	})
}

func (b *book) attempts(key string) int {
	if b.bad {
		return maxCount
	}
	for _, t := range b.tries {
		if t.key == key {
			return t.n
		}
	}
	return 0
}

func (b *book) setAttempts(key string, n int) {
	b.tries = slices.DeleteFunc(b.tries, func(t try) bool { return t.key == key })
	if n > 0 {
		b.tries = append(b.tries, try{key, n})
	}
}

// identity is a digest of a call with all of its arguments.
func identity(e *Event) string {
	data, err := json.Marshal([]any{e.Name, e.Text, e.Args, e.Argv}) // sorts the arguments
	if err != nil {
		data = nil
	}
	sum := sha256.Sum256(data)
	if data == nil {
		return "" // a call that has no text is like no other
	}
	return string(sum[:16])
}

// Refuse notes that a line was held back with these verdicts of Judge: the attempts that it cost, which calls pass when
// they are insisted on, and that everything is stopped.
func (s *Set) Refuse(m Memories, events []Event, verdicts []Verdict, env Surroundings) error {
	b := m.book()
	first := true // no stronger verdict than the ones that are looked at
	for _, v := range verdicts {
		if v.rule == 0 || v.Action == Note {
			continue
		}
		r, err := s.rule(v.rule - 1)
		if err != nil {
			return err
		}
		switch {
		case v.Action == Stop:
			stop(m, r)
		case v.Mode == Retry && v.Escalated:
			b.setAttempts(r.key, 0)
		case v.Mode == Retry:
			b.setAttempts(r.key, v.Attempt)
		case v.Mode == Warn && first && v.Event >= 0 && v.Event < len(events):
			w := warning{r.key, identity(&events[v.Event]), env.Generation}
			if w.call != "" && !slices.Contains(b.warned, w) {
				b.warned = append(b.warned, w)
			}
		}
		first = first && v.Mode == Warn
	}
	m.keep(b)
	return nil
}

// stop stops the session, and with a rule over all sessions the project.
func stop(m Memories, r *rule) {
	if m.Session != nil {
		m.Session.Stopped = r.ID
	}
	if m.Project != nil && (r.Scope == Project || m.Session == nil) {
		m.Project.Stopped = r.ID
	}
}

// Record notes that calls ran, or may have: Doubt. It is told of each call once, in the order in which they ran.
//
// A rule whose memory overflows is broken from then on: it refuses what it would have judged.
func (s *Set) Record(m Memories, events []Event, env Surroundings) error {
	env = env.cached()
	for _, i := range s.concerned(m, events) {
		r, err := s.rule(i)
		if err != nil {
			return err
		}
		st := m.of(r.Scope)
		if st == nil || r.Kind == Never || r.Kind == Require {
			continue
		}
		data, err := r.record(st.Rules[r.key], events, &env)
		if err != nil {
			data = []byte(overflow)
		}
		if data == nil {
			continue
		}
		if st.Rules == nil {
			st.Rules = make(map[string][]byte)
		}
		st.Rules[r.key] = data
	}
	b := m.book()
	if len(events) > 0 {
		b.warned = nil
		if s.settings.consecutive {
			b.tries = nil
		}
		b.bad = false
		m.keep(b)
	}
	return s.forget(m)
}

// overflow stands in a memory that is lost; no rule reads it.
const overflow = "\xfflost"

func (r *rule) record(data []byte, events []Event, env *Surroundings) ([]byte, error) {
	machine, err := r.load(data)
	if err != nil {
		return nil, err
	}
	for i := range events {
		if _, err := machine.step(&events[i], env); err != nil {
			return nil, err
		}
	}
	return machine.save()
}

// forget drops the memories of rules that there are no more, where they have become many.
func (s *Set) forget(m Memories) error {
	for _, st := range []*memory.State{m.Session, m.Project} {
		if st == nil || len(st.Rules) <= 2*len(s.slots)+64 {
			continue
		}
		keys := make(map[string]bool, len(s.slots))
		for i := range s.slots {
			r, err := s.rule(i)
			if err != nil {
				return err
			}
			keys[r.key] = true
		}
		for key := range st.Rules {
			if !keys[key] {
				delete(st.Rules, key)
			}
		}
	}
	return nil
}

// Finish says which calls are still owed at the end of a turn. It is silent once the agent was sent back often enough in
// this turn.
func (s *Set) Finish(m Memories) ([]Verdict, error) {
	st := m.keeper()
	if st != nil && st.Finish >= s.settings.finishRetries {
		return nil, nil
	}
	var all []Verdict
	for i := range s.slots {
		r, err := s.rule(i)
		if err != nil {
			return nil, err
		}
		if r.Kind != Finally {
			continue
		}
		machine, err := r.load(recall(m.of(r.Scope), r.key))
		if err != nil {
			all = append(all, fault(r, i, err))
			continue
		}
		broken, maybe := machine.owed()
		if !broken {
			continue
		}
		v := Verdict{Rule: r.ID, Kind: r.Kind, Mode: r.Mode, At: r.At, Event: -1, Call: -1, Why: r.Why, Fix: r.Fix, Maybe: maybe}
		v.rule, v.Text = i+1, "before you finish: "+r.first.String()
		if r.since != nil {
			v.Text += " after the last " + r.since.String()
		}
		if r.Mode == Log {
			v.Action = Note
		}
		all = append(all, v)
	}
	if st != nil && slices.ContainsFunc(all, func(v Verdict) bool { return v.Action != Note }) {
		st.Finish++
	}
	return all, nil
}

// Prompt notes that a person spoke: what was stopped goes on, and a new turn begins.
func (s *Set) Prompt(m Memories) {
	for _, st := range []*memory.State{m.Session, m.Project} {
		if st != nil {
			st.Stopped, st.Finish = "", 0
		}
	}
}
