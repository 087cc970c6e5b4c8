package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/internal/systemdtest"
)

// TestHostUnderSystemd is the whole story on a host that was installed for real: services that loaded a plugin, passes
// by timers and by the path unit, a drift, its acceptance, and the restart that ends it.
func TestHostUnderSystemd(t *testing.T) {
	t.Parallel() // it has a machine of its own, and waits for it
	const programs = "/opt/gatehouse"
	var options []string
	if os.Getenv("GATEHOUSE_TEST_INSIDE_SYSTEMD") == "" && os.Geteuid() == 0 {
		options = []string{"--bind-ro", build(t) + ":" + programs}
	}
	if !systemdtest.Enter(t, options...) {
		return
	}
	out := newInbox(t)
	as := systemdtest.UserManager(t, "agent", 1234)
	h := &realHost{t}

	// The gate's files, a service of the system's and one of the user's own manager. Both have loaded the plugin.
	for _, dir := range []string{"policy", "plugin", ".config/systemd/user"} {
		h.run(as("mkdir", "-p", "/home/agent/"+dir))
	}
	h.asAgent(as, "/home/agent/policy/gate.yaml", "version: 1\nallow: [git status]\n")
	h.asAgent(as, "/home/agent/plugin/index.js", "1")
	const body = "[Service]\nExecStart=/bin/sh -c 'cat /home/agent/plugin/index.js; exec sleep 1000'\n"
	h.write("/etc/systemd/system/agent.service", body+"User=agent\n")
	h.asAgent(as, "/home/agent/.config/systemd/user/client.service", body)
	time.Sleep(3 * time.Second) // the files have to be older than the start by more than the tolerance
	h.run(exec.Command("systemctl", "daemon-reload"))
	h.run(exec.Command("systemctl", "start", "agent.service"))
	h.run(as("systemctl", "--user", "daemon-reload"))
	h.run(as("systemctl", "--user", "start", "client.service"))

	h.write("/etc/gatehouse/warden.yaml", fmt.Sprintf(`version: 1
host: here
repository: /srv/gate
gates:
  - name: claude
    user: agent
    live:
      - {name: policy, root: /home/agent/policy}
      - {name: plugin, root: /home/agent/plugin}
    loaded_by:
      - {unit: agent.service, files: ["plugin/**"]}
      - {unit: client.service, scope: user, files: ["plugin/**"]}
notify:
  webhook: {url: "%s"}
`, out.URL))
	h.run(exec.Command(programs+"/warden", "install", "--no-start"))

	// Timers that come up every few seconds instead of every hour, and an early pass that does not rest.
	const often = "[Timer]\nOnCalendar=\nOnCalendar=*:*:0/2\nRandomizedDelaySec=0\n"
	h.write("/etc/systemd/system/gatehouse-publish@.timer.d/often.conf", often)
	h.write("/etc/systemd/system/gatehouse-reconcile.timer.d/never.conf", "[Timer]\nOnCalendar=\nOnCalendar=2099-01-01\n")
	h.write("/etc/systemd/system/gatehouse-reconcile-soon.service.d/soon.conf", "[Service]\nEnvironment=SETTLE=0.5s REST=0.1s\n")
	h.write("/etc/systemd/system/gatehouse-reconcile-changed.service.d/soon.conf",
		"[Service]\nExecStart=\nExecStart=touch %t/gatehouse/changed\nExecStart=sleep 0.1\n")
	h.run(exec.Command("systemctl", "daemon-reload"))
	h.run(exec.Command(programs+"/warden", "install"))

	// Published by the timer, seen by the path unit.
	h.until("the first drift", func() bool { return h.status().Result == "drifted" })
	out.until(t, "drift", "open", 1)
	h.run(exec.Command("warden", "accept", "--yes", h.status().ID, "--why", "first"))
	h.expect("in-sync")
	out.until(t, "drift", "closed", 1)
	for _, p := range h.status().Processes {
		if p.Verdict != "loaded" {
			t.Errorf("%s: %s: %s", p.Unit, p.Verdict, p.Reason)
		}
	}

	// The plugin is edited: a drift, and no advice to restart into it.
	h.asAgent(as, "/home/agent/plugin/index.js", "2")
	h.until("the drift", func() bool { return h.status().Result == "drifted" })
	out.until(t, "drift", "open", 2)
	if n := out.count("stale", "open"); n > 0 {
		t.Errorf("%d notices advise a restart before the acceptance", n)
	}
	h.run(exec.Command("warden", "accept", "--yes", h.status().ID, "--why", "new plugin"))
	if s := h.status(); s.Result != "stale" || len(s.Changes) != 0 {
		t.Fatalf("after the acceptance: %s", h.text("warden", "status"))
	}
	out.until(t, "stale", "open", 2)

	// This time the schedule's own pass finds it.
	h.write("/etc/systemd/system/gatehouse-reconcile.timer.d/never.conf", often)
	h.run(exec.Command("systemctl", "daemon-reload"))
	h.run(exec.Command("systemctl", "stop", "gatehouse-reconcile.path", "gatehouse-reconcile-soon.path"))
	h.run(exec.Command("systemctl", "restart", "gatehouse-reconcile.timer"))
	time.Sleep(3 * time.Second) // a start within the tolerance of the edit would be undecided
	h.run(exec.Command("systemctl", "restart", "agent.service"))
	h.run(as("systemctl", "--user", "restart", "client.service"))
	h.until("loaded again", func() bool { return h.status().Result == "in-sync" })
	out.until(t, "stale", "closed", 2)
	time.Sleep(5 * time.Second) // another pass
	for _, want := range []struct {
		kind, state string
		n           int
	}{{"drift", "open", 2}, {"drift", "closed", 2}, {"stale", "open", 2}, {"stale", "closed", 2}} {
		if n := out.count(want.kind, want.state); n != want.n {
			t.Errorf("%d notices %s %s, want %d", n, want.kind, want.state, want.n)
		}
	}
	if failed := h.text("systemctl", "list-units", "--failed", "--no-legend", "gatehouse-*"); failed != "" {
		t.Errorf("failed units:\n%s", failed)
	}
	if !strings.Contains(h.text("warden", "loaded"), "loaded") {
		t.Error("warden loaded does not say so")
	}
	if t.Failed() {
		t.Log(h.text("journalctl", "--no-pager", "-u", "gatehouse-*"))
	}
}

// A realHost is the machine that the test runs inside of.
type realHost struct{ t *testing.T }

func (h *realHost) run(cmd *exec.Cmd) string {
	h.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		journal, _ := exec.Command("journalctl", "--no-pager", "-n", "50").CombinedOutput()
		h.t.Fatalf("%v: %v\n%s\n%s", cmd.Args, err, out, journal)
	}
	return string(out)
}

// text returns what a program prints, whatever it exits with.
func (h *realHost) text(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput()
	return strings.TrimSpace(string(out))
}

func (h *realHost) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// asAgent writes a file as the agent.
func (h *realHost) asAgent(as func(string, ...string) *exec.Cmd, path, text string) {
	h.t.Helper()
	cmd := as("tee", path)
	cmd.Stdin = strings.NewReader(text)
	h.run(cmd)
}

// hostStatus is what the story needs of warden status.
type hostStatus struct {
	Result    string            `json:"result"`
	ID        string            `json:"id"`
	Changes   []json.RawMessage `json:"changes"`
	Processes []struct {
		Unit    string `json:"unit"`
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
	} `json:"processes"`
}

func (h *realHost) status() hostStatus {
	h.t.Helper()
	out, err := exec.Command("warden", "status", "--json").Output()
	var exit *exec.ExitError
	if err != nil && !asExit(err, &exit) {
		h.t.Fatal(err)
	}
	var s struct {
		Gates []hostStatus `json:"gates"`
	}
	if err := json.Unmarshal(out, &s); err != nil || len(s.Gates) != 1 {
		h.t.Fatalf("warden status: %v\n%s", err, out)
	}
	return s.Gates[0]
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}

func (h *realHost) expect(result string) {
	h.t.Helper()
	if got := h.status().Result; got != result {
		h.t.Fatalf("%s, want %s\n%s", got, result, h.text("warden", "status"))
	}
}

// until waits for something that timers bring about.
func (h *realHost) until(what string, done func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("%s did not come\n%s\n%s", what, h.text("warden", "status"), h.text("journalctl", "--no-pager", "-n", "80"))
		}
	}
}

// An inbox is a webhook that keeps what it is told, each notice once.
type inbox struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]string // kind and state by id and state
}

func newInbox(t *testing.T) *inbox {
	in := &inbox{seen: make(map[string]string)}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct {
			Messages []struct{ ID, Kind, State string }
		}
		if json.NewDecoder(r.Body).Decode(&message) != nil {
			return
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		for _, m := range message.Messages {
			in.seen[m.ID] = m.Kind + " " + m.State
		}
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) count(kind, state string) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := 0
	for _, what := range in.seen {
		if what == kind+" "+state {
			n++
		}
	}
	return n
}

func (in *inbox) until(t *testing.T, kind, state string, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); in.count(kind, state) < n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d notices %s %s did not come: %v\n", n, kind, state, in.seen)
		}
	}
}
