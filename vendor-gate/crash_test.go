package vendorgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// crashJob is the variable that makes a process of the test binary one that commits and is killed while it does.
const crashJob = "VENDORGATE_TEST_CRASH"

// A crash says after which step the process ends. Before a step is after the one before, as far as the disk knows.
type crash struct {
	Path string
	Step int
}

func crashingCommit(job string) int {
	var c crash
	if err := json.Unmarshal([]byte(job), &c); err != nil {
		return 2
	}
	r, err := Open(c.Path, vendored)
	if err != nil {
		return 2
	}
	r.Disk = atStep(c.Step, func(change func() error) error {
		if err := change(); err != nil {
			os.Exit(2)
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	head, err := r.Head()
	if err != nil {
		return 2
	}
	if _, err := r.Commit(context.Background(), second.change(head)); err != nil {
		return 2
	}
	return 0
}

// atStep returns a disk that runs one step in its own way.
func atStep(step int, do func(change func() error) error) durable.Disk {
	n := 0
	return durable.Disk{Around: func(_ durable.Step, change func() error) error {
		n++
		if n-1 == step {
			return do(change)
		}
		return change()
	}}
}

// crashSites returns kinds of repositories in which a commit is cut short.
func crashSites(t *testing.T) map[string]*gitRepo {
	busy := newGitRepo(t)
	busy.accept(first)
	busy.write("staged", "staged\n")
	busy.git("add", "staged")
	busy.write("staged", "and edited\n")
	busy.write("untracked", "untracked\n")
	bare := newGitRepo(t, "--bare")
	bare.accept(first)
	return map[string]*gitRepo{"work tree": busy, "unborn": newGitRepo(t), "bare": bare}
}

// copy returns a repository with the same content and times.
func (g *gitRepo) copy(t *testing.T) *gitRepo {
	t.Helper()
	c := &gitRepo{t, filepath.Join(t.TempDir(), "repo")}
	if err := os.CopyFS(c.path, os.DirFS(g.path)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(g.path, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return os.Chtimes(c.path+strings.TrimPrefix(name, g.path), info.ModTime(), info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// forEachStep runs a test for each step of a commit, with a repository of its own and its foreign state. few leaves out
// objects that are written between two others.
func forEachStep(t *testing.T, few bool, test func(t *testing.T, g *gitRepo, state map[string]string, step int)) {
	for name, site := range crashSites(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := site.foreign()
			var all []durable.Step
			disk := durable.Disk{Around: func(s durable.Step, change func() error) error {
				all = append(all, s)
				return change()
			}}
			if _, err := site.copy(t).tryAccept(disk, second); err != nil {
				t.Fatal(err)
			}
			for step, s := range all {
				if step%stride != 0 {
					continue
				}
				if few && s.Op == "put" && step > 0 && all[step-1].Op == "put" && all[step+1].Op == "put" {
					continue
				}
				t.Run(fmt.Sprintf("%d %s %s", step, s.Op, filepath.Base(s.Name)), func(t *testing.T) {
					t.Parallel()
					test(t, site.copy(t), state, step)
				})
			}
		})
	}
}

func TestFinishAfterAKill(t *testing.T) {
	t.Parallel()
	forEachStep(t, false, func(t *testing.T, g *gitRepo, state map[string]string, step int) {
		old := headOf(g)
		job, err := json.Marshal(crash{g.path, step})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashJob+"="+string(job))
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the process was not killed: %v", err)
		}
		checkAfterwards(t, g, old, state)
	})
}

// A step can fail before it took place, or take place and be reported as failed.
func TestFinishAfterAFault(t *testing.T) {
	t.Parallel()
	errInjected := errors.New("injected")
	for name, fault := range map[string]func(change func() error) error{
		"not done": func(func() error) error { return errInjected },
		"done":     func(change func() error) error { return errors.Join(change(), errInjected) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachStep(t, true, func(t *testing.T, g *gitRepo, state map[string]string, step int) {
				old := headOf(g)
				commit, err := g.tryAccept(atStep(step, fault), second)
				if !errors.Is(err, errInjected) {
					t.Fatalf("got error %v", err)
				}
				if moved := headOf(g) != old; moved != (commit != "") {
					t.Errorf("the branch has moved: %v; Commit returned %q", moved, commit)
				}
				if commit == "" {
					if diff := cmp.Diff(state, g.foreign()); diff != "" {
						t.Errorf("foreign state before Finish (-before +after):\n%s", diff)
					}
				}
				checkAfterwards(t, g, old, state)
			})
		})
	}
}

// headOf returns the commit of the branch main, if it has one.
func headOf(g *gitRepo) string {
	r := g.open()
	commit, err := r.resolve("refs/heads/main")
	if err != nil {
		g.t.Fatal(err)
	}
	return commit
}

// checkAfterwards finishes what was cut short and holds the repository to one of two states.
func checkAfterwards(t *testing.T, g *gitRepo, old string, state map[string]string) {
	t.Helper()
	r := g.open()
	if err := r.Finish(t.Context(), "other"); err != nil {
		t.Errorf("Finish of another gate: %v", err)
	}
	if err := r.Finish(t.Context(), gateName); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	if left, err := os.ReadDir(r.own("")); err == nil && len(left) > 0 && !(len(left) == 1 && left[0].Name() == ownLock) {
		t.Errorf("files are left: %v", left)
	}
	if diff := cmp.Diff(state, g.foreign()); diff != "" {
		t.Errorf("foreign state (-before +after):\n%s", diff)
	}
	want := second
	if headOf(g) == old {
		want = first
	}
	if old != "" || headOf(g) != old {
		if diff := cmp.Diff(want.generation(), g.accepted().Generation); diff != "" {
			t.Errorf("accepted (-want +got):\n%s", diff)
		}
	}
	g.accept(content{"policy/gate.yaml": "version: 3\n"})
	g.fsck()
}

// cutShort accepts second and ends when the branch has moved.
func (g *gitRepo) cutShort() {
	g.t.Helper()
	errKilled := errors.New("killed")
	dead := false
	disk := durable.Disk{Around: func(s durable.Step, change func() error) error {
		if dead {
			return errKilled
		}
		dead = s.Op == "rename" && filepath.Base(s.Name) == "main"
		return change()
	}}
	if commit, err := g.tryAccept(disk, second); commit == "" || !errors.Is(err, errKilled) {
		g.t.Fatalf("got commit %q and error %v", commit, err)
	}
}

// What Finish leaves when it is cut short itself, the next Finish completes.
func TestFinishCanBeCutShort(t *testing.T) {
	t.Parallel()
	errInjected := errors.New("injected")
	site := newGitRepo(t)
	site.accept(first)
	site.cutShort()
	for step, injected := 0, true; injected; step++ {
		for _, after := range []bool{false, true} {
			g := site.copy(t)
			// A copy has no link that proves a lock to be ours.
			os.Remove(filepath.Join(g.path, ".git/index.lock"))
			r := g.open()
			injected = false
			dead := false
			n := 0
			r.Disk = durable.Disk{Around: func(_ durable.Step, change func() error) error {
				if n++; dead || n-1 == step && !after {
					injected, dead = true, true
					return errInjected
				}
				if n-1 == step {
					injected, dead = true, true
					return errors.Join(change(), errInjected)
				}
				return change()
			}}
			if err := r.Finish(t.Context(), gateName); errors.Is(err, errInjected) != injected {
				t.Fatalf("step %d: got error %v", step, err)
			}
			if err := g.open().Finish(t.Context(), gateName); err != nil {
				t.Fatalf("step %d: Finish once more: %v", step, err)
			}
			if got := g.git("status", "--porcelain", "--untracked-files=all"); got != "" {
				t.Errorf("step %d: status:\n%s", step, got)
			}
		}
	}
}

func TestFinishLeavesWhatTheOperatorDidSince(t *testing.T) {
	t.Parallel()
	const file = gateDir + "/files/policy/gate.yaml"
	for _, test := range []struct {
		name   string
		edit   func(g *gitRepo)
		status string
	}{
		{"edited", func(g *gitRepo) { g.write(file, "mine\n") }, " M " + file + "\n"},
		{"staged", func(g *gitRepo) { g.write(file, "mine\n"); g.git("add", file) }, "M  " + file + "\n"},
		{"committed", func(g *gitRepo) { g.write(file, "mine\n"); g.git("add", file); g.git("commit", "-qm", "mine", file) }, ""},
		{"reset", func(g *gitRepo) { g.git("reset", "-q", "--hard", "HEAD^") }, ""},
		{"reset to it", func(g *gitRepo) { g.git("reset", "-q", "--hard") }, ""},
		{"thrown away", func(g *gitRepo) {
			g.git("reset", "-q", "--hard", "HEAD^")
			g.git("reflog", "expire", "--expire=now", "--all")
			g.git("gc", "-q", "--prune=now")
		}, ""},
		{"switched", func(g *gitRepo) { g.git("reset", "-q", "--hard"); g.git("switch", "-q", "old") }, ""},
		{"detached", func(g *gitRepo) { g.git("checkout", "-q", "--detach") }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			g.git("branch", "old")
			g.cutShort()
			os.Remove(filepath.Join(g.path, ".git/index.lock")) // as an operator does
			test.edit(g)
			if err := g.open().Finish(t.Context(), gateName); err != nil {
				t.Fatal(err)
			}
			if got := g.git("status", "--porcelain", "--untracked-files=all"); got != test.status {
				t.Errorf("status\n%swant\n%s", got, test.status)
			}
			g.fsck()
		})
	}
}
