package vendorgate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// whole is all that a refused commit must leave as it was.
func (g *gitRepo) whole() map[string]string {
	g.t.Helper()
	state := map[string]string{
		"status": g.git("--no-optional-locks", "status", "--porcelain=v2", "--ignored", "--untracked-files=all"),
		"refs":   g.git("for-each-ref"),
		"index":  g.git("ls-files", "-v", "-s", "--debug"),
		"reflog": g.git("reflog", "--all"),
	}
	err := filepath.WalkDir(g.path, func(name string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(g.path, name)
		if rel == ".git/gatehouse" || rel == ".git/objects" {
			return filepath.SkipDir
		}
		if err == nil && e.Type().IsRegular() {
			data, err := os.ReadFile(name)
			state[rel] = string(data)
			return err
		}
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	objects, err := filepath.Glob(filepath.Join(g.path, ".git/objects/??/*"))
	if err != nil {
		g.t.Fatal(err)
	}
	state["objects"] = strings.Join(objects, "\n")
	return state
}

func TestCommitRefusesAWorkTreeThatIsNotAtRest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(g *gitRepo)
		want error
	}{
		{"detached", func(g *gitRepo) { g.git("switch", "-q", "--detach") }, ErrDetached},
		{"merge", func(g *gitRepo) { stopped(g, "merge", "side") }, ErrInProgress},
		{"cherry-pick", func(g *gitRepo) { stopped(g, "cherry-pick", "side") }, ErrInProgress},
		{"revert", func(g *gitRepo) { stopped(g, "revert", "HEAD^") }, ErrInProgress},
		{"rebase", func(g *gitRepo) { stopped(g, "rebase", "side") }, ErrDetached},
		{"bisect", func(g *gitRepo) { g.git("bisect", "start") }, ErrInProgress},
		{"linked work tree", func(g *gitRepo) {
			g.git("worktree", "add", "-qf", filepath.Join(g.t.TempDir(), "linked"), "main")
		}, ErrInProgress},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			test.do(g)
			before := g.whole()
			head := Head{"refs/heads/main", g.line("rev-parse", "main")}
			_, err := g.open().Commit(t.Context(), second.change(head))
			if !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
			if diff := cmp.Diff(before, g.whole()); diff != "" {
				t.Errorf("the refused commit changed (-before +after):\n%s", diff)
			}
		})
	}
}

// stopped runs a command of git's that stops in the middle.
func stopped(g *gitRepo, args ...string) {
	g.write("file", "base\n")
	g.commitAll("base")
	g.git("switch", "-qc", "side")
	g.write("file", "side\n")
	g.commitAll("side")
	g.git("switch", "-q", "main")
	g.write("file", "main\n")
	g.commitAll("main")
	g.write("file", "more\n")
	g.commitAll("more")
	if out, err := gitCommand(g.path, args...).CombinedOutput(); err == nil {
		g.t.Fatalf("git %v did not stop:\n%s", args, out)
	}
}

func TestCommitRefusesWhatIsLocked(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{".git/index.lock", ".git/refs/heads/main.lock"} {
		t.Run(filepath.Base(lock), func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			g.write(lock, "")
			before := g.whole()
			_, err := g.tryAccept(durable.Disk{}, second)
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), lock) {
				t.Errorf("got error %v, want one that names %s", err, lock)
			}
			after := g.whole()
			delete(before, "objects") // with a locked branch they are written, and harmless
			delete(after, "objects")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the refused commit changed (-before +after):\n%s", diff)
			}
			if err := g.open().Finish(t.Context(), gateName); err != nil {
				t.Errorf("Finish: %v", err)
			}
			if _, err := os.Lstat(filepath.Join(g.path, lock)); err != nil {
				t.Errorf("somebody else's lock is gone: %v", err)
			}
			g.remove(lock)
			g.accept(second)
			g.fsck()
		})
	}
}

func TestCommitRefusesAWorkTreeInWhichOthersAreAtWork(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	for _, name := range []string{vendored, gateDir, gateDir + "/files/policy/rules"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			if err := os.Chown(filepath.Join(g.path, name), 65534, -1); err != nil {
				t.Fatal(err)
			}
			before := g.whole()
			if _, err := g.tryAccept(durable.Disk{}, second); err == nil || !strings.Contains(err.Error(), name+" belongs to uid 65534") {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff(before, g.whole()); diff != "" {
				t.Errorf("the refused commit changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestCommitNoticesAConcurrentCommit(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		g := newGitRepo(t)
		g.accept(first)
		r := g.open()
		head, err := r.Head()
		if err != nil {
			t.Fatal(err)
		}
		g.write("file", "operator's\n")
		theirs := g.commitAll("operator's")
		before := g.whole()
		if _, err := r.Commit(t.Context(), second.change(head)); !errors.Is(err, ErrMoved) {
			t.Errorf("got error %v, want %v", err, ErrMoved)
		}
		if diff := cmp.Diff(before, g.whole()); diff != "" {
			t.Errorf("the refused commit changed (-before +after):\n%s", diff)
		}
		if got := g.line("rev-parse", "HEAD"); got != theirs {
			t.Errorf("HEAD is %s, want the operator's %s", got, theirs)
		}
	})
	// In a bare repository there is no index.lock to keep a push out, and update-ref does not ask for it.
	for _, args := range [][]string{nil, {"--bare"}} {
		t.Run("at each step"+strings.Join(args, ""), func(t *testing.T) {
			t.Parallel()
			for at := 0; ; at++ {
				g := newGitRepo(t, args...)
				base := g.accept(first)
				theirs := g.line("commit-tree", "-p", base, "-m", "theirs", base+"^{tree}")
				n, pushed := 0, false
				disk := durable.Disk{Around: func(_ durable.Step, change func() error) error {
					if n == at {
						pushed = gitCommand(g.path, "update-ref", "refs/heads/main", theirs, base).Run() == nil
					}
					n++
					return change()
				}}
				_, err := g.tryAccept(disk, second)
				if n <= at {
					return
				}
				if pushed != errors.Is(err, ErrMoved) || !pushed && err != nil {
					t.Fatalf("step %d: the push went through: %v; got error %v", at, pushed, err)
				}
				if pushed && g.line("rev-parse", "HEAD") != theirs {
					t.Fatalf("step %d: the push is lost", at)
				}
				if pushed && args == nil && g.git("status", "--porcelain") != "" {
					t.Fatalf("step %d: status:\n%s", at, g.git("status", "--porcelain"))
				}
				g.fsck()
			}
		})
	}
}

// git prune with --expire=now takes what nothing refers to, however young it is.
func TestCommitNoticesThatItsObjectsAreGone(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]string{"write": "is not what was to be committed", "lock": "is damaged"} {
		g := newGitRepo(t, "--bare")
		g.accept(first)
		pruned := false
		disk := durable.Disk{Around: func(s durable.Step, change func() error) error {
			if op == "write" && s.Op == "sync" || op == s.Op {
				g.git("prune", "--expire=now")
				pruned = true
			}
			return change()
		}}
		commit, err := g.tryAccept(disk, second)
		if !pruned || err == nil || !strings.Contains(err.Error(), want) || (commit != "") != (op == "lock") {
			t.Errorf("pruned before %s: got commit %q and error %v, want %q", op, commit, err, want)
		}
	}
}

// In one that is packed in the meantime nothing is missing.
func TestCommitFindsItsObjectsInAPack(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	g.accept(first)
	disk := durable.Disk{Around: func(s durable.Step, change func() error) error {
		if filepath.Base(s.Name) == ownIntent && s.Op == "remove" {
			g.git("gc", "-q", "--prune=now")
		}
		return change()
	}}
	if _, err := g.tryAccept(disk, second); err != nil {
		t.Error(err)
	}
	g.fsck()
}

func TestCommitRefusesOtherBytes(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]func(manifest.Entry) (io.ReadCloser, error){
		"changed": func(e manifest.Entry) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(strings.Repeat("x", int(e.Size)))), nil
		},
		"short": func(manifest.Entry) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil },
		"long": func(e manifest.Entry) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(second[e.Path] + "\n")), nil
		},
		"broken": func(manifest.Entry) (io.ReadCloser, error) { return nil, os.ErrPermission },
		// The first look is at the right bytes.
		"later": func() func(manifest.Entry) (io.ReadCloser, error) {
			seen := make(map[string]bool)
			return func(e manifest.Entry) (io.ReadCloser, error) {
				if seen[e.Path] {
					return io.NopCloser(strings.NewReader(strings.Repeat("x", int(e.Size)))), nil
				}
				seen[e.Path] = true
				return second.open(e)
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			before := g.whole()
			r := g.open()
			head, err := r.Head()
			if err != nil {
				t.Fatal(err)
			}
			c := second.change(head)
			c.Content = content
			commit, err := r.Commit(t.Context(), c)
			if commit != "" || err == nil || !strings.Contains(err.Error(), `content of "policy/`) {
				t.Errorf("got commit %q and error %v", commit, err)
			}
			after := g.whole()
			delete(before, "objects")
			delete(after, "objects")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the refused commit changed (-before +after):\n%s", diff)
			}
			g.fsck()
		})
	}
}

func TestCommitRefusesChangesThatGitCannotHold(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*Change){
		"no subject":        func(c *Change) { c.Subject = " " },
		"subject of 2":      func(c *Change) { c.Subject = "a\nb" },
		"escape in subject": func(c *Change) { c.Subject = "a\x1b[2J" },
		"bidi in subject":   func(c *Change) { c.Subject = "a\u202eb" },
		"escape in body":    func(c *Change) { c.Body = "a\x1b[2J" },
		"not UTF-8":         func(c *Change) { c.Body = "a\xff" },
		"trailer key":       func(c *Change) { c.Trailers = [][2]string{{"A b", "c"}} },
		"trailer value":     func(c *Change) { c.Trailers = [][2]string{{"A", "b\nSigned-off-by: c"}} },
		"empty trailer":     func(c *Change) { c.Trailers = [][2]string{{"A", ""}} },
		"gate":              func(c *Change) { c.Gate = "../x" },
		"other gate":        func(c *Change) { c.Gate = "other" },
		"no generation":     func(c *Change) { c.Generation = nil },
		"wrong tree":        func(c *Change) { c.Generation.Tree = strings.Repeat("0", 64) },
		"bad path":          func(c *Change) { c.Generation.Entries[0].Path = "a\nb" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			c := first.change(Head{Branch: "refs/heads/main"})
			edit(&c)
			if commit, err := g.open().Commit(t.Context(), c); err == nil || commit != "" {
				t.Errorf("got commit %q and error %v", commit, err)
			}
			if got := g.git("for-each-ref"); got != "" {
				t.Errorf("references: %s", got)
			}
		})
	}
}

func TestCommitRefusesABranchThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, branch := range map[string]string{"below": "main/x", "above": "topic"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			g.git("branch", "topic/y")
			g.git("pack-refs", "--all", "--prune")
			g.write(".git/HEAD", "ref: refs/heads/"+branch+"\n")
			g.remove(".git/index")
			g.remove(vendored)
			before := g.git("for-each-ref")
			commit, err := g.tryAccept(durable.Disk{}, second)
			if commit != "" || err == nil || !strings.Contains(err.Error(), "cannot be made") {
				t.Errorf("got commit %q and error %v", commit, err)
			}
			if got := g.git("for-each-ref"); got != before {
				t.Errorf("references:\n%swant\n%s", got, before)
			}
			g.fsck()
		})
	}
}

func TestCommitThatChangesNothingIsRefused(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	g.accept(first)
	before := g.whole()
	if _, err := g.tryAccept(durable.Disk{}, first); !errors.Is(err, ErrUnchanged) {
		t.Errorf("got error %v, want %v", err, ErrUnchanged)
	}
	if diff := cmp.Diff(before, g.whole()); diff != "" {
		t.Errorf("the refused commit changed (-before +after):\n%s", diff)
	}
}

func TestCommitRefusesAVendoredPathThatIsNoDirectory(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(g *gitRepo){
		"file":  func(g *gitRepo) { g.write(vendored, "a file\n") },
		"link":  func(g *gitRepo) { os.Symlink("elsewhere", filepath.Join(g.path, vendored)) },
		"gate":  func(g *gitRepo) { g.write(gateDir, "a file\n") },
		"files": func(g *gitRepo) { g.write(gateDir+"/files", "a file\n") },
		"submodule": func(g *gitRepo) {
			run(g.t, ".", "init", "-q", filepath.Join(g.path, vendored))
			sub := &gitRepo{g.t, filepath.Join(g.path, vendored)}
			sub.write("x", "x\n")
			sub.commitAll("x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			make(g)
			g.commitAll("in the way")
			before := g.whole()
			_, err := g.tryAccept(durable.Disk{}, first)
			if err == nil || !strings.Contains(err.Error(), "not a directory") {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff(before, g.whole()); diff != "" {
				t.Errorf("the refused commit changed (-before +after):\n%s", diff)
			}
		})
	}
}
