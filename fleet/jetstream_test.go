package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
	"gatehouse/exchange/server"
	"gatehouse/internal/durable"
	"gatehouse/reconcile"
)

// onJetStream puts the exchange of the world onto a real server, where a host writes only its own.
func (w *world) onJetStream(hosts ...string) {
	w.t.Helper()
	admin, _, err := server.NewKey()
	if err != nil {
		w.t.Fatal(err)
	}
	seeds := make(map[string][]byte)
	var known []server.Host
	for _, host := range hosts {
		seed, public, err := server.NewKey()
		if err != nil {
			w.t.Fatal(err)
		}
		seeds[host] = seed
		known = append(known, server.Host{Name: host, Key: public})
	}
	node := server.Node{Name: "node-1", Listen: "127.0.0.1:0", Store: w.path("nats"), Admin: admin}
	s, err := server.Start(w.t.Context(), node, known, func(string) {})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Stop)
	if err := s.MakeStreams(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	connected := make(map[string]exchange.Exchange)
	w.connect = func(host string) exchange.Exchange {
		if connected[host] == nil {
			ex, err := jetstream.Connect(w.t.Context(), jetstream.Options{Host: host, Servers: []string{"nats://" + s.Addr().String()}, Seed: seeds[host]})
			if err != nil {
				w.t.Fatal(err)
			}
			w.t.Cleanup(ex.Close)
			connected[host] = ex
		}
		return connected[host]
	}
}

func TestAFleetOverJetStream(t *testing.T) {
	w := newWorld(t)
	var all []string
	for i := range 5 {
		all = append(all, fmt.Sprintf("agent-%02d", i+1))
	}
	w.onJetStream(append(all, "hub")...)
	hosts := w.hosts(5)
	for _, h := range hosts {
		h.send()
	}
	hub := w.hub(all)
	r := hub.pass()["agent-01"]
	if r.Result != reconcile.Drifted {
		t.Fatalf("first pass: %+v", r.Findings)
	}
	hub.accept(r.Fingerprint)
	hub.announce()
	f := w.follower(hosts[0])
	if _, err := f.pull(durable.Disk{}); err != nil {
		t.Fatal(err)
	}
	w.later(time.Hour)
	for _, h := range hosts[1:] {
		h.drift("allow: [git log]\n")
	}
	hosts[0].send()
	reports := hub.pass()
	if reports["agent-01"].Result != reconcile.InSync || reports["agent-05"].Result != reconcile.Drifted {
		t.Fatalf("%v", results(reports))
	}
	if accepted := hub.accept(reports["agent-02"].Fingerprint); len(accepted) != 4 {
		t.Errorf("accepted for %q", accepted)
	}
	hub.announce()
	if commit, err := f.pull(durable.Disk{}); err != nil || commit == "" {
		t.Errorf("pull: %q, %v", commit, err)
	}
	for host, r := range hub.pass() {
		want := reconcile.InSync
		if host == "agent-01" {
			want = reconcile.Behind // until its agent publishes, which restores
		}
		if r.Result != want {
			t.Errorf("%s: %s: %+v", host, r.Result, r.Findings)
		}
	}
	// A host that writes as another is not let.
	forged := hosts[1].exporter()
	forged.Host = "agent-01"
	if _, err := forged.Export(t.Context(), hosts[1].exportSource(), w.now); err == nil {
		t.Error("agent-02 wrote as agent-01")
	}
}
