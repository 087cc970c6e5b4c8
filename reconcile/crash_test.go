package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// A fault is what happens at one durable step of a run.
type fault struct {
	step  int    // counted from 1; 0 for none
	after bool   // the step takes place first
	kind  string // "kill" or "fail"
}

var errInjected = errors.New("injected fault")

// disk returns a Disk with the fault in it, and a count of the steps that it saw.
func (f fault) disk() (durable.Disk, *int) {
	n := new(int)
	return durable.Disk{Around: func(_ durable.Step, change func() error) error {
		*n++
		if *n != f.step {
			return change()
		}
		var err error
		if f.after {
			err = change()
		}
		if f.kind == "kill" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return errors.Join(err, errInjected)
	}}, n
}

// run is one thing that a person or a timer does, on a host with a drift.
func (h *host) run(op string, disk durable.Disk) error {
	w, err := h.warden(disk)
	if err != nil {
		return err
	}
	ctx, g := context.Background(), h.gate()
	switch op {
	case "reconcile":
		pass, err := w.Reconcile(ctx, []Gate{g})
		if err != nil {
			return err
		}
		if r := pass.Reports[0]; r.Result == Error {
			return errors.New(r.Findings[0].Reason)
		}
		return nil
	case "accept", "reject":
		drift, err := w.Find([]Gate{g}, "")
		if err != nil {
			return err
		}
		if op == "reject" {
			_, err = w.Reject(ctx, g, drift.Report.Fingerprint, Decision{By: "ann", Why: "no"})
		} else {
			_, _, err = w.Accept(ctx, g, drift.Report.Fingerprint, Decision{By: "ann"})
		}
		return err
	case "deploy":
		_, err := w.Deploy(ctx, g, Decision{By: "ann"})
		return err
	case "rollback":
		_, _, err := w.Rollback(ctx, g, "", Decision{By: "ann"})
		return err
	}
	return fmt.Errorf("no operation %q", op)
}

// TestMain makes this test binary the process that is killed: see killed.
func TestMain(m *testing.M) {
	if op := os.Getenv("GATEHOUSE_TEST_OP"); op != "" {
		step, err := strconv.Atoi(os.Getenv("GATEHOUSE_TEST_STEP"))
		if err != nil {
			panic(err)
		}
		disk, _ := fault{step: step, after: os.Getenv("GATEHOUSE_TEST_WHEN") == "after", kind: "kill"}.disk()
		h := &host{dir: os.Getenv("GATEHOUSE_TEST_DIR"), url: os.Getenv("GATEHOUSE_TEST_URL")}
		if err := h.run(op, disk); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killed runs op in a process that is killed at the step, and reports whether it lived long enough to get there.
func (h *host) killed(op string, f fault) bool {
	h.t.Helper()
	when := "before"
	if f.after {
		when = "after"
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GATEHOUSE_TEST_OP="+op, "GATEHOUSE_TEST_DIR="+h.dir, "GATEHOUSE_TEST_URL="+h.url,
		"GATEHOUSE_TEST_STEP="+strconv.Itoa(f.step), "GATEHOUSE_TEST_WHEN="+when)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", op, err, out)
	}
	return false
}

// prepared returns a host on which op can be run, and the trees that may be accepted after it.
func prepared(t *testing.T, op string) (h *host, r *receiver, before, after string) {
	t.Helper()
	r = newReceiver(t)
	h = newHost(t, r.URL)
	h.publish()
	h.accept()
	before = manifestTree(t, h)
	switch op {
	case "deploy":
		if err := os.WriteFile(h.path("repo/vendor-gate/claude/files/policy/gate.yaml"), []byte("allow: []\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		h.git("commit", "-qam", "review")
		h.expect(Behind)
		status := h.must()
		after = status.mustHead(t, h)
	case "rollback":
		first := before
		h.drift("allow: [curl]\n")
		h.accept()
		before, after = manifestTree(t, h), first
	default:
		h.drift("allow: [curl]\n")
		after = manifestTree(t, h)
		if op != "reconcile" {
			h.expect(Drifted)
		}
	}
	return h, r, before, after
}

func (w *Warden) mustHead(t *testing.T, h *host) string {
	t.Helper()
	head, err := w.Repository.Head()
	if err != nil {
		t.Fatal(err)
	}
	vendored, err := w.Repository.Read(context.Background(), head.Commit, "claude", h.gate().Source.Limits)
	if err != nil {
		t.Fatal(err)
	}
	return vendored.Generation.Tree
}

// check makes a pass after whatever happened and fails the test unless everything is whole: one state is accepted, git
// has the same, its index and work tree are clean, and what is announced fits.
func (h *host) check(op string, r *receiver, before, after string) {
	h.t.Helper()
	report := h.pass()
	var want Result
	switch {
	case op == "reconcile" && report.Accepted == before,
		op == "accept" && report.Accepted == before:
		want = Drifted
	case op == "reject" && report.Accepted == before:
		if want = Drifted; report.Result == Rejected {
			want = Rejected
		}
	case op == "accept" && report.Accepted == after:
		want = InSync
	case op == "deploy" && (report.Accepted == before || report.Accepted == after):
		want = Behind
	case op == "rollback" && report.Accepted == before:
		want = InSync
	case op == "rollback" && report.Accepted == after:
		want = Behind
	default:
		h.t.Fatalf("accepted is %.12s; before %.12s, after %.12s", report.Accepted, before, after)
	}
	if report.Result != want {
		h.t.Fatalf("result = %s, want %s: %+v", report.Result, want, report.Findings)
	}
	if op != "deploy" && report.Vendored != report.Accepted {
		h.t.Errorf("git has %.12s, accepted is %.12s", report.Vendored, report.Accepted)
	}
	if got := h.git("status", "--porcelain"); got != "" {
		h.t.Errorf("git status:\n%s", got)
	}
	if op == "accept" || op == "rollback" {
		h.fsck()
	}
	if _, err := os.Stat(h.path("repo/.git/index.lock")); err == nil {
		h.t.Error("index.lock is left")
	}
	stored, err := manifest.OpenGeneration(h.path("state/accepted/claude"), h.gate().Source.Limits)
	if err != nil {
		h.t.Fatal(err)
	}
	defer stored.Close()
	if err := stored.Verify(context.Background()); err != nil {
		h.t.Errorf("the accepted copy: %v", err)
	}
	if names, err := os.ReadDir(h.path("state/intents")); err != nil || len(names) != 0 {
		h.t.Errorf("intents are left: %v %v", names, err)
	}
	// The first acceptance is one drift, opened and closed; then the one that op is about, if there is one.
	open, closed := 1, 1
	switch op {
	case "rollback":
		open, closed = 2, 2
	case "reconcile", "accept", "reject":
		open = 2
		if report.Result == InSync {
			closed = 2
		}
	}
	if got := r.count("drift", "open"); got != open {
		h.t.Errorf("%d drifts were announced, want %d", got, open)
	}
	if got := r.count("drift", "closed"); got != closed {
		h.t.Errorf("%d drifts were closed, want %d", got, closed)
	}
}

var operations = []string{"reconcile", "accept", "reject", "deploy", "rollback"}

func TestKilledAtEveryStep(t *testing.T) {
	for _, op := range operations {
		t.Run(op, func(t *testing.T) {
			steps := stepsOf(t, op)
			if steps < 5 {
				t.Fatalf("%s has only %d durable steps", op, steps)
			}
			for step := 1; step <= steps+1; step += stride {
				t.Run(strconv.Itoa(step), func(t *testing.T) {
					t.Parallel()
					h, r, old, next := prepared(t, op)
					// Killed before a step is killed after the one before it; the last has nothing behind it.
					f := fault{step: step}
					if step > steps {
						f = fault{step: steps, after: true}
					}
					if !h.killed(op, f) {
						t.Fatalf("it was not killed at step %d of %d", step, steps)
					}
					h.check(op, r, old, next)
				})
			}
		})
	}
}

func TestFailingAtEveryStep(t *testing.T) {
	for _, op := range operations {
		t.Run(op, func(t *testing.T) {
			steps := stepsOf(t, op)
			for step := 1; step <= steps; step += stride {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("%d/%v", step, after), func(t *testing.T) {
						t.Parallel()
						h, r, old, next := prepared(t, op)
						disk, seen := fault{step: step, after: after, kind: "fail"}.disk()
						err := h.run(op, disk)
						if *seen < step {
							t.Fatalf("only %d steps", *seen)
						}
						if err != nil && !strings.Contains(err.Error(), errInjected.Error()) {
							t.Errorf("the error hides the fault: %v", err)
						}
						h.check(op, r, old, next)
					})
				}
			}
		})
	}
}

// stepsOf counts the durable steps of an undisturbed run.
func stepsOf(t *testing.T, op string) int {
	t.Helper()
	h, r, before, after := prepared(t, op)
	disk, n := fault{}.disk()
	if err := h.run(op, disk); err != nil {
		t.Fatal(err)
	}
	h.check(op, r, before, after)
	return *n
}
