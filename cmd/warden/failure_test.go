package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatehouse/internal/cli"
	"gatehouse/internal/systemdtest"
	"gatehouse/systemd"
)

// A failing is one call of "warden failed" after another, on a host of temporary directories.
type failing struct {
	*testing.T
	config, state, runtime string
	env                    map[string]string
	out                    *inbox
}

func newFailing(t *testing.T) *failing {
	t.Helper()
	dir := t.TempDir()
	f := &failing{T: t, config: filepath.Join(dir, "warden.yaml"), state: filepath.Join(dir, "state"),
		runtime: filepath.Join(dir, "run"), out: newInbox(t)}
	f.env = map[string]string{"RUNTIME_DIRECTORY": f.runtime, "INVOCATION_ID": "run1", "GATEHOUSE_UNIT": "gatehouse-reconcile.service",
		"MONITOR_UNIT": "gatehouse-reconcile.service", "MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_CODE": "exited",
		"MONITOR_EXIT_STATUS": "2", "MONITOR_INVOCATION_ID": "run1"}
	for _, d := range []string{f.state, f.runtime} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.configure("")
	return f
}

func (f *failing) configure(more string) {
	f.Helper()
	text := fmt.Sprintf("version: 1\nhost: here\nrepository: %s/repository\nstate: %s\nindex: %s/gates.json\n"+
		"gates:\n  - {name: g, user: root, export: %s/export, live: [{name: p, root: %s/live}]}\n"+
		"notify: {journal: false, webhook: {url: %s}}\n%s",
		filepath.Dir(f.state), f.state, filepath.Dir(f.config), filepath.Dir(f.state), filepath.Dir(f.state), f.out.URL, more)
	if err := os.WriteFile(f.config, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
}

func (f *failing) run(args ...string) (code int, text string) {
	f.Helper()
	both := new(bytes.Buffer)
	streams := cli.Streams{In: strings.NewReader(""), Out: both, Err: both, Getenv: func(name string) string { return f.env[name] }}
	code = Main(context.Background(), append([]string{"--config", f.config}, args...), streams)
	return code, both.String()
}

// failed calls the handler, and expects that n openings and m ends were announced by now.
func (f *failing) failed(n, m int) {
	f.Helper()
	if code, text := f.run("failed", "--state", f.state, f.env["MONITOR_UNIT"]); code != cli.Yes {
		f.Errorf("exit code %d\n%s", code, text)
	}
	f.announced(n, m)
}

func (f *failing) announced(opened, closed int) {
	f.Helper()
	if n, m := f.out.count(kindFailed, "open"), f.out.count(kindFailed, "closed"); n != opened || m != closed {
		f.Errorf("%d notices that a run failed and %d that it is over, want %d and %d", n, m, opened, closed)
	}
}

// passes makes the pass of a unit to its end.
func (f *failing) passes(code int) {
	f.Helper()
	g := &globals{config: f.config, streams: cli.Streams{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Getenv: func(name string) string { return f.env[name] }}}
	s, err := g.openForPass()
	if err == nil {
		err = g.completed(f.Context(), s, code)
	}
	if err != nil {
		f.Fatal(err)
	}
}

func TestAskedByHandOnlyAFailureIsAnnounced(t *testing.T) {
	f := newFailing(t)
	f.env["MONITOR_SERVICE_RESULT"], f.env["MONITOR_EXIT_STATUS"] = "success", "1"
	f.failed(0, 0)
	if _, text := f.run("failed", "--state", f.state, f.env["MONITOR_UNIT"]); text != "gatehouse-reconcile.service: its last run did not fail\n" {
		t.Errorf("it says %q", text)
	}
	// systemd calls for a run that did not even begin, too.
	f.env["GATEHOUSE_UNIT"] = "gatehouse-failure@gatehouse-reconcile.service"
	f.failed(1, 0)
	if code, text := f.run("status"); code == cli.Yes || !strings.Contains(text, "gatehouse-reconcile.service failed: it could not be started") {
		t.Errorf("status exits with %d and says\n%s", code, text)
	}
}

func TestAFailedRunIsAnnouncedOnceAndEndsWithAGoodOne(t *testing.T) {
	f := newFailing(t)
	f.failed(1, 0)
	f.env["MONITOR_INVOCATION_ID"] = "run2"
	f.env["MONITOR_SERVICE_RESULT"], f.env["MONITOR_EXIT_CODE"], f.env["MONITOR_EXIT_STATUS"] = "signal", "killed", "KILL"
	f.failed(1, 0)
	f.passes(cli.No)
	f.announced(1, 1)
	f.passes(cli.Yes)
	f.announced(1, 1)
	f.failed(2, 1)
}

func TestAPassThatSaidWhyItExitsWithTwoIsNotAnnouncedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(env map[string]string)
		want   int
	}{
		"the very run":     {func(map[string]string) {}, 0},
		"a later run":      {func(env map[string]string) { env["MONITOR_INVOCATION_ID"] = "run2" }, 1},
		"another code":     {func(env map[string]string) { env["MONITOR_EXIT_STATUS"] = "3" }, 1},
		"not by itself":    {func(env map[string]string) { env["MONITOR_SERVICE_RESULT"] = "timeout" }, 1},
		"another unit":     {func(env map[string]string) { env["MONITOR_UNIT"] = "gatehouse-serve.service" }, 1},
		"an unnamed run":   {func(env map[string]string) { env["MONITOR_INVOCATION_ID"] = "" }, 1},
		"a corrupt record": {func(env map[string]string) { env["corrupt"] = "yes" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFailing(t)
			f.passes(cli.Unknown)
			if c.change(f.env); f.env["corrupt"] != "" {
				if err := os.WriteFile(runFile(f.state, f.env["MONITOR_UNIT"]), []byte("{}"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f.failed(c.want, 0)
		})
	}
	f := newFailing(t)
	f.passes(cli.Yes) // as each pass of warden serve does, which then ends for another reason
	f.failed(1, 0)
}

func TestAFailureIsSaidOnceWhereTheStateCannotBeWritten(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mounts a file system that is full")
	}
	for name, options := range map[string]string{"full": "size=16k", "read-only": "ro"} {
		t.Run(name, func(t *testing.T) {
			f := newFailing(t)
			if err := syscall.Mount("tmpfs", f.state, "tmpfs", 0, strings.Replace(options, "ro", "size=1m", 1)+",mode=700"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { syscall.Unmount(f.state, syscall.MNT_DETACH) })
			if options == "ro" {
				if err := syscall.Mount("", f.state, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
					t.Fatal(err)
				}
			}
			f.failed(1, 0)
			f.failed(1, 0)
			if err := syscall.Mount("", f.state, "", syscall.MS_REMOUNT, "size=4m"); err != nil {
				t.Fatal(err)
			}
			f.passes(cli.Yes)
			f.announced(1, 1)
			f.failed(2, 1)
		})
	}
}

func TestABrokenConfigurationIsSaidToTheReceiversOfTheLastGoodOne(t *testing.T) {
	f := newFailing(t)
	f.passes(cli.Yes)
	f.configure("nonsense: 1\n")
	f.env["MONITOR_INVOCATION_ID"] = "run2"
	f.failed(1, 0)
	f.configure("")
	f.passes(cli.Yes)
	f.announced(1, 1)
}

func TestAFailureWithoutAnyConfigurationIsPrinted(t *testing.T) {
	f := newFailing(t)
	if err := os.Remove(f.config); err != nil {
		t.Fatal(err)
	}
	if code, text := f.run("failed", "--state", f.state, f.env["MONITOR_UNIT"]); code != cli.Yes {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if _, err := os.Stat(filepath.Join(f.state, "notices", "failed-run+gatehouse+gatehouse-reconcile.service+1.json")); err != nil {
		t.Error(err)
	}
}

func TestNotifySendsWhatIsPendingFromBothOutboxes(t *testing.T) {
	f := newFailing(t)
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refuse.Close()
	good := f.out.URL
	f.out.URL = refuse.URL
	f.configure("")
	f.failed(0, 0)
	if code, text := f.run("notify"); code != cli.No {
		t.Errorf("with a receiver that refuses: exit code %d\n%s", code, text)
	}
	f.out.URL = good
	f.configure("")
	if code, text := f.run("notify"); code != cli.Yes {
		t.Errorf("exit code %d\n%s", code, text)
	}
	f.announced(1, 0)
}

func TestWhatAFailureIsCalled(t *testing.T) {
	for unit, want := range map[string]string{
		"gatehouse-publish@my-gate.service": "my-gate",
		"gatehouse-reconcile.service":       "gatehouse",
		"gatehouse-publish@.service":        "gatehouse",
	} {
		e := failureEvent(systemd.Outcome{Unit: unit, Result: "timeout", InvocationID: "0123"})
		if e.Gate != want || e.Subject != unit || e.Summary != unit+" failed: it was not done in time" ||
			e.Command != "journalctl _SYSTEMD_INVOCATION_ID=0123" {
			t.Errorf("%s: %+v", unit, e)
		}
	}
	f := newFailing(t)
	for _, unit := range []string{"a b.service", "../x.service", "x", "x.service\n"} {
		if code, _ := f.run("failed", unit); code != cli.Unknown {
			t.Errorf("%q is taken for a unit", unit)
		}
	}
}

// TestFailuresUnderSystemd lets the units of a host fail in every way that a unit can, with the real programs.
func TestFailuresUnderSystemd(t *testing.T) {
	t.Parallel() // it has a machine of its own, and waits for it
	const programs = "/opt/gatehouse"
	var options []string
	if os.Getenv("GATEHOUSE_TEST_INSIDE_SYSTEMD") == "" && os.Geteuid() == 0 {
		options = []string{"--bind-ro", build(t) + ":" + programs}
	}
	if !systemdtest.Enter(t, options...) {
		return
	}
	h, out := &realHost{t}, newInbox(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(h.text("journalctl", "--no-pager", "-n", "150"))
		}
	})
	as := systemdtest.UserManager(t, "agent", 1234)
	h.run(as("mkdir", "-p", "/home/agent/policy"))
	h.run(exec.Command("chmod", "0700", "/home/agent", "/home/agent/policy"))
	h.asAgent(as, "/home/agent/policy/gate.yaml", "version: 1\nallow: [git status]\n")
	h.run(exec.Command("git", "init", "-q", "/srv/gate"))
	h.run(exec.Command("install", "-d", "-o", "agent", "/var/lib/gatehouse-export/claude"))
	h.run(exec.Command("install", "-d", "-m", "0711", "/var/lib/gatehouse"))
	const config = "/etc/gatehouse/warden.yaml"
	good := "version: 1\nhost: here\nrepository: /srv/gate\n" +
		"gates: [{name: claude, user: agent, live: [{name: policy, root: /home/agent/policy}], loaded_by: [{unit: none.service, scope: user, files: [\"policy/**\"]}]}]\n" +
		"notify: {webhook: {url: " + out.URL + ", secret: credential:webhook}}\n"
	h.write(config, good)
	h.write("/etc/gatehouse/credentials/webhook", "secret")
	files, err := systemd.Units(systemd.Host{Warden: programs + "/warden", Gate: programs + "/gate", Config: config, Schedule: "@yearly",
		State: "/var/lib/gatehouse", Repository: "/srv/gate", Index: "/etc/gatehouse/gates.json", Network: true,
		Credentials: []systemd.Credential{{Name: "webhook", Path: "/etc/gatehouse/credentials/webhook"}},
		Gates: []systemd.HostGate{{Name: "claude", User: "agent", Export: "/var/lib/gatehouse-export/claude",
			Live: []string{"/home/agent/policy"}, AskUser: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		h.write(f.Path, string(f.Data))
	}
	const pass, publish = "gatehouse-reconcile.service", "gatehouse-publish@claude.service"
	start := func(unit string, good bool) {
		t.Helper()
		text, err := exec.Command("systemctl", "start", unit).CombinedOutput()
		if (err == nil) != good {
			t.Fatalf("start %s: %v\n%s\n%s", unit, err, text, h.text("journalctl", "--no-pager", "-n", "80"))
		}
	}
	dropIn := func(unit, text string) {
		t.Helper()
		h.write("/etc/systemd/system/"+unit+".d/test.conf", text)
		h.run(exec.Command("systemctl", "daemon-reload"))
	}
	whole := func(unit string) { t.Helper(); dropIn(unit, "") }
	h.run(exec.Command("systemctl", "daemon-reload"))

	// A pass that finds a drift has not failed. What it leaves is sent by the unit that has the network and the secret.
	h.write("/etc/systemd/system/gatehouse-reconcile.path.d/test.conf", "[Path]\nPathChanged=\nPathChanged=/nowhere\n")
	h.run(exec.Command("systemctl", "daemon-reload"))
	start("gatehouse-publish@claude.timer", true) // keeps systemd from forgetting the unit's last run
	start(publish, true)
	start(pass, true)
	out.until(t, "drift", "open", 1)
	if said := h.text(programs+"/warden", "failed", pass); !strings.Contains(said, "did not fail") {
		t.Errorf("of a pass that found something, asked by hand: %s", said)
	}
	if said := h.text("journalctl", "--no-pager", "-o", "cat", "-u", pass); !strings.Contains(said, "none.service: there is no such unit") {
		t.Errorf("the pass could not ask the user's manager:\n%s", said)
	}

	failures := 0
	fails := func(how, unit string, spoil func()) {
		t.Helper()
		spoil()
		start(unit, false)
		failures++
		out.until(t, kindFailed, "open", failures)
		exec.Command("systemctl", "start", unit).Run() // it fails again, which is nothing new
		h.run(exec.Command("systemctl", "start", "gatehouse-failure@"+unit+".service"))
		if n := out.count(kindFailed, "open"); n != failures {
			t.Errorf("%s: announced %d times", how, n)
		}
	}
	recovers := func(how string) {
		t.Helper()
		start(pass, true)
		out.until(t, kindFailed, "closed", failures)
		if n := out.count(kindFailed, "closed"); n != failures {
			t.Errorf("%s: %d ends were announced, want %d", how, n, failures)
		}
	}

	fails("exit 2", pass, func() { h.write(config, good+"nonsense: 1\n") })
	h.write(config, good)
	recovers("exit 2")

	fails("a signal", pass, func() { dropIn(pass, "[Service]\nExecStartPre=/bin/sh -c 'kill -SEGV $$$$'\n") })
	whole(pass)
	recovers("a signal")

	fails("a timeout", pass, func() { dropIn(pass, "[Service]\nTimeoutStartSec=1s\nExecStartPre=sleep 30\n") })
	whole(pass)
	recovers("a timeout")

	fails("another unit", publish, func() {
		dropIn(publish, "[Service]\nExecStart=\nExecStart=/bin/sh -c 'exit 2'\n")
	})
	whole(publish)
	start(publish, true)
	recovers("another unit")

	fails("a state that cannot be written", pass, func() {
		h.run(exec.Command("mount", "--bind", "/var/lib/gatehouse", "/var/lib/gatehouse"))
		h.run(exec.Command("mount", "-o", "remount,bind,ro", "/var/lib/gatehouse"))
	})
	h.run(exec.Command("umount", "/var/lib/gatehouse"))
	recovers("a state that cannot be written")

	// The service that makes passes without the timer, under the same limits.
	start("gatehouse-reconcile.timer", true)
	start("gatehouse-serve.service", true)
	if states := h.text("systemctl", "is-active", "gatehouse-serve.service", "gatehouse-reconcile.timer"); states != "active\ninactive" {
		t.Errorf("gatehouse-serve.service and the timer that it replaces are %q", states)
	}
	h.run(exec.Command("systemctl", "stop", "gatehouse-serve.service"))

	// A pass that exits with 2 for what it found has said so.
	h.write(config, strings.Replace(good, ", loaded_by: [{unit: none.service, scope: user, files: [\"policy/**\"]}]", "", 1))
	h.run(exec.Command("rm", "/var/lib/gatehouse-export/claude/manifest.json"))
	start(pass, false)
	out.until(t, "missing", "open", 1)
	h.until("the handler is done", func() bool {
		return h.text("systemctl", "show", "-P", "ActiveState", "gatehouse-failure@"+pass+".service") == "inactive"
	})
	if n := out.count(kindFailed, "open"); n != failures {
		t.Errorf("a pass that said why it exits with 2 is announced as failed as well: %s", h.text("journalctl", "--no-pager", "-n", "40"))
	}
}
