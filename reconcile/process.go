package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"gatehouse/manifest"
	"gatehouse/notify"
)

// A Process is how a service that holds live files in its memory stands against the disk.
type Process struct {
	Unit       string    `json:"unit"`
	Scope      string    `json:"scope"`                // system or user
	Verdict    Verdict   `json:"verdict"`              // the zero value is Unproven
	Reason     string    `json:"reason"`               // a sentence for a person
	Evidence   string    `json:"evidence,omitempty"`   // what decided: record, snapshot or clocks
	Since      time.Time `json:"since,omitzero"`       // start of the process
	Invocation string    `json:"invocation,omitempty"` // systemd's id of this activation
	PID        int       `json:"pid,omitempty"`
	Run        string    `json:"run,omitempty"`    // a new one is a restart
	Newest     string    `json:"newest,omitempty"` // the newest of its files, as a path in the manifest
	By         string    `json:"by,omitempty"`     // how much newer than the start, as a duration; negative for older
	Fix        string    `json:"fix,omitempty"`    // the command that helps
	Fault      bool      `json:"fault,omitempty"`  // the manager of the unit could not be asked
	Waits      bool      `json:"waits,omitempty"`  // a restart would help, once what is on disk is accepted
	Disk       string    `json:"-"`                // where there is a fix: the tree of the live files that it was judged by
}

// A Verdict compares what a process loaded with what is on disk.
type Verdict string

// The verdicts.
const (
	Loaded     Verdict = "loaded"
	StaleCode  Verdict = "stale"
	Unproven   Verdict = "unknown"
	NotRunning Verdict = "not-running"
)

// result is the result of a gate that a process leads to, InSync for none.
func (p *Process) result() Result {
	switch {
	case p.Verdict == Loaded, p.Verdict == NotRunning:
		return InSync
	case p.Verdict == StaleCode:
		return Stale
	case p.Fault:
		return Unreachable
	default:
		return Unknown
	}
}

// WorstProcess returns the worst result that processes lead to, InSync for none.
func WorstProcess(processes []Process) Result {
	worst := InSync
	for i := range processes {
		if r := processes[i].result(); r.rank() < worst.rank() {
			worst = r
		}
	}
	return worst
}

// Memory looks at the processes of a gate now, outside a pass.
func (w *Warden) Memory(ctx context.Context, g Gate) (list []Process, err error) {
	if w.Processes == nil {
		return nil, nil
	}
	err = w.locked(ctx, func() error {
		accepted, err := w.AcceptedTree(g)
		if err != nil {
			return err
		}
		list = w.Processes(ctx, g, nil)
		advise(list, accepted)
		return ctx.Err()
	})
	return list, err
}

// subject names the unit for notices, which are files: what is too long for the name of one ends in its digest.
func (p *Process) subject() string {
	name := p.Unit
	if p.Scope == "user" {
		name += ":user"
	}
	const most, kept, digits = 120, 100, 16
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:kept] + "-" + hex.EncodeToString(sum[:])[:digits]
}

// judgeProcesses adds to the report how the processes of the gate stand.
func (w *Warden) judgeProcesses(ctx context.Context, g Gate, seen *manifest.Snapshot, r *Report) {
	if w.Processes == nil {
		return
	}
	r.Processes = w.Processes(ctx, g, seen)
	advise(r.Processes, r.Accepted)
	for i := range r.Processes {
		if p := &r.Processes[i]; p.result() != InSync {
			r.add(p.result(), p.Unit+": "+p.Reason, p.Fix)
		}
	}
	r.settle()
}

// advise takes back the advice to restart a process where the files that it was judged by are not those that were
// accepted: a restart would load them. It goes by that look and no other, since the files may change between two.
func advise(processes []Process, accepted string) {
	for i := range processes {
		if p := &processes[i]; p.Fix != "" && (p.Disk != accepted || accepted == "") {
			p.Fix = ""
			p.Reason += "; settle the files on disk first, a restart would load what nobody accepted"
			p.Waits = true
		}
	}
}

// unreached returns since when the manager of each unit has not answered.
func unreached(before map[string]time.Time, processes []Process, now time.Time) map[string]time.Time {
	after := make(map[string]time.Time)
	for _, p := range processes {
		if p.result() != Unreachable {
			continue
		}
		after[p.subject()] = now
		if since, ok := before[p.subject()]; ok {
			after[p.subject()] = since
		}
	}
	return after
}

// processEvents says which processes are worth a notice: one for each run of a stale or undecided unit. It is a pure
// function. What a restart cures waits until the disk is as accepted; a manager that does not answer is worth a notice
// when that outlasts an interval.
func processEvents(r *Report, silent map[string]time.Time, interval time.Duration, now time.Time) []notify.Event {
	var list []notify.Event
	for _, p := range r.Processes {
		result := p.result()
		id := string(result) + "/" + p.Run
		switch {
		case result == InSync, p.Waits:
			continue
		case result == Unreachable:
			if now.Sub(silent[p.subject()]) <= interval {
				continue
			}
			id = string(result)
		}
		summary := p.Unit + ": " + p.Reason
		title := ""
		if result == Unknown {
			title = fmt.Sprintf("gate %s: what %s has loaded is unknown", r.Gate, p.Unit)
		}
		list = append(list, notify.Event{Kind: string(result), Gate: r.Gate, Subject: p.subject(), Title: title,
			Severity: result.severity(), Summary: summary, Command: p.Fix,
			Changes: []notify.Change{{ID: id, Text: summary}}})
	}
	return list
}

// processNotices tells the outbox how the processes of a gate stand. What is open is closed only by a verdict that
// decides: that nothing can be said now is no news of what was said before.
func (w *Warden) processNotices(s *state, r *Report, interval time.Duration, now time.Time) error {
	open, _ := w.Outbox.Open(r.Gate) // a record that cannot be read is set aside, and named, by the delivery
	isOpen := func(kind Result, subject string) bool {
		return slices.ContainsFunc(open, func(o notify.Record) bool { return o.Kind == string(kind) && o.Subject == subject })
	}
	for _, e := range processEvents(r, s.Silent, interval, now) {
		if e.Kind != string(Stale) && isOpen(Stale, e.Subject) {
			continue
		}
		if err := w.Outbox.Report(e, now); err != nil {
			return err
		}
	}
	for _, record := range open {
		why := w.closeProcess(record, r)
		if why == "" {
			continue
		}
		if err := w.Outbox.Clear(record.Kind, record.Gate, record.Subject, why, now); err != nil {
			return err
		}
	}
	return nil
}

// closeProcess says why a notice of a process is over, empty if it is not.
func (w *Warden) closeProcess(record notify.Record, r *Report) string {
	switch Result(record.Kind) {
	case Stale, Unknown, Unreachable:
	default:
		return ""
	}
	if record.Subject == subject || w.Processes == nil {
		return ""
	}
	i := slices.IndexFunc(r.Processes, func(p Process) bool { return p.subject() == record.Subject })
	if i < 0 {
		if r.Result == Error {
			return "" // nobody looked
		}
		return "the configuration no longer names the unit"
	}
	p := &r.Processes[i]
	switch {
	case p.Verdict == Loaded:
		return fmt.Sprintf("%s has loaded what is on disk", p.Unit)
	case p.Verdict == NotRunning:
		return fmt.Sprintf("%s is not running", p.Unit)
	case p.Verdict == StaleCode && record.Kind != string(Stale):
		return fmt.Sprintf("%s is now known to be stale", p.Unit)
	case record.Kind == string(Unreachable) && !p.Fault:
		return "the service manager answers again"
	}
	return ""
}
