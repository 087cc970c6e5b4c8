package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"gatehouse/internal/systemdtest"
)

// lie puts a manager that lies in the place of the user's own one. The other processes are what they are.
func (b *bench) lie(change func(p map[string]dbus.Variant)) {
	truth := b.truth()
	fake := &fakeManager{answer: func(net.Conn, *dbus.Message) *dbus.Message {
		p := properties(func(p map[string]dbus.Variant) {
			for name, value := range truth {
				p[name] = value
			}
		})
		change(p)
		return body(p)
	}}
	b.dial = func(ctx context.Context, path string, owner uint32) (net.Conn, error) {
		if owner == 0 {
			return dialManager(ctx, path, owner)
		}
		return fake.dial(b.T)(ctx, path, owner)
	}
}

// truth is what the real manager says, as far as it matters for lies.
func (b *bench) truth() map[string]dbus.Variant {
	b.Helper()
	u := b.state()
	micro := func(s stamp) dbus.Variant { return dbus.MakeVariant(uint64(s.real.UnixMicro())) }
	return map[string]dbus.Variant{
		"MainPID": dbus.MakeVariant(uint32(u.mainPID)), "ControlGroup": dbus.MakeVariant(u.controlGroup),
		"ExecMainStartTimestamp": micro(u.mainStart), "ActiveEnterTimestamp": micro(u.activeEnter),
		"InactiveExitTimestamp": micro(u.inactiveExit),
	}
}

func (b *bench) mainPID() string {
	b.Helper()
	return strconv.Itoa(b.state().mainPID)
}

// move puts a process into another control group of the user's manager, as the user may.
func (b *bench) move(pid, group string) {
	b.Helper()
	dir := filepath.Join("/sys/fs/cgroup/user.slice/user-1234.slice/user@1234.service", group)
	b.run(b.as("sh", "-c", fmt.Sprintf("mkdir -p %s && echo %s >%s/cgroup.procs", dir, pid, dir)))
}

var userCases = []struct {
	name, service string
	steps         func(b *bench)
}{
	{"u-simple", simple, func(b *bench) {
		b.want(NotRunning, "", "not started since boot")
		b.start()
		first := b.want(Loaded, ByClocks, "")
		b.want(Loaded, BySnapshot, "")
		b.pass()
		b.write("index.js", "other")
		if p := b.want(Stale, BySnapshot, "index.js"); p.Fix != "sudo -u agent XDG_RUNTIME_DIR=/run/user/1234 systemctl --user restart u-simple.service" {
			b.Errorf("%+v", p)
		}
		b.pass()
		b.restart()
		if p := b.want(Loaded, ByClocks, ""); p.Run == first.Run {
			b.Errorf("%+v", p)
		}
		b.Unit = "no-such.service"
		b.want(Unknown, "", "there is no such unit")
	}},
	{"u-forks", "[Service]\nExecStart=/bin/bash -c '(while :; do sleep 1000; done) & exec sleep infinity'\n", func(b *bench) {
		b.ctl("start", b.Unit)
		b.until("the shell has become another program", func() bool {
			name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", b.state().mainPID))
			return err == nil && string(name) == "sleep\n"
		})
		b.want(Unknown, ByClocks, "") // what it forked comes from another program
	}},
	{"u-worker", "[Service]\nExecStart=/bin/bash -c '(while :; do sleep 1000; done) & wait'\n", func(b *bench) {
		b.ctl("start", b.Unit)
		b.until("there is a worker", func() bool { return len(b.members()) == 3 })
		// A user may put a process into a unit that anything else of his was forked from, since his manager began.
		if p := b.want(Unknown, ByClocks, "was forked and runs no program of its own"); p.Fix != "systemctl restart user@1234.service" {
			b.Errorf("%+v", p)
		}
	}},
	{"u-mounts", "[Service]\nExecStart=unshare -r -m sh -c 'mount --bind /srv/u-mounts /srv/u-mounts/plugin/lib && exec sleep infinity'\n", func(b *bench) {
		b.start()
		b.until("it has mounts of its own", func() bool {
			p := b.check()
			return p.Verdict == Unknown && strings.Contains(p.Reason, `sees something else at "/srv/u-mounts/plugin/lib"`)
		})
	}},
	// A process in control groups with names too long for /proc is nobody's business where it does not belong to the unit.
	{"u-odd", simple, func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
		deep := func(below string) (undo func()) {
			b.Helper()
			sleeper := b.as("sleep", "1000")
			b.must(sleeper.Start())
			at, err := unix.Open("/sys/fs/cgroup/user.slice/user-1234.slice/user@1234.service/"+below, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			b.must(err)
			name, way := strings.Repeat("x", 250), []int{at}
			for range 18 {
				b.must(unix.Mkdirat(at, name, 0o755))
				at, err = unix.Openat(at, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				b.must(err)
				way = append(way, at)
			}
			procs, err := unix.Openat(at, "cgroup.procs", unix.O_WRONLY|unix.O_CLOEXEC, 0)
			b.must(err)
			_, err = unix.Write(procs, []byte(strconv.Itoa(sleeper.Process.Pid)))
			b.must(errors.Join(err, unix.Close(procs)))
			return func() {
				sleeper.Process.Kill()
				sleeper.Wait()
				for i := len(way) - 2; i >= 0; i-- {
					b.until("the group is empty", func() bool { return unix.Unlinkat(way[i], name, unix.AT_REMOVEDIR) == nil })
				}
				for _, fd := range way {
					unix.Close(fd)
				}
			}
		}
		undo := deep(".")
		b.want(Loaded, BySnapshot, "")
		undo()
	}},
	{"u-record", "[Service]\nExecStart=/bin/sleep infinity\n", func(b *bench) {
		b.start()
		p := b.want(Loaded, ByClocks, "")
		b.must(os.MkdirAll("/run/user/1234/gatehouse", 0o755))
		b.must(os.Chown("/run/user/1234/gatehouse", agent, agent))
		text := fmt.Sprintf(`{"schema": "gatehouse/loaded/v1", "invocation_id": %q, "files": {"plugin/lib/a.js": %q}}`,
			p.InvocationID, strings.Repeat("0", 64))
		b.must(os.WriteFile("/run/user/1234/gatehouse/loaded.json", []byte(text), 0o644))
		b.must(os.Chown("/run/user/1234/gatehouse/loaded.json", agent, agent))
		defer os.RemoveAll("/run/user/1234/gatehouse")
		b.want(Stale, ByRecord, "lib/a.js")
	}},
	{"u-left", "[Service]\nExecStart=/bin/sh -c 'sleep 1000 & exec sleep infinity'\n", func(b *bench) {
		b.start()
		old := ""
		b.until("there is a second process", func() bool {
			out, err := exec.Command("pgrep", "-P", b.mainPID(), "-f", "^sleep 1000").Output()
			old = strings.TrimSpace(string(out))
			return err == nil
		})
		b.want(Loaded, ByClocks, "")
		b.pass()
		b.write("index.js", "other")
		b.move(old, "elsewhere.scope")
		b.want(Unknown, "", "process "+old+" was seen in the unit and has left it")
		b.ctl("stop", b.Unit)
		b.pass()
		b.restart() // a fresh process stands in for the old one
		b.want(Unknown, "", "process "+old+" was seen in the unit and has left it")
		b.do("kill", "-KILL", old)
		b.until("it is gone", func() bool { return b.check().Verdict == Loaded })
	}},
	// An old process is moved into the unit: nobody knows what it read.
	{"u-joined", simple, func(b *bench) {
		sleeper := b.as("sleep", "1000")
		b.must(sleeper.Start())
		go sleeper.Wait()
		b.do("sh", "-c", fmt.Sprintf("echo %d >/sys/fs/cgroup/user.slice/user-1234.slice/user@1234.service/init.scope/cgroup.procs", sleeper.Process.Pid))
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.start()
		b.want(Loaded, ByClocks, "")
		b.move(strconv.Itoa(sleeper.Process.Pid), "app.slice/u-joined.service")
		b.want(Unknown, BySnapshot, "began when they may have been others")
	}},
	{"u-lies", simple, func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		b.want(Stale, ByClocks, "")
		b.pass()
		fresh := dbus.MakeVariant(uint64(time.Now().UnixMicro()))
		for _, lie := range []struct {
			name    string
			change  func(p map[string]dbus.Variant)
			verdict Verdict
			reason  string
		}{
			{"it was just started", func(p map[string]dbus.Variant) {
				p["ExecMainStartTimestamp"], p["ActiveEnterTimestamp"], p["InactiveExitTimestamp"] = fresh, fresh, fresh
				p["InvocationID"] = dbus.MakeVariant([]byte("0123456789abcdef"))
			}, Stale, "index.js"},
			{"it has run for long", func(p map[string]dbus.Variant) { p["ExecMainStartTimestamp"] = dbus.MakeVariant(uint64(1)) },
				Unknown, "the service manager of user agent says that the main process"},
			{"it does not run", func(p map[string]dbus.Variant) {
				p["ActiveState"], p["SubState"], p["MainPID"] = dbus.MakeVariant("inactive"), dbus.MakeVariant("dead"), dbus.MakeVariant(uint32(0))
			}, Unknown, "says that the unit is inactive, but the kernel has process"},
			{"there is no such unit", func(p map[string]dbus.Variant) {
				p["ActiveState"], p["SubState"], p["LoadState"] = dbus.MakeVariant("inactive"), dbus.MakeVariant("dead"), dbus.MakeVariant("not-found")
			}, Unknown, "says that the unit is inactive, but the kernel has process"},
			{"another process is the main one", func(p map[string]dbus.Variant) { p["MainPID"] = dbus.MakeVariant(uint32(os.Getpid())) },
				Unknown, "is the main one, but the kernel does not have it in the control group"},
			{"there is no main process", func(p map[string]dbus.Variant) { p["MainPID"] = dbus.MakeVariant(uint32(0)) }, Stale, ""},
			{"the control group is another", func(p map[string]dbus.Variant) { p["ControlGroup"] = dbus.MakeVariant("/elsewhere") },
				Unknown, `has the control group "/elsewhere"`},
			{"it is starting", func(p map[string]dbus.Variant) {
				p["ActiveState"], p["SubState"] = dbus.MakeVariant("activating"), dbus.MakeVariant("start")
			}, Stale, ""},
		} {
			b.lie(lie.change)
			if p := b.check(); p.Verdict != lie.verdict || !strings.Contains(p.Reason, lie.reason) || p.Fault {
				b.Errorf("%s: %+v", lie.name, p)
			}
		}
	}},
	// A decoy in the unit is called the main process; the old one stays.
	{"u-decoy", "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/bash -c 'trap \"sleep infinity &\" USR1; systemd-notify --ready; " + idle + "'\n", func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.ctl("kill", "--kill-who=main", "-s", "USR1", b.Unit)
		old, decoy := b.mainPID(), ""
		b.until("there is a decoy", func() bool {
			out, err := exec.Command("pgrep", "-P", old, "-f", "^sleep infinity").Output()
			decoy = strings.TrimSpace(string(out))
			return err == nil
		})
		pid, err := strconv.Atoi(decoy)
		b.must(err)
		now := dbus.MakeVariant(uint64(time.Now().UnixMicro()))
		b.lie(func(p map[string]dbus.Variant) {
			p["MainPID"], p["ExecMainStartTimestamp"] = dbus.MakeVariant(uint32(pid)), now
		})
		b.want(Unknown, ByClocks, "older than the main process")
	}},
	{"u-foreign", simple, func(b *bench) {
		b.start()
		b.UID = 0 // as if the unit of one user were run by another
		b.want(NotRunning, "", "does not run")
	}},
	{"u-zz-dead", simple, func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
		b.dial = func(ctx context.Context, path string, owner uint32) (net.Conn, error) {
			if owner == 0 {
				return dialManager(ctx, path, owner)
			}
			return (&fakeManager{greet: func(net.Conn) bool { return false }}).dial(b.T)(ctx, path, owner)
		}
		if p := b.check(); p.Verdict != Unknown || !p.Fault || !strings.Contains(p.Reason, "the service manager of user agent could not be asked") {
			b.Errorf("%+v", p)
		}
	}},
}

func TestVerdictsOnAUsersUnits(t *testing.T) {
	if !systemdtest.Enter(t) {
		return
	}
	as := systemdtest.UserManager(t, "agent", agent)
	(&bench{T: t}).do("mkfifo", "--mode=666", "/srv/idle")
	const units = "/home/agent/.config/systemd/user"
	if err := os.MkdirAll(units, 0o755); err != nil {
		t.Fatal(err)
	}
	(&bench{}).pass() // what the manager can have read is older than the files
	benches := make(map[string]*bench)
	for _, c := range userCases {
		b := newBench(t, units, c.name, c.service)
		b.User, b.as, b.flags = true, as, []string{"--user"}
		benches[c.name] = b
	}
	if out, err := as("systemctl", "--user", "daemon-reload").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	benches["u-simple"].pass()
	t.Run("all", func(t *testing.T) {
		for _, c := range userCases {
			t.Run(c.name, func(t *testing.T) {
				b := benches[c.name]
				b.T, b.Dir = t, t.TempDir()
				if c.name != "u-record" { // whose runtime directory is everybody's
					t.Parallel()
				}
				c.steps(b)
			})
		}
	})
	b := benches["u-simple"]
	b.T, b.Unit, b.Dir = t, "u-simple.service", t.TempDir()
	for _, s := range append(b.systemSockets(), b.userSockets(agent)...) {
		if _, err := b.askAt(t.Context(), s, []string{b.Unit}); err != nil {
			t.Errorf("root cannot ask at %s: %v", s.path, err)
		}
	}
	if _, err := b.connect(t.Context(), socket{path: "/run/user/1234/systemd/private", owner: 7}); err == nil {
		t.Error("a socket of another user was taken")
	}
	b.must(os.Symlink("/run/systemd/private", "/run/user/1234/link"))
	if _, err := b.connect(t.Context(), socket{path: "/run/user/1234/link", owner: agent}); err == nil {
		t.Error("a link to another manager was followed")
	}
	b.do("systemctl", "stop", "user@1234.service")
	b.want(NotRunning, "", "the service manager of user agent does not run")
}
