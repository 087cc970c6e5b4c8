package notify

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// The story of a drift, hour by hour: what is reported ("" is Clear, "-" nothing) and what the sink then got in all.
func TestAThingIsSaidOnce(t *testing.T) {
	for _, test := range []struct {
		name  string
		story []string
		want  []string
	}{
		{"ten passes", []string{"a", "a", "a", "a", "a", "a", "a", "a", "a", "a"}, []string{"open:a"}},
		{"growth is a delta", []string{"a", "ab", "abc"}, []string{"open:a", "changed:b", "changed:c"}},
		{"shrinking is silent", []string{"abc", "ab", "a"}, []string{"open:abc"}},
		{"what comes back is new", []string{"a", "b", "a"}, []string{"open:a", "changed:b", "changed:a"}},
		{"closing line once", []string{"a", "", "", ""}, []string{"open:a", "closed:"}},
		{"a new episode", []string{"a", "", "a", "a"}, []string{"open:a", "closed:", "open:a"}},
		{"never open", []string{"", ""}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			box := &mailbox{name: "box"}
			o := outbox(t, box)
			for i, letters := range test.story {
				now := t0().Add(time.Duration(i) * time.Hour)
				if letters == "" {
					clearSubject(t, o, now)
				} else {
					report(t, o, drift(letters), now)
				}
				deliver(t, o, now)
			}
			if diff := cmp.Diff(test.want, box.says()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnsentNewsIsMergedIntoOneNotice(t *testing.T) {
	for _, test := range []struct {
		name  string
		story []string
		want  []string
	}{
		{"grew", []string{"a", "ab"}, []string{"open:ab"}},
		{"shrank", []string{"ab", "b"}, []string{"open:b"}},
		{"went and came", []string{"a", "b", "a"}, []string{"open:a"}},
		{"over before it was said", []string{"a", "ab", ""}, []string{"closed:ab"}},
		{"two episodes", []string{"a", "", "b"}, []string{"open:b", "closed:a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			box := &mailbox{name: "box"}
			o := outbox(t, box)
			for i, letters := range test.story {
				if letters == "" {
					clearSubject(t, o, t0().Add(time.Duration(i)*time.Hour))
				} else {
					report(t, o, drift(letters), t0().Add(time.Duration(i)*time.Hour))
				}
			}
			deliver(t, o, t0().Add(9*time.Hour))
			if diff := cmp.Diff(test.want, box.says()); diff != "" || len(box.got) != 1 {
				t.Errorf("%d messages %s", len(box.got), diff)
			}
		})
	}
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	o := outbox(t, &mailbox{name: "box"})
	report(t, o, drift("ab"), t0())
	deliver(t, o, t0())
	steps := 0
	o.Disk = counting(&steps)
	report(t, o, drift("ab"), t0().Add(time.Hour))
	deliver(t, o, t0().Add(time.Hour))
	if err := o.Clear("drift", "other", "live", "over", t0()); err != nil {
		t.Fatal(err)
	}
	if steps != 0 {
		t.Errorf("%d steps on disk", steps)
	}
}

func TestTheWorstComesFirstAndAllInOneMessage(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	for gate, severity := range map[string]int{"b": 5, "a": 5, "c": 12} {
		e := drift("x")
		e.Gate, e.Severity = gate, severity
		report(t, o, e, t0())
	}
	deliver(t, o, t0())
	var gates string
	for _, n := range box.got[0].Notices {
		gates += n.Gate
	}
	if gates != "cab" || len(box.got) != 1 {
		t.Errorf("order %q in %d messages", gates, len(box.got))
	}
}

func TestAPauseHoldsMessagesNotFindings(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	paused := func(gate string) bool { return gate == "claude" }
	report(t, o, drift("a"), t0())
	other := drift("x")
	other.Gate = "codex"
	report(t, o, other, t0())
	if _, err := o.Deliver(t.Context(), at(t0()), paused); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"open:x"}, box.says()); diff != "" {
		t.Fatal("during the pause", diff)
	}
	if open, err := o.Open("claude"); err != nil || len(open) != 1 {
		t.Errorf("the finding is not open: %v, %v", open, err)
	}
	if pending, err := o.Pending(); err != nil || len(pending) != 1 || pending[0].Since != t0() {
		t.Errorf("pending: %+v, %v", pending, err)
	}
	clearSubject(t, o, t0().Add(time.Hour))
	deliver(t, o, t0().Add(2*time.Hour))
	last := box.got[len(box.got)-1].Notices[0]
	if diff := cmp.Diff([]string{"open:x", "closed:a"}, box.says()); diff != "" || !last.Unannounced {
		t.Errorf("after the pause: unannounced %v %s", last.Unannounced, diff)
	}
}

func TestANewSinkIsToldWhatIsOpenOnly(t *testing.T) {
	box, late := &mailbox{name: "box"}, &mailbox{name: "late"}
	o := outbox(t, box)
	over := drift("x")
	over.Gate = "codex"
	report(t, o, over, t0())
	report(t, o, drift("a"), t0())
	if err := o.Clear("drift", "codex", "live", "accepted", t0()); err != nil {
		t.Fatal(err)
	}
	deliver(t, o, t0())
	o.Sinks = append(o.Sinks, late)
	if pending, err := o.Pending(); err != nil || len(pending) != 1 || pending[0].Sink != "late" {
		t.Errorf("pending: %+v, %v", pending, err)
	}
	deliver(t, o, t0().Add(time.Hour))
	if diff := cmp.Diff([]string{"open:a"}, late.says()); diff != "" {
		t.Error(diff)
	}
	if len(box.got) != 1 {
		t.Errorf("the old sink got %d messages", len(box.got))
	}
}

func TestFlappingIsSaidOnceAnHourAndTheEndIsToldWhole(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	now := t0()
	for i := range 60 { // two announcements a minute
		now = t0().Add(time.Duration(i) * time.Minute)
		report(t, o, drift("a"), now)
		deliver(t, o, now)
		clearSubject(t, o, now)
		deliver(t, o, now)
	}
	states := map[State]int{}
	for _, m := range box.got {
		states[m.Notices[0].State]++
	}
	if diff := cmp.Diff(map[State]int{Opened: 10, Closed: 10, Flapping: 1}, states); diff != "" {
		t.Fatal(diff)
	}
	now = now.Add(2 * time.Hour)
	report(t, o, drift("b"), now)
	deliver(t, o, now)
	calm := box.got[len(box.got)-1]
	if len(calm.Notices) != 1 || calm.Notices[0].State != Opened || calm.Notices[0].Changes[0].ID != "b" {
		t.Errorf("when calm: %d notices, first %+v", len(calm.Notices), calm.Notices[0])
	}
	if d := deliver(t, o, now); d.Sinks[0].Sent+d.Sinks[0].Pending != 0 {
		t.Errorf("not all was told: %+v", d)
	}
	ids := map[string]bool{}
	for _, m := range box.got {
		for _, n := range m.Notices {
			if ids[n.ID] {
				t.Errorf("two notices have the id %s", n.ID)
			}
			ids[n.ID] = true
		}
	}
}

func TestAClockThatGoesBackStopsNothing(t *testing.T) {
	box := &mailbox{name: "box", fault: func(n int) (bool, error) {
		if n == 1 {
			return false, &SendError{Err: errInjected, Refused: true, RetryAfter: time.Hour}
		}
		return true, nil
	}}
	o := outbox(t, box)
	report(t, o, drift("a"), t0())
	if d := deliver(t, o, t0()); d.Sinks[0].RetryAt != t0().Add(time.Hour) {
		t.Fatalf("retry at %v", d.Sinks[0].RetryAt)
	}
	before := t0().AddDate(-1, 0, 0)
	report(t, o, drift("ab"), before)
	deliver(t, o, before)
	clearSubject(t, o, before.Add(-time.Hour))
	deliver(t, o, before.Add(-time.Hour))
	if diff := cmp.Diff([]string{"open:ab", "closed:"}, box.says()); diff != "" {
		t.Error(diff)
	}
}

func TestOldRecordsGoButTheNumberStays(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	for i := range 3 {
		report(t, o, drift("a"), t0().Add(time.Duration(i)*time.Hour))
		deliver(t, o, t0())
		clearSubject(t, o, t0().Add(time.Duration(i)*time.Hour))
		deliver(t, o, t0())
	}
	deliver(t, o, t0().Add(4*time.Hour))
	if files, _ := filepath.Glob(o.Dir + "/*.json"); len(files) != 1 {
		t.Errorf("%d records, want 1", len(files))
	}
	report(t, o, drift("a"), t0().Add(5*time.Hour))
	if _, err := os.Stat(o.Dir + "/drift+claude+live+4.json"); err != nil {
		t.Error(err)
	}
}

func TestNothingUnsentIsPruned(t *testing.T) {
	dead := &mailbox{name: "dead", fault: func(int) (bool, error) {
		return false, &SendError{Err: errInjected, Refused: true, Permanent: true}
	}}
	o := outbox(t, dead)
	report(t, o, drift("a"), t0())
	clearSubject(t, o, t0())
	report(t, o, drift("b"), t0())
	deliver(t, o, t0().AddDate(1, 0, 0))
	dead.fault = nil
	deliver(t, o, t0().AddDate(2, 0, 0))
	if diff := cmp.Diff([]string{"open:b", "closed:a"}, dead.says()); diff != "" {
		t.Error(diff)
	}
}

// A subject can change every minute, with thousands of changes, while nobody can be told.
func TestWhoMakesManyLargeRecordsFillsNothing(t *testing.T) {
	dead := &mailbox{name: "dead", fault: func(int) (bool, error) {
		return false, &SendError{Err: errInjected, Refused: true, Permanent: true}
	}}
	o := outbox(t, dead)
	e := drift("")
	for i := range 2000 {
		e.Changes = append(e.Changes, Change{ID: fmt.Sprint(i), Text: strings.Repeat("x", maxText)})
	}
	e.Detail = slices.Repeat([]string{strings.Repeat("x", maxText)}, maxDetail)
	now := t0()
	const cleared = 15
	for range cleared {
		now = now.Add(time.Minute)
		report(t, o, e, now)
		clearSubject(t, o, now)
		deliver(t, o, now)
	}
	var size int64
	files, _ := filepath.Glob(o.Dir + "/drift*.json")
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if most := int64(len(files) * 2 * maxText * (shownChanges + shownDetail)); len(files) > maxAnnouncements/2+1 || size > most {
		t.Errorf("%d records with %d bytes, want no more than %d with %d", len(files), size, maxAnnouncements/2+1, most)
	}
	dead.fault = nil
	deliver(t, o, now.Add(2*time.Hour))
	told := dead.got[0].Notices
	if len(told) != len(files) || len(told[0].Changes) != shownChanges || told[0].ChangesTotal != 2000 || told[0].Open != 2000 ||
		told[0].DetailTotal != maxDetail {
		t.Errorf("%d notices, the first of %d changes in %d, %d open, %d lines", len(told), len(told[0].Changes), told[0].ChangesTotal,
			told[0].Open, told[0].DetailTotal)
	}
}

func TestADamagedRecordIsSetAsideAndItsSubjectOpensAnew(t *testing.T) {
	record := func(change func(*Record)) []byte {
		r, _ := plan(nil, drift("a"), t0())
		change(r)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return sealed(t, data)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut short":       func(b []byte) []byte { return b[:len(b)/2] },
		"empty":           func([]byte) []byte { return nil },
		"zeros":           func(b []byte) []byte { return make([]byte, len(b)) },
		"flipped":         func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"no record":       func([]byte) []byte { return sealed(t, []byte("[]")) },
		"another's":       func([]byte) []byte { return record(func(r *Record) { r.Gate = "other" }) },
		"without sinks":   func([]byte) []byte { return record(func(r *Record) { r.Sinks = nil }) },
		"short of a list": func([]byte) []byte { return record(func(r *Record) { r.Introduced = nil }) },
	} {
		for _, first := range []string{"report", "deliver"} {
			t.Run(name+", then "+first, func(t *testing.T) {
				box := &mailbox{name: "box"}
				o := outbox(t, box)
				other := drift("x")
				other.Gate = "codex"
				report(t, o, drift("a"), t0())
				report(t, o, other, t0())
				deliver(t, o, t0())
				file, aside := o.Dir+"/drift+claude+live+1.json", o.Dir+"/.corrupt-drift+claude+live+1.json"
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, damage(data), 0o600); err != nil {
					t.Fatal(err)
				}
				open, err := o.Open("")
				if !errors.Is(err, durable.ErrCorrupt) || !strings.Contains(err.Error(), file) || len(open) != 1 {
					t.Errorf("Open lists %d records, error %v", len(open), err)
				}
				if first == "deliver" {
					if d := deliver(t, o, t0()); len(d.Warnings) != 1 || len(box.got) != 1 {
						t.Errorf("warnings %q, %d messages", d.Warnings, len(box.got))
					}
				}
				report(t, o, drift("a"), t0())
				if err := o.Clear("drift", "codex", "live", "accepted", t0()); err != nil {
					t.Error(err)
				}
				for range 2 { // the warning lasts
					d := deliver(t, o, t0())
					if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], aside) {
						t.Errorf("warnings %q", d.Warnings)
					}
				}
				got := box.got[len(box.got)-1].Notices
				if len(box.got) != 2 || got[0].ID != "drift/claude/live/2#1" || got[1].State != Closed {
					t.Errorf("%d messages, the last: %+v", len(box.got), got)
				}
				if err := os.Remove(aside); err != nil {
					t.Error(err)
				}
				if d := deliver(t, o, t0()); len(d.Warnings) != 0 {
					t.Errorf("warnings after the file is gone: %q", d.Warnings)
				}
			})
		}
	}
}

func sealed(t *testing.T, data []byte) []byte {
	file := filepath.Join(t.TempDir(), "sealed")
	if err := (durable.Disk{}).WriteSealed(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEveryFlippedBitOfARecordIsNoticed(t *testing.T) {
	o := outbox(t, &mailbox{name: "box"})
	report(t, o, drift("a"), t0())
	name := "drift+claude+live+1.json"
	data, err := os.ReadFile(filepath.Join(o.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(data) {
		flipped := bytes.Clone(data)
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(filepath.Join(o.Dir, name), flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := o.open(filepath.Join(o.Dir, name)); !errors.Is(err, durable.ErrCorrupt) {
			t.Fatalf("bit %d: %v in\n%s", bit, err, hex.Dump(flipped))
		}
	}
}

func TestOddIDsOfChangesStayApart(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	ids := []string{"\xff", "\xfe", "a\n", `"a\n"`, "a\n"}
	for range 2 {
		for _, id := range ids {
			e := drift("")
			e.Changes = []Change{{ID: id}}
			for range 2 { // the second time it is known
				report(t, o, e, t0())
				deliver(t, o, t0())
			}
		}
	}
	if len(box.got) != 2*len(ids) {
		t.Errorf("%d changes were announced as %q", 2*len(ids), box.says())
	}
	e := drift("")
	for _, id := range append(ids, ids...) {
		e.Changes = append(e.Changes, Change{ID: id})
	}
	if got, err := e.clean(); err != nil || len(got.Changes) != 4 {
		t.Errorf("four ids became %q, %v", got.Changes, err)
	}
}

func TestTheOutboxIsForRootOnly(t *testing.T) {
	o := outbox(t, &mailbox{name: "box"})
	report(t, o, drift("a"), t0())
	for path, want := range map[string]os.FileMode{o.Dir: 0o700, o.Dir + "/drift+claude+live+1.json": 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}
