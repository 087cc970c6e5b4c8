// Package systemdtest gives tests a real systemd: the host's own programs as PID 1 of new namespaces, over an overlay
// of the root file system, up in half a second and gone without a trace.
//
// harness.sh does the work and says how in its header. Boot starts one machine for one test and holds a pipe to it, so
// that even a killed test leaves nothing behind. What is written inside goes to the overlay and vanishes; only folders
// bound with "--bind" are the host's. /tmp inside is a new, empty one.
//
// Programs run inside with Command. The manager's private socket refuses clients from outside, so tests that speak
// D-Bus either dial SystemBus or run inside themselves (Enter).
package systemdtest

import (
	"bufio"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

//go:embed harness.sh
var harness []byte

// A Machine is a running systemd.
type Machine struct {
	Dir       string // the state folder of the instance
	Root      string // its file system, as seen from outside
	SystemBus string // the address of its system bus, as seen from outside

	script string
}

// Boot starts a machine that lives as long as the test. The options are those of harness.sh. It needs root and skips
// the test without.
func Boot(t testing.TB, options ...string) *Machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: boots a systemd in namespaces of its own")
	}
	script := filepath.Join(t.TempDir(), "harness.sh")
	if err := os.WriteFile(script, harness, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", append([]string{script, "attach"}, options...)...)
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hold.Close()
		cmd.Wait()
	})
	said := make(map[string]string)
	for lines := bufio.NewScanner(out); said["READY"] == "" && lines.Scan(); {
		if key, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "SDH_"), "="); ok {
			said[key] = value
		}
	}
	if said["READY"] == "" || said["STATE"] != "running" {
		t.Fatalf("the machine did not come up: %v", said)
	}
	return &Machine{Dir: said["DIR"], Root: said["ROOT"], SystemBus: said["SYSTEM_BUS"], script: script}
}

// Command runs a program inside, as root, in the caller's working folder where that exists there.
func (m *Machine) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("bash", append([]string{m.script, "exec", m.Dir, "--", name}, args...)...)
}

// Run runs a program inside and returns its standard output and error together; the test fails where the program does.
func (m *Machine) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := m.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// WriteFile writes a file inside.
func (m *Machine) WriteFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	path = filepath.Join(m.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

const inside = "GATEHOUSE_TEST_INSIDE_SYSTEMD"

// Enter runs the calling test inside a machine of its own: outside it boots one, runs this test there and returns false;
// inside it returns true. Without root it skips the test. What the test writes below /tmp stays inside.
func Enter(t *testing.T, options ...string) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := Boot(t, append([]string{"--bind-ro", filepath.Dir(self)}, options...)...)
	args := []string{"-test.run=^" + regexp.QuoteMeta(t.Name()) + "$", "-test.count=1", "-test.parallel=8"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := m.Command(self, args...)
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("inside the machine: %v", err)
	}
	t.Logf("%s", out)
	return false
}

// UserManager starts the service manager of a new user inside, as a real host has it but without logind and PAM, and
// returns a function that makes commands of that user. It is called inside a machine.
func UserManager(t testing.TB, name string, uid int) (as func(name string, args ...string) *exec.Cmd) {
	t.Helper()
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	id := strconv.Itoa(uid)
	run("useradd", "--uid", id, "--create-home", name)
	for path, text := range map[string]string{"user-runtime-dir@.service": runtimeDirUnit, "user@.service": userUnit} {
		if err := os.WriteFile(filepath.Join("/etc/systemd/system", path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("systemctl", "daemon-reload")
	run("systemctl", "start", "user@"+id+".service")
	return func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command("setpriv", append([]string{"--reuid", id, "--regid", id, "--clear-groups", name}, args...)...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR=/run/user/"+id, "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/"+id+"/bus")
		return cmd
	}
}

const runtimeDirUnit = `[Unit]
StopWhenUnneeded=yes
IgnoreOnIsolate=yes
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'mkdir -p /run/user/%i && mount -t tmpfs -o mode=700,uid=%i,gid=%i tmpfs /run/user/%i'
ExecStop=/bin/umount -l /run/user/%i
Slice=user-%i.slice
`

const userUnit = `[Unit]
After=user-runtime-dir@%i.service dbus.service
Requires=user-runtime-dir@%i.service
IgnoreOnIsolate=yes
[Service]
User=%i
Type=notify
Environment=XDG_RUNTIME_DIR=/run/user/%i
ExecStart=/lib/systemd/systemd --user
Slice=user-%i.slice
KillMode=mixed
Delegate=pids memory cpu
TimeoutStopSec=20s
KeyringMode=inherit
`
