package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gatehouse/internal/systemdtest"
	"gatehouse/peer"
)

// TestPeersUnderSystemd has the installed units speak to other hosts: a pass without the network wakes the unit that has
// it, which leaves the heartbeat, asks for the address outside, finds a forgery and tells it.
func TestPeersUnderSystemd(t *testing.T) {
	t.Parallel() // it has a machine of its own, and waits for it
	const programs = "/opt/gatehouse"
	var options []string
	if os.Getenv("GATEHOUSE_TEST_INSIDE_SYSTEMD") == "" && os.Geteuid() == 0 {
		options = []string{"--bind-ro", build(t) + ":" + programs}
	}
	if !systemdtest.Enter(t, options...) {
		return
	}
	told := newInbox(t)
	systemdtest.UserManager(t, "agent", 1234)
	h := &realHost{t}
	var asked atomic.Int32
	outside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer outside.Close()

	makeExchange(t, "/srv/exchange")
	other, err := peer.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	h.write("/home/agent/policy/gate.yaml", "version: 1\nallow: [git status]\n")
	h.run(exec.Command("chown", "-R", "agent:", "/home/agent/policy"))
	h.write("/etc/gatehouse/credentials/ping", outside.URL+"/secret\n")
	if err := os.Chmod("/etc/gatehouse/credentials/ping", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("/etc/gatehouse/credentials", 0o700); err != nil {
		t.Fatal(err)
	}
	h.write("/etc/gatehouse/warden.yaml", fmt.Sprintf(`version: 1
host: here
repository: /srv/gate
gates:
  - {name: claude, user: agent, live: [{name: policy, root: /home/agent/policy}]}
notify:
  webhook: {url: "%s"}
peers:
  exchange: {directory: /srv/exchange}
  hosts: [{name: there, key: "%s"}]
ping: credential:ping
`, told.URL, peer.FormatKey(publicKey(other))))
	h.run(exec.Command(programs+"/warden", "peers", "key"))
	h.run(exec.Command(programs+"/warden", "install"))
	h.run(exec.Command("systemctl", "start", "gatehouse-reconcile.service"))
	beat := filepath.Join("/srv/exchange", "beats", "here")
	h.until("a heartbeat", func() bool { _, err := os.Stat(beat); return err == nil })
	h.until("the address outside", func() bool { return asked.Load() > 0 })
	if out := h.text("systemctl", "is-active", "gatehouse-peers.timer", "gatehouse-peers.path"); out != "active\nactive" {
		t.Errorf("timer and path: %q", out)
	}
	h.write("/srv/exchange/beats/there", "forged")
	for range 2 { // a run that is under way may have looked before
		h.run(exec.Command("systemctl", "start", "gatehouse-peers.service"))
	}
	told.until(t, "peer", "open", 1)
	if out := h.text("warden", "peers"); !strings.Contains(out, "there  bad-signature") {
		t.Errorf("got\n%s", out)
	}
	doctor := h.text("warden", "doctor")
	for _, want := range []string{"ok    credential /etc/gatehouse/credentials/ping\n", "ok    ping\n", "ok    key of this host\n", "ok    exchange at /srv/exchange\n"} {
		if !strings.Contains(doctor, want) {
			t.Errorf("doctor does not say %q:\n%s", want, doctor)
		}
	}
	if failed := h.text("systemctl", "list-units", "--failed", "--no-legend", "gatehouse-*"); failed != "" {
		t.Errorf("failed units:\n%s", failed)
	}
	if t.Failed() {
		t.Log(h.text("journalctl", "--no-pager", "-u", "gatehouse-*"))
	}
}
