package fleet_test

import (
	"strings"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/notify"
	"gatehouse/reconcile"
)

func TestFortyHostsWithOneDriftAreOneNoticeAndOneAcceptance(t *testing.T) {
	w, hosts, hub := settled(t, 40)
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: [git status, git diff]\n")
	}
	reports := hub.pass()
	fingerprint := reports["agent-01"].Fingerprint
	for host, r := range reports {
		if r.Result != reconcile.Drifted || r.Fingerprint != fingerprint || !r.Unwitnessed || r.Host != host {
			t.Fatalf("%s: %s %s, unwitnessed %v", host, r.Result, r.Fingerprint, r.Unwitnessed)
		}
	}
	notices := hub.sink.take("drift", notify.Opened)
	if len(notices) != 1 {
		t.Fatalf("%d notices for one drift", len(notices))
	}
	n := notices[0]
	if !strings.Contains(n.Title, "40 hosts") || !strings.Contains(n.Title, "agent-01, agent-02, agent-03 and 37 more") {
		t.Errorf("title %q does not say who", n.Title)
	}
	if !strings.HasPrefix(n.Command, "warden accept d-") || !strings.Contains(strings.Join(n.Detail, "\n"), "+allow: [git status, git diff]") {
		t.Errorf("command %q, detail %q", n.Command, n.Detail)
	}
	hub.pass()
	if len(hub.sink.messages) != 0 {
		t.Errorf("a pass without news sent %+v", hub.sink.messages)
	}

	before := hub.git("rev-list", "--count", "HEAD")
	if accepted := hub.accept(fingerprint); len(accepted) != 40 {
		t.Errorf("accepted for %d hosts", len(accepted))
	}
	if after := hub.git("rev-list", "--count", "HEAD"); before != "1\n" || after != "2\n" {
		t.Errorf("commits before %q, after %q", before, after)
	}
	message := hub.git("log", "-1", "--format=%B")
	for _, want := range []string{"on 40 hosts", "Host: agent-01\n", "Host: agent-20\n", "Hosts: 40\n", "Accepted-by: ann", "Fingerprint: " + fingerprint} {
		if !strings.Contains(message, want) {
			t.Errorf("the commit does not say %q:\n%s", want, message)
		}
	}
	if strings.Contains(message, "Host: agent-21\n") {
		t.Error("the commit names hosts without end")
	}
	if closed := hub.sink.take("drift", notify.Closed); len(closed) != 1 || !strings.Contains(closed[0].Why, "accepted by ann") {
		t.Errorf("closing lines: %+v", closed)
	}
	for host, r := range hub.pass() {
		if r.Result != reconcile.InSync {
			t.Errorf("%s afterwards: %+v", host, r.Findings)
		}
	}
	hub.git("fsck", "--strict")
}

func TestADriftIsOverWhenTheLastHostHasHealed(t *testing.T) {
	w, hosts, hub := settled(t, 40)
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: []\n")
	}
	hub.pass()
	hub.sink.messages = nil
	w.later(time.Hour)
	for _, h := range hosts[1:] {
		h.drift("allow: [git status]\n")
	}
	hosts[0].send()
	reports := hub.pass()
	if reports["agent-01"].Result != reconcile.Drifted || reports["agent-02"].Result != reconcile.InSync {
		t.Fatalf("agent-01 %s, agent-02 %s", reports["agent-01"].Result, reports["agent-02"].Result)
	}
	if len(hub.sink.messages) != 0 {
		t.Errorf("a drift that shrank was told: %+v", hub.sink.messages)
	}
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: [git status]\n")
	}
	hub.pass()
	if closed := hub.sink.take("drift", notify.Closed); len(closed) != 1 {
		t.Errorf("%d closing lines, want 1", len(closed))
	}
}

func TestAHostThatJoinsADriftIsTheDelta(t *testing.T) {
	w, hosts, hub := settled(t, 6)
	w.later(time.Hour)
	for _, h := range hosts[:4] {
		h.drift("allow: []\n")
	}
	hub.pass()
	hub.sink.messages = nil
	w.later(time.Minute)
	for _, h := range hosts[4:] {
		h.drift("allow: []\n")
	}
	hub.pass()
	var changes []string
	for _, m := range hub.sink.messages {
		for _, n := range m.Notices {
			for _, c := range n.Changes {
				changes = append(changes, c.Text)
			}
		}
	}
	if len(changes) != 1 || changes[0] != "on 2 hosts: agent-05, agent-06" {
		t.Errorf("told %q, want the two that joined", changes)
	}
}

func TestAnotherDriftIsItsOwn(t *testing.T) {
	w, hosts, hub := settled(t, 5)
	w.later(time.Hour)
	for _, h := range hosts[:4] {
		h.drift("allow: []\n")
	}
	hosts[4].drift("allow: [sudo]\n")
	reports := hub.pass()
	if reports["agent-01"].Fingerprint == reports["agent-05"].Fingerprint {
		t.Fatal("two drifts with one fingerprint")
	}
	if n := hub.sink.take("drift", notify.Opened); len(n) != 2 {
		t.Errorf("%d notices, want one for each drift", len(n))
	}
	// One is accepted; the other hosts are judged against that from then on.
	if accepted := hub.accept(reports["agent-01"].Fingerprint); len(accepted) != 4 {
		t.Errorf("accepted for %q", accepted)
	}
	reports = hub.pass()
	if reports["agent-01"].Result != reconcile.InSync || reports["agent-05"].Result != reconcile.Drifted {
		t.Errorf("agent-01 %s, agent-05 %s", reports["agent-01"].Result, reports["agent-05"].Result)
	}
}

func TestAHostWithWhatWasAcceptedEarlierIsBehind(t *testing.T) {
	w, hosts, hub := settled(t, 3)
	for _, content := range []string{"allow: [git diff]\n", "allow: [git log]\n"} {
		w.later(time.Hour)
		for _, h := range hosts[1:] {
			h.drift(content)
		}
		hosts[0].send()
		hub.accept(hub.pass()["agent-02"].Fingerprint)
	}
	r := hub.pass()["agent-01"]
	if r.Result != reconcile.Behind || r.Fingerprint != "" || r.Findings[0].Next != "on agent-01: warden pull" {
		t.Errorf("%s %q: %+v", r.Result, r.Fingerprint, r.Findings)
	}
	if n := hub.sink.take("behind", notify.Opened); len(n) != 0 {
		t.Error("a host that had no time yet was told")
	}
	w.later(3 * time.Hour)
	for _, h := range hosts {
		h.send()
	}
	hub.pass()
	if n := hub.sink.take("behind", notify.Opened); len(n) != 1 {
		t.Errorf("%d notices about the host that stays behind", len(n))
	}
}

func TestARejectedDriftIsRejectedOnAllHosts(t *testing.T) {
	w, hosts, hub := settled(t, 3)
	w.later(time.Hour)
	for _, h := range hosts[:2] {
		h.drift("allow: []\n")
	}
	fingerprint := hub.pass()["agent-01"].Fingerprint
	_, err := hub.warden(durable.Disk{}).RejectFleet(t.Context(), hub.fleet(), hub.fetch(), fingerprint, reconcile.Decision{By: "ann", Why: "too wide"})
	if err != nil {
		t.Fatal(err)
	}
	hosts[2].drift("allow: []\n")
	for host, r := range hub.pass() {
		if r.Result != reconcile.Rejected || !strings.HasPrefix(r.Findings[0].Next, "on "+host+": gate restore") {
			t.Errorf("%s: %+v", host, r.Findings)
		}
	}
}
