package notify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// later is an error that ends a run's attempts without a wait, and leaves the outcome open.
func later() error { return &SendError{Err: errInjected, RetryAfter: 11 * time.Second} }

func TestADamagedOutgoingMessageIsMadeAfresh(t *testing.T) {
	for name, content := range map[string][]byte{
		"no checksum": []byte("sha256:0\n{"), "no JSON of ours": sealed(t, []byte("[]")),
	} {
		box := &mailbox{name: "box", fault: faults(later())}
		o := outbox(t, box)
		report(t, o, drift("a"), t0())
		deliver(t, o, t0())
		file := o.outgoingFile("box")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if pending, err := o.Pending(); err != nil || len(pending) != 1 {
			t.Errorf("%s: pending: %+v, %v", name, pending, err)
		}
		deliver(t, o, t0())
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) || !cmp.Equal(box.says(), []string{"open:a"}) {
			t.Errorf("%s: sent %q, then the file: %v", name, box.says(), err)
		}
	}
}

func TestWhatNobodyNeedsToHearAnyMoreLeavesNoError(t *testing.T) {
	box := &mailbox{name: "box", fault: func(n int) (bool, error) {
		if n == 2 {
			return false, &SendError{Err: errInjected, Refused: true, Permanent: true}
		}
		return true, nil
	}}
	o := outbox(t, box)
	report(t, o, drift("a"), t0())
	deliver(t, o, t0())
	report(t, o, drift("ab"), t0())
	if d := deliver(t, o, t0()); d.Sinks[0].Error == "" || !d.Sinks[0].Permanent {
		t.Errorf("while it fails: %+v", d.Sinks)
	}
	report(t, o, drift("a"), t0())
	d := deliver(t, o, t0())
	if diff := cmp.Diff([]SinkResult{{Sink: "box"}}, d.Sinks); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(o.outgoingFile("box")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

func TestADoubtIsGivenUpWhenItGrowsOld(t *testing.T) {
	box := &mailbox{name: "box", fault: func(n int) (bool, error) { return false, later() }}
	o := outbox(t, box)
	letters := "abcdefghijklmnop"
	for i := range letters {
		report(t, o, drift(letters[:i+1]), t0().Add(time.Duration(i)*time.Hour))
		deliver(t, o, t0().Add(time.Duration(i)*time.Hour))
	}
	box.fault = nil
	deliver(t, o, t0().AddDate(0, 0, 1))
	want := []string{"open:" + letters[:maxDoubts+1]}
	for _, letter := range letters[maxDoubts+1:] {
		want = append(want, "changed:"+string(letter))
	}
	if diff := cmp.Diff(want, box.says()); diff != "" {
		t.Error(diff)
	}
}

// A dated searcher keeps since when it was asked to look.
type dated struct {
	searchable
	since time.Time
	err   error
}

func (d *dated) Find(ctx context.Context, id string, since time.Time) (bool, error) {
	d.since = since
	found, _ := d.searchable.Find(ctx, id, since)
	return found, d.err
}

func TestASearchBeginsAtTheFirstAttempt(t *testing.T) {
	for _, test := range []struct {
		name      string
		now, want time.Time
	}{
		{"an hour later", t0().Add(time.Hour), t0()},
		{"after the clock was set back", t0().AddDate(-1, 0, 0), t0().AddDate(-1, 0, 0)},
	} {
		box := &dated{searchable: searchable{mailbox: mailbox{name: "box", fault: faults(later())}}}
		o := outbox(t, box)
		report(t, o, drift("a"), t0())
		deliver(t, o, t0())
		deliver(t, o, test.now)
		if box.since != test.want {
			t.Errorf("%s: looked since %v, want %v", test.name, box.since, test.want)
		}
	}
}

func TestWhereASinkCannotTellTheMessageIsRepeatedWithAWarning(t *testing.T) {
	box := &dated{searchable: searchable{mailbox: mailbox{name: "box"}}, err: errors.New("missing_scope\n")}
	box.fault = func(n int) (bool, error) { return true, map[bool]error{true: later()}[n == 1] }
	o := outbox(t, box)
	report(t, o, drift("a"), t0())
	deliver(t, o, t0())
	d := deliver(t, o, t0().Add(time.Hour))
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], `"missing_scope\n"`) {
		t.Errorf("warnings %q", d.Warnings)
	}
	if len(box.got) != 2 || !cmp.Equal(box.got[0], box.got[1]) {
		t.Errorf("got %+v", box.got)
	}
}

func TestWhatAWriteLeftBehindIsRemoved(t *testing.T) {
	o := outbox(t, &mailbox{name: "box"})
	report(t, o, drift("a"), t0())
	left := filepath.Join(o.Dir, ".tmp-123")
	if !durable.IsTemp(filepath.Base(left)) {
		t.Fatal("durable names its files otherwise now")
	}
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	deliver(t, o, t0())
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAPauseDuringFlapping(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	for i := range maxAnnouncements {
		report(t, o, drift("a"), t0().Add(time.Duration(i)*time.Second))
		clearSubject(t, o, t0().Add(time.Duration(i)*time.Second))
	}
	_, err := o.Deliver(t.Context(), at(t0().Add(time.Minute)), func(string) bool { return true })
	if err != nil || len(box.got) > 0 {
		t.Errorf("%q, %v", box.says(), err)
	}
	if pending, err := o.Pending(); err != nil || len(pending) != maxAnnouncements/2+1 { // and not the single steps
		t.Errorf("%d pending, %v", len(pending), err)
	}
}

func TestAfterFlappingThatEndsInQuietTheStateIsTold(t *testing.T) {
	box := &searchable{mailbox: mailbox{name: "box"}}
	o := outbox(t, box)
	now := t0()
	for range maxAnnouncements / 2 {
		report(t, o, drift("a"), now)
		clearSubject(t, o, now)
	}
	report(t, o, drift("b"), now)
	deliver(t, o, now)
	deliver(t, o, now.Add(30*time.Minute))
	flapping := box.got[len(box.got)-1].Notices
	deliver(t, o, now.Add(2*time.Hour))
	calm := box.got[len(box.got)-1].Notices
	if len(box.got) != 2 || len(flapping) != 1 || flapping[0].State != Flapping || calm[0].State != Opened ||
		calm[0].ID == flapping[0].ID {
		t.Errorf("%d messages: %+v", len(box.got), box.got)
	}
	if !strings.Contains(flapping[0].Summary, "21 times") {
		t.Errorf("summary %q", flapping[0].Summary)
	}
}

func TestAnnouncementsOfTheFutureDoNotCount(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	for range maxAnnouncements {
		report(t, o, drift("a"), t0())
		clearSubject(t, o, t0())
	}
	before := t0().Add(-time.Minute)
	report(t, o, drift("b"), before)
	deliver(t, o, before)
	if box.got[0].Notices[0].State != Opened {
		t.Errorf("%q", box.says())
	}
}

func TestPendingSaysSinceWhen(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	report(t, o, drift("a"), t0())
	deliver(t, o, t0())
	if pending, err := o.Pending(); err != nil || len(pending) > 0 {
		t.Errorf("%+v, %v", pending, err)
	}
	box.fault = func(int) (bool, error) { return false, later() }
	for hour, letters := range []string{"ab", "abc", "abcd"} {
		report(t, o, drift(letters), t0().Add(time.Duration(hour+1)*time.Hour))
		deliver(t, o, t0().Add(time.Duration(hour+1)*time.Hour))
	}
	want := []Pending{{"box", "drift/claude/live/1", "claude", t0().Add(time.Hour), "injected"}}
	got, err := o.Pending()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestADoubtfulFlappingNoticeIsNotAddedToItself(t *testing.T) {
	box := &mailbox{name: "box", fault: func(int) (bool, error) { return false, later() }}
	o := outbox(t, box)
	for i := range 5 {
		for range maxAnnouncements {
			report(t, o, drift("a"), t0())
			clearSubject(t, o, t0())
		}
		deliver(t, o, t0().Add(time.Duration(i)*time.Minute))
	}
	box.fault = nil
	deliver(t, o, t0().Add(10*time.Minute))
	if diff := cmp.Diff([]string{"flapping:"}, box.says()); diff != "" {
		t.Error(diff)
	}
}
