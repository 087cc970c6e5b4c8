//go:build linux

package safefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// enemy owns the trees of these tests, stranger nothing that is believed.
const (
	enemy    = 12345
	stranger = 23456
)

// inBothModes runs f with openat2 and without.
func inBothModes(t *testing.T, f func(t *testing.T, opt Options)) {
	for _, byHand := range []bool{false, true} {
		name := "openat2"
		if byHand {
			name = "by hand"
		}
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			f(t, Options{Owners: []uint32{enemy}, MaxFile: 1 << 20, byHand: byHand})
		})
	}
}

// A tree is a directory of the enemy's that other users can reach.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) tree {
	needRoot(t)
	dir, err := os.MkdirTemp("", "safefs-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	tr := tree{t, filepath.Join(dir, "tree")}
	must(t, os.Mkdir(tr.dir, 0o755))
	tr.chown("", enemy)
	return tr
}

// onOwnThread runs f on a thread that ends with it: what f does to the thread, nobody else sees.
func (tr tree) onOwnThread(f func(tree)) {
	tr.t.Run("thread", func(t *testing.T) {
		runtime.LockOSThread()
		f(tree{t, tr.dir})
	})
}

func (tr tree) open(opt Options) *Dir {
	tr.t.Helper()
	d, err := OpenDir(tr.dir, opt)
	must(tr.t, err)
	tr.t.Cleanup(func() { d.Close() })
	if d.ByHand() != opt.byHand {
		tr.t.Fatalf("resolved by hand: %v, want %v", d.ByHand(), opt.byHand)
	}
	return d
}

func (tr tree) path(name string) string { return filepath.Join(tr.dir, name) }

// outside is a path beside the tree.
func (tr tree) outside(name string) string { return filepath.Join(filepath.Dir(tr.dir), name) }

func (tr tree) file(name, content string) {
	tr.t.Helper()
	must(tr.t, os.WriteFile(tr.path(name), []byte(content), 0o644))
	tr.chown(name, enemy)
}

func (tr tree) mkdir(name string) {
	tr.t.Helper()
	must(tr.t, os.Mkdir(tr.path(name), 0o755))
	tr.chown(name, enemy)
}

func (tr tree) symlink(target, name string) {
	tr.t.Helper()
	must(tr.t, os.Symlink(target, tr.path(name)))
	tr.chown(name, enemy)
}

func (tr tree) mknod(name string, mode uint32, dev uint64) {
	tr.t.Helper()
	must(tr.t, unix.Mknod(tr.path(name), mode|0o644, int(dev)))
	tr.chown(name, enemy)
}

func (tr tree) chown(name string, uid int) {
	tr.t.Helper()
	must(tr.t, os.Lchown(tr.path(name), uid, uid))
}

func (tr tree) chmod(name string, mode uint32) {
	tr.t.Helper()
	must(tr.t, unix.Chmod(tr.path(name), mode))
}

// wantRefused checks that err is a refusal of name for the reason given.
func wantRefused(t *testing.T, err error, name string, reason Reason) {
	t.Helper()
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		t.Fatalf("got error %v, want a refusal as %q", err, reason)
	}
	if refused.Reason != reason || refused.Name != name {
		t.Errorf("got %v, want %q refused as %q", err, name, reason)
	}
	if refused.Hint == "" {
		t.Errorf("%v: there is no hint", err)
	}
	if got := errors.Is(err, fs.ErrNotExist); got != (reason == Missing) {
		t.Errorf("%v: is fs.ErrNotExist: %v", err, got)
	}
}

// noLeaks checks that no descriptor is open at the end of a test that was not at its beginning.
func noLeaks(t *testing.T) {
	t.Helper()
	before := openFiles(t)
	t.Cleanup(func() {
		for fd, what := range openFiles(t) {
			if before[fd] != what {
				t.Errorf("descriptor %s was left open: %s", fd, what)
			}
		}
	})
}

func openFiles(t *testing.T) map[string]string {
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	files := make(map[string]string)
	for _, e := range entries {
		what, err := os.Readlink("/proc/self/fd/" + e.Name())
		// The Go runtime keeps descriptors of its own, and the directory that is being read is gone by now.
		if err == nil && !strings.HasPrefix(what, "anon_inode:") {
			files[e.Name()] = what
		}
	}
	return files
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it reads what another user owns")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
