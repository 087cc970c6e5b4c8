// Package notify says a thing once.
//
// Callers report, as often as they look, what is open (Outbox.Report) and what is over (Outbox.Clear). Deliver then
// tells every sink what that sink has not been told, in one message for each sink and run:
//
//   - plan: what a report changes in the record of its subject, a pure function;
//   - news: what a record holds that a sink has not heard, a pure function of the record and the revision that the sink
//     was last told;
//   - deliver: write down the attempt, send, write down the result.
//
// There is one record, a file in Outbox.Dir, for each subject and episode; its id is kind/gate/subject/episode. An
// episode lasts from the report that opens a subject to Clear; when the subject opens again, the next one begins.
// Within an episode each report that changes something is a revision, and each change knows the revision in which it
// came. So a sink's whole memory is one number, and merging what is unsent, dropping what went away and announcing what
// came back need no rules of their own: A, then B, then A again announces A twice. A set that shrinks announces nothing.
// Where the caller names no changes, its fingerprint is the one change.
//
// The promise is "at least once, once in practice". Before each attempt the whole message is written to a file of the
// sink's, so a crash leaves a doubt and never a loss. A sink that can look (Finder) is asked; a doubt that stays is sent
// again word for word under the ids that it had, next to what has come since. Ids: record#revision for a notice; n-… for
// a message, which is a digest of the host and its notices and therefore the same when the same is sent again.
//
// Decisions where the design is silent:
//
//   - A sink that is added later is told what is open then, and nothing of what is over.
//   - A pause holds messages back and nothing else. What opened and was cleared meanwhile is told afterwards, in one
//     notice that says both; so is what could not be sent while it was open. A message that was on its way when the
//     pause began may still be repeated.
//   - More than 20 announcements of one subject in an hour are flapping: one notice an hour says so, and when the
//     subject is calm again what stands then is announced. Nothing is lost meanwhile but the single steps: an episode that
//     ends while its subject flaps, and is not the last one, is told to nobody.
//   - What the receiver calls our fault (4xx but 408, 425 and 429; Slack's own errors but those that pass) is tried
//     once a run and reported as Permanent.
//   - A record is removed when everybody has heard that it is over; the newest of a subject stays, for its number. So a
//     subject should be a lasting name: what varies belongs into Fingerprint or Changes. Of one that is over, only as many
//     changes are kept as a notice shows: whoever makes many of them must not fill the disk, or what reads all records.
//   - A record whose checksum does not match is set aside under .corrupt-…, and each run warns of it until somebody
//     deletes it. Its subject opens anew, under the next number.
//
// All text of an event is quoted when it comes in (quote.go), so that no sink sees a control character.
//
// notify knows durable. It does not know what a gate or a drift is.
package notify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse/internal/durable"
)

// An Event says that a subject is open, with exactly these changes.
type Event struct {
	Kind    string `json:"kind"` // Kind, Gate and Subject are names: see checkNames
	Gate    string `json:"gate"`
	Subject string `json:"subject"`
	// Severity orders notices, higher is worse. In the journal 10 and more is critical, from 8 on an error, less a
	// warning.
	Severity    int      `json:"severity"`
	Title       string   `json:"title,omitempty"` // for what is not best named by its gate and kind
	Fingerprint string   `json:"fingerprint,omitempty"`
	Summary     string   `json:"summary"`
	Changes     []Change `json:"changes"`
	Detail      []string `json:"detail,omitempty"` // lines, such as a diff; the first 200 are kept
	DetailTotal int      `json:"detail_total,omitempty"`
	Command     string   `json:"command,omitempty"` // what a person runs next, shown whole
}

// A Change is one thing that is not as it should be. Its ID is the same as long as the thing is.
type Change struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// An Outbox keeps what is to be said, and to whom, in a directory that only root can read. Processes that share the
// directory wait for each other.
type Outbox struct {
	Dir   string
	Disk  durable.Disk
	Host  string
	Sinks []Sink // with different names
	// Later names sinks that another process serves, with an Outbox of its own over this directory: what they are owed is
	// noted, and nothing is sent to them.
	Later []string
}

// Report records that the subject of e is open with exactly the changes of e. It writes nothing if that is known.
func (o *Outbox) Report(e Event, now time.Time) error {
	e, err := e.clean()
	if err != nil {
		return err
	}
	return o.soon(func() error {
		last, err := o.last(e.Kind, e.Gate, e.Subject)
		if err != nil {
			return err
		}
		next, reason := plan(last, e, stamp(now))
		if reason == unchanged {
			return nil
		}
		next.owe(o.sinkNames(), stamp(now))
		return o.save(next)
	})
}

// Clear records that the subject is no longer open, and why. It does nothing if the subject was not open.
func (o *Outbox) Clear(kind, gate, subject, why string, now time.Time) error {
	if err := checkNames(kind, gate, subject); err != nil {
		return err
	}
	return o.soon(func() error {
		last, err := o.last(kind, gate, subject)
		if err != nil || last == nil || last.cleared() {
			return err
		}
		next := last.clear(cut(quote(why), maxText), stamp(now))
		next.owe(o.sinkNames(), stamp(now))
		return o.save(next)
	})
}

// Open lists the open records of a gate, or of all gates if gate is empty. Records that cannot be read are left out and
// named in the error.
func (o *Outbox) Open(gate string) ([]Record, error) {
	var open []Record
	records, err := o.readable()
	for _, r := range records {
		if !r.cleared() && (gate == "" || gate == r.Gate) {
			open = append(open, *r)
		}
	}
	return open, err
}

// A Pending notice is one that a sink has not been sent.
type Pending struct {
	Sink   string    `json:"sink"`
	Record string    `json:"record"` // id
	Gate   string    `json:"gate"`
	Since  time.Time `json:"since"`
	Error  string    `json:"error,omitempty"` // of the last attempt
}

// Pending lists what has not been sent, also what is held back by a pause. Records that cannot be read are left out
// and named in the error.
func (o *Outbox) Pending() ([]Pending, error) {
	var pending []Pending
	records, err := o.readable()
	for _, sink := range o.sinkNames() {
		state, unread := o.outgoing(sink)
		err = errors.Join(err, unread)
		for _, r := range records {
			if since, ok := r.pending(sink); ok {
				pending = append(pending, Pending{sink, r.ID(), r.Gate, since, state.Error})
			}
		}
	}
	return pending, err
}

// Limits of what a record keeps and a notice carries.
const (
	maxID      = 200 // bytes of kind, gate and subject
	maxText    = 300 // bytes of a line
	maxDetail  = 200 // lines
	maxChanges = 500 // in a notice; a record keeps all
)

// clean returns e with its texts quoted and capped, and each change once.
func (e Event) clean() (Event, error) {
	if err := checkNames(e.Kind, e.Gate, e.Subject); err != nil {
		return e, err
	}
	e.Title, e.Summary, e.Command = cut(quote(e.Title), maxText), cut(quote(e.Summary), maxText), quote(e.Command)
	e.Fingerprint = cut(quote(e.Fingerprint), maxText)
	given := e.Changes
	if len(given) == 0 {
		given = []Change{{ID: "fingerprint " + e.Fingerprint}}
	}
	e.Changes = make([]Change, 0, len(given))
	seen := make(map[string]bool, len(given))
	for _, c := range given {
		if c.ID == "" {
			return e, fmt.Errorf("notice of gate %s: the change %q has no id", e.Gate, c.Text)
		}
		if c.ID[0] == '"' || quote(c.ID) != c.ID { // different ids stay different
			c.ID = strconv.Quote(c.ID)
		}
		if !seen[c.ID] {
			seen[c.ID] = true
			e.Changes = append(e.Changes, Change{c.ID, cut(quote(c.Text), maxText)})
		}
	}
	e.DetailTotal = max(e.DetailTotal, len(e.Detail))
	var detail []string
	for _, line := range e.Detail[:min(len(e.Detail), maxDetail)] {
		detail = append(detail, cut(quote(strings.ReplaceAll(line, "\t", "    ")), maxText))
	}
	e.Detail = detail
	return e, nil
}

// checkNames refuses what could not be a file name, or would make an id ambiguous.
func checkNames(names ...string) error {
	id := strings.Join(names, "/")
	strange := strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && !strings.ContainsRune(`0123456789._-:@\/`, r)
	})
	if strange || len(id) > maxID || strings.Count(id, "/") != len(names)-1 || slices.Contains(names, "") || id[0] == '.' {
		return fmt.Errorf("notice of %q: kind, gate and subject are of letters, digits and ._-:@\\, do not begin with a "+
			"dot, and have at most %d bytes in all", id, maxID)
	}
	return nil
}

func (o *Outbox) sinkNames() []string {
	names := make([]string, len(o.Sinks), len(o.Sinks)+len(o.Later))
	for i, s := range o.Sinks {
		names[i] = s.Name()
	}
	return append(names, o.Later...)
}

// soon runs change under the lock of the directory. It waits longer than a delivery takes.
func (o *Outbox) soon(change func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return o.locked(ctx, change)
}

func (o *Outbox) locked(ctx context.Context, change func() error) (err error) {
	if err := o.Disk.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	lock, err := durable.AcquireLock(ctx, filepath.Join(o.Dir, ".lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return change()
}

// stamp is a time as it comes back from a file.
func stamp(t time.Time) time.Time { return t.UTC().Round(0) }
