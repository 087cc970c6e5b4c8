//go:build linux

package safefs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestMountsInTheTreeAreRefused(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.mkdir("d")
		tr.file("d/f", "good")
		tr.mkdir("tmpfs")
		tr.mkdir("bind")
		tr.file("file", "")
		tr.onOwnThread(func(tr tree) {
			t := tr.t
			inPrivateMounts(t)
			must(t, unix.Mount("none", tr.path("tmpfs"), "tmpfs", 0, "mode=755"))
			must(t, os.WriteFile(tr.path("tmpfs/f"), []byte(secret), 0o644))
			must(t, unix.Mount(tr.path("d"), tr.path("bind"), "", unix.MS_BIND, ""))
			must(t, unix.Mount(tr.path("d/f"), tr.path("file"), "", unix.MS_BIND, ""))
			d := tr.open(opt)
			for _, name := range []string{"tmpfs", "bind", "file"} {
				wantMount(t, d, name)
			}
			if names, err := d.List(10); err != nil || len(names) != 4 {
				t.Errorf("List: %q, %v", names, err)
			}

			// The way to a tree may cross mounts, and a tree may be one.
			top, err := OpenDir(tr.path("tmpfs"), opt)
			must(t, err)
			defer top.Close()
			if data, _, err := top.ReadFile("f", nil); err != nil || string(data) != secret {
				t.Errorf("below a mount: %q, %v", data, err)
			}
		})
	})
}

// A user can mount a file system whose process never answers in a tree, or over all of it.
func TestAFUSEThatNeverAnswersIsNotAsked(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.mkdir("fuse")
		tr.onOwnThread(func(tr tree) {
			t := tr.t
			inPrivateMounts(t)
			end := mountFUSE(t, tr.path("fuse"))
			defer end()
			alarm := time.AfterFunc(time.Minute, end) // who waits for an answer gets an error
			d := tr.open(opt)
			wantMount(t, d, "fuse")
			if names, err := d.List(10); err != nil || len(names) != 1 {
				t.Errorf("List: %q, %v", names, err)
			}
			for _, path := range []string{"fuse", "fuse/d", "fuse/d/e"} {
				_, err := OpenDir(tr.path(path), opt)
				wantRefused(t, err, tr.path("fuse"), Mount)
			}
			if !alarm.Stop() {
				t.Error("the file system was asked")
			}
		})
	})
}

// wantMount checks that every method refuses name, and what is below it.
func wantMount(t *testing.T, d *Dir, name string) {
	t.Helper()
	_, err := d.Lstat(name)
	wantRefused(t, err, name, Mount)
	_, err = d.OpenDir(name)
	wantRefused(t, err, name, Mount)
	_, _, err = d.ReadFile(name, nil)
	wantRefused(t, err, name, Mount)
	_, _, err = d.Readlink(name)
	wantRefused(t, err, name, Mount)
	_, _, err = d.ReadFile(name+"/f", nil)
	wantRefused(t, err, name, Mount)
}

func TestTheTreeMayLieOnAMount(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.onOwnThread(func(tr tree) {
			t := tr.t
			inPrivateMounts(t)
			must(t, unix.Mount("none", tr.dir, "tmpfs", 0, fmt.Sprintf("mode=755,uid=%d", enemy)))
			tr.mkdir("d")
			tr.file("d/f", "good")
			d := tr.open(opt)
			if data, _, err := d.ReadFile("d/f", nil); err != nil || string(data) != "good" {
				t.Errorf("got %q, %v", data, err)
			}
			must(t, d.Same())
		})
	})
}

func TestWithoutOpenat2NamesAreResolvedByHand(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EPERM} {
		t.Run(errno.Error(), func(t *testing.T) {
			noLeaks(t)
			tr := newTree(t)
			tr.mkdir("d")
			tr.file("d/f", "good")
			tr.symlink("d", "link")
			opt := Options{Owners: []uint32{enemy}, MaxFile: 100}
			tr.open(opt) // with openat2
			tr.onOwnThread(func(tr tree) {
				t := tr.t
				forbidOpenat2(t, errno)
				d, err := OpenDir(tr.dir, opt)
				must(t, err)
				defer d.Close()
				if !d.ByHand() {
					t.Error("openat2 is said to work")
				}
				if data, _, err := d.ReadFile("d/f", nil); err != nil || string(data) != "good" {
					t.Errorf("got %q, %v", data, err)
				}
				_, _, err = d.ReadFile("link/f", nil)
				wantRefused(t, err, "link", Symlink)
				must(t, d.Same())
			})
		})
	}
}

// A fault of this machine is no refusal: it says nothing about the tree.
func TestOtherErrorsOfOpenat2AreFaults(t *testing.T) {
	noLeaks(t)
	tr := newTree(t)
	opt := Options{Owners: []uint32{enemy}, MaxFile: 100}
	d := tr.open(opt)
	tr.onOwnThread(func(tr tree) {
		t := tr.t
		forbidOpenat2(t, unix.EMFILE)
		for what, err := range map[string]error{
			"OpenDir": func() error { _, err := OpenDir(tr.dir, opt); return err }(),
			"Same":    d.Same(),
			"below":   func() error { _, err := d.OpenDir("d"); return err }(),
		} {
			if _, refused := errors.AsType[*RefusedError](err); refused || !errors.Is(err, unix.EMFILE) {
				t.Errorf("%s: got %v, want an error that is EMFILE and no refusal", what, err)
			}
		}
	})
}

// inPrivateMounts gives the thread mounts of its own.
func inPrivateMounts(t *testing.T) {
	t.Helper()
	if err := unix.Unshare(unix.CLONE_NEWNS); err == unix.EPERM {
		t.Skip("this sandbox forbids mounts")
	} else if err != nil {
		t.Fatal(err)
	}
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
}

// mountFUSE mounts a file system that answers no request, until end is called.
func mountFUSE(t *testing.T, dir string) (end func()) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("this machine has no FUSE: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", fd, enemy, enemy)
	must(t, unix.Mount("silent", dir, "fuse", 0, options))
	return sync.OnceFunc(func() { unix.Close(fd) })
}

// forbidOpenat2 lets openat2 fail in this thread, as a sandbox does.
func forbidOpenat2(t *testing.T, errno unix.Errno) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_OPENAT2},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	must(t, unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
}
