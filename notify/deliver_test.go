package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatehouse/internal/durable"
)

// faults answers the first attempts with these errors, takes nothing then, and takes the message after them.
func faults(list ...error) func(int) (bool, error) {
	return func(n int) (bool, error) {
		if n <= len(list) {
			return false, list[n-1]
		}
		return true, nil
	}
}

func TestARunWaitsALittleAndNoLonger(t *testing.T) {
	limited := func(d time.Duration) error { return &SendError{Err: errInjected, RetryAfter: d} }
	permanent := &SendError{Err: errInjected, Refused: true, Permanent: true}
	for _, test := range []struct {
		name     string
		faults   []error
		took     time.Duration
		attempts int
		want     SinkResult
	}{
		{"at once", nil, 0, 1, SinkResult{Sent: 1}},
		{"429, 500, 200", []error{limited(time.Second), errInjected}, 2 * time.Second, 3, SinkResult{Sent: 1}},
		{"short waits grow", []error{errInjected, errInjected, errInjected}, 3500 * time.Millisecond, 4, SinkResult{Sent: 1}},
		{"four attempts at most", []error{errInjected, errInjected, errInjected, errInjected}, 3500 * time.Millisecond, 4,
			SinkResult{Pending: 1, Error: "injected"}},
		{"a long wait is for later runs", []error{limited(11 * time.Second)}, 0, 1,
			SinkResult{Pending: 1, Error: "injected", RetryAt: t0().Add(11 * time.Second)}},
		{"waits have a sum", []error{limited(longestWait), limited(longestWait), limited(longestWait)}, 20 * time.Second, 3,
			SinkResult{Pending: 1, Error: "injected", RetryAt: t0().Add(30 * time.Second)}},
		{"no wait is for ever", []error{limited(99 * time.Hour)}, 0, 1,
			SinkResult{Pending: 1, Error: "injected", RetryAt: t0().Add(maxPause)}},
		{"a lasting fault is tried once", []error{permanent}, 0, 1, SinkResult{Pending: 1, Error: "injected", Permanent: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := scratch(t)
			synctest.Test(t, func(t *testing.T) {
				box := &mailbox{name: "box", fault: faults(test.faults...)}
				o := &Outbox{Dir: dir, Sinks: []Sink{box}}
				report(t, o, drift("a"), t0())
				start := time.Now()
				clock := func() time.Time { return t0().Add(time.Since(start)) }
				d, err := o.Deliver(t.Context(), clock, nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != test.took || box.attempts != test.attempts {
					t.Errorf("%d attempts in %v, want %d in %v", box.attempts, took, test.attempts, test.took)
				}
				test.want.Sink = "box"
				if diff := cmp.Diff(test.want, d.Sinks[0]); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestAPausedSinkIsLeftAloneUntilThen(t *testing.T) {
	box := &mailbox{name: "box", fault: faults(&SendError{Err: errInjected, RetryAfter: time.Minute})}
	o := outbox(t, box)
	report(t, o, drift("a"), t0())
	deliver(t, o, t0())
	other := drift("x")
	other.Gate = "codex"
	report(t, o, other, t0())
	d := deliver(t, o, t0().Add(59*time.Second))
	want := SinkResult{Sink: "box", Pending: 2, Error: "injected", RetryAt: t0().Add(time.Minute)}
	if diff := cmp.Diff(want, d.Sinks[0]); diff != "" || box.attempts != 1 {
		t.Errorf("%d attempts %s", box.attempts, diff)
	}
	if deliver(t, o, t0().Add(time.Minute)); box.attempts != 2 {
		t.Errorf("%d attempts after the pause", box.attempts)
	}
}

// A hanging sink takes until its context ends.
type hanging struct{ mailbox }

func (h *hanging) Send(ctx context.Context, _ Message) error {
	h.attempts++
	<-ctx.Done()
	return ctx.Err()
}

func TestAFailingSinkKeepsNoOtherWaiting(t *testing.T) {
	dir := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		var arrived time.Duration
		dead := &hanging{mailbox{name: "dead"}}
		box := &mailbox{name: "box", fault: func(int) (bool, error) { arrived = time.Since(start); return true, nil }}
		o := &Outbox{Dir: dir, Sinks: []Sink{dead, box}}
		report(t, o, drift("a"), t0())
		d, err := o.Deliver(ctx, at(t0()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if arrived > sendTimeout || len(box.got) != 1 || d.Sinks[0].Pending != 1 || d.Sinks[1].Sent != 1 {
			t.Errorf("the other sink got %q after %v: %+v", box.says(), arrived, d.Sinks)
		}
		if took := time.Since(start); took > budget+sendTimeout {
			t.Errorf("the run took %v", took)
		}
	})
}

func TestARunThatIsOverSendsNothing(t *testing.T) {
	box := &mailbox{name: "box"}
	o := outbox(t, box)
	report(t, o, drift("a"), t0())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err := o.Deliver(ctx, at(t0()), nil)
	if err != nil || box.attempts != 0 || d.Sinks[0].Pending != 1 || d.Sinks[0].Error == "" {
		t.Errorf("%d attempts, %+v, %v", box.attempts, d, err)
	}
}

func TestTwoSinksOfOneNameAreRefused(t *testing.T) {
	o := outbox(t, &mailbox{name: "box"}, &mailbox{name: "box"})
	report(t, o, drift("a"), t0())
	if _, err := o.Deliver(t.Context(), at(t0()), nil); err == nil || !strings.Contains(err.Error(), `"box"`) {
		t.Errorf("error %v", err)
	}
}

func TestOneDeliveryAtATime(t *testing.T) {
	o := outbox(t)
	report(t, o, drift("a"), t0())
	lock, err := durable.AcquireLock(t.Context(), o.Dir+"/.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := o.Deliver(ctx, at(t0()), nil); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("error %v", err)
	}
}

// What a sink holds in the end, when the answer to the first attempt is lost and the drift goes on meanwhile.
func TestADoubtIsSettledOrSentAgainWordForWord(t *testing.T) {
	for _, taken := range []bool{true, false} {
		for _, test := range []struct {
			then          string // reported before the next run; "" is Clear
			found, unseen []string
		}{
			{"a", []string{"open:a"}, []string{"open:a"}},
			{"ab", []string{"open:a", "changed:b"}, []string{"open:a", "changed:b"}},
			{"", []string{"open:a", "closed:"}, []string{"open:a", "closed:"}},
		} {
			lost := func(n int) (bool, error) { return n > 1 || taken, map[bool]error{true: later()}[n == 1] }
			canLook := &searchable{mailbox: mailbox{name: "can look", fault: lost}}
			cannot := &mailbox{name: "cannot", fault: lost}
			for _, sink := range []Sink{canLook, cannot} {
				o := outbox(t, sink)
				report(t, o, drift("a"), t0())
				deliver(t, o, t0())
				if test.then == "" {
					clearSubject(t, o, t0())
				} else {
					report(t, o, drift(test.then), t0())
				}
				deliver(t, o, t0().Add(time.Hour))
			}
			name := fmt.Sprintf("taken %v, then %q", taken, test.then)
			want := test.found
			if !taken { // asked, it knows that nothing arrived: what stands now is told afresh
				want = map[string][]string{"a": {"open:a"}, "ab": {"open:ab"}, "": {"closed:a"}}[test.then]
			}
			if diff := cmp.Diff(want, canLook.says()); diff != "" {
				t.Errorf("%s, can look: %s", name, diff)
			}
			want = test.unseen
			if taken { // the same notice twice, under one id
				want = append([]string{"open:a"}, want...)
				if a, b := cannot.got[0].Notices[0], cannot.got[1].Notices[0]; !cmp.Equal(a, b) {
					t.Errorf("%s: the repeated notice differs: %s", name, cmp.Diff(a, b))
				}
			}
			if diff := cmp.Diff(want, cannot.says()); diff != "" {
				t.Errorf("%s, cannot look: %s", name, diff)
			}
			if test.then == "a" && taken && !cmp.Equal(cannot.got[0], cannot.got[1]) {
				t.Errorf("the repeated message differs: %s", cmp.Diff(cannot.got[0], cannot.got[1]))
			}
		}
	}
}

func TestTheSameNoticesOfAnotherHostAreAnotherMessage(t *testing.T) {
	record, _ := plan(nil, drift("a"), t0())
	n, _ := record.news(0)
	a, b := newMessage("agent-1", t0(), []Notice{n}), newMessage("agent-2", t0(), []Notice{n})
	n.OpenedAt = n.OpenedAt.Add(time.Second)
	if c := newMessage("agent-1", t0(), []Notice{n}); a.ID == b.ID || a.ID == c.ID {
		t.Errorf("ids %s, %s, %s", a.ID, b.ID, c.ID)
	}
}

// Each step on disk fails once, before or after it took place. The next run puts it right.
func TestEveryFailingStepIsMadeGood(t *testing.T) {
	for _, done := range []bool{false, true} {
		for failing := 1; ; failing++ {
			box, second := &searchable{mailbox: mailbox{name: "box"}}, &mailbox{name: "second"}
			o := outbox(t, box, second)
			steps := 0
			o.Disk.Around = func(_ durable.Step, change func() error) error {
				if steps++; steps != failing {
					return change()
				}
				if done {
					return errors.Join(change(), errInjected)
				}
				return errInjected
			}
			injected := false
			for hour, letters := range []string{"a", "ab", "ab", "", ""} {
				now := t0().Add(time.Duration(hour) * time.Hour)
				var err error
				if letters != "" {
					err = o.Report(drift(letters), now)
				} else {
					err = o.Clear("drift", "claude", "live", "accepted", now)
				}
				if err == nil {
					_, err = o.Deliver(t.Context(), at(now), nil)
				}
				if err != nil && !errors.Is(err, errInjected) {
					t.Fatal(err)
				}
				injected = injected || err != nil
			}
			for _, m := range []*mailbox{&box.mailbox, second} {
				said := unrepeated(m)
				got := strings.Join(said, " ")
				// What could not be written or sent is merged into what comes next.
				if got != "open:a changed:b closed:" && got != "open:ab closed:" {
					t.Errorf("step %d failed (done: %v): %s holds %q", failing, done, m.name, got)
				}
			}
			if len(unrepeated(&box.mailbox)) != len(box.says()) {
				t.Errorf("step %d failed (done: %v): repeated although it could look: %q", failing, done, box.says())
			}
			if !injected {
				if failing < 10 {
					t.Fatalf("only %d steps", failing)
				}
				break
			}
		}
	}
}

// unrepeated is says without the notices that came a second time.
func unrepeated(m *mailbox) []string {
	seen := map[string]bool{}
	var once mailbox
	for _, message := range m.got {
		for _, n := range message.Notices {
			if !seen[n.ID] {
				seen[n.ID] = true
				once.got = append(once.got, Message{Notices: []Notice{n}})
			}
		}
	}
	return once.says()
}

// Whatever is reported, and however the sinks fail, each change that is open at a run that succeeds was announced
// exactly once since it came, and each episode that a sink could hear of was closed exactly once.
func TestNothingIsLostAndNothingIsSaidTwice(t *testing.T) {
	root := scratch(t)
	rapid.Check(t, func(rt *rapid.T) {
		outcome := func(m *mailbox) func(int) (bool, error) {
			return func(int) (bool, error) {
				switch rapid.IntRange(0, 4).Draw(rt, m.name) {
				case 0:
					return false, &SendError{Err: errInjected, Refused: true, Permanent: true}
				case 1:
					return false, &SendError{Err: errInjected, RetryAfter: time.Minute}
				case 2:
					return true, &SendError{Err: errInjected, RetryAfter: time.Minute}
				default:
					return true, nil
				}
			}
		}
		canLook, cannot := &searchable{mailbox: mailbox{name: "can look"}}, &mailbox{name: "cannot"}
		canLook.fault, cannot.fault = outcome(&canLook.mailbox), outcome(cannot)
		o := &Outbox{Dir: fmt.Sprintf("%s/%d", root, time.Now().UnixNano()), Host: "agent-1", Sinks: []Sink{canLook, cannot}}
		now, episodes := t0(), 0
		step := func() {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				if err := o.Clear("drift", "claude", "live", "accepted", now); err != nil {
					rt.Fatal(err)
				}
			case 1, 2:
				letters := rapid.SampledFrom([]string{"a", "b", "ab", "bc", "abc", "d"}).Draw(rt, "open")
				if err := o.Report(drift(letters), now); err != nil {
					rt.Fatal(err)
				}
			default:
				if _, err := o.Deliver(t.Context(), at(now), nil); err != nil {
					rt.Fatal(err)
				}
			}
			if open, err := o.Open(""); err != nil {
				rt.Fatal(err)
			} else if len(open) > 0 {
				episodes = open[0].Episode
			}
			now = now.Add(time.Hour)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			step()
		}
		canLook.fault, cannot.fault = nil, nil
		if _, err := o.Deliver(t.Context(), at(now), nil); err != nil {
			rt.Fatal(err)
		}
		if pending, err := o.Pending(); err != nil || len(pending) > 0 {
			rt.Fatalf("pending: %+v, %v", pending, err)
		}
		if got := len(unrepeated(&canLook.mailbox)); got != len(canLook.says()) {
			rt.Errorf("repeated although it could look: %q", canLook.says())
		}
		open, err := o.Open("")
		if err != nil {
			rt.Fatal(err)
		}
		for _, m := range []*mailbox{&canLook.mailbox, cannot} {
			announced, closed := map[string]int{}, map[int]int{}
			seen := map[string]bool{}
			for _, message := range m.got {
				for _, n := range message.Notices {
					if seen[n.ID] {
						continue
					}
					seen[n.ID] = true
					if n.State == Closed {
						closed[n.Episode()]++
						continue
					}
					for _, c := range n.Changes {
						for _, r := range open {
							if i := indexOf(r.Changes, c.ID); n.Episode() == r.Episode && i >= 0 && n.Revision >= r.Introduced[i] {
								announced[c.ID]++
							}
						}
					}
				}
			}
			for _, r := range open {
				for _, c := range r.Changes {
					if announced[c.ID] != 1 {
						rt.Errorf("%s: change %s was announced %d times in %q", m.name, c.ID, announced[c.ID], m.says())
					}
				}
			}
			for episode := 1; episode <= episodes; episode++ {
				want := 1
				if len(open) > 0 && open[0].Episode == episode {
					want = 0
				}
				if closed[episode] != want {
					rt.Errorf("%s: episode %d was closed %d times in %q", m.name, episode, closed[episode], m.says())
				}
			}
		}
	})
}

func indexOf(changes []Change, id string) int {
	for i, c := range changes {
		if c.ID == id {
			return i
		}
	}
	return -1
}

// Episode reads the number out of a notice's id.
func (n Notice) Episode() (episode int) {
	_, rest, _ := strings.Cut(n.ID, n.Subject+"/")
	fmt.Sscanf(rest, "%d#", &episode)
	return episode
}
