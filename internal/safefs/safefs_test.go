//go:build linux

package safefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestOpenDirJudgesTheWay(t *testing.T) {
	for _, tt := range []struct {
		what    string
		prepare func(tree)
		path    string // in the tree
		refused string // the part of path that is refused
		want    Reason
	}{
		{what: "good way", path: "a/b", prepare: func(tr tree) {}},
		{what: "private parent", path: "a/b", prepare: func(tr tree) { tr.chmod("a", 0o700) }},
		{what: "group-writable", path: "a/b", prepare: func(tr tree) { tr.chmod("a", 0o775); tr.chmod("a/b", 0o775) }},
		{what: "root's", path: "a/b", prepare: func(tr tree) { tr.chown("a", 0); tr.chown("a/b", 0) }},
		{what: "sticky parent", path: "a/b", prepare: func(tr tree) { tr.chmod("a", 0o1777) }},

		{"parent for everybody", func(tr tree) { tr.chmod("a", 0o777) }, "a/b", "a", Writable},
		{"stranger's parent", func(tr tree) { tr.chown("a", stranger) }, "a/b", "a", Owner},
		{"stranger's sticky parent", func(tr tree) { tr.chmod("a", 0o1777); tr.chown("a", stranger) }, "a/b", "a", Owner},
		{"stranger's directory", func(tr tree) { tr.chown("a/b", stranger) }, "a/b", "a/b", Owner},
		{"directory for everybody", func(tr tree) { tr.chmod("a/b", 0o777) }, "a/b", "a/b", Writable},
		{"sticky directory", func(tr tree) { tr.chmod("a/b", 0o1777) }, "a/b", "a/b", Writable},
		{"directory with an ACL", func(tr tree) { tr.setxattr("a/b", "system.posix_acl_access", posixACL()) }, "a/b", "a/b", ACL},
		{"linked parent", func(tr tree) { tr.symlink("a", "x") }, "x/b", "x", Symlink},
		{"linked directory", func(tr tree) { tr.symlink("b", "a/x") }, "a/x", "a/x", Symlink},
		{"file as parent", func(tr tree) { tr.file("x", "") }, "x/b", "x", NotDirectory},
		{"file", func(tr tree) { tr.file("a/x", "") }, "a/x", "a/x", NotDirectory},
		{"FIFO", func(tr tree) { tr.mknod("a/x", unix.S_IFIFO, 0) }, "a/x", "a/x", Special},
		{"missing", func(tr tree) {}, "a/x", "a/x", Missing},
		{"missing parent", func(tr tree) {}, "x/b", "x", Missing},
	} {
		t.Run(tt.what, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, opt Options) {
				tr := newTree(t)
				tr.mkdir("a")
				tr.mkdir("a/b")
				tt.prepare(tr)
				d, err := OpenDir(tr.path(tt.path), opt)
				if tt.want != "" {
					wantRefused(t, err, tr.path(tt.refused), tt.want)
					return
				}
				must(t, err)
				must(t, d.Same())
				must(t, d.Close())
				if err := d.Close(); !errors.Is(err, fs.ErrClosed) {
					t.Errorf("second Close: %v, want fs.ErrClosed", err)
				}
				if _, err := d.Lstat("x"); !errors.Is(err, unix.EBADF) {
					t.Errorf("Lstat after Close: %v, want EBADF", err)
				}
			})
		})
	}
}

func TestOpenDirWantsACleanAbsolutePath(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		for _, path := range []string{
			"", ".", "tmp", "./tmp", "//tmp", "/tmp/", "/tmp//x", "/tmp/./x", "/tmp/../tmp", "/..", "/.", "/tmp\x00/x",
			"/" + strings.Repeat("x/", 65) + "x",
		} {
			d, err := OpenDir(path, opt)
			if err == nil {
				d.Close()
			}
			wantRefused(t, err, path, Name)
		}
		d, err := OpenDir("/", opt)
		must(t, err)
		must(t, d.Close())
	})
}

func TestTheRootDirectoryIsAParent(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.mkdir("d")
		tr.chmod("", 0o777)
		tr.onOwnThread(func(tr tree) {
			inPrivateMounts(tr.t)
			must(tr.t, unix.Chroot(tr.dir))
			_, err := OpenDir("/d", opt)
			wantRefused(tr.t, err, "/", Writable)
			must(tr.t, os.Chmod("/", 0o755))
			d, err := OpenDir("/d", opt)
			must(tr.t, err)
			must(tr.t, d.Close())
		})
	})
}

func TestOptionsAreCopied(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("f", "good")
		d := tr.open(opt)
		opt.Owners[0] = stranger
		if _, _, err := d.ReadFile("f", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestSame(t *testing.T) {
	for what, replace := range map[string]func(tree){
		"another directory": func(tr tree) { must(tr.t, os.Mkdir(tr.dir, 0o755)); tr.chown("", enemy) },
		"nothing":           func(tr tree) {},
		"file":              func(tr tree) { tr.file("", "") },
		"stranger's":        func(tr tree) { must(tr.t, os.Mkdir(tr.dir, 0o755)); tr.chown("", stranger) },
		"link to the directory": func(tr tree) {
			must(tr.t, os.Symlink(tr.outside("old"), tr.dir))
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, opt Options) {
				tr := newTree(t)
				tr.mkdir("sub")
				d := tr.open(opt)
				must(t, d.Same())
				must(t, os.Rename(tr.dir, tr.outside("old")))
				replace(tr)
				wantRefused(t, d.Same(), tr.dir, InFlux)

				sub, err := d.OpenDir("sub") // of the directory that d still is
				must(t, err)
				defer sub.Close()
				if sub.Same() == nil {
					t.Error("a directory without a path of its own claims to be the same")
				}
			})
		})
	}
}

func TestInfo(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.mkdir("d")
		tr.file("d/file", "12345")
		tr.symlink("../some/target", "d/link")
		tr.mknod("d/fifo", unix.S_IFIFO, 0)
		tr.chmod("d", 0o2775)
		tr.chmod("d/file", 0o4640)
		must(t, os.Lchown(tr.path("d/file"), enemy, stranger))
		tr.chmod("d/file", 0o4640) // chown took the bit
		top := tr.open(opt)
		d, err := top.OpenDir("d")
		must(t, err)
		defer d.Close()
		for name, want := range map[string]Info{
			"":     {Type: TypeDir, Mode: 0o2775, UID: enemy, GID: enemy},
			"file": {Type: TypeFile, Mode: 0o4640, UID: enemy, GID: stranger},
			"link": {Type: TypeSymlink, Mode: 0o777, UID: enemy, GID: enemy},
			"fifo": {Type: TypeSpecial, Mode: 0o644, UID: enemy, GID: enemy},
		} {
			var st unix.Stat_t
			must(t, unix.Lstat(tr.path("d/"+name), &st))
			want.Size, want.Dev, want.Ino, want.Nlink = st.Size, st.Dev, st.Ino, uint64(st.Nlink)
			fi, err := os.Lstat(strings.TrimSuffix(tr.path("d/"+name), "/"))
			must(t, err)
			want.MTime = fi.ModTime().UTC()
			want.CTime = time.Unix(st.Ctim.Unix()).UTC()
			got := d.Info()
			if name != "" {
				got, err = d.Lstat(name)
				must(t, err)
				deep, err := top.Lstat("d/" + name)
				must(t, err)
				if deep != got {
					t.Errorf("%s: from above it is %+v, from beside it %+v", name, deep, got)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", name, diff)
			}
		}
		target, info, err := d.Readlink("link")
		must(t, err)
		if target != "../some/target" || info.Type != TypeSymlink || info.Size != int64(len(target)) {
			t.Errorf("Readlink = %q, %+v", target, info)
		}
		_, read, err := d.ReadFile("file", nil)
		must(t, err)
		if seen, err := d.Lstat("file"); err != nil || seen != read {
			t.Errorf("ReadFile says %+v, Lstat %+v, %v", read, seen, err)
		}
	})
}

func TestReadlinkTakesTheLongestTarget(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		long := strings.Repeat("x/", 2047) + "x"
		tr.symlink(long, "x")
		if target, _, err := tr.open(opt).Readlink("x"); err != nil || target != long {
			t.Errorf("got %d bytes, %v", len(target), err)
		}
	})
}

func TestList(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		d := tr.open(opt)
		if names, err := d.List(0); err != nil || len(names) != 0 {
			t.Errorf("empty directory: %q, %v", names, err)
		}
		want := []string{"-rf", "B", "a", "a\nb", "\xff\xfe", "ü"}
		for i := range 1000 { // more than one call of the kernel
			want = append(want, fmt.Sprintf("%0200d", i))
		}
		for _, name := range want {
			tr.file(name, "")
		}
		slices.Sort(want)
		for range 2 { // a list does not move the position of the next one
			got, err := d.List(len(want))
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		for _, max := range []int{0, 1, len(want) - 1} {
			names, err := d.List(max)
			wantRefused(t, err, tr.dir, Size)
			if names != nil {
				t.Errorf("List(%d) returned %d names of %d", max, len(names), len(want))
			}
		}
	})
}

func TestReadsWholeFiles(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.mkdir("a")
		tr.mkdir("a/b")
		d := tr.open(opt)
		for _, size := range []int{0, 1, 4096, chunk - 1, chunk, chunk + 1, 3*chunk + 7, int(opt.MaxFile)} {
			want := strings.Repeat("0123456789abcde", size/15+1)[:size]
			tr.file("a/b/f", want)
			for _, buf := range [][]byte{
				nil, make([]byte, 10), make([]byte, 0, size), make([]byte, 5, size+5), make([]byte, 2*size),
			} {
				got, info, err := d.ReadFile("a/b/f", buf)
				if err != nil || string(got) != want || info.Size != int64(size) {
					t.Errorf("%d bytes, into %d of %d: read %d, %v", size, len(buf), cap(buf), len(got), err)
				}
				if cap(buf) > size && &buf[:1][0] != &got[:1][0] {
					t.Errorf("%d bytes: ReadFile left a buffer of %d", size, cap(buf))
				}
			}
			var copied strings.Builder
			info, err := d.CopyFile(&copied, "a/b/f")
			if err != nil || copied.String() != want || info.Size != int64(size) {
				t.Errorf("%d bytes: copied %d, %v", size, copied.Len(), err)
			}
		}
	})
}

func TestCopyFileReturnsTheWritersError(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("f", "good")
		full := errors.New("no room")
		_, err := tr.open(opt).CopyFile(writerFunc(func([]byte) (int, error) { return 0, full }), "f")
		if err != full {
			t.Errorf("got %v, want %v", err, full)
		}
	})
}

// A file is not given memory for what it says it has.
func TestMemoryGrowsWithWhatWasRead(t *testing.T) {
	needRoot(t)
	tr := newTree(t)
	tr.file("f", "")
	must(t, os.Truncate(tr.path("f"), 1<<40))
	d := tr.open(Options{Owners: []uint32{enemy}, MaxFile: 1 << 50})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	full := errors.New("that is enough")
	if _, err := d.CopyFile(writerFunc(func([]byte) (int, error) { return 0, full }), "f"); err != full {
		t.Errorf("got %v, want %v", err, full)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4*chunk {
		t.Errorf("%d bytes of memory for the first %d bytes", got, chunk)
	}
}

// The publisher is not root: it reads its own files, and says what it may not read.
func TestAnUnprivilegedReader(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("good", "good")
		tr.file("closed", "")
		tr.chmod("closed", 0)
		tr.mkdir("closed.d")
		tr.file("closed.d/f", "")
		tr.chmod("closed.d", 0)
		tr.mkdir("pass.d")
		tr.file("pass.d/f", "")
		tr.chmod("pass.d", 0o111)
		tr.onOwnThread(func(tr tree) {
			t := tr.t
			if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, enemy, enemy, enemy); errno != 0 {
				t.Fatal(errno)
			}
			d := tr.open(opt)
			if data, _, err := d.ReadFile("good", nil); err != nil || string(data) != "good" {
				t.Errorf("own file: %q, %v", data, err)
			}
			if _, _, err := d.ReadFile("pass.d/f", nil); err != nil {
				t.Errorf("own file in a directory that cannot be listed: %v", err)
			}
			_, _, err := d.ReadFile("closed", nil)
			wantRefused(t, err, "closed", Unreadable)
			_, _, err = d.ReadFile("closed.d/f", nil)
			wantRefused(t, err, "closed.d/f", Unreadable)
			_, err = d.OpenDir("closed.d")
			wantRefused(t, err, "closed.d", Unreadable)
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%v: is not fs.ErrPermission", err)
			}
		})
	})
}

// BenchmarkReadFile10k scans a directory of 10 000 files of 4 KiB.
func BenchmarkReadFile10k(b *testing.B) {
	dir := b.TempDir()
	for i := range 10000 {
		must(b, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), make([]byte, 4096), 0o644))
	}
	for _, byHand := range []bool{false, true} {
		b.Run(fmt.Sprintf("byHand=%v", byHand), func(b *testing.B) {
			d, err := OpenDir(dir, Options{Owners: []uint32{uint32(os.Getuid())}, MaxFile: 1 << 20, byHand: byHand})
			must(b, err)
			defer d.Close()
			for b.Loop() {
				names, err := d.List(10000)
				must(b, err)
				var buf []byte
				for _, name := range names {
					if buf, _, err = d.ReadFile(name, buf); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	// The least that a reader can do.
	b.Run("bare", func(b *testing.B) {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(b, err)
		defer unix.Close(fd)
		entries, err := os.ReadDir(dir)
		must(b, err)
		buf := make([]byte, 8192)
		for b.Loop() {
			for _, e := range entries {
				file, err := unix.Openat(fd, e.Name(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
				must(b, err)
				var st unix.Stat_t
				must(b, unix.Fstat(file, &st))
				_, err = unix.Read(file, buf)
				must(b, err)
				unix.Close(file)
			}
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
