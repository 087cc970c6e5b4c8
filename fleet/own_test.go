package fleet_test

import (
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/reconcile"
)

// withOwn gives the hub a gate of its own under the same name.
func (h *hub) withOwn() {
	h.w.t.Helper()
	own := &remote{h.w, "../" + h.name}
	own.write("gate.yaml", "allow: [git status]\n")
	own.write("rules.yaml", "rules: []\n")
	h.own = &reconcile.Gate{Name: gateName, GroupID: -1, Export: own.path("export"), Witness: true, Interval: time.Hour, Source: own.source()}
}

func (h *hub) ownDrift(content string) {
	h.w.t.Helper()
	own := &remote{h.w, "../" + h.name}
	if content != "" {
		own.write("gate.yaml", content)
	}
	p := manifest.Publisher{Gate: gateName, Host: h.name, Source: h.own.Source, Export: h.own.Export}
	must(p.Publish(h.w.t.Context(), h.w.now))
}

func (h *hub) ownReport() reconcile.Report {
	h.w.t.Helper()
	pass, err := h.warden(durable.Disk{}).Reconcile(h.w.t.Context(), []reconcile.Gate{*h.own})
	if err != nil {
		h.w.t.Fatal(err)
	}
	return pass.Reports[0]
}

func TestOneAcceptanceIsForTheHubsOwnGateToo(t *testing.T) {
	w, hosts, hub := settled(t, 3)
	hub.withOwn()
	hub.ownDrift("")
	if r := hub.ownReport(); r.Result != reconcile.InSync {
		t.Fatalf("own gate: %+v", r.Findings)
	}
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: []\n")
	}
	hub.ownDrift("allow: []\n")
	own, reports := hub.ownReport(), hub.pass()
	if own.Fingerprint == "" || own.Fingerprint != reports["agent-01"].Fingerprint {
		t.Fatalf("own drift %q, that of the hosts %q", own.Fingerprint, reports["agent-01"].Fingerprint)
	}
	drift, err := hub.warden(durable.Disk{}).FindFleet([]reconcile.Fleet{hub.fleet()}, own.ID)
	if err != nil || !drift.Own {
		t.Fatalf("%+v, %v", drift, err)
	}
	hub.accept(own.Fingerprint)
	if r := hub.ownReport(); r.Result != reconcile.InSync {
		t.Errorf("own gate afterwards: %+v", r.Findings)
	}
}

func TestAHubThatDoesNotHaveTheDriftIsBehindItself(t *testing.T) {
	w, hosts, hub := settled(t, 2)
	hub.withOwn()
	hub.ownDrift("")
	hub.ownReport()
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: []\n")
	}
	hub.accept(hub.pass()["agent-01"].Fingerprint)
	if r := hub.ownReport(); r.Result != reconcile.Behind || !r.Restorable {
		t.Errorf("own gate: %s: %+v", r.Result, r.Findings)
	}
}

func TestWhatTheHubAcceptsOfItsOwnIsBehindOnTheHosts(t *testing.T) {
	w, hosts, hub := settled(t, 2)
	hub.withOwn()
	w.later(time.Hour)
	hub.ownDrift("allow: [make]\n")
	r := hub.ownReport()
	if _, _, err := hub.warden(durable.Disk{}).Accept(t.Context(), *hub.own, r.Fingerprint, ann()); err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		h.send()
	}
	for host, r := range hub.pass() {
		if r.Result != reconcile.Behind {
			t.Errorf("%s: %+v", host, r.Findings)
		}
	}
}
