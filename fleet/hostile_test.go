package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/notify"
	"gatehouse/peer"
	"gatehouse/reconcile"
)

func (w *world) exported(host string) string { return w.path("exchange", "exports", host, gateName) }

// tamper replaces a file of the exchange, as whoever holds the exchange can.
func (w *world) tamper(path string, change func([]byte) []byte) {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnExportThatItsHostDidNotSignIsForged(t *testing.T) {
	for name, change := range map[string]func(w *world, envelope []byte) []byte{
		"one byte changed":  func(_ *world, e []byte) []byte { e[len(e)-20] ^= 1; return e },
		"cut short":         func(_ *world, e []byte) []byte { return e[:len(e)/2] },
		"no signature":      func(_ *world, e []byte) []byte { return e[strings.IndexByte(string(e), '\n')+1:] },
		"something behind":  func(_ *world, e []byte) []byte { return append(e, ' ') },
		"of another host":   func(w *world, _ []byte) []byte { return must(os.ReadFile(w.exported("agent-02"))) },
		"by another key":    resealed("agent-02", "gatehouse/export/v1", func(s string) string { return s }),
		"of another kind":   resealed("agent-01", "gatehouse/accepted/v1", func(s string) string { return s }),
		"of another gate":   resealed("agent-01", "gatehouse/export/v1", func(s string) string { return strings.Replace(s, `"gate":"claude"`, `"gate":"codex"`, 1) }),
		"about another":     resealed("agent-01", "gatehouse/export/v1", func(s string) string { return strings.Replace(s, `"host":"agent-01"`, `"host":"agent-02"`, 1) }),
		"a key too many":    resealed("agent-01", "gatehouse/export/v1", func(s string) string { return strings.Replace(s, `{"schema"`, `{"more":1,"schema"`, 1) }),
		"a key twice":       resealed("agent-01", "gatehouse/export/v1", func(s string) string { return strings.Replace(s, `{"schema"`, `{"gate":"codex","schema"`, 1) }),
		"a tree of no hash": resealed("agent-01", "gatehouse/export/v1", func(s string) string { return strings.Replace(s, `"tree":"`, `"tree":"../`, 1) }),
	} {
		t.Run(name, func(t *testing.T) {
			w, hosts, hub := settled(t, 3)
			w.later(time.Hour)
			for _, h := range hosts {
				h.drift("allow: []\n")
			}
			w.tamper(w.exported("agent-01"), func(e []byte) []byte { return change(w, e) })
			reports := hub.pass()
			if r := reports["agent-01"]; r.Result != reconcile.Forged || r.Fingerprint != "" {
				t.Errorf("%s: %+v", r.Result, r.Findings)
			}
			if reports["agent-02"].Result != reconcile.Drifted || reports["agent-03"].Result != reconcile.Drifted {
				t.Errorf("the others: %v", results(reports))
			}
			if n := hub.sink.take("forged", notify.Opened); len(n) != 1 || !strings.Contains(n[0].Changes[0].Text, "agent-01") {
				t.Errorf("notices: %+v", n)
			}
			if hosts := hub.accept(reports["agent-02"].Fingerprint); len(hosts) != 2 {
				t.Errorf("accepted for %q", hosts)
			}
		})
	}
}

// resealed signs what a host said once more, changed, with the key of a host and for a domain.
func resealed(host, domain string, change func(string) string) func(*world, []byte) []byte {
	return func(w *world, e []byte) []byte {
		_, payload, _ := strings.Cut(string(e), "\n")
		changed := change(payload)
		return must(peer.Seal(w.key(host), domain, []byte(changed)))
	}
}

func TestAnOlderExportIsReplayed(t *testing.T) {
	w, hosts, hub := settled(t, 2)
	old := must(os.ReadFile(w.exported("agent-01")))
	w.later(time.Hour)
	hosts[0].drift("allow: []\n")
	hosts[1].send()
	hub.pass()
	hub.sink.messages = nil
	w.tamper(w.exported("agent-01"), func([]byte) []byte { return old })
	for range 2 { // it stays one, whoever looks again
		reports := hub.pass()
		if reports["agent-01"].Result != reconcile.Replayed || reports["agent-02"].Result != reconcile.InSync {
			t.Fatalf("%v", results(reports))
		}
	}
	if n := hub.sink.take("drift", notify.Closed); len(n) != 0 {
		t.Error("an old export has cleared a drift")
	}
	_, _, _, err := hub.warden(durable.Disk{}).AcceptFleet(t.Context(), hub.fleet(), hub.fetch(), strings.Repeat("0", 64), ann())
	if !errors.Is(err, reconcile.ErrNotAcceptable) {
		t.Errorf("accept: %v", err)
	}
	w.later(time.Hour)
	hosts[0].send()
	if r := hub.pass()["agent-01"]; r.Result != reconcile.Drifted {
		t.Errorf("afterwards %s: %+v", r.Result, r.Findings)
	}
}

func TestObjectsThatAreNotWhatTheExportSaysAreAMismatch(t *testing.T) {
	sum := func(text string) string { return digestOf([]byte(text)) }
	const fresh = "allow: [git status, rm]\n"
	for name, spoil := range map[string]func(w *world, host string){
		"gone": func(w *world, host string) { os.Remove(w.path("exchange", "objects", host, sum(fresh))) },
		"other": func(w *world, host string) {
			w.tamper(w.path("exchange", "objects", host, sum(fresh)), func([]byte) []byte { return []byte("allow: [all]\n") })
		},
		"truncated": func(w *world, host string) {
			w.tamper(w.path("exchange", "objects", host, sum(fresh)), func(d []byte) []byte { return d[:3] })
		},
		"no list": func(w *world, host string) {
			for _, name := range must(os.ReadDir(w.path("exchange", "objects", host))) {
				w.tamper(w.path("exchange", "objects", host, name.Name()), func(d []byte) []byte { return append(d, 'x') })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, hosts, hub := settled(t, 3)
			w.later(time.Hour)
			hosts[0].drift(fresh)
			spoil(w, "agent-01")
			hosts[1].drift("allow: []\n")
			hosts[2].send()
			reports := hub.pass()
			r := reports["agent-01"]
			if r.Result != reconcile.Mismatch {
				t.Fatalf("%s: %+v", r.Result, r.Findings)
			}
			for _, f := range r.Findings {
				if strings.Contains(f.Next, "accept") {
					t.Errorf("a drift that is not staged is offered: %q", f.Next)
				}
			}
			if reports["agent-02"].Result != reconcile.Drifted || reports["agent-03"].Result != reconcile.InSync {
				t.Errorf("the others: %v", results(reports))
			}
			if r.Fingerprint != "" {
				_, _, _, err := hub.warden(durable.Disk{}).AcceptFleet(t.Context(), hub.fleet(), hub.fetch(), r.Fingerprint, ann())
				if !errors.Is(err, reconcile.ErrNotAcceptable) {
					t.Errorf("accept: %v", err)
				}
			}
		})
	}
}

func TestWhatLiesOnTheHubIsHashedBeforeItIsStaged(t *testing.T) {
	w, hosts, hub := settled(t, 2)
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: [make]\n")
	}
	remotes := hub.fetch()
	torn := hub.path("state", "remote", "objects", digestOf([]byte("allow: [make]\n")))
	w.tamper(torn, func(data []byte) []byte { return make([]byte, len(data)) })
	for host, r := range hub.judge(remotes) {
		if !r.Has(reconcile.Unfetched) {
			t.Errorf("%s: %s: %+v", host, r.Result, r.Findings)
		}
	}
	for host, r := range hub.pass() { // which fetches it again
		if r.Result != reconcile.Drifted || r.Has(reconcile.Unfetched) {
			t.Errorf("%s afterwards: %s: %+v", host, r.Result, r.Findings)
		}
	}
}

func TestOneGoodCopyIsEnough(t *testing.T) {
	w, hosts, hub := settled(t, 3)
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: []\n")
	}
	os.Remove(w.path("exchange", "objects", "agent-01", digestOf([]byte("allow: []\n"))))
	for host, r := range hub.pass() {
		if r.Result != reconcile.Drifted {
			t.Errorf("%s: %+v", host, r.Findings)
		}
	}
}

func TestAHostOfTheInventoryThatIsNotThereIsAResult(t *testing.T) {
	w, hosts, hub := settled(t, 2)
	hub.hosts = append(hub.hosts, "agent-99")
	w.later(time.Minute)
	for _, h := range hosts {
		h.send()
	}
	reports := hub.pass()
	if len(reports) != 3 || reports["agent-99"].Result != reconcile.Missing || reports["agent-01"].Result != reconcile.InSync {
		t.Errorf("%v", results(reports))
	}
}

func TestAHostThatNobodyListedIsNotLookedAt(t *testing.T) {
	w, _, hub := settled(t, 2)
	w.host("stranger").send()
	if reports := hub.pass(); len(reports) != 2 {
		t.Errorf("%v", results(reports))
	}
}

func TestAnExchangeThatCannotBeReachedClearsNothing(t *testing.T) {
	w, hosts, hub := settled(t, 3)
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: []\n")
	}
	fingerprint := hub.pass()["agent-01"].Fingerprint
	hub.sink.messages = nil
	remotes := must(hub.fetchFrom(t.Context(), unreachable{w.exchange("hub")}, durable.Disk{}))
	for host, r := range hub.judge(remotes) {
		if r.Result != reconcile.Unfetched || r.Result.Code() != 2 {
			t.Errorf("%s: %+v", host, r.Findings)
		}
	}
	if n := hub.sink.take("drift", notify.Closed); len(n) != 0 {
		t.Error("the drift was cleared")
	}
	_, _, _, err := hub.warden(durable.Disk{}).AcceptFleet(t.Context(), hub.fleet(), remotes, fingerprint, ann())
	if !errors.Is(err, reconcile.ErrNotAcceptable) {
		t.Errorf("accept: %v", err)
	}
	for host, r := range hub.pass() {
		if r.Result != reconcile.Drifted || r.Fingerprint != fingerprint {
			t.Errorf("%s when it is back: %+v", host, r.Findings)
		}
	}
	if n := hub.sink.take("drift", notify.Opened); len(n) != 0 {
		t.Error("the same drift was announced again")
	}
}

// unreachable is an exchange that does not answer.
type unreachable struct{ exchange.Exchange }

func (unreachable) List(context.Context, exchange.Key) iter.Seq2[exchange.Entry, error] {
	return func(yield func(exchange.Entry, error) bool) {
		yield(exchange.Entry{}, fmt.Errorf("%w: injected", exchange.ErrUnavailable))
	}
}

func TestASweepThatEndsEarlyIsNotAll(t *testing.T) {
	w, _, hub := settled(t, 4)
	remotes := must(hub.fetchFrom(t.Context(), &partial{w.exchange("hub"), 2}, durable.Disk{}))
	counts := make(map[reconcile.Result]int)
	for _, r := range hub.judge(remotes) {
		counts[r.Result]++
	}
	if counts[reconcile.InSync] != 2 || counts[reconcile.Unfetched] != 2 {
		t.Errorf("%v", counts)
	}
}

// partial is an exchange that falls silent in the middle of a list.
type partial struct {
	exchange.Exchange
	after int
}

func (p *partial) List(ctx context.Context, under exchange.Key) iter.Seq2[exchange.Entry, error] {
	return func(yield func(exchange.Entry, error) bool) {
		n := 0
		for e, err := range p.Exchange.List(ctx, under) {
			if n++; n > p.after {
				yield(exchange.Entry{}, fmt.Errorf("%w: injected", exchange.ErrUnavailable))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestASlowHostDelaysNobody(t *testing.T) {
	w, hosts, hub := settled(t, 40)
	w.later(time.Hour)
	for i, h := range hosts {
		h.drift(fmt.Sprintf("allow: [program-%d]\n", i))
	}
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		start := time.Now()
		remotes, err := hub.fetchFrom(t.Context(), hanging{w.exchange("hub"), "agent-07", never}, durable.Disk{})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 25*time.Second {
			t.Errorf("it took %v", took)
		}
		close(never)
		synctest.Wait()
		for host, r := range hub.judge(remotes) {
			want := reconcile.Drifted
			if host == "agent-07" {
				want = reconcile.Unfetched
			}
			if r.Result != want {
				t.Errorf("%s: %s: %+v", host, r.Result, r.Findings)
			}
		}
	})
}

// hanging is an exchange that does not come back with the objects of one host, whatever its caller's deadline is.
type hanging struct {
	exchange.Exchange
	host  string
	never chan struct{}
}

func (h hanging) Get(ctx context.Context, key exchange.Key) (exchange.Entry, error) {
	if key.Kind == exchange.Objects && key.Host == h.host {
		<-h.never
	}
	return h.Exchange.Get(ctx, key)
}

func TestWhatCannotBeNamedInAnExportIsNotCompared(t *testing.T) {
	w, hosts, hub := settled(t, 2)
	w.later(time.Hour)
	for i := range 80 {
		mkfifo(t, hosts[0].path("live", fmt.Sprintf("pipe-%02d", i)))
	}
	hosts[0].send()
	reports := hub.pass()
	if r := reports["agent-01"]; r.Result != reconcile.Refused || r.Fingerprint != "" {
		t.Errorf("%s: %+v", r.Result, r.Findings)
	}
	for i := range 78 {
		os.Remove(hosts[0].path("live", fmt.Sprintf("pipe-%02d", i)))
	}
	w.later(time.Minute)
	hosts[0].drift("allow: []\n")
	r := hub.pass()["agent-01"]
	if !r.Has(reconcile.Refused) || !r.Has(reconcile.Drifted) {
		t.Errorf("%s: %+v", r.Result, r.Findings)
	}
}

func TestAnAgentCannotHaveItsWardenSendOtherBytes(t *testing.T) {
	w, hosts, _ := settled(t, 1)
	w.later(time.Hour)
	hosts[0].write("gate.yaml", "allow: []\n")
	hosts[0].publish()
	digest := digestOf([]byte("allow: []\n"))
	w.tamper(hosts[0].path("export", "objects", digest[:2], digest[2:]), func([]byte) []byte { return []byte("/etc/shadow") })
	_, err := hosts[0].exporter().Export(t.Context(), hosts[0].exportSource(), w.now)
	if !errors.Is(err, manifest.ErrMismatch) {
		t.Fatalf("export: %v", err)
	}
	if _, err := os.Stat(w.path("exchange", "objects", "agent-01", digest)); err == nil {
		t.Error("it was sent all the same")
	}
}

func TestAnUnchangedExportIsSentOnce(t *testing.T) {
	w, hosts, _ := settled(t, 1)
	h := hosts[0]
	if did := must(h.exporter().Export(t.Context(), h.exportSource(), w.now)); did {
		t.Error("it was sent twice")
	}
	w.tamper(w.exported(h.name), func(e []byte) []byte { return e[:10] })
	if did := must(h.exporter().Export(t.Context(), h.exportSource(), w.now)); !did {
		t.Error("what somebody put in its place stays there")
	}
	counted := &counting{Exchange: w.exchange(h.name)}
	e := h.exporter()
	e.Exchange = counted
	w.later(time.Hour)
	h.publish()
	if did := must(e.Export(t.Context(), h.exportSource(), w.now)); !did || counted.puts != 1 {
		t.Errorf("a publication without changes: sent %v with %d puts, want the statement alone", did, counted.puts)
	}
	// An exchange that was lost is filled anew.
	for _, kind := range []string{"exports", "objects"} {
		if err := os.RemoveAll(w.path("exchange", kind)); err != nil {
			t.Fatal(err)
		}
	}
	counted.puts = 0
	if did := must(e.Export(t.Context(), h.exportSource(), w.now)); !did || counted.puts != 4 {
		t.Errorf("after the loss of the exchange: sent %v with %d puts, want two files, the list and the statement", did, counted.puts)
	}
}

type counting struct {
	exchange.Exchange
	puts, gets int
}

func (c *counting) Put(ctx context.Context, key exchange.Key, value []byte) error {
	c.puts++
	return c.Exchange.Put(ctx, key, value)
}

func (c *counting) Get(ctx context.Context, key exchange.Key) (exchange.Entry, error) {
	c.gets++
	return c.Exchange.Get(ctx, key)
}
