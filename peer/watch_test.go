package peer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/notify"
)

// fleet is a number of hosts that watch each other, in one process and a time of their own.
type fleet struct {
	t     testing.TB
	dir   string
	now   time.Duration // since all began
	store *store
	told  *receiver
	hosts map[string]*member
	names []string
	every time.Duration // between two looks
}

// member is one host of a fleet.
type member struct {
	*Watcher
	sequence uint64
	dead     bool
	cut      error                 // the exchange cannot be reached from it
	fault    func(at string) error // of each thing that its process does
	round    *Round
}

// ramDir is a directory in memory: each look flushes what it wrote, and there are thousands of looks.
func ramDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "gatehouse-peer-")
	if err != nil {
		dir, err = os.MkdirTemp("", "gatehouse-peer-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

var epoch = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func newFleet(t testing.TB, names ...string) *fleet {
	f := &fleet{t: t, told: new(receiver), hosts: make(map[string]*member), names: names, every: 5 * time.Minute}
	f.dir = ramDir(t)
	f.store = newStore(f.wall)
	for _, name := range names {
		others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
		m := &member{}
		disk := durable.Disk{Around: func(s durable.Step, change func() error) error {
			if err := m.at("before " + s.Op); err != nil {
				return err
			}
			return errors.Join(change(), m.at("after "+s.Op))
		}}
		dir := filepath.Join(f.dir, name)
		m.Watcher = &Watcher{
			Host: name, Key: keyOf(name), Inventory: inventoryOf(others...), Dir: dir, Disk: disk,
			Exchange: door{f.store, name, func() error { return errors.Join(m.cut, m.at("exchange")) }},
			Journal:  &notify.Outbox{Dir: filepath.Join(dir, "journal"), Disk: disk, Host: name},
			Shared:   &notify.Outbox{Dir: filepath.Join(dir, "shared"), Disk: disk, Host: name, Sinks: []notify.Sink{dyingSink{sinkFor{f.told, name}, m}}},
			Clock:    func() (Reading, error) { return Reading{"boot-" + name, f.now + time.Hour}, nil },
			Now:      f.wall,
		}
		f.hosts[name] = m
	}
	return f
}

func (m *member) at(where string) error {
	if m.fault == nil {
		return nil
	}
	return m.fault(where)
}

// dyingSink lets a process die before and after it sent.
type dyingSink struct {
	sinkFor
	m *member
}

func (f *fleet) wall() time.Time { return epoch.Add(f.now) }

// beat has each host that is alive make a pass.
func (f *fleet) beat() {
	for _, name := range f.names {
		if m := f.hosts[name]; !m.dead && m.cut == nil {
			m.sequence++
			f.store.values[exchange.Key{Kind: exchange.Beats, Host: name}] = sealed(f.t, beatOf(name, m.sequence), name)
		}
	}
}

var errDied = errors.New("the process died")

// look has one host look once. A process may die anywhere in it, and that is all that comes of it.
func (f *fleet) look(name string) {
	m := f.hosts[name]
	if m.dead {
		return
	}
	defer func() {
		if r := recover(); r != nil && r != any(errDied) {
			panic(r)
		}
	}()
	round, err := m.Watch(f.t.Context(), nil)
	if err != nil && m.fault == nil {
		f.t.Errorf("%s at %v: %v", name, f.now, err)
	}
	m.round = round
}

// run lets time go by: passes every hour, looks every five minutes, in another order each time.
func (f *fleet) run(lasting time.Duration, order *rand.Rand, each func()) {
	for range lasting / f.every {
		if f.now%time.Hour == 0 {
			f.beat()
		}
		names := slices.Clone(f.names)
		order.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			if each != nil {
				each()
			}
			f.look(name)
		}
		f.now += f.every
	}
}

func inOrder() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestKillAHostOneAlertHealItOneClosingLine(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "b", "a", "d", "e"}} {
		f := newFleet(t, names...)
		f.run(3*time.Hour, inOrder(), nil)
		if got := f.told.take(); got != nil {
			t.Fatalf("with all well: %q", got)
		}
		f.hosts["b"].dead = true
		f.run(12*time.Hour, inOrder(), nil)
		if diff := cmp.Diff([]string{"open silent b by a"}, f.told.take()); diff != "" {
			t.Errorf("%d hosts, one dies (-want +got):\n%s", len(names), diff)
		}
		f.hosts["b"].dead = false
		f.run(6*time.Hour, inOrder(), nil)
		if diff := cmp.Diff([]string{"closed silent b by a"}, f.told.take()); diff != "" {
			t.Errorf("%d hosts, it comes back (-want +got):\n%s", len(names), diff)
		}
		f.hosts["b"].dead = true // and another silence is another alert
		f.run(6*time.Hour, inOrder(), nil)
		if diff := cmp.Diff([]string{"open silent b by a"}, f.told.take()); diff != "" {
			t.Errorf("%d hosts, it dies again (-want +got):\n%s", len(names), diff)
		}
		for _, name := range names {
			if m := f.hosts[name]; !m.dead && (len(m.round.Findings) != 1 || m.round.Findings[0].Kind != Silent) {
				t.Errorf("%s sees %v", name, m.round.Findings)
			}
		}
	}
}

func TestAWatcherThatDiesAfterItsClaimSilencesNothing(t *testing.T) {
	f := newFleet(t, "a", "b", "c", "d")
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["d"].dead = true
	f.hosts["a"].fault = func(where string) error { // a claims and dies before it sends, each time that it gets so far
		if where == "before send" {
			panic(errDied)
		}
		return nil
	}
	f.run(6*time.Hour, inOrder(), nil)
	got := f.told.take()
	if len(got) != 1 || got[0] != "open silent d by b" && got[0] != "open silent d by c" {
		t.Fatalf("got %q", got)
	}
	teller := got[0][len(got[0])-1:]
	f.hosts["a"].fault = nil // a comes back: it says nothing more
	f.run(3*time.Hour, inOrder(), nil)
	if got := f.told.take(); got != nil {
		t.Errorf("a comes back: %q", got)
	}
	f.hosts["d"].dead = false
	f.run(3*time.Hour, inOrder(), nil)
	if diff := cmp.Diff([]string{"closed silent d by " + teller}, f.told.take()); diff != "" {
		t.Errorf("healed (-want +got):\n%s", diff)
	}
}

func (s dyingSink) Send(ctx context.Context, m notify.Message) error {
	if err := s.m.at("before send"); err != nil {
		return err
	}
	return errors.Join(s.sinkFor.Send(ctx, m), s.m.at("after send"))
}

func TestTheNextWatcherClosesWhatOneThatIsGoneHasTold(t *testing.T) {
	f := newFleet(t, "a", "b", "c", "d")
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["d"].dead = true
	f.run(4*time.Hour, inOrder(), nil)
	f.hosts["a"].dead = true // which told it
	f.run(4*time.Hour, inOrder(), nil)
	if diff := cmp.Diff([]string{"open silent d by a", "open silent a by b"}, f.told.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.hosts["d"].dead = false
	f.run(4*time.Hour, inOrder(), nil)
	if diff := cmp.Diff([]string{"closed silent d by b"}, f.told.take()); diff != "" {
		t.Errorf("the host comes back, who told it does not (-want +got):\n%s", diff)
	}
	f.hosts["a"].dead = false
	f.run(4*time.Hour, inOrder(), nil)
	if diff := cmp.Diff([]string{"closed silent a by b"}, f.told.take()); diff != "" {
		t.Errorf("who told it comes back as well (-want +got):\n%s", diff)
	}
}

func TestAPartitionMayRepeatAndNeverSilences(t *testing.T) {
	f := newFleet(t, "a", "b", "c", "d")
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["d"].dead = true
	f.hosts["a"].cut = exchange.ErrUnavailable // the first in turn sees nothing
	f.run(6*time.Hour, inOrder(), nil)
	if f.told.about("open", "silent", "d", "by", "b") != 1 || f.told.about("open", "silent", "a", "by", "b") != 1 ||
		f.told.about("open", "unavailable", "exchange", "by", "a") != 1 {
		t.Errorf("got %q", f.told.got)
	}
	f.told.take()
	f.hosts["a"].cut = nil
	f.hosts["d"].dead = false
	f.run(4*time.Hour, inOrder(), nil)
	for _, want := range [][]string{{"closed", "silent", "d"}, {"closed", "silent", "a"}, {"closed", "unavailable", "exchange"}} {
		if f.told.about(want...) != 1 {
			t.Errorf("want one %q in %q", want, f.told.got)
		}
	}
	if n := f.told.about("open"); n != 0 {
		t.Errorf("%d more alerts: %q", n, f.told.got)
	}
}

// A host that lies about having told an alert can delay it by a day.
func TestAWatcherThatLiesDelaysAnAlertAndDoesNotPreventIt(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = true
	var alert string
	lie := func() { // a says that it told whatever b sees
		if r := f.hosts["b"].round; len(r.Findings) > 0 {
			alert = r.Findings[0].Alert
		}
		if alert == "" {
			return
		}
		value, err := sealTold("a", keyOf("a"), map[string]said{alert: {statement: statement{alert, Silent, "c", 1, false}}})
		if err != nil {
			t.Fatal(err)
		}
		f.store.values[toldKey("a")] = value
	}
	f.hosts["a"].Shared = nil
	// b takes its turn after half a minute: the lie is there before.
	f.hosts["b"].fault = nil
	f.run(20*time.Hour, inOrder(), lie)
	if got := f.told.take(); got != nil {
		t.Fatalf("the lie was not in time: %q", got)
	}
	f.run(8*time.Hour, inOrder(), lie)
	if diff := cmp.Diff([]string{"open silent c by b"}, f.told.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a host says of itself, and what one says whose heartbeats are not believed, is no reason to be silent.
func TestWhoseWordDoesNotCount(t *testing.T) {
	for name, prepare := range map[string]func(f *fleet, alert string) (host string, value []byte){
		"the host itself": func(f *fleet, alert string) (string, []byte) {
			return "c", told(t, "c", "c", statement{alert, Silent, "c", 1, false})
		},
		"signed by another": func(f *fleet, alert string) (string, []byte) {
			return "a", told(t, "a", "c", statement{alert, Silent, "c", 1, false})
		},
		"the word of another put under a name": func(f *fleet, alert string) (string, []byte) {
			return "a", told(t, "c", "c", statement{alert, Silent, "c", 1, false})
		},
		"a stranger": func(f *fleet, alert string) (string, []byte) {
			return "z", told(t, "z", "z", statement{alert, Silent, "c", 1, false})
		},
		"garbage": func(f *fleet, alert string) (string, []byte) { return "a", []byte("{}") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, "a", "b", "c")
			f.run(2*time.Hour, inOrder(), nil)
			f.hosts["c"].dead = true
			f.hosts["a"].Shared = nil
			f.run(5*time.Hour, inOrder(), func() {
				for _, host := range []string{"a", "b"} {
					for _, finding := range f.hosts[host].round.Findings {
						host, value := prepare(f, finding.Alert)
						f.store.values[toldKey(host)] = value
					}
				}
			})
			if diff := cmp.Diff([]string{"open silent c by b"}, f.told.take()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func told(t testing.TB, host, signer string, list ...statement) []byte {
	mine := make(map[string]said)
	for _, s := range list {
		mine[s.Alert] = said{statement: s}
	}
	value, err := sealTold(host, keyOf(signer), mine)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The receiver is away while a host is silent, for all watchers: when it is back it hears of it once.
func TestAReceiverThatIsAwayHearsOfItOnceAfterwards(t *testing.T) {
	f := newFleet(t, "a", "b", "c", "d")
	f.run(2*time.Hour, inOrder(), nil)
	f.told.broken = func(string) error { return errors.New("503") }
	f.hosts["d"].dead = true
	f.run(6*time.Hour, inOrder(), nil)
	f.told.broken = nil
	f.run(2*time.Hour, inOrder(), nil)
	if got := f.told.take(); len(got) != 1 || !strings.HasPrefix(got[0], "open silent d") {
		t.Errorf("got %q", got)
	}
	f.told.broken = func(string) error { return errors.New("503") }
	f.hosts["c"].dead = true
	f.run(6*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = false
	f.run(2*time.Hour, inOrder(), nil)
	f.told.broken = nil
	f.run(4*time.Hour, inOrder(), nil)
	if got := f.told.take(); len(got) != 1 || !strings.HasPrefix(got[0], "closed silent c") {
		t.Errorf("it came back before anybody could be told: %q", got)
	}
}

// Only one watcher cannot reach the receiver: another tells it, once.
func TestAWatcherThatCannotSendLetsTheNext(t *testing.T) {
	f := newFleet(t, "a", "b", "c", "d")
	f.run(2*time.Hour, inOrder(), nil)
	f.told.broken = func(host string) error {
		if host == "a" {
			return errors.New("no route")
		}
		return nil
	}
	f.hosts["d"].dead = true
	f.run(6*time.Hour, inOrder(), nil)
	f.told.broken = nil
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["d"].dead = false
	f.run(3*time.Hour, inOrder(), nil)
	if got := f.told.take(); len(got) != 2 || strings.Contains(strings.Join(got, "\n"), "by a") || got[0] != strings.Replace(got[1], "closed", "open", 1) {
		t.Errorf("got %q", got)
	}
}

func TestAMemoryThatIsLostOrBrokenIsNoObstacle(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = true
	f.run(4*time.Hour, inOrder(), nil)
	f.told.take()
	if err := os.WriteFile(memoryFile(f.hosts["a"].Dir), []byte("\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.look("a")
	if w := f.hosts["a"].round.Warnings; len(w) != 1 || !strings.Contains(w[0], "watching begins anew") {
		t.Errorf("got %q", w)
	}
	f.run(6*time.Hour, inOrder(), nil)
	if got := f.told.take(); got != nil {
		t.Errorf("told again: %q", got)
	}
	f.hosts["c"].dead = false
	f.run(4*time.Hour, inOrder(), nil)
	if diff := cmp.Diff([]string{"closed silent c by a"}, f.told.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Among watchers that may each die at any step and in any partition, a host that stays dead is told at least once; and
// once it is told and things are calm, no more.
func TestADeadHostIsAlwaysTold(t *testing.T) {
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; checks > 12 { // each takes a day of a fleet; the seeds differ from run to run
			return
		}
		f := newFleet(t, "a", "b", "c", "d")
		defer os.RemoveAll(f.dir)
		f.every = 15 * time.Minute
		seed := rapid.Uint64().Draw(rt, "seed")
		order := rand.New(rand.NewPCG(seed, 0))
		f.run(time.Hour, order, nil)
		f.hosts["d"].dead = true
		rate := rapid.IntRange(1, 60).Draw(rt, "one step in so many fails")
		for _, name := range []string{"a", "b", "c"} {
			m := f.hosts[name]
			m.fault = func(where string) error {
				switch {
				case order.IntN(rate) > 0:
					return nil
				case order.IntN(2) == 0:
					panic(errDied)
				case where == "exchange":
					return exchange.ErrUnavailable
				default:
					return &notify.SendError{Err: fmt.Errorf("%s: fails", where), Permanent: true}
				}
			}
		}
		f.run(time.Duration(rapid.IntRange(3, 6).Draw(rt, "hours of trouble"))*time.Hour, order, func() {
			for _, name := range []string{"a", "b", "c"} {
				switch order.IntN(40) {
				case 0:
					f.hosts[name].cut = exchange.ErrUnavailable
				case 1, 2, 3:
					f.hosts[name].cut = nil
				}
			}
		})
		survivors := rapid.SampledFrom([][]string{{"a", "b", "c"}, {"b", "c"}, {"a"}, {"b"}, {"c"}}).Draw(rt, "survivors")
		for _, name := range []string{"a", "b", "c"} {
			m := f.hosts[name]
			m.fault, m.cut, m.dead = nil, nil, !slices.Contains(survivors, name)
		}
		f.run(8*time.Hour, order, nil)
		if f.told.about("open", "silent", "d") == 0 {
			rt.Fatalf("never told; got %q", f.told.got)
		}
		f.told.take()
		f.run(6*time.Hour, order, nil)
		if n := f.told.about("silent", "d"); n > 0 {
			rt.Fatalf("told again in the calm: %q", f.told.got)
		}
		f.hosts["d"].dead = false
		f.run(10*time.Hour, order, nil)
		if n := f.told.about("closed", "silent", "d"); n != 1 {
			rt.Fatalf("%d closing lines: %q", n, f.told.got)
		}
	})
}

// noClaims is an exchange in which nothing can be claimed.
type noClaims struct{ exchange.Exchange }

func (noClaims) Claim(context.Context, string, time.Duration) (exchange.Claim, error) {
	return exchange.Claim{}, exchange.ErrForbidden
}

func TestAnAlertThatCannotBeClaimedIsToldAllTheSame(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	for _, m := range f.hosts {
		m.Exchange = noClaims{m.Exchange}
	}
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = true
	f.run(5*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = false
	f.run(3*time.Hour, inOrder(), nil)
	if f.told.about("open", "silent", "c") == 0 || f.told.about("closed", "silent", "c") == 0 {
		t.Errorf("got %q", f.told.got)
	}
}

// The journal of each host has what that host sees, whoever told the others.
func TestEachJournalHasWhatItsHostSees(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	journals := make(map[string]*receiver)
	for name, m := range f.hosts {
		journals[name] = new(receiver)
		m.Journal.Sinks = []notify.Sink{sinkFor{journals[name], name}}
	}
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = true
	f.run(4*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = false
	f.run(2*time.Hour, inOrder(), nil)
	for _, name := range []string{"a", "b"} {
		want := []string{"open silent c by " + name, "closed silent c by " + name}
		if diff := cmp.Diff(want, journals[name].take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A host that watches nobody reads no list, and still finds that the exchange is away.
func TestAHostThatWatchesNobody(t *testing.T) {
	f := newFleet(t, "a")
	m := f.hosts["a"]
	m.Exchange = noLists{m.Exchange}
	f.run(2*time.Hour, inOrder(), nil)
	if len(m.round.Findings) != 0 {
		t.Errorf("got %v", m.round.Findings)
	}
	m.cut = exchange.ErrUnavailable
	f.run(10*time.Minute, inOrder(), nil)
	if got := f.told.take(); got != nil {
		t.Errorf("told at once: %q", got)
	}
	f.run(20*time.Minute, inOrder(), nil)
	m.cut = nil
	f.run(10*time.Minute, inOrder(), nil)
	if diff := cmp.Diff([]string{"open unavailable exchange by a", "closed unavailable exchange by a"}, f.told.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What one host's disk cannot read is told by that host, for itself, and is no word about the other.
func TestAHeartbeatThatCannotBeRead(t *testing.T) {
	f := newFleet(t, "a", "b")
	f.run(2*time.Hour, inOrder(), nil)
	m := f.hosts["a"]
	whole := m.Exchange
	m.Exchange = badSector{whole, "b"}
	f.run(6*time.Hour, inOrder(), nil)
	m.Exchange = whole
	f.run(10*time.Minute, inOrder(), nil)
	if diff := cmp.Diff([]string{"open unavailable b by a", "closed unavailable b by a"}, f.told.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A badSector is where the heartbeat of a host lies.
type badSector struct {
	exchange.Exchange
	host string
}

func (b badSector) List(ctx context.Context, under exchange.Key) iter.Seq2[exchange.Entry, error] {
	return func(yield func(exchange.Entry, error) bool) {
		for e, err := range b.Exchange.List(ctx, under) {
			if e.Key.Kind == exchange.Beats && e.Key.Host == b.host {
				e.Value, e.Err = nil, syscall.EIO
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

type noLists struct{ exchange.Exchange }

func (noLists) List(context.Context, exchange.Key) iter.Seq2[exchange.Entry, error] {
	panic("it reads a list")
}

// Many hosts that fall silent at once, as with a rack, come in one message.
func TestManyAlertsAtOnceAreOneMessage(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	f := newFleet(t, names...)
	f.run(2*time.Hour, inOrder(), nil)
	for _, name := range names[2:] {
		f.hosts[name].dead = true
	}
	f.run(4*time.Hour, inOrder(), nil)
	if n := f.told.about("open", "silent"); n != 6 || f.told.messages != 1 {
		t.Errorf("%d alerts in %d messages: %q", n, f.told.messages, f.told.got)
	}
}

// Ten thousand hosts are judged in less time than there is between two looks.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var names []string
			for i := range n {
				names = append(names, fmt.Sprintf("host-%05d", i))
			}
			inventory := inventoryOf(names...)
			looks := [2]view{{Beats: make(map[string]observed)}, {Beats: make(map[string]observed)}}
			for i := range looks {
				for _, name := range names {
					looks[i].Beats[name] = observed{Value: sealed(b, beatOf(name, uint64(i)+1), name)}
				}
			}
			first, _ := judge(Memory{}, looks[0], inventory, Reading{BootID: "r", Monotonic: time.Hour})
			b.Run("all new", func(b *testing.B) {
				for b.Loop() {
					judge(first, looks[1], inventory, Reading{BootID: "r", Monotonic: 2 * time.Hour})
				}
			})
			b.Run("none new", func(b *testing.B) {
				for b.Loop() {
					judge(first, looks[0], inventory, Reading{BootID: "r", Monotonic: 2 * time.Hour})
				}
			})
		})
	}
}
