//go:build linux

package safefs

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// secret is in files of root's that the tree leads to and must never come back.
const secret = "root's secret"

// hostile are things that an enemy, or an accident, put into a tree, and what each method says to them.
var hostile = []struct {
	what    string
	prepare func(tree)
	name    string
	refused string // the part of name that is refused; empty: all of it
	file    Reason // what ReadFile and CopyFile say
	dir     Reason // what OpenDir says
	link    Reason // what Readlink says
	lstat   Reason // what Lstat says
}{
	{
		what:    "nothing",
		prepare: func(tree) {},
		name:    "x", file: Missing, dir: Missing, link: Missing, lstat: Missing,
	},
	{
		what:    "absolute link to a file",
		prepare: func(tr tree) { tr.symlink(tr.outside("secret"), "x") },
		name:    "x", file: Symlink, dir: Symlink,
	},
	{
		what:    "relative link to the outside",
		prepare: func(tr tree) { tr.symlink("../secret", "x") },
		name:    "x", file: Symlink, dir: Symlink,
	},
	{
		what:    "relative link to a file of the tree",
		prepare: func(tr tree) { tr.file("good", "good"); tr.symlink("good", "x") },
		name:    "x", file: Symlink, dir: Symlink,
	},
	{
		what:    "dangling link",
		prepare: func(tr tree) { tr.symlink("nowhere", "x") },
		name:    "x", file: Symlink, dir: Symlink,
	},
	{
		what:    "link to itself",
		prepare: func(tr tree) { tr.symlink("x", "x") },
		name:    "x", file: Symlink, dir: Symlink,
	},
	{
		what:    "magic link",
		prepare: func(tr tree) { tr.symlink("/proc/self/root", "x") },
		name:    "x/etc", refused: "x", file: Symlink, dir: Symlink, link: Symlink, lstat: Symlink,
	},
	{
		what:    "absolute link on the way",
		prepare: func(tr tree) { tr.symlink(tr.outside("secrets"), "x") },
		name:    "x/secret", refused: "x", file: Symlink, dir: Symlink, link: Symlink, lstat: Symlink,
	},
	{
		what:    "relative link on the way",
		prepare: func(tr tree) { tr.mkdir("d"); tr.file("d/f", "good"); tr.symlink("d", "x") },
		name:    "x/f", refused: "x", file: Symlink, dir: Symlink, link: Symlink, lstat: Symlink,
	},
	{
		what:    "link deep on the way",
		prepare: func(tr tree) { tr.mkdir("d"); tr.mkdir("d/e"); tr.symlink("../d/e", "d/x"); tr.file("d/e/f", "") },
		name:    "d/x/f", refused: "d/x", file: Symlink, dir: Symlink, link: Symlink, lstat: Symlink,
	},
	{
		what:    "file on the way",
		prepare: func(tr tree) { tr.file("x", "") },
		name:    "x/f", refused: "x", file: NotDirectory, dir: NotDirectory, link: NotDirectory, lstat: NotDirectory,
	},
	{
		what:    "FIFO",
		prepare: func(tr tree) { tr.mknod("x", unix.S_IFIFO, 0) },
		name:    "x", file: Special, dir: Special, link: NotSymlink,
	},
	{
		what:    "FIFO on the way",
		prepare: func(tr tree) { tr.mknod("x", unix.S_IFIFO, 0) },
		name:    "x/f", refused: "x", file: Special, dir: Special, link: Special, lstat: Special,
	},
	{
		what:    "character device",
		prepare: func(tr tree) { tr.mknod("x", unix.S_IFCHR, unix.Mkdev(1, 5)) }, // endless zeros
		name:    "x", file: Special, dir: Special, link: NotSymlink,
	},
	{
		what:    "block device",
		prepare: func(tr tree) { tr.mknod("x", unix.S_IFBLK, unix.Mkdev(7, 200)) },
		name:    "x", file: Special, dir: Special, link: NotSymlink,
	},
	{
		what: "socket",
		prepare: func(tr tree) {
			l, err := net.Listen("unix", tr.path("x"))
			must(tr.t, err)
			tr.t.Cleanup(func() { l.Close() })
			tr.chown("x", enemy)
		},
		name: "x", file: Special, dir: Special, link: NotSymlink,
	},
	{
		what:    "directory in place of a file",
		prepare: func(tr tree) { tr.mkdir("x") },
		name:    "x", file: Directory, link: NotSymlink,
	},
	{
		what:    "file in place of a directory",
		prepare: func(tr tree) { tr.file("x", "good") },
		name:    "x", dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "hard link to root's file",
		prepare: func(tr tree) { must(tr.t, os.Link(tr.outside("secret"), tr.path("x"))) },
		name:    "x", file: Links, dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "hard link to the enemy's own file",
		prepare: func(tr tree) { tr.file("y", ""); must(tr.t, os.Link(tr.path("y"), tr.path("x"))) },
		name:    "x", file: Links, dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "hard link to a link",
		prepare: func(tr tree) { tr.symlink("target", "y"); must(tr.t, os.Link(tr.path("y"), tr.path("x"))) },
		name:    "x", file: Symlink, dir: Symlink, link: Links,
	},
	{
		what:    "sparse file of 1 TiB",
		prepare: func(tr tree) { tr.file("x", ""); must(tr.t, os.Truncate(tr.path("x"), 1<<40)) },
		name:    "x", file: Size, dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "file one byte too large",
		prepare: func(tr tree) { tr.file("x", strings.Repeat("x", 1<<20+1)) },
		name:    "x", file: Size, dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "stranger's file",
		prepare: func(tr tree) { tr.file("x", ""); tr.chown("x", stranger) },
		name:    "x", file: Owner, dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "stranger's link",
		prepare: func(tr tree) { tr.symlink("target", "x"); tr.chown("x", stranger) },
		name:    "x", file: Symlink, dir: Symlink, link: Owner,
	},
	{
		what:    "stranger's directory",
		prepare: func(tr tree) { tr.mkdir("x"); tr.file("x/f", ""); tr.chown("x", stranger) },
		name:    "x", file: Directory, dir: Owner, link: NotSymlink,
	},
	{
		what:    "stranger's directory on the way",
		prepare: func(tr tree) { tr.mkdir("x"); tr.file("x/f", ""); tr.chown("x", stranger) },
		name:    "x/f", refused: "x", file: Owner, dir: Owner, link: Owner, lstat: Owner,
	},
	{
		what:    "directory for everybody",
		prepare: func(tr tree) { tr.mkdir("x"); tr.chmod("x", 0o777) },
		name:    "x", file: Directory, dir: Writable, link: NotSymlink,
	},
	{
		what:    "sticky directory on the way",
		prepare: func(tr tree) { tr.mkdir("x"); tr.file("x/f", ""); tr.chmod("x", 0o1777) },
		name:    "x/f", refused: "x", file: Writable, dir: Writable, link: Writable, lstat: Writable,
	},
	{
		what:    "file with an ACL",
		prepare: func(tr tree) { tr.file("x", ""); tr.setxattr("x", "system.posix_acl_access", posixACL()) },
		name:    "x", file: ACL, dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "directory with an ACL",
		prepare: func(tr tree) { tr.mkdir("x"); tr.setxattr("x", "system.posix_acl_access", posixACL()) },
		name:    "x", file: Directory, dir: ACL, link: NotSymlink,
	},
	{
		what:    "directory with a default ACL",
		prepare: func(tr tree) { tr.mkdir("x"); tr.setxattr("x", "system.posix_acl_default", posixACL()) },
		name:    "x", file: Directory, dir: ACL, link: NotSymlink,
	},
	{
		what:    "file with a capability",
		prepare: func(tr tree) { tr.file("x", ""); tr.setxattr("x", "security.capability", capability()) },
		name:    "x", file: Capability, dir: NotDirectory, link: NotSymlink,
	},
	{
		what: "file with a capability behind many attributes",
		prepare: func(tr tree) {
			tr.file("x", "")
			for c := 'a'; c < 'k'; c++ {
				tr.setxattr("x", "user."+strings.Repeat(string(c), 200), nil)
			}
			tr.setxattr("x", "security.capability", capability())
		},
		name: "x", file: Capability, dir: NotDirectory, link: NotSymlink,
	},
	{
		what:    "file with harmless attributes",
		prepare: func(tr tree) { tr.file("x", "good"); tr.setxattr("x", "user.system.posix_acl_access", []byte("x")) },
		name:    "x", dir: NotDirectory, link: NotSymlink,
	},
}

func TestHostileThings(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.what, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, opt Options) {
				tr := newTree(t)
				must(t, os.WriteFile(tr.outside("secret"), []byte(secret), 0o600))
				must(t, os.Mkdir(tr.outside("secrets"), 0o700))
				must(t, os.WriteFile(tr.outside("secrets/secret"), []byte(secret), 0o600))
				tt.prepare(tr)
				d := tr.open(opt)
				refused := tt.refused
				if refused == "" {
					refused = tt.name
				}
				check := func(method string, err error, want Reason) {
					t.Helper()
					switch {
					case want != "":
						wantRefused(t, err, refused, want)
					case err != nil:
						t.Errorf("%s: %v", method, err)
					}
				}

				data, _, err := d.ReadFile(tt.name, nil)
				check("ReadFile", err, tt.file)
				if err != nil && data != nil || strings.Contains(string(data), secret) {
					t.Errorf("ReadFile returned %.20q", data)
				}
				var copied strings.Builder
				_, err = d.CopyFile(&copied, tt.name)
				check("CopyFile", err, tt.file)
				if err != nil && copied.Len() > 0 || copied.String() != string(data) {
					t.Errorf("CopyFile wrote %.20q, ReadFile returned %.20q", copied.String(), data)
				}
				sub, err := d.OpenDir(tt.name)
				check("OpenDir", err, tt.dir)
				if err == nil {
					must(t, sub.Close())
				}
				_, _, err = d.Readlink(tt.name)
				check("Readlink", err, tt.link)
				_, err = d.Lstat(tt.name)
				check("Lstat", err, tt.lstat)
			})
		})
	}
}

func TestBadNamesAreRefusedByEveryMethod(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("f", "good")
		tr.mkdir("d")
		tr.file("d/f", "good")
		d := tr.open(opt)
		for _, name := range badNames() {
			for method, call := range map[string]func() error{
				"ReadFile": func() error { _, _, err := d.ReadFile(name, nil); return err },
				"CopyFile": func() error { _, err := d.CopyFile(io.Discard, name); return err },
				"Lstat":    func() error { _, err := d.Lstat(name); return err },
				"Readlink": func() error { _, _, err := d.Readlink(name); return err },
				"OpenDir":  func() error { _, err := d.OpenDir(name); return err },
			} {
				refused, ok := errors.AsType[*RefusedError](call())
				if !ok || refused.Reason != Name {
					t.Errorf("%s(%.40q): got %v, want it refused as %q", method, name, refused, Name)
				}
			}
		}
	})
}

// Opening a FIFO wakes who waits to write to it, and opening a device can do anything.
func TestWhatIsRefusedIsNeverOpened(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.mknod("fifo", unix.S_IFIFO, 0)
		tr.mknod("device", unix.S_IFCHR, unix.Mkdev(1, 3))
		tr.file("stranger's", "")
		tr.chown("stranger's", stranger)
		tr.file("good", "")
		watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		must(t, err)
		defer unix.Close(watch)
		d := tr.open(opt)
		opened := func(name string) bool {
			id, err := unix.InotifyAddWatch(watch, tr.path(name), unix.IN_OPEN)
			must(t, err)
			d.ReadFile(name, nil)
			d.OpenDir(name)
			d.Lstat(name)
			d.Readlink(name)
			_, err = unix.InotifyRmWatch(watch, uint32(id))
			must(t, err)
			events := make([]byte, 4096)
			n, err := unix.Read(watch, events)
			must(t, err)
			const open, ignored = unix.IN_OPEN, unix.IN_IGNORED
			seen := binary.NativeEndian.Uint32(events[4:])
			if n < unix.SizeofInotifyEvent || seen != open && seen != ignored {
				t.Fatalf("%s: unexpected event %#x", name, seen)
			}
			for n == len(events) || err == nil { // what is left of this watch
				n, err = unix.Read(watch, events)
			}
			return seen == open
		}
		for _, name := range []string{"fifo", "device", "stranger's"} {
			if opened(name) {
				t.Errorf("%s was opened", name)
			}
		}
		if !opened("good") {
			t.Error("the watch does not see an open")
		}
	})
}

func (tr tree) setxattr(name, attr string, value []byte) {
	tr.t.Helper()
	must(tr.t, unix.Setxattr(tr.path(name), attr, value, 0))
}

// posixACL lets the stranger read and write.
func posixACL() []byte {
	acl := binary.LittleEndian.AppendUint32(nil, 2) // version
	for _, entry := range [][3]uint32{
		{0x01, 7, ^uint32(0)}, // owner
		{0x02, 6, stranger},
		{0x04, 5, ^uint32(0)}, // group
		{0x10, 7, ^uint32(0)}, // mask
		{0x20, 5, ^uint32(0)}, // others
	} {
		acl = binary.LittleEndian.AppendUint16(acl, uint16(entry[0]))
		acl = binary.LittleEndian.AppendUint16(acl, uint16(entry[1]))
		acl = binary.LittleEndian.AppendUint32(acl, entry[2])
	}
	return acl
}

// capability is cap_setuid=ep.
func capability() []byte {
	value := make([]byte, 20)
	binary.LittleEndian.PutUint32(value, 0x02000001)
	binary.LittleEndian.PutUint32(value[4:], 1<<7)
	return value
}
