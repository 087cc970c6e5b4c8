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
	maxDoubts   = 12                     // failed attempts after which what is in doubt is made afresh
)

// Deliver sends each sink what it has not been told, in one message; gates for which hold is true are left out. It
// retries for a short while; what is pending then waits for the next run. A sink that fails keeps no other waiting:
// attempts take turns. The error is about the outbox itself; what befell the sinks is in the Delivery.
func (o *Outbox) Deliver(ctx context.Context, now func() time.Time, hold func(gate string) bool) (Delivery, error) {
	r := &run{Outbox: o, hold: hold, now: func() time.Time { return stamp(now()) }, start: time.Now()}
	err := o.locked(ctx, func() (err error) {
		if r.records, r.delivery.Warnings, err = o.load(); err != nil {
			return err
		}
		if r.records, err = o.prune(r.records); err != nil {
			return err
		}
		return r.deliver(ctx)
	})
	return r.delivery, err
}

type run struct {
	*Outbox
	now      func() time.Time
	hold     func(gate string) bool
	start    time.Time
	records  []*Record
	delivery Delivery
}

// A turn is one sink's place in the queue.
type turn struct {
	sink  Sink
	state outgoing
	tries int
	due   time.Time
	SinkResult
}

func (r *run) deliver(ctx context.Context) (err error) {
	var all, queue []*turn
	for _, sink := range r.Sinks {
		t := &turn{sink: sink, SinkResult: SinkResult{Sink: sink.Name()}}
		if slices.ContainsFunc(all, func(other *turn) bool { return other.Sink == t.Sink }) {
			return fmt.Errorf("two notice sinks are named %q: give them different names", t.Sink)
		}
		if t.state, err = r.outgoing(t.Sink); err != nil {
			return err
		}
		t.Pending, t.Error = len(r.message(t).Notices), t.state.Error
		// A time that lies too far ahead was written before the clock was set back.
		if wait := t.state.NotBefore.Sub(r.now()); 0 < wait && wait <= maxPause {
			t.RetryAt = t.state.NotBefore
		} else {
			queue = append(queue, t)
		}
		all = append(all, t)
	}
	for len(queue) > 0 {
		t := slices.MinFunc(queue, func(a, b *turn) int { return a.due.Compare(b.due) })
		if !sleep(ctx, time.Until(t.due)) {
			break
		}
		wait, failed := r.attempt(ctx, t)
		err = errors.Join(err, failed)
		if t.due = time.Now().Add(wait); wait == 0 || t.due.Sub(r.start) > budget {
			queue = slices.DeleteFunc(queue, func(other *turn) bool { return other == t })
		}
	}
	for _, t := range queue {
		t.Error = cmp.Or(t.Error, "there was no time left to send")
	}
	for _, t := range all {
		r.delivery.Sinks = append(r.delivery.Sinks, t.SinkResult)
	}
	return err
}

// attempt tries once to bring a sink up to date. It returns how long to wait before the next attempt, 0 for none in
// this run.
func (r *run) attempt(ctx context.Context, t *turn) (time.Duration, error) {
	t.tries++
	if err := r.settle(ctx, t); err != nil {
		return 0, err
	}
	m, doubt := r.message(t), t.state.Doubt
	if t.Pending = len(m.Notices); t.Pending == 0 {
		t.Error = ""
		if t.state == (outgoing{}) {
			return 0, nil
		}
		return 0, r.saveOutgoing(t.Sink, outgoing{}) // what failed is no longer to be said
	}
	t.state.Doubt = &m
	if err := r.saveOutgoing(t.Sink, t.state); err != nil {
		return 0, err // nothing is sent that is not on record
	}
	sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := t.sink.Send(sendCtx, m)
	if err == nil {
		return 0, r.arrived(t)
	}
	fault := judge(err)
	t.Error, t.Permanent, t.RetryAt = cut(quote(fault.Error()), maxText), fault.Permanent, time.Time{}
	wait := firstWait << (t.tries - 1)
	if fault.RetryAfter > 0 {
		wait = min(fault.RetryAfter, maxPause)
		t.RetryAt = r.now().Add(wait)
	}
	t.state.Attempts++
	t.state.Error, t.state.NotBefore = t.Error, t.RetryAt
	switch {
	case t.state.Attempts%maxDoubts == 0:
		t.state.Doubt = nil
	case fault.Refused:
		t.state.Doubt = doubt
	}
	err = r.saveOutgoing(t.Sink, t.state)
	if err != nil || fault.Permanent || t.tries == maxTries || wait > longestWait {
		return 0, err
	}
	return wait, nil
}

// settle asks a sink that can look what became of the message in doubt. If it arrived it counts as sent; if not, its
// notices are made afresh; if the sink cannot tell, it stays in doubt.
func (r *run) settle(ctx context.Context, t *turn) error {
	finder, ok := t.sink.(Finder)
	if !ok || t.state.Doubt == nil {
		return nil
	}
	since := t.state.Doubt.At
	if now := r.now(); now.Before(since) { // the clock was set back
		since = now
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	found, err := finder.Find(ctx, t.state.Doubt.ID, since)
	switch {
	case err != nil:
		r.delivery.Warnings = append(r.delivery.Warnings, fmt.Sprintf("%s: cannot tell whether message %s arrived, so it is "+
			"sent again under the same id: %s", t.Sink, t.state.Doubt.ID, cut(quote(err.Error()), maxText)))
	case found:
		return r.arrived(t)
	default:
		t.state.Doubt = nil
	}
	return nil
}

// arrived notes that a sink got the message that was in doubt.
func (r *run) arrived(t *turn) (err error) {
	notices := t.state.Doubt.Notices
	for _, rec := range r.records {
		if rec.told(t.Sink, notices, r.now()) {
			err = errors.Join(err, r.save(rec))
		}
	}
	t.SinkResult = SinkResult{Sink: t.Sink, Sent: t.Sent + len(notices)}
	t.state = outgoing{}
	if err != nil {
		return err // on disk, the doubt stays
	}
	return r.saveOutgoing(t.Sink, t.state)
}

// message is what a sink is to be sent now: what is in doubt, word for word, and all that it would not know even if
// that arrived. It has no notices if there is nothing to say.
func (r *run) message(t *turn) Message {
	var doubt Message
	if t.state.Doubt != nil {
		doubt = *t.state.Doubt
	}
	told := make(map[string]int)
	for _, n := range doubt.Notices {
		if n.State != Flapping {
			told[n.Record] = max(told[n.Record], n.Revision)
		}
	}
	newest := newestOf(r.records)
	var news []Notice
	for _, rec := range r.records {
		s, concerned := rec.sink(t.Sink)
		if !concerned || r.hold != nil && r.hold(rec.Gate) {
			continue
		}
		if times := newest[rec.subject()].announcements(r.now()); times <= maxAnnouncements {
			if n, ok := rec.news(max(s.Revision, told[rec.ID()])); ok {
				news = append(news, n)
			}
		} else if rec == newest[rec.subject()] && len(doubt.Notices) == 0 && !within(s.FlappingAt, r.now(), flapWindow) {
			news = append(news, rec.flapping(times))
		}
	}
	if len(news) == 0 {
		return doubt
	}
	return newMessage(r.Host, r.now(), slices.Concat(doubt.Notices, news))
}

// sleep waits, and reports whether ctx allows to go on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return ctx.Err() == nil
	}
}
