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
	FlappingAt time.Time `json:"flapping_at,omitzero"` // when it was last told that the subject flaps
	Since      time.Time `json:"since,omitzero"`       // when what is now pending became so
	Doubt      *Doubt    `json:"doubt,omitempty"`
	Attempts   int       `json:"attempts,omitempty"` // that failed, since the last success
	Error      string    `json:"error,omitempty"`    // of the last attempt
	NotBefore  time.Time `json:"not_before,omitzero"`
}

// A Doubt is an attempt that was begun and of which nobody knows whether it arrived.
type Doubt struct {
	Message string    `json:"message"` // id
	Since   time.Time `json:"since"`
	Notices []Notice  `json:"notices"` // as they were sent
}

// ID names the record: kind/gate/subject/episode.
func (r *Record) ID() string {
	return fmt.Sprintf("%s/%s/%s/%d", r.Kind, r.Gate, r.Subject, r.Episode)
}

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
		next.announced(now)
		return next, opened
	}
	next, reason := *last, revised
	next.Event = e
	next.Sinks = maps.Clone(last.Sinks)
	next.Introduced = make([]int, len(e.Changes))
	next.Revision++
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
		next.announced(now)
	} else if reflect.DeepEqual(next.Event, last.Event) {
		return last, unchanged
	}
	return &next, reason
}

// clear returns the record of the same episode, over. It keeps the changes that were open at the end.
func (r *Record) clear(why string, now time.Time) *Record {
	next := *r
	next.Sinks = maps.Clone(r.Sinks)
	next.Revision++
	next.ClearedAt, next.Why = now, why
	next.announced(now)
	return &next
}

// news is what a sink that was last told revision told has to be told now. There may be none.
func (r *Record) news(told int) (Notice, bool) {
	n := r.notice("")
	n.Changes = []Change{}
	for i, c := range r.Changes {
		if r.Introduced[i] > told {
			n.Changes = append(n.Changes, c)
		}
	}
	n.ChangesTotal = len(n.Changes)
	switch {
	case told >= r.Revision:
		return Notice{}, false
	case r.cleared():
		n.State, n.Unannounced, n.Command = Closed, told == 0, ""
		if told > 0 && len(n.Changes) == 0 {
			n.Detail = nil
		}
	case told == 0:
		n.State = Opened
	case len(n.Changes) > 0:
		n.State = Changed
	default:
		return Notice{}, false
	}
	n.Changes = n.Changes[:min(len(n.Changes), maxChanges)]
	return n, true
}

// owed is what a sink has still to be sent: what is in doubt as it was, then the news since.
func (r *Record) owed(s SinkState) []Notice {
	notices, told := s.doubted()
	if n, ok := r.news(told); ok {
		notices = append(notices, n)
	}
	return notices
}

// doubted returns the notices in doubt, and the revision that the sink knows if they arrived.
func (s *SinkState) doubted() ([]Notice, int) {
	const most = 5 // after that many attempts one fresh notice serves better than the old ones
	if s.Doubt == nil || len(s.Doubt.Notices) > most {
		return nil, s.Revision
	}
	return slices.Clone(s.Doubt.Notices), s.after(s.Doubt.Notices)
}

// after is the revision that the sink knows once it got the notices.
func (s *SinkState) after(notices []Notice) int {
	revision := s.Revision
	for _, n := range notices {
		if n.State != Flapping {
			revision = max(revision, n.Revision)
		}
	}
	return revision
}

// told returns the state of a sink that got the notices.
func (s SinkState) told(notices []Notice, now time.Time) SinkState {
	next := SinkState{Revision: s.after(notices), SentAt: now, FlappingAt: s.FlappingAt}
	if slices.ContainsFunc(notices, func(n Notice) bool { return n.State == Flapping }) {
		next.FlappingAt = now
	}
	return next
}

// sink returns the state of a sink. A sink that the record does not know is owed it only while it is open.
func (r *Record) sink(name string) (SinkState, bool) {
	s, known := r.Sinks[name]
	return s, known || !r.cleared()
}

// owe brings the sinks up to date with a new revision: which of them have something pending, and since when.
func (r *Record) owe(sinks []string, now time.Time) {
	for _, name := range sinks {
		s, ok := r.sink(name)
		if !ok {
			continue
		}
		if len(r.owed(s)) == 0 {
			s.Since = time.Time{}
		} else if s.Since.IsZero() {
			s.Since = now
		}
		r.Sinks[name] = s
	}
}

// Flapping: more than maxRecent announcements within flapWindow.
const (
	maxRecent  = 20
	flapWindow = time.Hour
)

func (r *Record) announced(now time.Time) {
	recent := slices.DeleteFunc(slices.Clone(r.Recent), func(t time.Time) bool { return !within(t, now, flapWindow) })
	r.Recent = append(recent, now)
}

// flaps counts the announcements within the window, and reports whether they are too many.
func (r *Record) flaps(now time.Time) (int, bool) {
	n := 0
	for _, t := range r.Recent {
		if within(t, now, flapWindow) {
			n++
		}
	}
	return n, n > maxRecent
}

// flapping is the notice that stands for all others while the subject flaps, if it is due.
func (r *Record) flapping(s SinkState, now time.Time) []Notice {
	if within(s.FlappingAt, now, flapWindow) {
		return nil
	}
	total, _ := r.flaps(now)
	n := r.notice(Flapping)
	n.ID += "-flapping" // the notice of what stands then may have the same revision
	n.Changes, n.Detail = []Change{}, nil
	n.Summary = fmt.Sprintf("changed %d times in the last hour; held back until it is calm", total)
	notices, _ := s.doubted()
	return append(notices, n)
}

// within reports whether t is less than d before now. A time to come is not: the clock was set back.
func within(t, now time.Time, d time.Duration) bool { return !t.After(now) && now.Sub(t) < d }

func (r *Record) notice(state State) Notice {
	return Notice{ID: fmt.Sprintf("%s#%d", r.ID(), r.Revision), State: state, Event: r.Event, Revision: r.Revision,
		Open: len(r.Changes), OpenedAt: r.OpenedAt, ClearedAt: r.ClearedAt, Why: r.Why}
}
