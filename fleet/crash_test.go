package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/notify"
	"gatehouse/reconcile"
)

// TestMain makes this test binary the process that is killed: see killed.
func TestMain(m *testing.M) {
	if op := os.Getenv("GATEHOUSE_TEST_OP"); op != "" {
		if err := dyingProcess(op); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// dyingProcess does op and kills itself at a step of it.
func dyingProcess(op string) error {
	step := must(strconv.Atoi(os.Getenv("GATEHOUSE_TEST_STEP")))
	now := must(time.Parse(time.RFC3339, os.Getenv("GATEHOUSE_TEST_NOW")))
	w := &world{dir: os.Getenv("GATEHOUSE_TEST_DIR"), now: now}
	var n atomic.Int64 // objects are fetched side by side
	disk := durable.Disk{Around: func(_ durable.Step, change func() error) error {
		if n.Add(1) != int64(step) {
			return change()
		}
		if os.Getenv("GATEHOUSE_TEST_WHEN") == "after" {
			if err := change(); err != nil {
				return err
			}
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}}
	hub := &hub{w: w, name: "hub", sink: new(mailbox), hosts: strings.Fields(os.Getenv("GATEHOUSE_TEST_HOSTS"))}
	return hub.run(op, disk)
}

// run is what a timer or a person does on the hub, or on a host that follows it.
func (h *hub) run(op string, disk durable.Disk) error {
	ctx := context.Background()
	if op == "pull" {
		f := &follower{&remote{h.w, "agent-01"}, new(mailbox)}
		_, err := f.pull(disk)
		return err
	}
	remotes, err := h.fetchFrom(ctx, h.w.exchange(h.name), disk)
	if err != nil {
		return err
	}
	warden, err := h.w.wardenOf(h.path(), h.name, disk, logged(h.path("sink")))
	if err != nil {
		return err
	}
	if op == "pass" {
		_, err = warden.ReconcileFleet(ctx, h.fleet(), remotes)
		return err
	}
	drift, err := warden.FindFleet([]reconcile.Fleet{h.fleet()}, "")
	if errors.Is(err, reconcile.ErrNoDrift) {
		return nil // it was accepted before
	}
	if err != nil {
		return err
	}
	_, _, _, err = warden.AcceptFleet(ctx, h.fleet(), remotes, drift.Group.Fingerprint, ann())
	if errors.Is(err, reconcile.ErrNotAcceptable) {
		return nil // what was cut short has just been finished
	}
	return err
}

// logged is a sink that writes the ids of what it is sent into a file, which outlives the process.
type logged string

func (logged) Name() string { return "log" }

func (l logged) Send(_ context.Context, m notify.Message) error {
	f, err := os.OpenFile(string(l), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, n := range m.Notices {
		fmt.Fprintf(f, "%s %s %s\n", n.State, n.Kind, n.ID)
	}
	return nil
}

// ids are the different notices of a kind and state.
func (l logged) ids(state notify.State, kind string) map[string]bool {
	ids := make(map[string]bool)
	data, _ := os.ReadFile(string(l))
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, string(state)+" "+kind+" "); ok {
			ids[rest] = true
		}
	}
	return ids
}

// killed runs op in a process that is killed at a step, and reports whether it lived long enough to get there.
func (h *hub) killed(op string, step int, when string) bool {
	h.w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GATEHOUSE_TEST_OP="+op, "GATEHOUSE_TEST_DIR="+h.w.dir, "GATEHOUSE_TEST_STEP="+strconv.Itoa(step),
		"GATEHOUSE_TEST_WHEN="+when, "GATEHOUSE_TEST_NOW="+h.w.now.Format(time.RFC3339), "GATEHOUSE_TEST_HOSTS="+strings.Join(h.hosts, " "))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		h.w.t.Fatalf("%s: %v\n%s", op, err, out)
	}
	return false
}

// everyStep kills op at each of its steps, each time in a fresh copy of the world, runs it again, and then checks. That
// it is killed before a step and not after the one before it makes a difference only to what goes over the network.
func everyStep(t *testing.T, w *world, h *hub, op string, moments []string, check func(t *testing.T, w *world, h *hub)) {
	for _, when := range moments {
		for step := 1; ; step += stride {
			fresh := &world{t: t, dir: w.dir + ".copy", now: w.now}
			if out, err := exec.Command("cp", "-a", w.dir, fresh.dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			hub := &hub{w: fresh, name: h.name, sink: new(mailbox), hosts: h.hosts}
			died := hub.killed(op, step, when)
			if died {
				if err := hub.run(op, durable.Disk{}); err != nil {
					t.Errorf("%s after being killed %s step %d: %v", op, when, step, err)
				}
			}
			check(t, fresh, hub)
			if err := os.RemoveAll(fresh.dir); err != nil {
				t.Fatal(err)
			}
			if t.Failed() {
				t.Fatalf("%s, killed %s step %d", op, when, step)
			}
			if !died {
				if step < 5 {
					t.Fatalf("%s has only %d steps", op, step)
				}
				break
			}
		}
	}
}

func TestAHubThatIsKilledIsRightAfterTheNextRun(t *testing.T) {
	w, hosts, h := settled(t, 4)
	w.later(time.Hour)
	for _, host := range hosts[:3] {
		host.drift("allow: []\n")
	}
	hosts[3].drift("allow: [sudo]\n")
	everyStep(t, w, h, "pass", []string{"before", "after"}, func(t *testing.T, w *world, h *hub) {
		counts := make(map[reconcile.Result]int)
		for _, r := range h.pass() {
			counts[r.Result]++
		}
		if counts[reconcile.Drifted] != 4 {
			t.Errorf("results %v", counts)
		}
		if n := logged(h.path("sink")).ids(notify.Opened, "drift"); len(n) != 2 {
			t.Errorf("notices %v, want two", n)
		}
		if left := must(filepath.Glob(h.path("state", "staged", "*.new"))); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	})
}

func TestAnAcceptanceThatIsKilledIsWholeOrNotThere(t *testing.T) {
	w, hosts, h := settled(t, 3)
	w.later(time.Hour)
	for _, host := range hosts {
		host.drift("allow: []\n")
	}
	if err := h.run("pass", durable.Disk{}); err != nil {
		t.Fatal(err)
	}
	everyStep(t, w, h, "accept", []string{"before"}, func(t *testing.T, w *world, h *hub) {
		if n := h.git("rev-list", "--count", "HEAD"); n != "2\n" {
			t.Errorf("%s commits, want 2", strings.TrimSpace(n))
		}
		if status := h.git("status", "--porcelain"); status != "" {
			t.Errorf("git status: %q", status)
		}
		for host, r := range h.pass() {
			if r.Result != reconcile.InSync {
				t.Errorf("%s: %+v", host, r.Findings)
			}
		}
	})
}

func TestAPullThatIsKilledIsWholeOrNotThere(t *testing.T) {
	w, hosts, h, f := following(t)
	h.acceptNext(hosts, "allow: [git log]\n")
	want := must(h.warden(durable.Disk{}).AcceptedTree(f.gate()))
	everyStep(t, w, h, "pull", []string{"before"}, func(t *testing.T, w *world, h *hub) {
		f := &follower{&remote{w, "agent-01"}, new(mailbox)}
		if f.acceptedTree() != want {
			t.Errorf("accepted tree %.12s, want %.12s", f.acceptedTree(), want)
		}
		if n := f.git("rev-list", "--count", "HEAD"); n != "2\n" {
			t.Errorf("%s commits, want 2", strings.TrimSpace(n))
		}
		if status := f.git("status", "--porcelain"); status != "" {
			t.Errorf("git status: %q", status)
		}
	})
}
