package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/manifest"
	"gatehouse/notify"
)

// The files of a gate are one subject for notices, and each service that loads them is one (process.go); what is wrong
// is the kind. A drift keeps its kind while it is rejected or diverges, since it is the same one.
const (
	kindDrift = "drift"
	subject   = "live"
)

// announce tells the outbox how the gate stands: what is open, and what is no longer.
func (w *Warden) announce(g Gate, s *state, r *Report, now time.Time) error {
	current := make(map[string]bool)
	for _, e := range events(r, s.Held, g.Interval, now) {
		current[e.Kind] = true
		if e.Kind == kindDrift || e.Kind == string(Behind) {
			e.Detail = w.detail(g, r)
		}
		if err := w.Outbox.Report(e, now); err != nil {
			return err
		}
	}
	open, _ := w.Outbox.Open(g.Name) // a record that cannot be read is set aside, and named, by the delivery
	for _, record := range open {
		if record.Subject != subject || current[record.Kind] || !over(Result(record.Kind), r) {
			continue
		}
		if err := w.Outbox.Clear(record.Kind, g.Name, subject, closing(r), now); err != nil {
			return err
		}
	}
	return w.processNotices(s, r, g.Interval, now)
}

// events says what of a report is worth a notice. It is a pure function.
func events(r *Report, held time.Time, interval time.Duration, now time.Time) []notify.Event {
	var list []notify.Event
	for _, f := range r.Findings {
		e := notify.Event{Kind: string(f.Result), Gate: r.Gate, Subject: subject, Summary: f.Reason, Command: f.Next,
			Severity: f.Result.severity(), Changes: []notify.Change{{ID: string(f.Result), Text: f.Reason}}}
		if len(f.Items) > 0 {
			e.Changes = nil
			for _, item := range f.Items {
				e.Changes = append(e.Changes, notify.Change{ID: item.ID, Text: item.Text})
			}
		}
		switch f.Result {
		case Stale, Unknown, Unreachable:
			continue // each unit has a notice of its own
		case Drifted, Diverged, Rejected:
			e.Kind, e.Fingerprint, e.Changes = kindDrift, r.Fingerprint, changeList(r.Changes)
			if f.Result != Drifted {
				// Not a change of a file, but something that the drift's readers have not been told.
				e.Changes = append(e.Changes, notify.Change{ID: string(f.Result) + "/" + r.Fingerprint, Text: string(f.Result) + ": " + f.Reason})
			}
		case Behind:
			if r.curable(f.Result) && now.Sub(held) <= interval {
				continue
			}
			e.Changes = changeList(r.Changes)
		case Error:
			e.Changes[0].Text = f.Reason
		case Unpublished, InFlux:
			if r.curable(f.Result) && now.Sub(held) <= interval {
				continue
			}
		}
		list = append(list, e)
	}
	return list
}

// over reports whether a notice of the kind, which the report no longer has, may be closed. What was found by
// comparing is only over when there was a comparison without it.
func over(kind Result, r *Report) bool {
	switch {
	case r.Complete():
		return true
	case kind == Error, kind == BrokenPolicy, kind == LogRewound, kind == Unfollowed: // known whatever is published
		return r.Result != Error
	case kind == Missing, kind == Replayed, kind == Overdue, kind == OtherPolicy:
		return r.Tree != "" && !r.Has(Replayed)
	default:
		return false
	}
}

// closing says in a few words how a notice ended.
func closing(r *Report) string {
	if r.Files() == InSync {
		return "in sync again: the live files are as accepted"
	}
	return fmt.Sprintf("over; the gate is now %s", r.Result)
}

func changeList(changes []manifest.Change) []notify.Change {
	list := make([]notify.Change, len(changes))
	for i := range changes {
		list[i] = notify.Change{ID: changes[i].ID(), Text: ChangeText(&changes[i])}
	}
	return list
}

// detail is the diff as a notice shows it. A notice shows the beginning and counts the rest; how much work that is must
// not be for an agent to choose.
func (w *Warden) detail(g Gate, r *Report) []string {
	const most = 100
	if r.Accepted == "" || r.Has(Mismatch) {
		return nil // all of it is new, which is to be reviewed and not skimmed; or nothing of it is staged
	}
	var lines []string
	first := *r
	if len(r.Changes) > most {
		first.Changes = r.Changes[:most]
		lines = append(lines, fmt.Sprintf("(of the first %d of %d changes)", most, len(r.Changes)))
	}
	diffs, err := w.Diff(g, &first)
	if err != nil {
		return []string{fmt.Sprintf("no diff: %v", err)}
	}
	for _, d := range diffs {
		lines = append(lines, d.Lines[1:]...) // the first says what the notice's list of changes says
	}
	return lines
}

// deliver sends what is pending and drops what is staged for nothing.
func (w *Warden) deliver(ctx context.Context, pass *Pass, gates []Gate) error {
	now := w.Now()
	var held []string
	for _, g := range gates {
		if s, err := w.loadState(g.Name); err == nil && s.paused(now) {
			held = append(held, g.Name)
		}
	}
	var err error
	pass.Delivery, err = w.Outbox.Deliver(ctx, w.Now, func(gate string) bool { return slices.Contains(held, gate) })
	if err != nil {
		return err
	}
	return w.prune()
}

// short makes a multi-line error one line.
func short(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
