package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gatehouse/gate/ledger"
	"gatehouse/gate/memory"
	"gatehouse/gate/rules"
)

// Prompt notes that a person spoke in a session: what a rule has stopped goes on, and what waited for a person's word has
// it, once.
func (g *Gate) Prompt(ctx context.Context, r Request) error {
	s, j, err := g.sessionOf(ctx, &r)
	if s == nil {
		return err
	}
	return g.store().Update(ctx, j.memories(), func(states []*memory.State) error {
		var kept []waiting
		for _, w := range waits(states[0]) {
			if !w.agreed {
				w.agreed = true
				kept = append(kept, w)
			}
		}
		keepWaits(states[0], kept)
		s.content.rules.Prompt(rules.Memories{Session: states[0], Project: states[1]})
		return nil
	})
}

// keptSession is how long a session in which nothing happens is remembered.
const keptSession = 90 * 24 * time.Hour

// Start returns what an agent should know when its session begins, "" if nothing.
func (g *Gate) Start(ctx context.Context, r Request) (string, error) {
	if g.state != "" {
		g.store().Expire(ctx, g.now().Add(-keptSession)) // what is left over can wait for the next session
	}
	s := g.first()
	if s.err != nil {
		return "Every command is refused here: " + s.err.Error() + ".", nil
	}
	text, err := s.content.rules.Start()
	if s.content.policy.Observes(g.now()) {
		text = strings.TrimSpace("The gate only observes at present: what it would refuse is written down and passes.\n" + text)
	}
	return text, err
}

// Finish returns what speaks against ending a turn now.
func (g *Gate) Finish(ctx context.Context, r Request) ([]Reason, error) {
	s, j, err := g.sessionOf(ctx, &r)
	if s == nil || s.content.rules.Len() == 0 {
		return nil, err
	}
	var reasons []Reason
	err = g.store().Update(ctx, j.memories(), func(states []*memory.State) error {
		verdicts, err := s.content.rules.Finish(rules.Memories{Session: states[0], Project: states[1]})
		for _, v := range verdicts {
			reasons = append(reasons, reasonOf(v))
		}
		return err
	})
	return reasons, err
}

// Ran is Record for another process than the one that decided: it finds the decision in the log. A request that ran
// without one, or although it was refused, is remembered all the same.
func (g *Gate) Ran(ctx context.Context, r Request, o Outcome) error {
	d := g.check(ctx, r)
	kept := g.keep(ctx, r, d, o) // before the log, which can be long
	looked := 0
	err := g.log().Newest(ctx, func(l ledger.Line) error {
		if looked++; looked > maxLookBack {
			return ledger.ErrStop
		}
		if e := l.Entry; e != nil && e.Kind == ledger.Decision && e.Session == r.Session && e.Subject == d.Subject {
			d.ID = e.ID
			return ledger.ErrStop
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("look for the decision in the log: %w", err)
	}
	return errors.Join(kept, err, g.logRan(ctx, r, d, o))
}

// maxLookBack is how many entries of the log are looked through for the decision before a run.
const maxLookBack = 500

// sessionOf returns the policy and the memories of a request that is about its session only; nil where there is nothing
// to remember in.
func (g *Gate) sessionOf(ctx context.Context, r *Request) (*source, *judge, error) {
	s := g.first()
	if s.err != nil {
		return nil, nil, s.err
	}
	if r.Session == "" {
		return nil, nil, nil
	}
	return s, g.judge(ctx, s, r), nil
}

// A waiting is a request that a person is to be asked about, where the client cannot ask: the person's next message is
// the answer.
type waiting struct {
	subject string
	agreed  bool
}

// keptWaits is how many of them a session remembers.
const keptWaits = 64

func waits(s *memory.State) (list []waiting) {
	for line := range strings.Lines(string(s.Extra["asked"])) {
		subject, state, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok {
			list = append(list, waiting{subject, state == "agreed"})
		}
	}
	return list
}

func keepWaits(s *memory.State, list []waiting) {
	if len(list) > keptWaits {
		list = list[len(list)-keptWaits:]
	}
	var b strings.Builder
	for _, w := range list {
		state := "asked"
		if w.agreed {
			state = "agreed"
		}
		fmt.Fprintf(&b, "%s %s\n", w.subject, state)
	}
	if s.Extra == nil {
		s.Extra = make(map[string][]byte)
	}
	if b.Len() == 0 {
		delete(s.Extra, "asked")
		return
	}
	s.Extra["asked"] = []byte(b.String())
}

// agreed reports whether a person has agreed to a request, and takes the agreement back: it is for once. If not, the
// request waits for the person.
func agreed(s *memory.State, subject string) bool {
	var kept []waiting
	yes := false
	for _, w := range waits(s) {
		if w.subject != subject {
			kept = append(kept, w)
			continue
		}
		yes = yes || w.agreed
	}
	if !yes {
		kept = append(kept, waiting{subject: subject})
	}
	keepWaits(s, kept)
	return yes
}
