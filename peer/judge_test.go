package peer

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatehouse/exchange"
)

// reader is somebody who watches, in a table: each step is a time of its clock and what it sees then.
type reader struct {
	t         testing.TB
	memory    Memory
	inventory []Host
	now       Reading
	beats     map[string]observed
	findings  []Finding
}

func newReader(t testing.TB, hosts ...string) *reader {
	return &reader{t: t, inventory: inventoryOf(hosts...), now: Reading{BootID: "reader-1", Monotonic: time.Hour}, beats: make(map[string]observed)}
}

// beat leaves a heartbeat.
func (r *reader) beat(host string, sequence uint64, change ...func(*Heartbeat)) {
	r.beats[host] = observed{Value: sealed(r.t, beatOf(host, sequence, change...), host)}
}

// look lets time go by and looks.
func (r *reader) look(after time.Duration, err error) string {
	r.now.Monotonic += after
	r.memory, r.findings = judge(r.memory, view{Beats: r.beats, Err: err}, r.inventory, r.now)
	var words []string
	for _, f := range r.findings {
		words = append(words, fmt.Sprintf("%s %s", f.Kind, f.Subject()))
	}
	return strings.Join(words, ", ")
}

func (r *reader) want(after time.Duration, want string) {
	r.t.Helper()
	if got := r.look(after, nil); got != want {
		r.t.Errorf("after %v: got %q, want %q", after, got, want)
	}
}

// watch looks every five minutes for so long and wants the same each time.
func (r *reader) watch(lasting time.Duration, want string) {
	r.t.Helper()
	for range lasting / (5 * time.Minute) {
		r.want(5*time.Minute, want)
	}
}

func TestJudge(t *testing.T) {
	const min5 = 5 * time.Minute
	down := fmt.Errorf("dial: %w", exchange.ErrUnavailable)
	for name, run := range map[string]func(t *testing.T, r *reader){
		"a host that beats": func(t *testing.T, r *reader) {
			for n := range uint64(50) {
				r.beat("a", n+1)
				r.watch(time.Hour, "")
			}
		},
		"two beats are missed, and not sooner": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.want(min5, "")
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(time.Second, "silent a")
			r.watch(48*time.Hour, "silent a")
			r.beat("a", 2)
			r.want(min5, "")
		},
		"late by less than a second, for ever": func(t *testing.T, r *reader) {
			for n := range uint64(30) {
				r.beat("a", n+1)
				r.want(time.Hour+999*time.Millisecond, "")
			}
		},
		"AccuracySec and RandomizedDelaySec: each beat up to an hour and a quarter after the last": func(t *testing.T, r *reader) {
			for n := range uint64(30) {
				r.beat("a", n+1)
				r.watch(time.Hour+time.Duration(n%4)*min5, "")
			}
		},
		"one beat is lost": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(2*time.Hour+10*time.Minute, "")
			r.beat("a", 3)
			r.watch(2*time.Hour, "")
		},
		"the wall clocks of both jump": func(t *testing.T, r *reader) {
			for n := range uint64(20) { // the host's time is in its heartbeat, and the reader has none
				r.beat("a", n+1, func(h *Heartbeat) { h.At = int64(1_800_000_000 - 86400*365*int64(n%3)) })
				r.watch(time.Hour, "")
			}
		},
		"the reader restarts": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(2*time.Hour, "")
			r.now = Reading{BootID: "reader-2", Monotonic: time.Minute}
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(min5, "")
			r.want(time.Second, "silent a")
		},
		"the reader restarts, and the host is silent already": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(min5, "")
			r.want(min5, "silent a")
			r.now = Reading{BootID: "reader-2", Monotonic: time.Minute}
			r.watch(time.Hour, "silent a")
		},
		"the reader restarts, and a host never came": func(t *testing.T, r *reader) {
			r.want(min5, "")
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(time.Second, "unseen a")
			r.now = Reading{BootID: "reader-2", Monotonic: time.Minute}
			r.want(0, "unseen a")
		},
		"the reader was down for a week, with all others": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(time.Hour, "")
			r.want(7*24*time.Hour, "") // the same boot: its timer was stopped
			r.watch(10*time.Minute, "")
			r.beat("a", 2)
			r.watch(time.Hour, "")
		},
		"the reader was down for a week, and a host is dead": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(time.Hour, "")
			r.want(7*24*time.Hour, "")
			r.watch(20*time.Minute, "")
			r.want(min5, "silent a")
		},
		"a reader that looks every three hours still finds a dead host": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.want(0, "")
			r.want(3*time.Hour, "")
			r.want(3*time.Hour, "")
			r.want(3*time.Hour, "silent a")
		},
		"a reader that looks every three hours finds nothing where there is nothing": func(t *testing.T, r *reader) {
			for n := range uint64(10) {
				r.beat("a", 3*n+1)
				r.want(3*time.Hour, "")
			}
		},
		"the reader was suspended: its clock stood still": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(time.Hour, "")
			r.beat("a", 9)
			r.want(time.Second, "")
		},
		"the host was suspended": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(min5, "")
			r.watch(6*time.Hour, "silent a")
			r.beat("a", 2) // the same boot goes on
			r.want(min5, "")
		},
		"the reader's clock goes back": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(2*time.Hour, "")
			r.now.Monotonic = 0 // a restored snapshot of a machine
			r.watch(2*time.Hour, "")
		},
		"the whole fleet restarts": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(time.Hour+10*time.Minute, "")
			r.now = Reading{BootID: "reader-2"}
			r.watch(time.Hour+15*time.Minute, "")
			r.beat("a", 2, func(h *Heartbeat) { h.BootID = "b1" })
			r.watch(time.Hour, "")
		},
		"first contact": func(t *testing.T, r *reader) {
			r.want(0, "")
			r.watch(2*time.Hour, "")
			r.beat("a", 400)
			r.watch(2*time.Hour, "")
		},
		"in the inventory and never seen": func(t *testing.T, r *reader) {
			r.want(0, "")
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(time.Second, "unseen a")
			r.beat("a", 1)
			r.want(min5, "")
		},
		"a host comes into the inventory": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(2*time.Hour, "")
			r.beat("a", 2)
			r.inventory = inventoryOf("a", "z")
			r.watch(2*time.Hour+15*time.Minute, "")
			r.beat("a", 3)
			r.want(min5, "")
			r.want(min5, "unseen z")
			r.inventory = inventoryOf("a")
			r.want(min5, "")
		},
		"maintenance": func(t *testing.T, r *reader) {
			r.beat("a", 1, func(h *Heartbeat) { h.Maintenance = &Maintenance{Left: 4 * 3600, Why: "kernel"} })
			r.want(0, "")
			r.watch(4*time.Hour+2*time.Hour+15*time.Minute, "")
			r.want(min5, "silent a")
		},
		"maintenance that is announced for ever ends after a day": func(t *testing.T, r *reader) {
			forever := func(h *Heartbeat) { h.Maintenance = &Maintenance{Left: maxSpan, Why: "mine"} }
			for n := range uint64(40) {
				r.beat("a", n+1, forever)
				r.watch(time.Hour, "")
			}
			r.watch(80*time.Minute, "") // it went on for more than a day: now it is as any other
			r.want(min5, "silent a")
		},
		"maintenance that is announced for ever, once": func(t *testing.T, r *reader) {
			r.beat("a", 1, func(h *Heartbeat) { h.Maintenance = &Maintenance{Left: maxSpan} })
			r.want(0, "")
			r.watch(MaxMaintenance+2*time.Hour+15*time.Minute, "")
			r.want(min5, "silent a")
		},
		"the exchange cannot be reached": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(time.Hour, "")
			for range 100 {
				if got := r.look(min5, down); got != "unavailable exchange" {
					t.Fatalf("got %q", got)
				}
			}
			r.want(min5, "") // the hosts come back to it
			r.watch(10*time.Minute, "")
			r.beat("a", 2)
			r.watch(2*time.Hour, "")
		},
		"the exchange cannot be reached, which clears nothing": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(min5, "")
			r.want(min5, "silent a")
			r.beats = map[string]observed{}
			if got := r.look(min5, down); got != "silent a, unavailable exchange" {
				t.Errorf("got %q", got)
			}
		},
		"an exchange that is there every other time still shows a dead host": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.want(0, "")
			for range 13 {
				r.look(min5, down)
				r.want(min5, "")
			}
			for range 2 {
				r.look(min5, down)
				r.look(min5, nil)
			}
			if got := r.look(min5, nil); got != "silent a" {
				t.Errorf("got %q", got)
			}
		},
		"the heartbeat is taken away": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.want(0, "")
			delete(r.beats, "a")
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(min5, "silent a")
		},
		"a heartbeat under the name of another": func(t *testing.T, r *reader) {
			r.inventory = inventoryOf("a", "b")
			r.beat("a", 1)
			r.beat("b", 1)
			r.want(0, "")
			r.beats["b"] = observed{Value: sealed(t, beatOf("a", 2), "a")}
			r.want(min5, "bad-signature b")
			r.beats["b"] = observed{Value: sealed(t, beatOf("a", 2), "b")} // b says that it is a
			r.want(min5, "bad-signature b")
			r.beat("a", 2)
			r.beat("b", 2)
			r.want(time.Hour, "")
		},
		"signed with the key of another host": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.want(0, "")
			for n := range uint64(27) {
				r.beats["a"] = observed{Value: sealed(t, beatOf("a", n+2), "z")}
				r.want(min5, "bad-signature a")
			}
			r.beats["a"] = observed{Value: sealed(t, beatOf("a", 99), "z")}
			r.want(min5, "bad-signature a, silent a") // what is not believed keeps nobody alive
		},
		"one byte is changed": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			value := slices.Clone(r.beats["a"].Value)
			value[len(value)-10] ^= 1
			r.beats["a"] = observed{Value: value}
			r.want(0, "bad-signature a")
		},
		"it cannot be read": func(t *testing.T, r *reader) {
			r.beats["a"] = observed{Err: exchange.ErrTooLarge}
			r.want(0, "bad-signature a")
		},
		"the disk cannot read it": func(t *testing.T, r *reader) {
			broken := fmt.Errorf("read %q: %w", "beats/a", syscall.EIO)
			r.beat("a", 1)
			r.want(0, "")
			kept := r.beats["a"]
			r.beats["a"] = observed{Err: broken}
			r.watch(24*time.Hour, "unavailable a") // it may well be beating
			r.beats["a"] = kept
			r.watch(2*time.Hour+15*time.Minute, "")
			r.want(10*time.Minute, "silent a")
			r.beats["a"] = observed{Err: broken}
			r.want(min5, "silent a, unavailable a")
			r.beats["a"] = observed{Value: []byte("forged")}
			r.want(min5, "bad-signature a, silent a")
			r.beats["a"] = observed{Err: broken}
			r.want(min5, "bad-signature a, silent a, unavailable a") // what is not read takes nothing back
			r.beat("a", 2)
			r.want(min5, "")
		},
		"an old heartbeat is put back": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.want(0, "")
			r.beat("a", 2)
			r.want(time.Hour, "")
			r.beat("a", 1)
			r.want(min5, "replayed a")
			r.watch(2*time.Hour+5*time.Minute, "replayed a")
			r.want(10*time.Minute, "replayed a, silent a")
			r.beat("a", 3)
			r.want(min5, "")
		},
		"two heartbeats with one number": func(t *testing.T, r *reader) {
			r.beat("a", 5)
			r.want(0, "")
			r.beat("a", 5, func(h *Heartbeat) { h.At++ })
			r.want(min5, "replayed a")
		},
		"a clone with the same key": func(t *testing.T, r *reader) {
			r.beat("a", 1)
			r.want(0, "")
			r.beat("a", 2, func(h *Heartbeat) { h.BootID = "b1" })
			r.want(min5, "")
			r.beat("a", 3)
			r.want(min5, "replayed a") // of a boot that had ended
		},
		"a host restarts": func(t *testing.T, r *reader) {
			for n := range uint64(40) {
				r.beat("a", n+1, func(h *Heartbeat) { h.BootID = fmt.Sprintf("b%d", n) })
				r.watch(time.Hour, "")
			}
		},
		"a new key begins anew": func(t *testing.T, r *reader) {
			r.beat("a", 900)
			r.want(0, "")
			r.inventory[0].Key = publicOf(keyOf("a new key"))
			r.beats["a"] = observed{Value: sealed(t, beatOf("a", 1), "a new key")}
			r.want(min5, "")
		},
		"forgotten, an older number counts": func(t *testing.T, r *reader) {
			r.beat("a", 900)
			r.want(0, "")
			r.beat("a", 1)
			r.want(min5, "replayed a")
			if !r.memory.Forget("a") {
				t.Error("it was not known")
			}
			r.want(min5, "")
		},
		"notices that it cannot deliver": func(t *testing.T, r *reader) {
			stuck := func(oldest time.Duration) func(*Heartbeat) {
				return func(h *Heartbeat) {
					h.Pending = Pending{Count: 2, Oldest: int64(oldest / time.Second), Since: 1_700_000_000}
				}
			}
			r.beat("a", 1, stuck(2*time.Hour))
			r.want(0, "")
			r.beat("a", 2, stuck(3*time.Hour))
			r.want(time.Hour, "undelivered a")
			alert := r.findings[0].Alert
			r.beat("a", 3, stuck(4*time.Hour))
			r.want(time.Hour, "undelivered a")
			if r.findings[0].Alert != alert {
				t.Error("a beat later it is another alert")
			}
			r.beat("a", 4)
			r.want(time.Hour, "")
		},
		"hosts follow an acceptance one by one": func(t *testing.T, r *reader) {
			r.inventory = inventoryOf("a", "b")
			tree := func(c string) func(*Heartbeat) {
				return func(h *Heartbeat) { h.Gates[0].Accepted = strings.Repeat(c, 64) }
			}
			r.beat("a", 1, tree("1"))
			r.beat("b", 1, tree("1"))
			r.want(0, "")
			r.beat("a", 2, tree("2"))
			r.watch(time.Hour, "")
			r.beat("b", 2, tree("2"))
			r.watch(time.Hour, "")
			for n := uint64(3); n < 6; n++ { // and one does not follow
				r.beat("a", n, tree("3"))
				r.beat("b", n, tree("2"))
				r.look(time.Hour, nil)
			}
			r.want(time.Hour, "split claude")
			if reason := r.findings[0].Reason; !strings.Contains(reason, "222222222222 on b") || !strings.Contains(reason, "333333333333 on a") {
				t.Errorf("got %q", reason)
			}
			r.beat("b", 9, tree("3"))
			r.want(min5, "")
		},
	} {
		t.Run(name, func(t *testing.T) { run(t, newReader(t, "a")) })
	}
}

// All readers that see the same give it the same name, whenever they began to watch and whatever their clocks say.
func TestOneAlertHasOneIDOnAllReaders(t *testing.T) {
	one, two := newReader(t, "a"), newReader(t, "a", "b")
	one.beat("a", 7)
	two.beat("a", 7)
	two.beat("b", 1)
	two.now = Reading{BootID: "other", Monotonic: 1000 * time.Hour}
	for range 40 {
		one.look(5*time.Minute, nil)
		two.look(7*time.Minute, nil)
	}
	if one.findings[0].Alert != two.findings[0].Alert {
		t.Errorf("%q and %q", one.findings[0], two.findings[0])
	}
	if err := exchange.CheckID(one.findings[0].Alert + ".over"); err != nil {
		t.Error(err)
	}
	before := one.findings[0].Alert
	one.beat("a", 8)
	for range 40 {
		one.look(5*time.Minute, nil)
	}
	if one.findings[0].Alert == before {
		t.Error("a new silence has the name of the old one")
	}
}

// A host that beats in time, to an exchange that may go away with everybody's, is never called silent, whatever happens
// to the reader.
func TestNeverSilentForAHostThatBeatsInTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newReader(t, "a")
		var at, next time.Duration // real time, and when the host beats
		var sequence uint64
		down := false
		pending := false // a beat that the host could not leave yet
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			step := time.Duration(rapid.Int64Range(1, int64(40*time.Minute)).Draw(rt, "step"))
			what := rapid.SampledFrom([]string{"look", "look", "look", "down", "up", "reboot", "suspend", "away"}).Draw(rt, "what")
			if what == "away" {
				step = time.Duration(rapid.Int64Range(1, int64(200*time.Hour)).Draw(rt, "away"))
			}
			at += step
			for next <= at { // in time: an hour, and what timers and a pass may add
				next += time.Hour + time.Duration(rapid.Int64Range(0, int64(7*time.Minute)).Draw(rt, "late"))
				sequence++
				pending = true
			}
			if what == "up" {
				down = false
			}
			if pending && !down {
				r.beat("a", sequence)
				pending = false
			}
			switch what {
			case "down":
				down = true
			case "reboot":
				r.now = Reading{BootID: fmt.Sprint("reader-", at), Monotonic: step}
				continue
			case "suspend":
				continue // its clock stood still
			}
			var err error
			if down {
				err = exchange.ErrUnavailable
			}
			if got := r.look(step, err); strings.Contains(got, "silent") || strings.Contains(got, "unseen") {
				rt.Fatalf("got %q at %v, heartbeat %d", got, at, sequence)
			}
		}
	})
}

// A host that is dead is silent within a bounded number of looks, as long as the exchange can be looked at.
func TestAlwaysSilentForAHostThatIsDead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newReader(t, "a")
		if rapid.Bool().Draw(rt, "seen") {
			r.beat("a", 1)
		}
		r.look(0, nil)
		for range rapid.IntRange(0, 50).Draw(rt, "before") { // anything may have been
			var err error
			if rapid.Bool().Draw(rt, "down") {
				err = exchange.ErrUnavailable
			}
			if rapid.IntRange(0, 9).Draw(rt, "reboot") == 0 {
				r.now = Reading{BootID: fmt.Sprint("reader-", rapid.Int().Draw(rt, "boot"))}
			}
			r.look(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "step")), err)
		}
		var watched time.Duration
		for watched <= 2*time.Hour+15*time.Minute+time.Hour {
			step := time.Duration(rapid.Int64Range(int64(time.Minute), int64(time.Hour)).Draw(rt, "step"))
			watched += step
			r.look(step, nil)
		}
		if len(r.findings) != 1 || r.findings[0].Kind != Silent && r.findings[0].Kind != Unseen {
			rt.Fatalf("got %v", r.findings)
		}
	})
}

func TestJudgeChangesNeitherOfItsArguments(t *testing.T) {
	r := newReader(t, "a")
	r.beat("a", 1)
	r.look(time.Minute, nil)
	before := *r.memory.Hosts["a"]
	r.beat("a", 2)
	judge(r.memory, view{Beats: r.beats}, r.inventory, Reading{BootID: "other"})
	if after := *r.memory.Hosts["a"]; after.Beat.Sequence != before.Beat.Sequence || after.Quiet != before.Quiet {
		t.Errorf("%+v became %+v", before, after)
	}
}
