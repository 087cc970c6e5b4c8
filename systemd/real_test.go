package systemd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/internal/systemdtest"
	"gatehouse/manifest"
)

const (
	agent       = 1234
	systemUnits = "/etc/systemd/system"
)

// near is the tolerance of these tests: more than the ticks of the file system's clock and of the kernel's process
// times, so that they need not wait for long.
const near = 150 * time.Millisecond

// A bench is one unit with its files, inside a machine.
type bench struct {
	*testing.T
	Checker
	Watch
	source manifest.Source
	root   string                                      // of the files
	as     func(name string, args ...string) *exec.Cmd // who talks to the unit's manager
	flags  []string
}

// newBench plants files and the unit, which the manager is to be told of.
func newBench(t *testing.T, units, name, service string) *bench {
	b := &bench{T: t, as: exec.Command, root: filepath.Join("/srv", name, "plugin")}
	b.Watch = Watch{Gate: "claude", Unit: name + ".service", UID: agent, UserName: "agent", Files: []string{"plugin/**"}}
	b.Checker = Checker{Dir: t.TempDir(), BootID: "boot", tolerance: near, Timeout: time.Minute}
	b.source = testSource(b.root)
	b.write("index.js", "index")
	b.write("lib/a.js", "a")
	b.must(os.Symlink("lib", filepath.Join(b.root, "current")))
	b.must(os.Lchown(b.root, agent, agent))
	b.must(os.Lchown(filepath.Join(b.root, "lib"), agent, agent))
	b.must(os.Lchown(filepath.Join(b.root, "current"), agent, agent))
	b.must(os.WriteFile(filepath.Join(units, name+".service"), []byte(service), 0o644))
	return b
}

func (b *bench) unit(name, text string) {
	b.Helper()
	b.must(os.WriteFile(filepath.Join(systemUnits, name), []byte(text), 0o644))
	b.ctl("daemon-reload")
}

func (b *bench) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.root, name)
	b.must(os.MkdirAll(filepath.Dir(path), 0o755))
	b.must(os.WriteFile(path, []byte(text), 0o644))
	b.must(os.Chown(path, agent, agent))
}

// pass lets the tolerance pass: the time between two events is what these tests are about.
func (b *bench) pass() { time.Sleep(near + near/3) }

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) do(name string, args ...string) string {
	b.Helper()
	return b.run(exec.Command(name, args...))
}

func (b *bench) run(cmd *exec.Cmd) string {
	b.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) ctl(args ...string) string {
	b.Helper()
	return b.run(b.as("systemctl", append(b.flags, args...)...))
}

func (b *bench) start() { b.Helper(); b.ctl("start", b.Unit); b.settle() }

func (b *bench) restart() { b.Helper(); b.ctl("restart", b.Unit); b.settle() }

// settle waits until each process of the unit has become the program that it was forked for: systemd reports a simple
// service as started before.
func (b *bench) settle() {
	b.Helper()
	b.until("its processes run their programs", func() bool {
		all := b.members()
		return !slices.ContainsFunc(all, func(p process) bool { return p.forked })
	})
}

// members are the unit's processes.
func (b *bench) members() []process {
	b.Helper()
	f := facts{watch: b.Watch, home: new(unitState)}
	all, err := processes(b.Context(), "/proc", f.place().belongs)
	b.must(err)
	return all
}

// state is what the unit's manager says, past any answer that a test has put in between.
func (b *bench) state() unitState {
	b.Helper()
	c := Checker{Timeout: time.Minute}
	sockets := c.systemSockets()
	if b.User {
		sockets = c.userSockets(agent)
	}
	states, err := c.ask(b.Context(), sockets, b.Unit)
	b.must(err)
	return states[0]
}

func (b *bench) await(sub string) {
	b.Helper()
	b.until("it is "+sub, func() bool { return b.state().sub == sub })
}

func (b *bench) awaitOther(pid int) {
	b.Helper()
	b.until("the main process is another", func() bool { now := b.state().mainPID; return now != 0 && now != pid })
}

func (b *bench) until(what string, true func() bool) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); !true(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("waited for nothing until %s", what)
		}
	}
}

func (b *bench) check() Process {
	return b.Checker.Check(b.Context(), b.Watch, b.source, nil)
}

// want checks and compares. reason is a part of it.
func (b *bench) want(v Verdict, evidence, reason string) Process {
	b.Helper()
	p := b.check()
	if p.Verdict != v || p.Evidence != evidence || !strings.Contains(p.Reason, reason) || p.Fault {
		b.Fatalf("got %s by %q: %s (fault %v)\nwant %s by %q: …%s…\n%+v", p.Verdict, p.Evidence, p.Reason, p.Fault, v, evidence, reason, p)
	}
	if (p.Fix == "") != (p.Disk == "") {
		b.Fatalf("it advises %q by the files %q", p.Fix, p.Disk)
	}
	return p
}

const simple = "[Service]\nExecStart=/bin/sleep infinity\n"

// realCases hold against the real manager of the system.
var realCases = []struct {
	name, service string
	steps         func(b *bench)
}{
	{"simple", simple, func(b *bench) {
		b.want(NotRunning, "", "not started since boot")
		b.start()
		// A scan that may be older than the process says nothing.
		if p := b.Check(b.Context(), b.Watch, b.source, new(manifest.Snapshot)); p.Verdict != Loaded {
			b.Fatalf("%+v", p)
		}
		b.Dir = b.TempDir()
		first := b.want(Loaded, ByClocks, "older than the process")
		if second := b.want(Loaded, BySnapshot, "what they were"); second.Run != first.Run || first.PID == 0 || first.By >= 0 || first.Newest == "" {
			b.Errorf("%+v\nthen %+v", first, second)
		}
		b.pass()
		b.write("lib/a.js", "other")
		if p := b.want(Stale, BySnapshot, `"plugin/lib/a.js" has changed`); p.By < near || p.Fix != "systemctl restart simple.service" {
			b.Errorf("%+v", p)
		}
		b.write("lib/a.js", "a")
		b.want(Loaded, BySnapshot, "")
		b.must(os.Remove(filepath.Join(b.root, "lib/a.js")))
		b.want(Stale, BySnapshot, "lib/a.js")
		b.ctl("stop", b.Unit)
		b.want(NotRunning, "", "")
	}},
	{"changed", simple, func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		if p := b.want(Stale, ByClocks, `"plugin/index.js" was changed after the process started`); p.By < near || p.Newest != "plugin/index.js" {
			b.Errorf("%+v", p)
		}
	}},
	{"restart", simple, func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		first := b.want(Stale, ByClocks, "")
		b.pass()
		b.restart()
		if second := b.want(Loaded, ByClocks, ""); second.Run == first.Run || second.InvocationID == first.InvocationID {
			b.Errorf("the same run: %+v", second)
		}
	}},
	{"exec", "[Service]\nType=exec\nExecStart=/bin/sleep infinity\n", func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
		b.pass()
		b.write("index.js", "other")
		b.want(Stale, BySnapshot, "")
	}},
	{"notify", "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/bash -c 'exec 3<>/srv/idle; while [ ! -e /run/notify.go ]; do read -t 0.05 -u 3; done; systemd-notify --ready; exec sleep infinity'\n", func(b *bench) {
		b.ctl("start", "--no-block", b.Unit)
		b.await("start")
		b.pass()
		b.write("index.js", "other") // read by now, or not: who knows
		b.want(Unknown, ByClocks, "while the process was starting")
		b.do("touch", "/run/notify.go")
		b.await("running")
		b.settle()
		b.want(Unknown, ByClocks, "while the process was starting")
		b.pass()
		b.write("index.js", "another")
		b.want(Stale, ByClocks, "")
	}},
	{"forking", "[Service]\nType=forking\nExecStart=/bin/sh -c 'sleep 1000 &'\n", func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
		b.pass()
		b.write("index.js", "other")
		b.want(Stale, BySnapshot, "")
	}},
	// The daemon runs what its parent had read before it was forked.
	{"forked", "[Service]\nType=forking\nExecStart=/bin/bash -c '" + waitFor("/run/forked.go") + "; (while :; do sleep 1000; done) &'\n", func(b *bench) {
		b.ctl("start", "--no-block", b.Unit)
		b.await("start")
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.do("touch", "/run/forked.go")
		b.await("running")
		b.want(Unknown, ByClocks, "")
	}},
	{"once", "[Service]\nType=oneshot\nExecStart=/bin/true\n", func(b *bench) {
		b.unit("once.timer", "[Timer]\nOnCalendar=2099-01-01\n")
		b.ctl("start", "once.timer")
		b.start()
		b.want(NotRunning, "", "runs once")
	}},
	{"remains", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n", func(b *bench) {
		b.start()
		b.want(NotRunning, "", "it has finished, and no process holds the files")
	}},
	{"reload", "[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/true\n", func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.ctl("reload", b.Unit)
		b.want(Stale, ByClocks, "")
	}},
	{"manager", simple, func(b *bench) {
		b.start()
		first := b.want(Loaded, ByClocks, "")
		b.ctl("daemon-reload")
		b.want(Loaded, BySnapshot, "")
		b.ctl("daemon-reexec")
		if p := b.want(Loaded, BySnapshot, ""); p.Run != first.Run || !p.Since.Equal(first.Since) {
			b.Errorf("%+v\nwas %+v", p, first)
		}
	}},
	{"crash", "[Service]\nExecStart=/bin/sleep infinity\nRestart=always\nRestartSec=1h\n", func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
		b.ctl("kill", "-s", "KILL", b.Unit)
		b.await("auto-restart")
		b.want(NotRunning, "", "its process ended (signal), and it waits to be started again")
	}},
	{"again", "[Service]\nExecStart=/bin/sleep infinity\nRestart=always\nRestartSec=10ms\n", func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		first := b.want(Stale, ByClocks, "")
		b.pass()
		b.ctl("kill", "-s", "KILL", b.Unit)
		b.awaitOther(first.PID)
		b.await("running")
		b.settle()
		if second := b.want(Loaded, ByClocks, ""); second.Run == first.Run {
			b.Errorf("the same run: %+v", second)
		}
	}},
	{"handover", handover + "\n", func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
		b.pass()
		b.write("index.js", "other")
		first := b.want(Stale, BySnapshot, "")
		b.pass()
		b.ctl("kill", "--kill-who=main", "-s", "USR1", b.Unit)
		b.awaitOne(first.PID)
		if second := b.want(Loaded, ByClocks, ""); second.Run == first.Run || second.InvocationID != first.InvocationID {
			b.Errorf("%+v\nwas %+v", second, first)
		}
	}},
	// The old process stays in the unit, whoever is called the main one.
	{"decoy", handover + "stay\n", func(b *bench) {
		b.start()
		first := b.want(Loaded, ByClocks, "")
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.ctl("kill", "--kill-who=main", "-s", "USR1", b.Unit)
		b.awaitOther(first.PID)
		b.settle()
		b.want(Unknown, ByClocks, "older than the main process")
	}},
	// What holds the old files forks and ends all the time, next to a main process that is new.
	{"hopper", "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/bash /srv/hopper.sh\n", func(b *bench) {
		b.start()
		first := b.want(Loaded, ByClocks, "")
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.ctl("kill", "--kill-who=main", "-s", "USR1", b.Unit)
		b.awaitOther(first.PID)
		for range 5 {
			b.Dir = b.TempDir()
			if p := b.check(); p.Verdict != Unknown || p.Fault {
				b.Fatalf("%+v", p)
			}
		}
		b.ctl("stop", b.Unit)
	}},
	// A process that holds the old files forks one, and that is put into the unit, as the unit's user may.
	{"delegated", "[Service]\nExecStart=/bin/sleep infinity\nUser=1234\nDelegate=yes\n", func(b *bench) {
		b.do("systemd-run", "--uid=1234", "--unit=outside", "bash", "-c",
			waitFor("/run/outside.go")+"; (while :; do sleep 1000; done) & wait")
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.start()
		b.want(Loaded, ByClocks, "")
		b.do("touch", "/run/outside.go")
		outside, child := "0", ""
		b.until("the one outside runs", func() bool {
			outside = b.do("systemctl", "show", "-p", "MainPID", "--value", "outside.service")
			return outside != "0"
		})
		b.until("there is a child", func() bool {
			data, err := os.ReadFile("/proc/" + outside + "/task/" + outside + "/children")
			b.must(err)
			child = strings.TrimSpace(string(data))
			pid, err := strconv.Atoi(child)
			if err != nil { // it has one for each pause, or none
				return false
			}
			p, err := readProcess("/proc", pid, nil)
			return err == nil && p != nil && p.forked && b.sleeps(pid)
		})
		b.do("setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
			"org.freedesktop.systemd1.Manager", "AttachProcessesToUnit", "ssau", b.Unit, "", "1", child)
		b.want(Unknown, BySnapshot, "process "+child+" in it began when")
		b.Dir = b.TempDir()
		b.want(Unknown, ByClocks, "process "+child+" can have read")
	}},
	{"hardened", "[Service]\nExecStart=/bin/sleep infinity\nProtectSystem=strict\nProtectHome=read-only\nPrivateTmp=yes\nPrivateDevices=yes\n" +
		"ProtectKernelTunables=yes\nProtectControlGroups=yes\nReadWritePaths=/srv/hardened/plugin/lib\nInaccessiblePaths=/root\n", func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
	}},
	{"elsewhere", "[Service]\nExecStart=/bin/sleep infinity\nBindPaths=/srv/elsewhere:/srv/elsewhere/plugin/lib\n", func(b *bench) {
		b.start()
		b.want(Unknown, "", `sees something else at "/srv/elsewhere/plugin/lib"`)
	}},
	{"socket", simple, func(b *bench) {
		b.unit("socket.socket", "[Socket]\nListenStream=/run/never\n")
		b.ctl("start", "socket.socket")
		b.want(NotRunning, "", "waits for the first connection")
	}},
	{"masked", simple, func(b *bench) {
		b.must(os.Remove("/etc/systemd/system/masked.service"))
		b.ctl("mask", b.Unit)
		b.want(NotRunning, "", "it is masked")
	}},
	{"missing", simple, func(b *bench) {
		b.Unit = "no-such.service"
		b.want(Unknown, "", "there is no such unit")
	}},
	{"failed", "[Service]\nType=exec\nExecStart=/no/such/program\n", func(b *bench) {
		b.as("systemctl", "start", b.Unit).Run()
		b.want(NotRunning, "", "it has failed (exit-code)")
	}},
	{"left", "[Service]\nExecStart=/bin/sh -c 'sleep 1000 & exec sleep infinity'\nKillMode=process\n", func(b *bench) {
		b.start()
		b.until("there is a second process", func() bool { return len(b.members()) == 2 })
		b.settle()
		b.want(Loaded, ByClocks, "")
		b.ctl("stop", b.Unit)
		b.want(Unknown, "", "says that the unit is inactive, but the kernel has process")
		b.pass()
		b.write("index.js", "other")
		b.pass()
		b.start()
		b.want(Unknown, ByClocks, "older than the main process")
	}},
	{"touched", simple, func(b *bench) {
		b.start()
		b.want(Loaded, ByClocks, "")
		b.pass()
		b.do("touch", filepath.Join(b.root, "index.js"))
		b.write("lib/a.js", "a")
		b.write("cache", "")
		b.must(os.Remove(filepath.Join(b.root, "cache")))
		b.want(Loaded, BySnapshot, "")
	}},
	{"backdated", simple, func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		old := time.Now().Add(-24 * time.Hour)
		b.must(os.Chtimes(filepath.Join(b.root, "index.js"), old, old))
		b.want(Stale, ByClocks, "index.js")
	}},
	{"swap", simple, func(b *bench) {
		other := b.root + ".other"
		b.must(os.MkdirAll(other, 0o755))
		b.must(os.WriteFile(filepath.Join(other, "a.js"), []byte("evil"), 0o644))
		b.do("chown", "-R", fmt.Sprint(agent), other)
		b.pass()
		b.start()
		b.pass()
		b.must(os.Rename(filepath.Join(b.root, "lib"), b.root+".old"))
		b.must(os.Rename(other, filepath.Join(b.root, "lib")))
		b.want(Stale, ByClocks, `the directory "plugin/lib" was put in place`)
	}},
	{"swap-after-look", simple, func(b *bench) {
		other := b.root + ".other"
		b.must(os.MkdirAll(other, 0o755))
		b.must(os.WriteFile(filepath.Join(other, "a.js"), []byte("evil"), 0o644))
		b.do("chown", "-R", fmt.Sprint(agent), other)
		b.pass()
		b.start()
		b.want(Loaded, ByClocks, "")
		b.must(os.Rename(filepath.Join(b.root, "lib"), b.root+".old"))
		b.must(os.Rename(other, filepath.Join(b.root, "lib")))
		b.want(Stale, BySnapshot, "plugin/lib/a.js")
	}},
	{"swap-root", simple, func(b *bench) {
		b.do("cp", "-a", b.root, b.root+".other")
		b.pass()
		b.start()
		b.pass()
		b.must(os.Rename(b.root, b.root+".old"))
		b.must(os.Rename(b.root+".other", b.root))
		b.want(Stale, ByClocks, `the directory "plugin" was put in place`)
	}},
	{"swap-above", simple, func(b *bench) {
		b.do("chown", fmt.Sprint(agent), "/srv/swap-above")
		b.do("cp", "-a", "/srv/swap-above", "/srv/swap-above.other")
		b.source.Live[0].Root = "/srv/swap-above/plugin"
		b.do("chown", fmt.Sprint(agent), "/srv") // so that the user can swap what is in it
		defer b.do("chown", "0", "/srv")
		b.pass()
		b.start()
		b.pass()
		b.must(os.Rename("/srv/swap-above", "/srv/swap-above.old"))
		b.must(os.Rename("/srv/swap-above.other", "/srv/swap-above"))
		b.want(Unknown, ByClocks, "what lay there at the start is not known")
	}},
	{"removed", simple, func(b *bench) {
		b.start()
		b.pass()
		b.must(os.Remove(filepath.Join(b.root, "lib/a.js")))
		b.want(Unknown, ByClocks, `something in the directory "plugin/lib" was added, removed or renamed`)
	}},
	{"flip", simple, func(b *bench) {
		b.must(os.Symlink("lib", filepath.Join(b.root, "old")))
		b.must(os.Symlink("elsewhere", filepath.Join(b.root, "next")))
		b.do("chown", "-hR", fmt.Sprint(agent), b.root)
		b.pass()
		b.start()
		b.pass()
		b.must(os.Rename(filepath.Join(b.root, "next"), filepath.Join(b.root, "current")))
		b.want(Stale, ByClocks, `"plugin/current" was changed`)
	}},
	{"near", simple, func(b *bench) {
		b.tolerance = time.Hour // however busy the machine is
		b.start()
		b.write("index.js", "other")
		if p := b.want(Unknown, ByClocks, "within 1h0m0s of the start"); !p.Clock {
			b.Errorf("%+v", p)
		}
	}},
	{"stepped", simple, func(b *bench) {
		b.start()
		b.pass()
		b.write("index.js", "other")
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			b.Dir = b.TempDir()
			b.clock = func() (clock, error) {
				now, err := readClock()
				now.real = now.real.Add(by)
				return now, err
			}
			if p := b.want(Unknown, ByClocks, "the clock was set by "+by.String()); !p.Clock {
				b.Errorf("%+v", p)
			}
		}
	}},
	{"recorded", "[Service]\nExecStart=/bin/sleep infinity\nRuntimeDirectory=recorded\nUser=1234\n", func(b *bench) {
		b.start()
		p := b.want(Loaded, ByClocks, "")
		same := "1bc04b5291c26a46d918139138b992d2de976d6851d0893b0476b85bfbdfc6e6" // of "index"
		b.record(p.InvocationID, same)
		b.want(Loaded, BySnapshot, "")
		b.record(p.InvocationID[1:]+p.InvocationID[:1], strings.Repeat("0", 64)) // of another run
		b.want(Loaded, BySnapshot, "")
		b.record(p.InvocationID, strings.Repeat("0", 64))
		b.want(Stale, ByRecord, `another "plugin/index.js"`)
		b.record(p.InvocationID, "not a digest")
		b.want(Unknown, ByRecord, "cannot be used")
		b.must(os.Remove("/run/recorded/loaded.json"))
		b.must(syscall.Mkfifo("/run/recorded/loaded.json", 0o644))
		b.want(Unknown, ByRecord, "cannot be used")
		b.must(os.Remove("/run/recorded/loaded.json"))
		b.must(os.Symlink("/etc/passwd", "/run/recorded/loaded.json"))
		b.want(Unknown, ByRecord, "cannot be used")
		b.must(os.Remove("/run/recorded/loaded.json"))
		b.pass()
		b.write("index.js", "other") // whose digest the process now claims to have loaded
		b.record(p.InvocationID, "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa")
		b.want(Stale, BySnapshot, "index.js")
	}},
	{"refused", simple, func(b *bench) {
		b.must(syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o644))
		b.pass()
		b.start()
		b.want(Unknown, "", `"plugin/pipe" could not be looked at`)
		b.Files = []string{"plugin/*.js"}
		b.want(Loaded, ByClocks, "")
		b.Files = []string{"plugin/*.ts"}
		b.want(Unknown, "", "no live file matches plugin/*.ts")
	}},
}

// idle is a shell that waits for a signal without forking.
const idle = "exec 3<>/srv/idle; while :; do read -t 0.05 -u 3; done"

func waitFor(file string) string { return "while [ ! -e " + file + " ]; do sleep 0.02; done" }

const handover = "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/bash /srv/handover.sh "

// handoverScript gives its place to a new process on USR1 and then ends, or stays when it was told so.
const handoverScript = `
trap 'sleep infinity & systemd-notify MAINPID=$!; test -n "$1" || exit' USR1
systemd-notify --ready
` + idle + `
`

// hopperScript leaves on USR1 a process that is always another one, and gives its place to a new program.
const hopperScript = `
hop() { hop & exit; }
trap 'hop & sleep infinity & systemd-notify MAINPID=$!; exit' USR1
systemd-notify --ready
` + idle + `
`

// sleeps reports whether a process has a child.
func (b *bench) sleeps(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	return err == nil && len(data) > 0
}

// awaitOne waits until one process is left in the unit, and that not the old one.
func (b *bench) awaitOne(old int) {
	b.Helper()
	b.until("the old process ends", func() bool {
		all := b.members()
		return len(all) == 1 && all[0].pid != old && !all[0].forked
	})
}

func (b *bench) record(invocation, digest string) {
	b.Helper()
	text := fmt.Sprintf(`{"schema": "gatehouse/loaded/v1", "invocation_id": %q, "files": {"plugin/index.js": %q}}`, invocation, digest)
	b.must(os.WriteFile("/run/recorded/loaded.json", []byte(text), 0o644))
	b.must(os.Chown("/run/recorded/loaded.json", agent, agent))
}

func TestVerdictsAgainstTheRealManager(t *testing.T) {
	if !systemdtest.Enter(t) {
		return
	}
	(&bench{T: t}).do("useradd", "--uid", fmt.Sprint(agent), "agent")
	(&bench{T: t}).do("mkfifo", "/srv/idle")
	if err := os.WriteFile("/srv/handover.sh", []byte(handoverScript), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/srv/hopper.sh", []byte(hopperScript), 0o644); err != nil {
		t.Fatal(err)
	}
	benches := make(map[string]*bench)
	for _, c := range realCases {
		benches[c.name] = newBench(t, systemUnits, c.name, c.service)
	}
	exec.Command("systemctl", "daemon-reload").Run()
	benches["simple"].pass()
	for _, c := range realCases {
		t.Run(c.name, func(t *testing.T) {
			b := benches[c.name]
			b.T, b.Dir = t, t.TempDir()
			if c.name != "manager" { // which re-executes itself there, and does not answer for a moment
				t.Parallel()
			}
			c.steps(b)
		})
	}
}
