package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// memory is what the processes of a host are said to hold.
type memory struct {
	h         *host
	now       time.Time
	processes []Process
}

func (m *memory) warden() *Warden {
	m.h.t.Helper()
	w, err := m.h.warden(durable.Disk{})
	if err != nil {
		m.h.t.Fatal(err)
	}
	w.Now = func() time.Time { return m.now }
	w.Processes = func(ctx context.Context, g Gate, _ *manifest.Snapshot) []Process {
		seen, err := manifest.Scan(ctx, g.Source)
		if err != nil {
			m.h.t.Error(err)
			return nil
		}
		list := slices.Clone(m.processes)
		for i := range list {
			list[i].Disk = manifest.Tree(seen.Entries)
		}
		return list
	}
	return w
}

func (m *memory) pass() Report {
	m.h.t.Helper()
	m.now = m.now.Add(time.Second)
	pass, err := m.warden().Reconcile(context.Background(), []Gate{m.h.gate()})
	if err != nil {
		m.h.t.Fatal(err)
	}
	return pass.Reports[0]
}

func newMemory(t *testing.T, url string) *memory {
	m := &memory{h: newHost(t, url), now: time.Now()}
	m.h.publish()
	m.h.accept()
	return m
}

func agent(v Verdict, run string) Process {
	return Process{Unit: "agent.service", Scope: "system", Verdict: v, Run: run, Reason: "said so", Fix: "systemctl restart agent.service"}
}

// A name that systemd takes is none that a file of a notice may have, and that must not stop a pass.
func TestServicesWithLongNamesAreAnnounced(t *testing.T) {
	out := newReceiver(t)
	m := newMemory(t, out.URL)
	long := strings.Repeat("x", 247)
	m.processes = nil
	for _, scope := range []string{"system", "user"} {
		for _, unit := range []string{long + ".service", long[1:] + "y.service"} {
			m.processes = append(m.processes, Process{Unit: unit, Scope: scope, Verdict: Unproven, Fault: true, Run: "1", Reason: "said so"})
		}
	}
	m.pass()
	m.now = m.now.Add(24 * time.Hour)
	m.pass()
	open, err := m.warden().Outbox.Open("claude")
	if err != nil {
		t.Fatal(err)
	}
	subjects := make(map[string]bool)
	for _, record := range open {
		if record.Kind == string(Unreachable) {
			subjects[record.Subject] = true
		}
	}
	if len(subjects) != len(m.processes) {
		t.Errorf("open are %v", subjects)
	}
}

func TestStaleServiceIsAnnouncedOnceARunAndClosedOnce(t *testing.T) {
	out := newReceiver(t)
	m := newMemory(t, out.URL)
	m.processes = []Process{agent(Loaded, "1")}
	if r := m.pass(); r.Result != InSync {
		t.Fatalf("loaded: %+v", r.Findings)
	}
	m.processes = []Process{agent(StaleCode, "1")}
	for range 3 {
		r := m.pass()
		if r.Result != Stale || r.Result.Code() != 1 || r.Findings[0].Next != "systemctl restart agent.service" {
			t.Fatalf("stale: %s %+v", r.Result, r.Findings)
		}
		if r.Files() != InSync {
			t.Errorf("the files are %s", r.Files())
		}
	}
	if n := out.count("stale", "open"); n != 1 {
		t.Fatalf("announced %d times", n)
	}
	m.processes = []Process{agent(StaleCode, "2")} // restarted, and stale again
	m.pass()
	if n := out.count("stale", "changed"); n != 1 {
		t.Errorf("the second run was announced %d times", n)
	}
	m.processes = []Process{agent(Unproven, "2")} // says nothing about what was known
	if r := m.pass(); r.Result != Unknown || r.Result.Code() != 1 {
		t.Errorf("unknown: %s", r.Result)
	}
	if n := out.count("stale", "closed") + out.count("unknown", "open"); n != 0 {
		t.Errorf("an undecided look said %d things", n)
	}
	m.processes = []Process{agent(Loaded, "3")}
	for range 2 {
		m.pass()
	}
	if n := out.count("stale", "closed"); n != 1 {
		t.Errorf("closed %d times", n)
	}
}

func TestAdviceToRestartWaitsUntilTheDiskIsAccepted(t *testing.T) {
	out := newReceiver(t)
	m := newMemory(t, out.URL)
	doubtful := agent(Unproven, "1")
	doubtful.Unit = "other.service"
	m.processes = []Process{agent(StaleCode, "1"), doubtful}
	m.h.drift("allow: [git push]\n")
	r := m.pass()
	if r.Result != Drifted || !r.Has(Stale) {
		t.Fatalf("%s %+v", r.Result, r.Findings)
	}
	for _, f := range r.Findings {
		if (f.Result == Stale || f.Result == Unknown) && (f.Next != "" || !strings.Contains(f.Reason, "restart would load")) {
			t.Errorf("it advises %q: %s", f.Next, f.Reason)
		}
	}
	if n := out.count("stale", "open") + out.count("unknown", "open"); n != 0 {
		t.Errorf("a restart was advised while the disk holds what nobody accepted")
	}
	list, err := m.warden().Memory(context.Background(), m.h.gate())
	if err != nil || len(list) != 2 || list[0].Fix+list[1].Fix != "" {
		t.Errorf("outside of a pass a restart is advised: %+v, %v", list, err)
	}
	m.h.write("gate.yaml", "allow: [git status]\n") // as accepted again, and no pass has seen it
	list, err = m.warden().Memory(context.Background(), m.h.gate())
	if err != nil || len(list) != 2 || list[0].Fix == "" || list[1].Fix == "" {
		t.Errorf("the disk is as accepted, and no restart is advised: %+v, %v", list, err)
	}
	m.h.drift("allow: [git push]\n")
	if _, _, err := m.warden().Accept(context.Background(), m.h.gate(), r.Fingerprint, Decision{By: "ann", Why: "seen"}); err != nil {
		t.Fatalf("a stale service stands in the way of accepting: %v", err)
	}
	if n := out.count("stale", "open") + out.count("unknown", "open"); n != 2 {
		t.Errorf("after the acceptance %d of 2 were announced", n)
	}
	if n := out.count("drift", "closed"); n != 2 { // this one and the first acceptance
		t.Errorf("the drifts were closed %d times", n)
	}
}

func TestAdviceGoesByTheFilesThatTheProcessWasJudgedBy(t *testing.T) {
	const accepted = "a1"
	for name, c := range map[string]struct {
		p        Process
		accepted string
		held     bool
	}{
		"as accepted":              {Process{Fix: "restart", Disk: accepted}, accepted, false},
		"changed since the look":   {Process{Fix: "restart", Disk: "b2"}, accepted, true},
		"nothing accepted":         {Process{Fix: "restart", Disk: "b2"}, "", true},
		"nobody looked at files":   {Process{Fix: "restart"}, accepted, true},
		"nobody knows anything":    {Process{Fix: "restart"}, "", true},
		"there is nothing to hold": {Process{Disk: "b2"}, accepted, false},
	} {
		before := c.p
		list := []Process{c.p}
		advise(list, c.accepted)
		if p := list[0]; p.Waits != c.held || c.held && p.Fix != "" || !c.held && p != before {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestManagerThatDoesNotAnswerIsToldWhenItLasts(t *testing.T) {
	out := newReceiver(t)
	m := newMemory(t, out.URL)
	silent := agent(Unproven, "")
	silent.Fault = true
	m.processes = []Process{silent}
	if r := m.pass(); r.Result != Unreachable || r.Result.Code() != 2 {
		t.Fatalf("%s", r.Result)
	}
	if n := out.count("unreachable", "open"); n != 0 {
		t.Error("announced at once")
	}
	m.now = m.now.Add(2 * time.Hour)
	m.h.publish()
	m.pass()
	m.pass()
	if n := out.count("unreachable", "open"); n != 1 {
		t.Errorf("announced %d times", n)
	}
	m.processes = []Process{agent(Unproven, "1")}
	m.pass()
	if n := out.count("unreachable", "closed"); n != 1 {
		t.Errorf("closed %d times", n)
	}
}

func TestNoticeOfAServiceEndsWithItsConfiguration(t *testing.T) {
	out := newReceiver(t)
	m := newMemory(t, out.URL)
	user := agent(StaleCode, "1")
	user.Scope = "user"
	m.processes = []Process{agent(StaleCode, "1"), user}
	m.pass()
	if n := out.count("stale", "open"); n != 2 {
		t.Fatalf("%d notices of two units of one name", n)
	}
	m.processes = []Process{user}
	m.pass()
	if n := out.count("stale", "closed"); n != 1 {
		t.Errorf("%d closed", n)
	}
}

func TestEveryVerdictThatIsNotGoodIsAFinding(t *testing.T) {
	for _, p := range []Process{{}, agent("nonsense", ""), agent(Unproven, ""), agent(StaleCode, "")} {
		if got := p.result(); got.Code() == 0 {
			t.Errorf("verdict %q is %s", p.Verdict, got)
		}
	}
	if WorstProcess([]Process{agent(Loaded, ""), agent(StaleCode, ""), agent(NotRunning, "")}) != Stale {
		t.Error("the worst is not stale")
	}
	var none Report
	if none.Files() == InSync {
		t.Error("the zero report is in sync")
	}
}

func TestMemoryNeedsTheLock(t *testing.T) {
	m := newMemory(t, "")
	w := m.warden()
	lock, err := durable.AcquireLock(context.Background(), w.State+"/lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	w.LockFor = 50 * time.Millisecond
	if _, err := w.Memory(context.Background(), m.h.gate()); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("%v", err)
	}
}
