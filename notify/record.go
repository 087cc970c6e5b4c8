package notify

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// A Record is one episode of one subject, and who has been told what of it.
type Record struct {
	Event       // as last reported
	Episode int `json:"episode"`
	// Revision counts the reports that changed something, Clear included. Introduced holds, for each of Changes, the
	// revision in which it came: it is new to every sink that was last told an earlier one.
	Revision   int       `json:"revision"`
	Introduced []int     `json:"introduced"`
	Dropped    int       `json:"dropped,omitempty"` // changes that are not kept since it is over
	OpenedAt   time.Time `json:"opened_at"`
	ClearedAt  time.Time `json:"cleared_at,omitzero"`
	Why        string    `json:"why,omitempty"` // it was cleared
	// Recent holds when there was something new to say about the subject in the last hour, earlier episodes included.
	Recent []time.Time          `json:"recent"`
	Sinks  map[string]SinkState `json:"sinks"`
}

// A SinkState is what one sink has been told of a record.
type SinkState struct {
	Revision   int       `json:"revision"` // the last one that it was told, 0 for none
	SentAt     time.Time `json:"sent_at,omitzero"`
	Since      time.Time `json:"since,omitzero"`       // when what is now pending became so
	FlappingAt time.Time `json:"flapping_at,omitzero"` // when it was last told that the subject flaps
}

// ID names the record: kind/gate/subject/episode.
func (r *Record) ID() string { return fmt.Sprintf("%s/%d", r.subject(), r.Episode) }

func (r *Record) subject() string { return r.Kind + "/" + r.Gate + "/" + r.Subject }

func (r *Record) cleared() bool { return !r.ClearedAt.IsZero() }

// A reason says what a report did to a record.
type reason string

const (
	unchanged reason = "" // nothing is written
	opened    reason = "opened"
	grew      reason = "has new changes"
	revised   reason = "nothing new to say" // changes went away, or are described in other words
)

// plan says what the record of the subject becomes by e. last is its newest record, or nil.
func plan(last *Record, e Event, now time.Time) (*Record, reason) {
	if last == nil || last.cleared() {
		next := &Record{Event: e, Episode: 1, Revision: 1, OpenedAt: now, Sinks: make(map[string]SinkState)}
		next.Introduced = slices.Repeat([]int{1}, len(e.Changes))
		if last != nil {
			next.Episode = last.Episode + 1
			next.Recent = last.Recent
			for name, s := range last.Sinks {
				next.Sinks[name] = SinkState{FlappingAt: s.FlappingAt}
			}
		}
		next.announce(now)
		return next, opened
	}
	next, reason := last.revise(), revised
	next.Event = e
	next.Introduced = make([]int, len(e.Changes))
	known := make(map[string]int, len(last.Changes))
	for i, c := range last.Changes {
		known[c.ID] = last.Introduced[i]
	}
	for i, c := range e.Changes {
		revision, ok := known[c.ID]
		if !ok {
			revision, reason = next.Revision, grew
		}
		next.Introduced[i] = revision
	}
	if reason == grew {
		next.announce(now)
	} else if reflect.DeepEqual(next.Event, last.Event) {
		return last, unchanged
	}
	return next, reason
}

// clear returns the record of the same episode, over. It keeps the changes that were open at the end, the newest first
// where they are more than a notice shows.
func (r *Record) clear(why string, now time.Time) *Record {
	next := r.revise()
	next.ClearedAt, next.Why = now, why
	next.announce(now)
	next.Detail = next.Detail[:min(len(next.Detail), shownDetail)]
	if next.Dropped = len(r.Changes) - shownChanges; next.Dropped <= 0 {
		next.Dropped = 0
		return next
	}
	order := make([]int, len(r.Changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.Introduced[b] - r.Introduced[a] })
	next.Changes, next.Introduced = nil, nil
	for _, i := range order[:shownChanges] {
		next.Changes, next.Introduced = append(next.Changes, r.Changes[i]), append(next.Introduced, r.Introduced[i])
	}
	return next
}

// step reports whether the episode ended while its subject was flapping.
func (r *Record) step() bool { return r.cleared() && r.announcements(r.ClearedAt) > maxAnnouncements }

func (r *Record) revise() *Record {
	next := *r
	next.Sinks = maps.Clone(r.Sinks)
	next.Revision++
	return &next
}

// news is what a sink that was last told the revision told has to be told now. There may be none.
func (r *Record) news(told int) (Notice, bool) {
	if told >= r.Revision {
		return Notice{}, false
	}
	n := r.notice()
	n.Changes = []Change{}
	for i, c := range r.Changes {
		if r.Introduced[i] > told {
			n.Changes = append(n.Changes, c)
		}
	}
	if n.ChangesTotal = len(n.Changes); n.ChangesTotal == len(r.Changes) {
		n.ChangesTotal += r.Dropped // which are no newer than those that are kept
	}
	switch {
	case r.cleared():
		n.State, n.Unannounced, n.Command = Closed, told == 0, ""
		if told > 0 && n.ChangesTotal == 0 {
			n.Detail, n.DetailTotal = nil, 0
		}
	case told == 0:
		n.State = Opened
	case n.ChangesTotal > 0:
		n.State = Changed
	default:
		return Notice{}, false
	}
	n.Changes = n.Changes[:min(len(n.Changes), maxChanges)]
	return n, true
}

func (r *Record) notice() Notice {
	return Notice{ID: fmt.Sprintf("%s#%d", r.ID(), r.Revision), Record: r.ID(), Revision: r.Revision, Event: r.Event,
		Open: len(r.Changes) + r.Dropped, OpenedAt: r.OpenedAt, ClearedAt: r.ClearedAt, Why: r.Why}
}

// sink returns the state of a sink. A sink that the record does not know is only concerned while it is open.
func (r *Record) sink(name string) (s SinkState, concerned bool) {
	s, known := r.Sinks[name]
	return s, known || !r.cleared()
}

// pending reports whether a sink has not been told all, and since when.
func (r *Record) pending(name string) (since time.Time, pending bool) {
	s, concerned := r.sink(name)
	if s.Since.IsZero() { // the record does not know the sink
		s.Since = r.OpenedAt
	}
	_, news := r.news(s.Revision)
	return s.Since, news && concerned
}

// owe notes since when the sinks have something pending. It follows each change of the record.
func (r *Record) owe(sinks []string, now time.Time) {
	for _, name := range sinks {
		s, concerned := r.sink(name)
		if _, news := r.news(s.Revision); !news {
			s.Since = time.Time{}
		} else if s.Since.IsZero() {
			s.Since = now
		}
		if concerned {
			r.Sinks[name] = s
		}
	}
}

// told notes which of the notices, if any, a sink got of this record.
func (r *Record) told(sink string, notices []Notice, now time.Time) (any bool) {
	s := r.Sinks[sink]
	for _, n := range notices {
		if n.Record != r.ID() {
			continue
		}
		any = true
		if s.SentAt = now; n.State == Flapping {
			s.FlappingAt = now
		} else {
			s.Revision = max(s.Revision, n.Revision)
		}
	}
	if any {
		r.Sinks[sink] = s
		r.owe([]string{sink}, now)
	}
	return any
}

// A subject with more announcements than this within the window is flapping.
const (
	maxAnnouncements = 20
	flapWindow       = time.Hour
)

// announce notes that there is something new to say.
func (r *Record) announce(now time.Time) {
	recent := slices.DeleteFunc(slices.Clone(r.Recent), func(t time.Time) bool { return !within(t, now, flapWindow) })
	r.Recent = append(recent, now)
}

// announcements counts those within the window.
func (r *Record) announcements(now time.Time) (n int) {
	for _, t := range r.Recent {
		if within(t, now, flapWindow) {
			n++
		}
	}
	return n
}

// flapping is the notice that stands for all others while the subject flaps.
func (r *Record) flapping(times int) Notice {
	n := r.notice()
	n.State = Flapping
	n.ID += "-flapping" // the notice of what stands then may have the same revision
	n.Changes, n.Detail, n.DetailTotal = []Change{}, nil, 0
	n.Summary = fmt.Sprintf("changed %d times in the last hour; held back until it is calm", times)
	return n
}

// within reports whether t is less than d before now. A time to come is not: the clock was set back.
func within(t, now time.Time, d time.Duration) bool { return !t.After(now) && now.Sub(t) < d }
