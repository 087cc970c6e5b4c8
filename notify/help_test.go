package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"gatehouse/internal/durable"
)

// t0 is when the tests begin.
func t0() time.Time { return time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) }

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// drift is an event with one change for each letter.
func drift(letters string) Event {
	e := Event{Kind: "drift", Gate: "claude", Subject: "live", Severity: 8, Fingerprint: fmt.Sprintf("%064x", letters),
		Summary: "live files differ from what was accepted", Command: "warden accept d-" + letters}
	for _, c := range letters {
		e.Changes = append(e.Changes, Change{ID: string(c), Text: "content policy/" + string(c)})
	}
	return e
}

// A mailbox is a sink. It takes a message, or does what fault says about the nth attempt.
type mailbox struct {
	name     string
	fault    func(n int) (taken bool, err error)
	attempts int
	got      []Message
}

func (m *mailbox) Name() string { return m.name }

func (m *mailbox) Send(_ context.Context, message Message) error {
	m.attempts++
	taken, err := true, error(nil)
	if m.fault != nil {
		taken, err = m.fault(m.attempts)
	}
	if taken {
		m.got = append(m.got, message)
	}
	return err
}

// says lists what arrived as "state:changes", a message after another.
func (m *mailbox) says() []string {
	var list []string
	for _, message := range m.got {
		for _, n := range message.Notices {
			text := string(n.State) + ":"
			for _, c := range n.Changes {
				text += c.ID
			}
			list = append(list, text)
		}
	}
	return list
}

// A searchable mailbox can be asked what arrived.
type searchable struct {
	mailbox
	asked int
}

func (s *searchable) Find(_ context.Context, id string, _ time.Time) (bool, error) {
	s.asked++
	return slices.ContainsFunc(s.got, func(m Message) bool { return m.ID == id }), nil
}

// scratch is a directory that is gone after the test, in memory where there is such: flushing to disk takes long.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "notify-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func outbox(t *testing.T, sinks ...Sink) *Outbox {
	return &Outbox{Dir: scratch(t) + "/notices", Host: "agent-1", Sinks: sinks}
}

func report(t *testing.T, o *Outbox, e Event, now time.Time) {
	t.Helper()
	if err := o.Report(e, now); err != nil {
		t.Fatal(err)
	}
}

func deliver(t *testing.T, o *Outbox, now time.Time) Delivery {
	t.Helper()
	d, err := o.Deliver(t.Context(), at(now), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func clearSubject(t *testing.T, o *Outbox, now time.Time) {
	t.Helper()
	if err := o.Clear("drift", "claude", "live", "accepted", now); err != nil {
		t.Fatal(err)
	}
}

// counting returns a disk that counts its steps.
func counting(steps *int) durable.Disk {
	return durable.Disk{Around: func(_ durable.Step, change func() error) error {
		*steps++
		return change()
	}}
}

var errInjected = errors.New("injected")
