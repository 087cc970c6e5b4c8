package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/manifest"
)

// A decisionLog is what is remembered of a gate's log of decisions. The log is the agent's own, and a pass sees where it
// ends and no more: the hash of the newest record, which covers all before it, and how many there ever were. So "it goes
// on from what was seen" means that there are more records than were seen, or the same last one. Whoever throws the log
// away and writes more than it had between two passes is not told by this; whoever only throws it away is.
//
// A break is kept until a person says that it is known (AcceptLog), since nothing brings back what was lost. The log is
// then, and for the next pass already, the one that was last seen: each break is told once.
type decisionLog struct {
	Head   string `json:"head,omitempty"` // empty: none was seen
	Count  uint64 `json:"count,omitempty"`
	Breaks []Item `json:"breaks,omitempty"`
}

// maxBreaks bounds what an agent can make root remember.
const maxBreaks = 20

// broken says why m is not the log that was seen, grown; empty if it is.
func (l decisionLog) broken(m *manifest.Log) string {
	switch {
	case l.Head == "":
		return ""
	case m == nil:
		return fmt.Sprintf("it is gone; it had %s", count(int(l.Count), "record", "records"))
	case m.Count < l.Count:
		return fmt.Sprintf("it has %s; it had %d", count(int(m.Count), "record", "records"), l.Count)
	case m.Count == l.Count && m.Head != l.Head:
		return fmt.Sprintf("its record %d is another one than was seen", m.Count)
	case m.Count > l.Count && m.Head == l.Head:
		return fmt.Sprintf("it says that it has %d records, and its last one is number %d", m.Count, l.Count)
	}
	return ""
}

// next is what is remembered after a manifest said that the log ends at m; nil says that there is none.
func (l decisionLog) next(m *manifest.Log, now time.Time) decisionLog {
	var after decisionLog
	if m != nil {
		after = decisionLog{Head: m.Head, Count: m.Count}
	}
	after.Breaks = l.Breaks
	if why := l.broken(m); why != "" && len(l.Breaks) < maxBreaks {
		id := fmt.Sprintf("log/%d-%.12s/%d-%.12s", l.Count, l.Head, after.Count, after.Head)
		if !slices.ContainsFunc(l.Breaks, func(i Item) bool { return i.ID == id }) {
			text := fmt.Sprintf("%s: %s", now.UTC().Format("2006-01-02 15:04 UTC"), why)
			after.Breaks = append(slices.Clone(l.Breaks), Item{ID: id, Text: text})
		}
	}
	return after
}

// finding says that somebody shortened or replaced the log, nil if it is whole as far as anybody can tell.
func (l decisionLog) finding(gate string) *Finding {
	if len(l.Breaks) == 0 {
		return nil
	}
	return &Finding{Result: LogRewound, Items: l.Breaks, Next: "warden accept --log " + gate,
		Reason: "the gate's log of decisions does not go on from what was published before: what is missing is lost as evidence"}
}

// A force is the tree that is accepted, and since when a pass knows of it.
type force struct {
	Tree  string    `json:"tree"`
	Since time.Time `json:"since"`
}

func (f force) next(tree string, now time.Time) force {
	if f.Tree == tree {
		return f
	}
	return force{tree, now}
}

// takeover is how long after an acceptance a decision may still have been on its way by the policy before it.
const takeover = time.Minute

// otherPolicy reports that the gate judges by something else than the accepted copy, though that is in force. It goes by
// the agent's own log, so its silence means nothing.
func otherPolicy(f facts, s *state) *Finding {
	log := f.claim.Log
	if !f.byAccepted || f.accepted == nil || log == nil || log.PolicyTree == f.accepted.Tree {
		return nil
	}
	if s.InForce.Tree != f.accepted.Tree || !log.LastAt.After(s.InForce.Since.Add(takeover)) {
		return nil
	}
	by := "by no policy at all"
	if strings.Trim(log.PolicyTree, "0") != "" {
		by = fmt.Sprintf("by the policy %.12s", log.PolicyTree)
	}
	return &Finding{Result: OtherPolicy, Next: "gate verify",
		Reason: fmt.Sprintf("the gate's log has a decision of %s %s, and the accepted policy is %.12s",
			log.LastAt.UTC().Format("2006-01-02 15:04 UTC"), by, f.accepted.Tree)}
}

// AcceptLog records that a person knows of the breaks in a gate's log of decisions, and returns them. What was published
// last is the log to go on from.
func (w *Warden) AcceptLog(ctx context.Context, g Gate, d Decision) (breaks []Item, pass *Pass, err error) {
	pass = new(Pass)
	err = w.locked(ctx, func() error {
		s, err := w.loadState(g.Name)
		if err != nil {
			return err
		}
		if breaks = s.Log.Breaks; len(breaks) == 0 {
			return fmt.Errorf("%w: the log of gate %s has no break that anybody has to know of", ErrNotAcceptable, g.Name)
		}
		now := w.Now().UTC()
		if err := w.record(Event{At: now, Gate: g.Name, Action: "accept-log", By: d.By, Why: d.Why}); err != nil {
			return err
		}
		s.Log.Breaks = nil
		if err := w.saveState(s); err != nil {
			return err
		}
		if err := w.Outbox.Clear(string(LogRewound), g.Name, subject, "known to "+d.By, now); err != nil {
			return err
		}
		return w.again(ctx, g, pass)
	})
	return breaks, pass, err
}
