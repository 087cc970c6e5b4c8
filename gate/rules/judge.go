package rules

import (
	"cmp"
	"fmt"
	"slices"

	"gatehouse/gate/ltl"
	"gatehouse/gate/memory"
)

// Len is how many rules there are.
func (s *Set) Len() int { return len(s.slots) }

// Rules returns all rules, decoded. An error means that the compiled form is not what Append wrote.
func (s *Set) Rules() ([]Rule, error) {
	all := make([]Rule, 0, len(s.slots))
	for i := range s.slots {
		r, err := s.rule(i)
		if err != nil {
			return nil, err
		}
		x := r.Rule
		x.Formula, x.Text = r.asFormula(), r.says()
		all = append(all, x)
	}
	return all, nil
}

// Judge says what the rules have to say about a line, the strongest verdict first; nil if nothing. Each event is judged
// as if those before it had run. It changes nothing.
func (s *Set) Judge(m Memories, events []Event, env Surroundings) []Verdict {
	if v, stopped := s.stopped(m); stopped {
		return []Verdict{v}
	}
	env = env.cached()
	var all []Verdict
	for _, i := range s.concerned(m, events) {
		r, err := s.rule(i)
		if err != nil {
			all = append(all, fault(&rule{}, i, err))
			continue
		}
		if r.Kind == Finally {
			continue
		}
		if v, ok := s.judge(m, r, i, events, &env); ok {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(strength(a), strength(b)), cmp.Compare(a.Event, b.Event))
	})
	return all
}

// judge says what one rule finds in a line: the first event that breaks it.
func (s *Set) judge(m Memories, r *rule, index int, events []Event, env *Surroundings) (found Verdict, ok bool) {
	remembered := recall(m.of(r.Scope), r.key)
	machine, err := r.load(remembered)
	if err != nil {
		return fault(r, index, err), true
	}
	proven := r.Kind == Before && len(events) <= maxProven && slices.ContainsFunc(events, func(e Event) bool { return e.Proves.To > 0 })
	for i := range events {
		if proven {
			if machine, err = r.upTo(remembered, events, i, env); err != nil {
				return fault(r, index, err), true
			}
		}
		f, err := machine.step(&events[i], env)
		if err != nil {
			return fault(r, index, err), true
		}
		if !f.broken {
			continue
		}
		v := s.verdict(m, r, &events[i], f, env)
		v.rule, v.Event, v.Call = index+1, i, events[i].Call
		if !v.Insisted {
			return v, true
		}
		if !ok {
			found, ok = v, true
		}
	}
	return found, ok
}

// maxProven is how long a line may be on which it counts that a call runs only if an earlier one succeeded.
const maxProven = 64

// upTo returns the machine as event i finds it: those before it have run, and those that it could not run without have
// succeeded.
func (r *rule) upTo(remembered []byte, events []Event, i int, env *Surroundings) (machine, error) {
	m, err := r.load(remembered)
	if err != nil {
		return nil, err
	}
	for j := range i {
		e := events[j]
		if e.Proves.From <= i && i < e.Proves.To && e.Status == nil {
			e.Status = new(int)
		}
		if _, err := m.step(&e, env); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// verdict says what follows from an event that breaks r.
func (s *Set) verdict(m Memories, r *rule, e *Event, f finding, env *Surroundings) Verdict {
	v := Verdict{
		Rule: r.ID, Kind: r.Kind, Mode: r.Mode, At: r.At, Why: r.Why, Fix: r.Fix, Maybe: f.maybe, Text: r.explain(e, f),
	}
	switch r.Mode {
	case Warn:
		if m.book().insists(r.key, e, env) {
			v.Action, v.Insisted = Note, true
		}
	case AskFirst:
		v.Action = Ask
	case Retry:
		v.Attempt, v.Attempts = m.book().attempts(r.key)+1, s.settings.retries-1
		if v.Attempt > v.Attempts {
			v.Action, v.Escalated = Ask, true
		}
	case StopAll:
		if !f.maybe {
			v.Action = Stop
		}
	case Log:
		v.Action = Note
	}
	return v
}

// fault is the verdict where a rule cannot be judged.
func fault(r *rule, index int, err error) Verdict {
	return Verdict{
		Rule: r.ID, Kind: r.Kind, Mode: r.Mode, At: r.At, Event: -1, Call: -1, rule: index + 1,
		Text: fmt.Sprintf("the rule cannot be judged: %v", err),
	}
}

// stopped is the verdict on everything while a person is waited for.
func (s *Set) stopped(m Memories) (Verdict, bool) {
	id := ""
	if m.Session != nil {
		id = m.Session.Stopped
	}
	if id == "" && m.Project != nil {
		id = m.Project.Stopped
	}
	if id == "" {
		return Verdict{}, false
	}
	v := Verdict{Rule: id, Mode: StopAll, Event: -1, Call: -1}
	v.Text = "everything is stopped until a person speaks; say what happened and wait"
	for i := range s.slots {
		if r, err := s.rule(i); err == nil && r.ID == id {
			v.Kind, v.At, v.Why, v.Fix, v.rule = r.Kind, r.At, r.Why, r.Fix, i+1
		}
	}
	return v, true
}

// strength orders verdicts: stop, block, ask, retry, warn, and what passes.
func strength(v Verdict) int {
	switch {
	case v.Action == Stop:
		return 0
	case v.Action == Note:
		return 5
	case v.Action == Ask:
		return 2
	case v.Mode == Retry:
		return 3
	case v.Mode == Warn:
		return 4
	default:
		return 1
	}
}

// explain says in a sentence what is wrong with a call; the call itself stands beside it.
func (r *rule) explain(e *Event, f finding) string {
	var text string
	switch r.Kind {
	case Never:
		text = fmt.Sprintf("%s is never to be called", r.matching(r.first, e))
		if r.Mode == AskFirst {
			text = fmt.Sprintf("%s is for a person to decide", r.matching(r.first, e))
		}
	case Require:
		text = fmt.Sprintf("it has to be %s", r.matching(r.first, e))
	case AtMost:
		text = fmt.Sprintf("%s may be called %s, and this would be one more", r.first, times(r.times))
	case Before:
		if first, ok := r.first.succeeding(); ok {
			text = fmt.Sprintf("%s has to succeed first", first)
		} else {
			text = fmt.Sprintf("%s has to run first", r.first)
		}
		if r.since != nil {
			text += fmt.Sprintf(", after the last %s", r.since)
		}
	default:
		text = fmt.Sprintf("it breaks %s", r.formula)
	}
	if f.maybe {
		text += "; whether it breaks the rule is not known before it runs, and so it counts"
	}
	return text
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return fmt.Sprintf("%d times", n)
	}
}

// matching is the part of p that is about e.
func (r *rule) matching(p pattern, e *Event) pattern {
	for i := range p {
		if p[i].names(e) && len(p) > 1 {
			one := p[i : i+1]
			if len(one[0].with)+len(one[0].where) == 0 || one.match(e, &Surroundings{}) != ltl.No {
				return one
			}
		}
	}
	return p
}

// short cuts a text that is shown.
func short(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}

// of returns the memory that rules of a scope have. Where there is no project, theirs is the session's.
func (m Memories) of(s Scope) *memory.State {
	if s == Project && m.Project != nil {
		return m.Project
	}
	return m.Session
}

// recall returns what is remembered under key, nil if nothing is.
func recall(st *memory.State, key string) []byte {
	if st == nil {
		return nil
	}
	return st.Rules[key]
}
