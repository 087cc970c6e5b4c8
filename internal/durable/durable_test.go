package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// writers are the methods that replace a file.
var writers = map[string]func(Disk, string, []byte, fs.FileMode) error{
	"WriteFile": Disk.WriteFile,
	"Put":       Disk.Put,
	"PutFrom": func(d Disk, name string, data []byte, perm fs.FileMode) error {
		return d.PutFrom(name, perm, func(w io.Writer) error {
			for _, b := range data { // in many pieces
				if _, err := w.Write([]byte{b}); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

func TestAFileIsReplaced(t *testing.T) {
	setUmask(t, 0o077)
	for what, write := range writers {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			name, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
			for _, data := range []string{"first", "", strings.Repeat("x", 100_000), "short"} {
				must(t, write(Disk{}, name, []byte(data), 0o664))
				wantFile(t, name, data, 0o664)
			}
			must(t, write(Disk{}, name, nil, 0o600))
			wantFile(t, name, "", 0o600)

			must(t, os.WriteFile(other, []byte("other"), 0o600))
			must(t, os.Remove(name))
			must(t, os.Symlink(other, name))
			must(t, write(Disk{}, name, []byte("new"), 0o640))
			wantFile(t, name, "new", 0o640)
			wantFile(t, other, "other", 0o600)

			must(t, os.Remove(name))
			must(t, os.Link(other, name))
			must(t, write(Disk{}, name, []byte("new"), 0o640))
			wantFile(t, name, "new", 0o640)
			wantFile(t, other, "other", 0o600)
			wantNames(t, dir, "f", "other")
		})
	}
}

func TestAWriteThatFailsLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	must(t, os.WriteFile(name, []byte("old"), 0o600))
	injected := errors.New("injected")
	err := Disk{}.PutFrom(name, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, injected)
	})
	if !errors.Is(err, injected) {
		t.Errorf("got %v, want the error of fill", err)
	}
	wantFile(t, name, "old", 0o600)
	wantNames(t, dir, "f")
}

func TestErrorsNameTheFileAndKeepTheCause(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "full", "x"), 0o700))
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	must(t, os.Symlink("file", filepath.Join(dir, "link")))
	type test struct {
		what string
		name string
		want error
		call func(name string) error
	}
	var tests []test
	for what, write := range writers {
		write := func(name string) error { return write(Disk{}, name, []byte("new"), 0o600) }
		tests = append(tests,
			test{what + " in no directory", "missing/f", fs.ErrNotExist, write},
			test{what + " in a file", "file/f", unix.ENOTDIR, write},
			test{what + " over a directory", "full", unix.EEXIST, write},
		)
	}
	symlink := func(name string) error { return Disk{}.Symlink("target", name) }
	appendTo := func(name string) error { return Disk{}.Append(name, nil, 0o600) }
	mkdir := func(name string) error { return Disk{}.MkdirAll(name, 0o700) }
	tests = append(tests,
		test{"Symlink in no directory", "missing/f", fs.ErrNotExist, symlink},
		test{"Symlink over a directory", "full", unix.EEXIST, symlink},
		test{"Append in no directory", "missing/f", fs.ErrNotExist, appendTo},
		test{"Append through a link", "link", unix.ELOOP, appendTo},
		test{"MkdirAll over a file", "file", unix.ENOTDIR, mkdir},
		test{"MkdirAll over a link", "link", unix.ENOTDIR, mkdir},
		test{"MkdirAll in a file", "file/d", unix.ENOTDIR, mkdir},
		test{"Rename of nothing", "missing", fs.ErrNotExist, func(name string) error { return Disk{}.Rename(name, name+"2") }},
		test{"Rename over a directory", "empty", unix.EEXIST, func(name string) error {
			return Disk{}.Rename(filepath.Join(dir, "full"), name)
		}},
		test{"Remove of a full directory", "full", unix.ENOTEMPTY, Disk{}.Remove},
		test{"SyncFS of nothing", "missing", fs.ErrNotExist, Disk{}.SyncFS},
		test{"AcquireLock in no directory", "missing/f", fs.ErrNotExist, func(name string) error {
			_, err := AcquireLock(t.Context(), name)
			return err
		}},
		test{"AcquireLock through a link", "link", unix.ELOOP, func(name string) error {
			_, err := AcquireLock(t.Context(), name)
			return err
		}},
	)
	for _, tt := range tests {
		name := filepath.Join(dir, tt.name)
		err := tt.call(name)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.what, err, tt.want)
			continue
		}
		if file := filepath.Join(dir, "file"); !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), file) ||
			strings.Contains(err.Error(), tempPrefix) {
			t.Errorf("%s: the error does not name %s: %v", tt.what, name, err)
		}
	}
	wantNames(t, dir, "empty", "file", "full", "link")
}

func TestAppend(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	for _, step := range []struct{ add, want string }{
		{"one\n", "one\n"},
		{"two\nthree\n", "one\ntwo\nthree\n"},
		{"torn", "one\ntwo\nthree\ntorn"}, // as a crash leaves it
		{"four\n", "one\ntwo\nthree\ntorn\nfour\n"},
	} {
		must(t, Disk{}.Append(name, []byte(step.add), 0o600))
		wantFile(t, name, step.want, 0o600)
	}
}

func TestMkdirAll(t *testing.T) {
	setUmask(t, 0o077)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	steps := new(recorder)
	must(t, steps.disk().MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755))
	for name, want := range map[string]fs.FileMode{"a": 0o700, "a/b": 0o755, "a/b/c": 0o755} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	steps.want(t, "mkdir "+dir+"/a/b", "mkdir "+dir+"/a/b/c")
	must(t, steps.disk().MkdirAll(filepath.Join(dir, "a", "b"), 0o777))
	steps.want(t)
	must(t, os.Symlink("a/b", filepath.Join(dir, "link")))
	must(t, steps.disk().MkdirAll(filepath.Join(dir, "link", "d"), 0o755))
	steps.want(t, "mkdir "+dir+"/link/d")
}

// Between the look and the step, another process may have been there.
func TestMkdirAllMeetsWhatOthersMade(t *testing.T) {
	setUmask(t, 0)
	for what, tt := range map[string]struct {
		appear func(string) error
		ok     bool
	}{
		"directory": {func(name string) error { return os.Mkdir(name, 0o750) }, true},
		"file":      {func(name string) error { return os.WriteFile(name, nil, 0o750) }, false},
		"link":      {func(name string) error { return os.Symlink(".", name) }, false},
	} {
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o700))
		name := filepath.Join(dir, "d")
		disk := Disk{Around: func(_ Step, change func() error) error { return errors.Join(tt.appear(name), change()) }}
		err := disk.MkdirAll(name, 0o777)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", what, err)
		}
		if info, err := os.Lstat(name); err != nil || what != "link" && info.Mode().Perm() != 0o750 {
			t.Errorf("%s: now %v, %v", what, info.Mode(), err)
		}
		if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: its parent is now %v, %v", what, info.Mode(), err)
		}
	}
}

func TestRename(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.Mkdir(at("d"), 0o700))
	must(t, os.WriteFile(at("f"), []byte("new"), 0o600))
	must(t, os.WriteFile(at("d/f"), []byte("old"), 0o600))
	must(t, Disk{}.Rename(at("f"), at("d/f")))
	wantFile(t, at("d/f"), "new", 0o600)
	must(t, Disk{}.Rename(at("d"), at("e")))
	wantFile(t, at("e/f"), "new", 0o600)
	wantNames(t, dir, "e")
}

func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "link")
	for _, target := range []string{"one", "../two", "/three"} {
		must(t, Disk{}.Symlink(target, name))
		if got, err := os.Readlink(name); err != nil || got != target {
			t.Errorf("got %q, %v, want %q", got, err, target)
		}
	}
	must(t, os.Remove(name))
	must(t, os.WriteFile(name, nil, 0o600))
	must(t, Disk{}.Symlink("over a file", name))
	wantNames(t, dir, "link")
}

func TestRemove(t *testing.T) {
	for what, remove := range map[string]func(Disk, string) error{"Remove": Disk.Remove, "RemoveAll": Disk.RemoveAll} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		must(t, os.Mkdir(at("d"), 0o700))
		must(t, os.WriteFile(at("f"), nil, 0o600))
		must(t, os.Symlink("keep", at("link")))
		must(t, os.WriteFile(at("keep"), nil, 0o600))
		for _, name := range []string{"d", "f", "link", "missing", "missing/f"} {
			if err := remove(Disk{}, at(name)); err != nil {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
		wantNames(t, dir, "keep")
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "d", "e"), 0o700))
	must(t, Disk{}.RemoveAll(filepath.Join(dir, "d")))
	wantNames(t, dir)
}

func TestEveryChangeIsAStep(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	steps := new(recorder)
	disk := steps.disk()
	must(t, disk.WriteFile(at("a"), nil, 0o600))
	must(t, disk.WriteSealed(at("b"), nil, 0o600))
	must(t, disk.Put(at("c"), nil, 0o600))
	must(t, disk.PutFrom(at("d"), 0o600, func(io.Writer) error { return nil }))
	must(t, disk.SyncFS(dir))
	must(t, disk.Append(at("e"), nil, 0o600))
	must(t, disk.MkdirAll(at("f"), 0o700))
	must(t, disk.Rename(at("a"), at("g")))
	must(t, disk.Symlink("g", at("h")))
	must(t, disk.Remove(at("h")))
	must(t, disk.RemoveAll(at("f")))
	must(t, disk.Do("move", "a reference", func() error { return nil }))
	steps.want(t, "write "+at("a"), "write "+at("b"), "put "+at("c"), "put "+at("d"), "sync "+dir, "append "+at("e"),
		"mkdir "+at("f"), "rename "+at("g"), "symlink "+at("h"), "remove "+at("h"), "remove "+at("f"), "move a reference")
}

func TestAStepCanFailBeforeAndAfterItTookPlace(t *testing.T) {
	injected := errors.New("injected")
	for want, around := range map[string]func(Step, func() error) error{
		"old": func(Step, func() error) error { return injected },
		"new": func(_ Step, change func() error) error { return errors.Join(change(), injected) },
	} {
		name := filepath.Join(t.TempDir(), "f")
		must(t, Disk{}.WriteFile(name, []byte("old"), 0o600))
		if err := (Disk{Around: around}).WriteFile(name, []byte("new"), 0o600); !errors.Is(err, injected) {
			t.Errorf("got %v, want the injected error", err)
		}
		wantFile(t, name, want, 0o600)
	}
}

func TestIsTemp(t *testing.T) {
	for base, want := range map[string]bool{
		".tmp-1": true, ".tmp-ABC": true, ".tmp-": false, ".tmp": false, "f": false, "": false, "x.tmp-1": false,
	} {
		if got := IsTemp(base); got != want {
			t.Errorf("IsTemp(%q) = %v", base, got)
		}
	}
}

// A recorder notes the steps of a disk, and lets them happen.
type recorder struct{ steps []string }

func (r *recorder) disk() Disk {
	return Disk{Around: func(s Step, change func() error) error {
		r.steps = append(r.steps, fmt.Sprintf("%s %s", s.Op, s.Name))
		return change()
	}}
}

// want checks what was noted since the last time.
func (r *recorder) want(t *testing.T, steps ...string) {
	t.Helper()
	if diff := cmp.Diff(steps, r.steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	r.steps = nil
}

func wantFile(t *testing.T, name, content string, perm fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(name)
	must(t, err)
	if info.Mode() != perm {
		t.Errorf("%s has mode %v, want %v", name, info.Mode(), perm)
	}
	data, err := os.ReadFile(name)
	must(t, err)
	if string(data) != content {
		t.Errorf("%s holds %.40q, want %.40q", name, data, content)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names in the directory (-want +got):\n%s", diff)
	}
}

func setUmask(t *testing.T, mask int) {
	old := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(old) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
