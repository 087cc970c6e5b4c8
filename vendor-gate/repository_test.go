package vendorgate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prepare func(g *gitRepo)
		want    string // what the error says, and what helps
	}{
		{"missing", func(g *gitRepo) { g.remove(".") }, "git init"},
		{"a file", func(g *gitRepo) { g.path = filepath.Join(g.path, ".git", "HEAD") }, "not a directory"},
		{"no repository", func(g *gitRepo) { g.remove(".git") }, "git init"},
		{"empty .git", func(g *gitRepo) { g.remove(".git"); os.Mkdir(filepath.Join(g.path, ".git"), 0o755) }, "git init"},
		{"linked work tree", func(g *gitRepo) {
			g.commitNothing("x")
			linked := filepath.Join(g.t.TempDir(), "linked")
			g.git("worktree", "add", "-q", linked)
			g.path = linked
		}, "main work tree"},
		{"git directory", func(g *gitRepo) { g.path = filepath.Join(g.path, ".git") }, "name the work tree"},
		{"link for .git", func(g *gitRepo) {
			os.Rename(filepath.Join(g.path, ".git"), filepath.Join(g.path, "real"))
			os.Symlink("real", filepath.Join(g.path, ".git"))
		}, "really is"},
		{"work tree elsewhere", func(g *gitRepo) { g.git("config", "core.worktree", "/tmp") }, "core.worktree"},
		{"sha256", func(g *gitRepo) {
			g.remove(".git")
			run(g.t, ".", "init", "-q", "--object-format=sha256", g.path)
		}, "--object-format=sha1"},
		{"reftable", func(g *gitRepo) {
			g.git("config", "core.repositoryFormatVersion", "1")
			g.git("config", "extensions.refStorage", "reftable")
		}, "git refs migrate"},
		{"sparse checkout", func(g *gitRepo) { g.commitNothing("x"); g.git("sparse-checkout", "set", "a") }, "sparse-checkout"},
		{"core.sparseCheckout", func(g *gitRepo) { g.git("config", "core.sparseCheckout", "true") }, "git sparse-checkout disable"},
		{"configuration of work trees", func(g *gitRepo) { g.git("config", "extensions.worktreeConfig", "true") },
			"--unset extensions.worktreeConfig"},
		{"partial clone", func(g *gitRepo) { g.git("config", "extensions.partialClone", "origin") }, "full clone"},
		{"promisor", func(g *gitRepo) { g.git("config", "remote.origin.promisor", "true") }, "full clone"},
		{"unknown extension", func(g *gitRepo) { g.git("config", "extensions.novelty", "1") }, "novelty"},
		{"unknown version", func(g *gitRepo) { g.git("config", "core.repositoryFormatVersion", "7") }, "version"},
		{"index version 4", func(g *gitRepo) { g.write("x", "x"); g.git("add", "x"); g.git("update-index", "--index-version", "4") },
			"git update-index --index-version 2"},
		{"split index", func(g *gitRepo) { g.write("x", "x"); g.git("add", "x"); g.git("update-index", "--split-index") },
			"git update-index --no-split-index"},
		{"broken index", func(g *gitRepo) { g.write(".git/index", "DIRC") }, "not an index"},
		{"broken configuration", func(g *gitRepo) { g.write(".git/config", "[core\n") }, ".git/config"},
		{"include loop", func(g *gitRepo) { g.git("config", "include.path", "config") }, "include"},
		{"odd boolean", func(g *gitRepo) { g.write(".git/config", "[core]\n\tbare = perhaps\n") }, "core.bare"},
		{"everybody can write", func(g *gitRepo) { os.Chmod(filepath.Join(g.path, ".git"), 0o777) }, "chmod"},
		{"everybody can write its configuration", func(g *gitRepo) { os.Chmod(filepath.Join(g.path, ".git", "config"), 0o666) }, "chmod"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			test.prepare(g)
			_, err := Open(g.path, vendored)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), g.path) {
				t.Errorf("got error %v, want one that says %q and names %s", err, test.want, g.path)
			}
		})
	}
}

func TestOpenRefusesSparseIndex(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	for _, name := range []string{"a/x", "b/x"} {
		g.write(name, name)
	}
	g.commitAll("x")
	g.git("sparse-checkout", "set", "--cone", "--sparse-index", "a")
	g.git("config", "--unset", "extensions.worktreeConfig")
	if _, err := Open(g.path, vendored); err == nil || !strings.Contains(err.Error(), "sparse") {
		t.Errorf("got error %v", err)
	}
}

func TestOpenRefusesARepositoryOfSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	const nobody = 65534
	for _, name := range []string{
		".", ".git", ".git/config", ".git/HEAD", ".git/objects", ".git/objects/pack", ".git/refs", ".git/refs/heads", ".git/index", ".git/logs",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.write("x", "x")
			g.commitAll("x")
			if err := os.Chown(filepath.Join(g.path, name), nobody, -1); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(g.path, vendored); err == nil || !strings.Contains(err.Error(), "chown") {
				t.Errorf("got error %v", err)
			}
		})
	}
	t.Run("group", func(t *testing.T) {
		t.Parallel()
		g := newGitRepo(t)
		git := filepath.Join(g.path, ".git")
		if err := errors.Join(os.Chown(git, -1, nobody), os.Chmod(git, 0o775)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(g.path, vendored); err == nil || !strings.Contains(err.Error(), "group 65534") {
			t.Errorf("got error %v", err)
		}
		if err := os.Chown(git, -1, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(g.path, vendored); err != nil {
			t.Errorf("root's own group: %v", err)
		}
	})
	t.Run("above it", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(dir string) error{
			func(dir string) error { return os.Chown(dir, nobody, -1) },
			func(dir string) error { return os.Chmod(dir, 0o777) },
			func(dir string) error { return errors.Join(os.Chown(dir, -1, nobody), os.Chmod(dir, 0o775)) },
		} {
			g := newGitRepo(t)
			g.write("x", "x")
			g.commitAll("x")
			if err := change(filepath.Dir(g.path)); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(g.path, vendored); err == nil || !strings.Contains(err.Error(), "in the place of "+g.path) {
				t.Errorf("got error %v", err)
			}
		}
	})
	t.Run("the branch", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{".git/refs/heads/team", ".git/refs/heads/team/main"} {
			g := newGitRepo(t)
			g.write("x", "x")
			g.git("switch", "-qc", "team/main")
			g.commitAll("x")
			if err := os.Chown(filepath.Join(g.path, name), nobody, -1); err != nil {
				t.Fatal(err)
			}
			if head, err := g.open().Head(); err == nil || !strings.Contains(err.Error(), "chown") {
				t.Errorf("got %v and error %v", head, err)
			}
		}
	})
	t.Run("borrowed objects", func(t *testing.T) {
		t.Parallel()
		lender, g := newGitRepo(t), newGitRepo(t)
		g.write(".git/objects/info/alternates", lender.path+"/.git/objects\n")
		g.open()
		if err := os.Chown(filepath.Dir(lender.path), nobody, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(g.path, vendored); err == nil || !strings.Contains(err.Error(), "borrowed from") {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("a pipe for included configuration", func(t *testing.T) {
		t.Parallel()
		g := newGitRepo(t)
		g.git("config", "include.path", "../extra")
		if err := unix.Mkfifo(filepath.Join(g.path, "extra"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(g.path, vendored); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("included configuration", func(t *testing.T) {
		t.Parallel()
		g := newGitRepo(t)
		g.write("extra", "[user]\n\tname = x\n")
		g.git("config", "include.path", "../extra")
		if err := os.Chown(filepath.Join(g.path, "extra"), nobody, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(g.path, vendored); err == nil || !strings.Contains(err.Error(), "extra belongs to uid 65534") {
			t.Errorf("got error %v", err)
		}
	})
}

func TestOpenRefusesAVendoredDirectoryThatIsNone(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	for _, dir := range []string{"", ".", "..", "/abs", "a/../b", "a/", "a//b", "./a", "../a", ".git", "a/.GIT/b", "git~1", "a%b"} {
		if _, err := Open(g.path, dir); err == nil || !strings.Contains(err.Error(), "vendored") {
			t.Errorf("%q: got error %v", dir, err)
		}
	}
}

func TestOpenTakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prepare func(g *gitRepo)
	}{
		{"a link to the repository", func(g *gitRepo) {
			link := filepath.Join(g.t.TempDir(), "link")
			os.Symlink(g.path, link)
			g.path = link
		}},
		{"harmless extensions", func(g *gitRepo) {
			g.git("config", "core.repositoryFormatVersion", "1")
			g.git("config", "extensions.preciousObjects", "true")
			g.git("config", "extensions.objectFormat", "sha1")
			g.git("config", "extensions.worktreeConfig", "false")
		}},
		{"no configuration", func(g *gitRepo) { g.remove(".git/config") }},
		{"includes that are missing", func(g *gitRepo) { g.git("config", "include.path", "nowhere") }},
		{"a work tree that is bare", func(g *gitRepo) { g.git("config", "core.bare", "true") }},
		{"odd configuration", func(g *gitRepo) {
			g.write(".git/config", g.read(".git/config")+"[a \"b.c\"]\n\td\n\te = \"x # y\" ; comment\n[core]\n\tprecomposeunicode\n")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			test.prepare(g)
			if _, err := Open(g.path, vendored); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prepare func(g *gitRepo)
		want    string
		err     string
	}{
		{"unborn", func(*gitRepo) {}, "refs/heads/main", ""},
		{"born", func(g *gitRepo) { g.commitNothing("x") }, "refs/heads/main", ""},
		{"detached", func(g *gitRepo) { g.commitNothing("x"); g.git("switch", "-q", "--detach") }, "", "git switch"},
		{"a tag", func(g *gitRepo) { g.write(".git/HEAD", "ref: refs/tags/x\n") }, "", "no branch"},
		{"outside", func(g *gitRepo) { g.write(".git/HEAD", "ref: refs/heads/../../config\n") }, "", "no branch"},
		{"nothing", func(g *gitRepo) { g.write(".git/HEAD", "\n") }, "", "HEAD"},
		{"a link", func(g *gitRepo) {
			g.remove(".git/HEAD")
			os.Symlink("refs/heads/main", filepath.Join(g.path, ".git/HEAD"))
		}, "", "HEAD"},
		{"an empty branch", func(g *gitRepo) { g.write(".git/refs/heads/main", "") }, "", "git fsck"},
		{"a symbolic branch", func(g *gitRepo) { g.write(".git/refs/heads/main", "ref: refs/heads/x\n") }, "", "git fsck"},
		{"a fifo", func(g *gitRepo) { syscall.Mkfifo(filepath.Join(g.path, ".git/refs/heads/main"), 0o644) }, "", "no regular file"},
		{"broken packed-refs", func(g *gitRepo) { g.write(".git/packed-refs", "x\n") }, "", "git fsck"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			test.prepare(g)
			r := g.open()
			got, err := r.Head()
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
			if got.Branch != test.want {
				t.Errorf("got branch %q, want %q", got.Branch, test.want)
			}
			if test.name == "detached" && (!errors.Is(err, ErrDetached) || got.Commit != g.line("rev-parse", "HEAD")) {
				t.Errorf("detached: got %v, %v", got, err)
			}
		})
	}
}
