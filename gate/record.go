package gate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"gatehouse/gate/call"
	"gatehouse/gate/ledger"
	"gatehouse/gate/memory"
	"gatehouse/gate/rules"
)

// decide is Check with its traces: an entry in the log, and for a refusal what the session has to remember.
func (g *Gate) decide(ctx context.Context, r Request) (Decision, error) {
	from := time.Now()
	d := g.check(ctx, r)
	var errs []error
	if d.Action != Allow {
		if err := g.held(ctx, r, &d); err != nil {
			errs = append(errs, fmt.Errorf("remember the refusal: %w", err))
		}
	}
	e := entry(r, &d)
	e.Took = time.Since(from)
	if err := g.log().Append(ctx, &e); err != nil {
		errs = append(errs, fmt.Errorf("write the log of decisions: %w", err))
	}
	d.ID = e.ID
	return d, errors.Join(errs...)
}

func (g *Gate) log() ledger.Log {
	l := ledger.In(g.state)
	l.Disk, l.Now = g.writes, g.now
	return l
}

// entry is a decision as the log keeps it.
func entry(r Request, d *Decision) ledger.Entry {
	e := ledger.Entry{
		Kind: ledger.Decision, Session: r.Session, Client: r.Client, Cwd: r.Cwd, Line: r.Line, Argv: r.Argv,
		Verdict: ledger.Verdict(d.Action.String()), Gate: d.Policy.Gate, PolicyTree: d.Policy.Tree, PolicyMode: d.Policy.Mode,
		PolicyFrom: d.Policy.Dir, Subject: d.Subject,
	}
	if r.Tool != nil {
		e.Tool = &ledger.Tool{Name: r.Tool.Name, Args: r.Tool.Args}
	}
	if d.Observed {
		e.Would = ledger.Verdict(d.Would.String())
	}
	if d.Granted != nil {
		e.Granted = "granted by " + d.Granted.By + " for " + d.Granted.Decision
	}
	for _, reason := range d.Reasons {
		e.Reasons = append(e.Reasons, ledger.Reason{
			Action: ledger.Verdict(reason.Action.String()), Stage: string(reason.Stage), Call: reason.Call, Source: reason.Source,
			Rule: reason.Rule, At: reason.At, Text: reason.Text, Why: reason.Why, Fix: reason.Fix, Hint: reason.Hint,
		})
	}
	for i := range d.Calls {
		e.Calls = append(e.Calls, d.Calls[i].Name)
	}
	return e
}

// held remembers a request that was held back: that it was, and what the rules make of it.
func (g *Gate) held(ctx context.Context, r Request, d *Decision) error {
	s := g.sourceOf(d)
	if s == nil || s.err != nil || r.Session == "" {
		return nil
	}
	j := g.judge(ctx, s, &r)
	events := j.events(d.Calls)
	return g.store().Update(ctx, j.memories(), func(states []*memory.State) error {
		if d.Action == Ask && r.Deferred && agreed(states[0], d.Subject) {
			d.Action, d.Granted = Allow, &Grant{By: "the person's next message"}
			return nil
		}
		d.Repeated = repeated(states[0], d.Subject)
		if s.content.rules.Len() == 0 {
			return nil
		}
		m := rules.Memories{Session: states[0], Project: states[1]}
		around := j.surroundings()
		return s.content.rules.Refuse(m, events, s.content.rules.Judge(m, events, around), around)
	})
}

// sourceOf is the policy that made a decision.
func (g *Gate) sourceOf(d *Decision) *source {
	for _, s := range g.sources {
		if s.from == d.Policy {
			return s
		}
	}
	return nil
}

// events are the events of a request whose calls are known.
func (j *judge) events(calls []call.Call) []rules.Event {
	if t := j.r.Tool; t != nil {
		return []rules.Event{rules.Tool(t.Name, t.Args, j.cwd)}
	}
	events := rules.Events(calls)
	rules.Prove(j.line(), calls, events)
	return events
}

// keptRefusals is how many different refusals a session remembers.
const keptRefusals = 64

// repeated counts a refusal in the memory of a session and returns how often there was the same before. The memory is a
// list of eight bytes of the subject and a count each, the latest last.
func repeated(s *memory.State, subject string) int {
	const size = 12
	if len(subject) < 8 {
		return 0
	}
	list := s.Extra["refused"]
	before := uint32(0)
	kept := make([]byte, 0, len(list)+size)
	for ; len(list) >= size; list = list[size:] {
		if string(list[:8]) == subject[:8] {
			before = binary.BigEndian.Uint32(list[8:])
			continue
		}
		kept = append(kept, list[:size]...)
	}
	if extra := len(kept) - (keptRefusals-1)*size; extra > 0 {
		kept = kept[extra:]
	}
	kept = append(kept, subject[:8]...)
	kept = binary.BigEndian.AppendUint32(kept, before+1)
	if s.Extra == nil {
		s.Extra = make(map[string][]byte)
	}
	s.Extra["refused"] = kept
	return int(before)
}

// record remembers that a request ran, and then writes it into the log, which may be in the way of itself.
func (g *Gate) record(ctx context.Context, r Request, d Decision, o Outcome) error {
	return errors.Join(g.keep(ctx, r, d, o), g.logRan(ctx, r, d, o))
}

func (g *Gate) logRan(ctx context.Context, r Request, d Decision, o Outcome) error {
	ran := ledger.Entry{Kind: ledger.Ran, ID: d.ID, Session: r.Session, Client: r.Client, Cwd: r.Cwd, Line: r.Line, Argv: r.Argv,
		Gate: d.Policy.Gate, PolicyTree: d.Policy.Tree, PolicyMode: d.Policy.Mode, Subject: d.Subject, Status: o.Status}
	if r.Tool != nil {
		ran.Tool = &ledger.Tool{Name: r.Tool.Name, Args: r.Tool.Args}
	}
	if err := g.log().Append(ctx, &ran); err != nil {
		return fmt.Errorf("write the log of decisions: %w", err)
	}
	return nil
}

func (g *Gate) keep(ctx context.Context, r Request, d Decision, o Outcome) error {
	s := g.sourceOf(&d)
	if s == nil || s.err != nil || r.Session == "" {
		return nil
	}
	status := o.Status
	if status == nil && o.Failed {
		failed := -1 // nobody knows with which
		if r.Tool != nil {
			failed = 1
		}
		status = &failed
	}
	if err := g.remember(ctx, s, r, d, status); err != nil {
		return fmt.Errorf("remember what ran: %w", err)
	}
	return nil
}

// remember tells the rules of the calls that ran, or may have.
func (g *Gate) remember(ctx context.Context, s *source, r Request, d Decision, status *int) error {
	if s.content.rules.Len() == 0 {
		return nil
	}
	j := g.judge(ctx, s, &r)
	outcomes := []call.Outcome{{Known: call.Ran, Status: status}}
	if r.Tool == nil {
		outcomes = call.Outcomes(j.line(), d.Calls, status)
	}
	var events []rules.Event
	for _, e := range j.events(d.Calls) {
		if e.Call >= len(outcomes) || outcomes[e.Call].Known == call.DidNotRun {
			continue
		}
		out := outcomes[e.Call]
		e.Status, e.Doubt = out.Status, out.Known != call.Ran
		events = append(events, e)
	}
	return g.store().Update(ctx, j.memories(), func(states []*memory.State) error {
		return s.content.rules.Record(rules.Memories{Session: states[0], Project: states[1]}, events, j.surroundings())
	})
}
