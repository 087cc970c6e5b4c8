package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Delivery says what became of a run.
type Delivery struct {
	Sinks    []SinkResult `json:"sinks"`
	Warnings []string     `json:"warnings,omitempty"`
}

// A SinkResult says what one sink got. Sent and Pending count notices; those of paused gates are not among them.
type SinkResult struct {
	Sink      string    `json:"sink"`
	Sent      int       `json:"sent"`
	Pending   int       `json:"pending"`
	Error     string    `json:"error,omitempty"`     // of the last attempt, if it failed
	Permanent bool      `json:"permanent,omitempty"` // somebody has to change something
	RetryAt   time.Time `json:"retry_at,omitzero"`   // the receiver asked to be left alone until then
}

// Limits of one run and sink.
const (
	sendTimeout = 15 * time.Second // of one attempt, for sinks that have no limit of their own
	maxTries    = 4
	firstWait   = 500 * time.Millisecond // between attempts, doubled each time
	longestWait = 10 * time.Second       // that a receiver may ask for within a run
	budget      = 25 * time.Second       // after which no further attempt begins
	maxPause    = 6 * time.Hour          // that a receiver may ask for at all
)

// Deliver sends each sink what it has not been told, in one message; gates for which hold is true are left out. It
// retries for a short while; what is pending then waits for the next run. A sink that fails keeps no other waiting:
// attempts take turns. The error is about the outbox itself; what befell the sinks is in the Delivery.
func (o *Outbox) Deliver(ctx context.Context, now func() time.Time, hold func(gate string) bool) (Delivery, error) {
	r := &run{Outbox: o, hold: hold, now: func() time.Time { return stamp(now()) }, start: time.Now()}
	err := o.locked(ctx, func() error {
		if err := r.load(); err != nil {
			return err
		}
		return errors.Join(r.deliver(ctx), o.prune(r.records, r.newest, r.now()))
	})
	return r.delivery, err
}

type run struct {
	*Outbox
	now      func() time.Time
	hold     func(gate string) bool
	start    time.Time
	records  []*Record          // worst first
	newest   map[string]*Record // of each subject
	delivery Delivery
}

func (r *run) load() (err error) {
	if r.delivery.Warnings, err = r.mend(); err != nil {
		return err
	}
	if r.records, err = r.read(); err != nil {
		return err
	}
	r.newest = make(map[string]*Record)
	for _, rec := range r.records {
		if newest := r.newest[rec.key()]; newest == nil || rec.Episode > newest.Episode {
			r.newest[rec.key()] = rec
		}
	}
	return nil
}

// A turn is one sink's place in the queue.
type turn struct {
	sink  Sink
	tries int
	due   time.Time
	SinkResult
}

func (r *run) deliver(ctx context.Context) error {
	var all, queue []*turn
	for _, sink := range r.Sinks {
		t := &turn{sink: sink, SinkResult: SinkResult{Sink: sink.Name()}}
		if slices.ContainsFunc(all, func(other *turn) bool { return other.Sink == t.Sink }) {
			return fmt.Errorf("two notice sinks are named %q: give them different names", t.Sink)
		}
		all = append(all, t)
		for _, p := range r.parts(t.Sink) {
			t.Pending += len(p.notices)
		}
		t.RetryAt, t.Error = r.pausedUntil(t.Sink)
		if t.RetryAt.IsZero() {
			queue = append(queue, t)
		}
	}
	var errs []error
	for len(queue) > 0 {
		t := slices.MinFunc(queue, func(a, b *turn) int { return a.due.Compare(b.due) })
		if !sleep(ctx, time.Until(t.due)) {
			break
		}
		wait, err := r.attempt(ctx, t)
		if t.due = time.Now().Add(wait); wait == 0 || t.due.Sub(r.start) > budget {
			queue = slices.DeleteFunc(queue, func(other *turn) bool { return other == t })
		}
		errs = append(errs, err)
	}
	for _, t := range queue {
		t.Error = cmp.Or(t.Error, "there was no time left to send")
	}
	for _, t := range all {
		r.delivery.Sinks = append(r.delivery.Sinks, t.SinkResult)
	}
	return errors.Join(errs...)
}

// attempt tries once to bring a sink up to date. It returns how long to wait before the next attempt, 0 for none in
// this run.
func (r *run) attempt(ctx context.Context, t *turn) (time.Duration, error) {
	t.tries++
	if err := r.settle(ctx, t); err != nil {
		return 0, err
	}
	parts := r.parts(t.Sink)
	if len(parts) == 0 {
		t.SinkResult = SinkResult{Sink: t.Sink, Sent: t.Sent}
		return 0, nil
	}
	m := r.message(parts)
	t.Pending = len(m.Notices)
	err := r.update(t.Sink, parts, func(s SinkState, p part) SinkState {
		s.Doubt = &Doubt{Message: m.ID, Since: m.At, Notices: p.notices}
		return s
	})
	if err != nil {
		return 0, err // nothing is sent that is not on record
	}
	sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
	err = t.sink.Send(sendCtx, m)
	cancel()
	if err == nil {
		t.SinkResult = SinkResult{Sink: t.Sink, Sent: t.Sent + len(m.Notices)}
		return 0, r.update(t.Sink, parts, func(s SinkState, p part) SinkState { return s.told(p.notices, r.now()) })
	}
	fault := judge(err)
	t.Error, t.Permanent, t.RetryAt = cut(quote(fault.Error()), maxText), fault.Permanent, time.Time{}
	if fault.RetryAfter > 0 {
		t.RetryAt = r.now().Add(min(fault.RetryAfter, maxPause))
	}
	err = r.update(t.Sink, parts, func(s SinkState, p part) SinkState {
		s.Attempts, s.Error, s.NotBefore = s.Attempts+1, t.Error, t.RetryAt
		if fault.Refused {
			s.Doubt = p.doubt
		}
		return s
	})
	wait := firstWait << (t.tries - 1)
	if fault.RetryAfter > 0 {
		wait = fault.RetryAfter
	}
	if err != nil || fault.Permanent || t.tries == maxTries || wait > longestWait {
		return 0, err
	}
	return wait, nil
}

// settle asks a sink that can look for the messages of which the outcome is unknown. Those that arrived count as
// sent; those that did not are forgotten, so that their notices are made afresh. Where the sink cannot tell, the
// doubt stays.
func (r *run) settle(ctx context.Context, t *turn) error {
	finder, ok := t.sink.(Finder)
	if !ok {
		return nil
	}
	answers := make(map[string]answer)
	var errs []error
	for _, rec := range r.records {
		doubt := rec.Sinks[t.Sink].Doubt
		if doubt == nil {
			continue
		}
		outcome, asked := answers[doubt.Message]
		if !asked {
			outcome = r.ask(ctx, t, finder, doubt)
			answers[doubt.Message] = outcome
		}
		if outcome == unknown {
			continue
		}
		errs = append(errs, r.update(t.Sink, []part{{record: rec}}, func(s SinkState, _ part) SinkState {
			if outcome == lost {
				s.Doubt = nil
				return s
			}
			t.Sent += len(doubt.Notices)
			return s.told(doubt.Notices, r.now())
		}))
	}
	return errors.Join(errs...)
}

// An answer says what became of a message.
type answer int

const (
	unknown answer = iota
	lost
	arrived
)

func (r *run) ask(ctx context.Context, t *turn, finder Finder, d *Doubt) answer {
	since := d.Since
	if now := r.now(); now.Before(since) { // the clock was set back
		since = now
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	found, err := finder.Find(ctx, d.Message, since)
	switch {
	case err != nil:
		r.delivery.Warnings = append(r.delivery.Warnings, fmt.Sprintf("%s: cannot tell whether message %s arrived, so it "+
			"is sent again under the same id: %s", t.Sink, d.Message, cut(quote(err.Error()), maxText)))
		return unknown
	case found:
		return arrived
	default:
		return lost
	}
}

// A part is what one record contributes to a message.
type part struct {
	record  *Record
	notices []Notice
	doubt   *Doubt // of earlier attempts
}

// parts collects what a sink is owed now, worst first.
func (r *run) parts(sink string) []part {
	var parts []part
	for _, rec := range r.records {
		s, ok := rec.sink(sink)
		if !ok || r.hold != nil && r.hold(rec.Gate) {
			continue
		}
		notices := rec.owed(s)
		newest := r.newest[rec.key()]
		if _, held := newest.flaps(r.now()); held {
			notices = nil
			if rec == newest {
				notices = rec.flapping(s, r.now())
			}
		}
		if len(notices) > 0 {
			parts = append(parts, part{rec, notices, s.Doubt})
		}
	}
	return parts
}

// message puts the parts together. Where it is an earlier message again, it says the same down to its time.
func (r *run) message(parts []part) Message {
	var notices []Notice
	for _, p := range parts {
		notices = append(notices, p.notices...)
	}
	m := newMessage(r.Host, notices)
	m.At = r.now()
	for _, p := range parts {
		if p.doubt != nil && p.doubt.Message == m.ID {
			m.At = p.doubt.Since
		}
	}
	return m
}

// update changes what the records of the parts hold about a sink, and saves those that change.
func (r *run) update(sink string, parts []part, change func(SinkState, part) SinkState) error {
	var errs []error
	for _, p := range parts {
		p.record.Sinks[sink] = change(p.record.Sinks[sink], p)
		errs = append(errs, r.save(p.record))
	}
	return errors.Join(errs...)
}

// pausedUntil returns until when the receiver of a sink asked to be left alone, or the zero time, and the last error.
// What lies too far ahead was written before the clock was set back.
func (r *run) pausedUntil(sink string) (until time.Time, failure string) {
	for _, rec := range r.records {
		s := rec.Sinks[sink]
		if s.NotBefore.After(r.now()) && s.NotBefore.Sub(r.now()) <= maxPause && s.NotBefore.After(until) {
			until, failure = s.NotBefore, s.Error
		}
	}
	return until, failure
}

// sleep waits, and reports whether ctx allows to go on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
