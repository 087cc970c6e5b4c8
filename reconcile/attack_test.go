package reconcile

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// What a compromised publisher can write was tried from outside; each case here got past an earlier version.

func TestRefusalsOfThePublisherHideNothingThatRootSees(t *testing.T) {
	for name, path := range map[string]string{"a directory": "policy", "the file": "policy/gate.yaml"} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, "")
			h.publish()
			h.accept()
			h.drift("allow: [everything]\n")
			lie(t, h, func(m *manifest.Manifest) {
				m.Refused = []manifest.Refusal{{Path: path, Reason: "in flux: it changed while it was read"}}
				if path != "policy" {
					m.Entries = append(m.Entries[:1], m.Entries[2:]...)
				}
			})
			r := h.pass()
			if r.Result.Code() != 1 || !strings.Contains(changed(r), "policy/gate.yaml") {
				t.Errorf("result %s, changes %s", r.Result, changed(r))
			}
			if r.Has(InFlux) {
				t.Error("the publisher's word for it made it in flux")
			}
		})
	}
}

// changed joins the paths that a report speaks of.
func changed(r Report) string {
	var all []string
	for _, c := range r.Changes {
		all = append(all, c.Path)
	}
	for _, f := range r.Findings {
		for _, item := range f.Items {
			all = append(all, item.Text)
		}
	}
	return strings.Join(all, "; ")
}

func TestWithoutAClaimRootStillLooksForItself(t *testing.T) {
	received := newReceiver(t)
	h := newHost(t, received.URL)
	h.publish()
	h.accept()
	if err := os.Remove(h.path("export/manifest.json")); err != nil {
		t.Fatal(err)
	}
	h.expect(Missing)
	for i, content := range []string{"allow: [curl]\n", "allow: [curl, dd]\n"} {
		h.write("gate.yaml", content)
		h.expect(Unpublished)
		if got := received.count("unpublished", "open") + received.count("unpublished", "changed"); got != i+1 {
			t.Errorf("after %d edits it was announced %d times", i+1, got)
		}
	}
}

func TestMismatchDoesNotMuteTheDrift(t *testing.T) {
	received := newReceiver(t)
	h := newHost(t, received.URL)
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	forge(t, h, "policy/gate.yaml")
	r := h.expect(Mismatch)
	for _, f := range r.Findings {
		if strings.Contains(f.Next, "accept") {
			t.Errorf("what cannot be accepted comes with %q", f.Next)
		}
	}
	if got := received.count("drift", "open"); got != 2 {
		t.Errorf("%d drifts were announced, want the first acceptance and this one", got)
	}
}

func TestIDThatCouldMeanAnEarlierDriftMeansNone(t *testing.T) {
	twin := "4f77bc75ffed" + strings.Repeat("0", 52)
	now := "4f77bc75ffed" + strings.Repeat("1", 52)
	s := &state{Seen: []string{twin, now}}
	open := []Drift{{Gate{Name: "claude"}, Report{Fingerprint: now}, s}}
	if _, err := pick(open, "d-4f77bc75ffed"); !errors.Is(err, ErrNoDrift) {
		t.Errorf("the shared beginning: %v", err)
	}
	if got := s.driftID(now); got != "d-4f77bc75ffed1" {
		t.Errorf("id %s", got)
	}
	if _, err := pick(open, s.driftID(now)); err != nil {
		t.Errorf("the id that is shown: %v", err)
	}
	if got := s.driftID(strings.Repeat("a", 64)); got != "d-aaaaaaaaaaaa" {
		t.Errorf("an id that is shared with none: %s", got)
	}
}

func TestCurableFindingsAreAnnouncedWhenTheyOutlastAnIntervalTogether(t *testing.T) {
	start := now.Add(-2 * time.Hour)
	for _, result := range []Result{Unpublished, InFlux} {
		r := Report{Gate: "claude", Tree: "t"}
		r.add(result, "again", "")
		r.add(Drifted, "something else is open", "")
		r.settle()
		if got := len(events(&r, now.Add(-time.Minute), time.Hour, now)); got != 1 {
			t.Errorf("%s for a minute: %d events, want only the drift", result, got)
		}
		if got := len(events(&r, start, time.Hour, now)); got != 2 {
			t.Errorf("%s for two hours, and not the worst: %d events, want both", result, got)
		}
	}
}

func TestOneLieDoesNotMakeADeployArrive(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	if err := os.WriteFile(h.path("repo/vendor-gate/claude/files/policy/gate.yaml"), []byte("allow: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.git("commit", "-qam", "review: allow nothing")
	h.write("notes.txt", "mine\n")
	h.publish()
	h.expect(Diverged)
	if _, err := h.must().Deploy(context.Background(), h.gate(), Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	h.expect(Drifted)
	stored, err := manifest.OpenGeneration(h.path("state/accepted/claude"), h.gate().Source.Limits)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	lie(t, h, func(m *manifest.Manifest) {
		m.Entries = m.Entries[:0]
		for _, e := range stored.Generation.Entries {
			e.MTime = time.Now()
			m.Entries = append(m.Entries, e)
		}
	})
	h.pass()
	h.publish()
	r := h.expect(Drifted)
	if _, _, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("accept: %v", err)
	}
}

func TestForgedBootLocksNobodyOut(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	lie(t, h, func(m *manifest.Manifest) { m.BootID = "deadbeef" })
	h.pass()
	h.publish()
	h.expect(InSync)
}

func TestWrongSizeOfWhatDidNotChangeStopsNoAcceptance(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	lie(t, h, func(m *manifest.Manifest) {
		for i := range m.Entries {
			if m.Entries[i].Path == "policy/rules.yaml" {
				m.Entries[i].Size++
			}
		}
	})
	h.accept()
}

func TestDetachedHeadIsComparedAndNotCommittedTo(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.git("checkout", "-q", "--detach")
	h.expect(InSync)
	h.drift("allow: [curl]\n")
	r := h.expect(Drifted)
	if _, _, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); err == nil {
		t.Error("accepted onto a detached head")
	}
	h.git("checkout", "-q", "main")
	h.accept()
}

func TestAnExportThatNeverHoldsStillHidesNothingAndClosesNothing(t *testing.T) {
	received := newReceiver(t)
	m := newMemory(t, received.URL)
	m.processes = []Process{agent(StaleCode, "1")}
	m.pass()
	m.h.drift("allow: [curl]\n")
	n := 0
	w, err := m.h.warden(durable.Disk{Around: func(s durable.Step, change func() error) error {
		if strings.HasSuffix(s.Name, ".new") && strings.Contains(s.Name, "/staged/") {
			n++
			m.h.drift(strings.Repeat("#", n) + "\nallow: [curl]\n")
		}
		return change()
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.Processes = m.warden().Processes
	pass, err := w.Reconcile(context.Background(), []Gate{m.h.gate()})
	if err != nil {
		t.Fatal(err)
	}
	r := pass.Reports[0]
	if !r.Has(InFlux) || !r.Has(Unpublished) || !r.Has(Stale) || !strings.Contains(changed(r), "policy/gate.yaml") {
		t.Errorf("%s: %+v", r.Result, r.Findings)
	}
	if closed := received.count("stale", "closed"); closed != 0 {
		t.Errorf("%d notices of a stale service were closed", closed)
	}
	if told := received.count("unpublished", "open") + received.count("in-flux", "open"); told != 2 {
		t.Errorf("%d of 2 things were told", told)
	}
}
