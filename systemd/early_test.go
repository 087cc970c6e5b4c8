package systemd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/internal/systemdtest"
)

// An earlyHost has the units of a host, with shorter waits, and a program in the place of warden that writes down which
// unit ran it and what the manifest was, and takes a while with the state locked.
type earlyHost struct {
	*testing.T
	state, export string
}

func newEarlyHost(t *testing.T, name, export string) *earlyHost {
	t.Helper()
	h := &earlyHost{t, "/var/lib/" + name, export}
	program := "/usr/local/sbin/" + name
	h.must(os.MkdirAll(h.state, 0o700))
	h.must(os.MkdirAll(export, 0o755))
	h.must(os.Chown(export, earlyAgent, earlyAgent))
	h.must(os.WriteFile(program, fmt.Appendf(nil, `#!/bin/sh
exec 9>>%[1]s/lock
flock --wait 45 9 || exit 2
echo "$GATEHOUSE_UNIT $(cat %[2]s/manifest.json 2>/dev/null)" >>%[1]s/passes
sleep 0.3
exit 1
`, h.state, export), 0o755))
	files, err := Units(Host{Warden: program, Gate: program, Config: "/etc/" + name + ".yaml", Schedule: "@yearly",
		State: h.state, Repository: h.state, Index: h.state + "/gates.json",
		Gates: []HostGate{{Name: "claude", User: "daemon", Export: export, Live: []string{"/srv/" + name}}}})
	h.must(err)
	files = append(files,
		File{Path: UnitDir + "/gatehouse-reconcile-changed.service.d/test.conf", Mode: 0o644,
			Data: []byte("[Service]\nExecStart=\nExecStart=touch %t/gatehouse/changed\nExecStart=sleep 0.1\n")},
		File{Path: UnitDir + "/gatehouse-reconcile-soon.service.d/test.conf", Mode: 0o644,
			Data: []byte("[Service]\nEnvironment=SETTLE=0.3s REST=0.2s\n")})
	for _, f := range files {
		h.must(os.MkdirAll(filepath.Dir(f.Path), 0o755))
		h.must(os.WriteFile(f.Path, f.Data, f.Mode))
	}
	h.ctl("daemon-reload")
	h.ctl("start", "gatehouse-reconcile.path", "gatehouse-reconcile-soon.path")
	t.Cleanup(func() {
		exec.Command("systemctl", "stop", "gatehouse-*").Run()
		for _, f := range files {
			os.Remove(f.Path)
		}
	})
	return h
}

const earlyAgent = 2345

func (h *earlyHost) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *earlyHost) ctl(args ...string) string {
	h.Helper()
	out, err := exec.Command("systemctl", args...).CombinedOutput()
	if err != nil {
		h.Errorf("systemctl %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// agent runs a shell line as the agent's user.
func (h *earlyHost) agent(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = h.export
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: earlyAgent, Gid: earlyAgent}}
	return cmd
}

func (h *earlyHost) publish(text string) {
	h.Helper()
	if out, err := h.agent("echo " + text + " >new && mv new manifest.json").CombinedOutput(); err != nil {
		h.Fatalf("publish: %v\n%s", err, out)
	}
}

// passes lists who made a pass, and what it saw.
func (h *earlyHost) passes() []string {
	data, err := os.ReadFile(h.state + "/passes")
	if err != nil && !os.IsNotExist(err) {
		h.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// sees waits for a pass of the unit that saw the manifest.
func (h *earlyHost) sees(unit, text string) {
	h.Helper()
	h.wait(fmt.Sprintf("a pass of %s that sees %q", unit, text), func() bool {
		passes := h.passes()
		for _, p := range passes {
			if p == unit+" "+text {
				return true
			}
		}
		return false
	})
}

func (h *earlyHost) wait(what string, done func() bool) {
	h.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			out, _ := exec.Command("journalctl", "-n60", "--no-pager", "-u", "gatehouse-*").CombinedOutput()
			h.Fatalf("there is never %s; passes:\n%s\n%s", what, strings.Join(h.passes(), "\n"), out)
		}
	}
}

const (
	earlyUnit  = "gatehouse-reconcile-soon.service"
	hourlyUnit = "gatehouse-reconcile.service"
)

func TestEarlyPasses(t *testing.T) {
	if !systemdtest.Enter(t) {
		return
	}
	t.Run("a change during an early pass gets one of its own", testChangeDuringPass)
	t.Run("an agent that publishes in a loop stops nothing", testPublishingLoop)
	t.Run("a path that an agent broke is whole after the next pass", testBrokenPath)
	t.Run("no service can write below /run but where that is its own", testRunIsReadOnly)
}

func testChangeDuringPass(t *testing.T) {
	h := newEarlyHost(t, "gatehouse-during", "/srv/gatehouse-during-export")
	h.publish("first")
	h.sees(earlyUnit, "first") // it has read, and is still at work
	h.publish("second")
	h.sees(earlyUnit, "second")
}

func testPublishingLoop(t *testing.T) {
	h := newEarlyHost(t, "gatehouse-loop", "/srv/gatehouse-loop-export")
	loop := h.agent(`while :; do
		echo x >new; mv new manifest.json; mkdir sub; rmdir sub
		rm -f manifest.json; ln -s manifest.json manifest.json; rm manifest.json; mkdir manifest.json; rmdir manifest.json
	done`)
	h.must(loop.Start())
	began := time.Now()
	before := starts(t, "gatehouse-reconcile-changed.service")
	for range 2 {
		h.ctl("start", hourlyUnit) // waits, and fails the test if the pass fails
	}
	h.wait("an early pass", func() bool {
		return slices.ContainsFunc(h.passes(), func(p string) bool { return strings.HasPrefix(p, earlyUnit) })
	})
	loop.Process.Kill()
	loop.Wait()
	h.agent("rm -rf manifest.json new").Run()
	notes, early, hourly := starts(t, "gatehouse-reconcile-changed.service")-before, 0, 0
	for _, p := range h.passes() {
		if strings.HasPrefix(p, earlyUnit) {
			early++
		}
		if strings.HasPrefix(p, hourlyUnit) {
			hourly++
		}
	}
	took := time.Since(began) // with all that was counted
	if hourly != 2 || early == 0 || early > int(took/(800*time.Millisecond))+1 || notes > int(took/(100*time.Millisecond))+1 {
		t.Errorf("in %v: %d passes on schedule, %d early ones, %d notes", took, hourly, early, notes)
	}
	for _, unit := range []string{"gatehouse-reconcile.path", "gatehouse-reconcile-soon.path"} {
		if got := h.ctl("is-active", unit); got != "active" {
			t.Errorf("%s is %s", unit, got)
		}
	}
	h.publish("last")
	h.sees(earlyUnit, "last")
}

// starts counts how often a unit was started.
func starts(t *testing.T, unit string) int {
	out, err := exec.Command("journalctl", "--sync").CombinedOutput()
	if err == nil {
		out, err = exec.Command("journalctl", "--no-pager", "-o", "cat", "-u", unit, "-g", "^Starting").CombinedOutput()
	}
	if err != nil && len(out) > 0 && !strings.Contains(string(out), "No entries") {
		t.Fatalf("journalctl: %v\n%s", err, out)
	}
	return strings.Count(string(out), "Starting")
}

func testBrokenPath(t *testing.T) {
	home := "/srv/gatehouse-broken-home"
	h := newEarlyHost(t, "gatehouse-broken", home+"/export")
	h.must(os.Chown(home, earlyAgent, earlyAgent))
	if out, err := h.agent("cd .. && mv export away && ln -s export export").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.wait("a path unit that has failed", func() bool {
		out, _ := exec.Command("systemctl", "is-failed", "gatehouse-reconcile.path").Output()
		return strings.TrimSpace(string(out)) == "failed"
	})
	h.ctl("start", hourlyUnit)
	h.must(os.Remove(home + "/export"))
	h.must(os.Rename(home+"/away", home+"/export"))
	h.ctl("start", hourlyUnit)
	if got := h.ctl("is-active", "gatehouse-reconcile.path"); got != "active" {
		t.Errorf("gatehouse-reconcile.path is %s", got)
	}
	h.publish("again")
	h.sees(earlyUnit, "again")
}

// testRunIsReadOnly runs a probe as root in the sandbox of each service.
func testRunIsReadOnly(t *testing.T) {
	h := &earlyHost{T: t}
	files, err := Units(exampleHost())
	h.must(err)
	var probes []string
	for _, f := range files {
		_, text, ok := strings.Cut(string(f.Data), "[Service]")
		if !ok || filepath.Ext(f.Path) != ".service" {
			continue
		}
		text, _, _ = strings.Cut(text, "[Install]")
		probe := "probe-" + strings.ReplaceAll(filepath.Base(f.Path), "@", "")
		h.must(os.WriteFile(filepath.Join("/run/systemd/system", probe), []byte("[Service]"+text+`
Type=oneshot
Restart=no
User=
Group=
SupplementaryGroups=
DynamicUser=no
StandardInput=null
SuccessExitStatus=
ExecStart=
ExecStart=/bin/sh -c 'for d in $RUNTIME_DIRECTORY; do touch $d/probe || exit 8; done; touch /run/systemd/probe && exit 7; exit 0'
`), 0o644))
		probes = append(probes, probe)
	}
	h.ctl("daemon-reload")
	h.ctl(append([]string{"start"}, probes...)...)
}
