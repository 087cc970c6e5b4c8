package vendorgate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// longAgo is before any file was made.
var longAgo = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCommitRefusesToLoseWork(t *testing.T) {
	t.Parallel()
	const files = gateDir + "/files/"
	for _, test := range []struct {
		name  string
		edit  func(g *gitRepo)
		names string // what the error has to name
	}{
		{"unstaged edit", func(g *gitRepo) { g.write(files+"policy/gate.yaml", "mine\n") }, files + "policy/gate.yaml"},
		{"unstaged edit of what stays", func(g *gitRepo) { g.write(files+"policy/rules/a.yaml", "mine\n") }, files + "policy/rules/a.yaml"},
		{"unstaged edit of what goes", func(g *gitRepo) { g.write(files+"policy/old.yaml", "mine\n") }, files + "policy/old.yaml"},
		{"unstaged manifest", func(g *gitRepo) { g.write(gateDir+"/manifest.json", "{}\n") }, gateDir + "/manifest.json"},
		{"staged edit", func(g *gitRepo) {
			g.write(files+"policy/gate.yaml", "mine\n")
			g.git("add", "-A")
			g.write(files+"policy/gate.yaml", first["policy/gate.yaml"])
		}, files + "policy/gate.yaml"},
		{"staged file", func(g *gitRepo) { g.write(files+"policy/mine", "mine\n"); g.git("add", "-A") }, files + "policy/mine"},
		{"staged removal of what stays", func(g *gitRepo) { g.git("rm", "-q", files+"policy/rules/a.yaml") }, files + "policy/rules/a.yaml"},
		{"intent to add", func(g *gitRepo) {
			g.write(files+"policy/rules/b.yaml", second["policy/rules/b.yaml"])
			g.git("add", "-N", files+"policy/rules/b.yaml")
		}, files + "policy/rules/b.yaml"},
		{"assume unchanged", func(g *gitRepo) { g.git("update-index", "--assume-unchanged", files+"policy/gate.yaml") },
			files + "policy/gate.yaml"},
		{"skip worktree", func(g *gitRepo) { g.git("update-index", "--skip-worktree", files+"policy/rules/a.yaml") },
			files + "policy/rules/a.yaml"},
		{"mode", func(g *gitRepo) { os.Chmod(filepath.Join(g.path, files+"policy/gate.yaml"), 0o755) }, files + "policy/gate.yaml"},
		{"untracked file in the way", func(g *gitRepo) { g.write(files+"policy/rules/b.yaml", "mine\n") }, files + "policy/rules/b.yaml"},
		{"untracked directory in the way", func(g *gitRepo) { g.write(files+"policy/rules/b.yaml/x", "mine\n") },
			files + "policy/rules/b.yaml/x"},
		{"link in the place of a file", func(g *gitRepo) {
			g.remove(files + "policy/gate.yaml")
			os.Symlink("rules/a.yaml", filepath.Join(g.path, files+"policy/gate.yaml"))
		}, files + "policy/gate.yaml"},
		{"link in the place of a directory", func(g *gitRepo) {
			os.Rename(filepath.Join(g.path, files+"policy"), filepath.Join(g.path, "elsewhere"))
			os.Symlink("../../../elsewhere", filepath.Join(g.path, files+"policy"))
		}, files + "policy"},
		{"absolute link in the place of the vendored directory", func(g *gitRepo) {
			os.Rename(filepath.Join(g.path, vendored), filepath.Join(g.path, "elsewhere"))
			os.Symlink(filepath.Join(g.path, "elsewhere"), filepath.Join(g.path, vendored))
		}, vendored},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			test.edit(g)
			before := g.whole()
			_, err := g.tryAccept(durable.Disk{}, second)
			if !errors.Is(err, ErrDirty) || !strings.Contains(err.Error(), `"`+test.names+`"`) {
				t.Errorf("got error %v, want one that names %q", err, test.names)
			}
			if diff := cmp.Diff(before, g.whole()); diff != "" {
				t.Errorf("the refused commit changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestCommitKeepsHarmlessWork(t *testing.T) {
	t.Parallel()
	const files = gateDir + "/files/"
	for _, test := range []struct {
		name   string
		edit   func(g *gitRepo)
		status string // of the gate after the commit
	}{
		{"file missing", func(g *gitRepo) { g.remove(files + "policy/gate.yaml") }, ""},
		{"all missing", func(g *gitRepo) { g.remove(gateDir) }, " D " + files + "policy/rules/a.yaml\n"},
		{"what stays is missing", func(g *gitRepo) { g.remove(files + "policy/rules/a.yaml") }, " D " + files + "policy/rules/a.yaml\n"},
		{"staged removal of what goes", func(g *gitRepo) { g.git("rm", "-q", files+"policy/old.yaml") }, ""},
		{"new version is staged", func(g *gitRepo) { g.write(files+"policy/gate.yaml", second["policy/gate.yaml"]); g.git("add", "-A") }, ""},
		{"new version is there", func(g *gitRepo) { g.write(files+"policy/rules/b.yaml", second["policy/rules/b.yaml"]) }, ""},
		{"untracked file", func(g *gitRepo) { g.write(files+"policy/mine", "mine\n") }, "?? " + files + "policy/mine\n"},
		{"other name", func(g *gitRepo) { g.write(gateDir+"/README", "mine\n"); g.git("add", "-A") }, "A  " + gateDir + "/README\n"},
		{"touched", func(g *gitRepo) { os.Chtimes(filepath.Join(g.path, files+"policy/gate.yaml"), longAgo, longAgo) }, ""},
		{"no index", func(g *gitRepo) { g.remove(".git/index") },
			"D  " + files + "policy/rules/a.yaml\n?? " + files + "policy/rules/a.yaml\n"},
		{"empty directory in the way", func(g *gitRepo) {
			g.write(files+"policy/rules/b.yaml/x/y", "")
			g.remove(files + "policy/rules/b.yaml/x/y")
		}, ""},
		{"mode without meaning", func(g *gitRepo) {
			g.git("config", "core.fileMode", "false")
			os.Chmod(filepath.Join(g.path, files+"policy/gate.yaml"), 0o755)
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			test.edit(g)
			g.accept(second)
			if got := g.git("status", "--porcelain", "--untracked-files=all", "--", gateDir); got != test.status {
				t.Errorf("status\n%swant\n%s", got, test.status)
			}
			g.fsck()
			if _, err := os.Lstat(filepath.Join(g.path, files+"policy/old.yaml")); err == nil {
				t.Error("policy/old.yaml is still there")
			}
		})
	}
}

// What git checked out with conversions differs from the blob, and yet nobody has touched it.
func TestCommitTakesGitsWordForAFileThatItCheckedOut(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	g.accept(first)
	g.git("config", "core.autocrlf", "true")
	g.remove(vendored)
	g.git("checkout", "-q", "--", vendored)
	for name := range first {
		if got := g.read(gateDir + "/files/" + name); !strings.Contains(got, "\r\n") {
			t.Fatalf("%s was checked out as %q", name, got)
		}
		os.Chtimes(filepath.Join(g.path, gateDir, "files", name), longAgo, longAgo)
	}
	os.Chtimes(filepath.Join(g.path, gateDir, manifestName), longAgo, longAgo)
	g.git("update-index", "--refresh")
	g.accept(second)
	if got := g.git("status", "--porcelain"); got != "" {
		t.Errorf("status:\n%s", got)
	}
	if got := g.read(gateDir + "/files/policy/gate.yaml"); got != second["policy/gate.yaml"] {
		t.Errorf("policy/gate.yaml is %q", got)
	}
}
