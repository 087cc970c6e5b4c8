//go:build linux

package safefs

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestJudge(t *testing.T) {
	opt := &Options{Owners: []uint32{enemy}, MaxFile: 100}
	good := Info{Type: TypeFile, Mode: 0o644, UID: enemy, Nlink: 1, Size: 100}
	with := func(change func(*Info)) Info {
		i := good
		change(&i)
		return i
	}
	dir := func(uid, mode uint32) Info { return Info{Type: TypeDir, Mode: mode, UID: uid, Nlink: 2} }
	link := Info{Type: TypeSymlink, Mode: 0o777, UID: enemy, Nlink: 1}
	const accepted Reason = ""
	for _, tt := range []struct {
		what  string
		judge func(string, Info) error
		info  Info
		want  Reason
	}{
		{"file", opt.judgeFile, good, accepted},
		{"root's file", opt.judgeFile, with(func(i *Info) { i.UID = 0 }), accepted},
		{"set-user-id file", opt.judgeFile, with(func(i *Info) { i.Mode = 0o4755 }), accepted},
		{"nothing", opt.judgeFile, Info{}, Directory},
		{"directory for a file", opt.judgeFile, dir(enemy, 0o755), Directory},
		{"link for a file", opt.judgeFile, link, Symlink},
		{"FIFO for a file", opt.judgeFile, with(func(i *Info) { i.Type = TypeSpecial }), Special},
		{"stranger's file", opt.judgeFile, with(func(i *Info) { i.UID = stranger }), Owner},
		{"second link", opt.judgeFile, with(func(i *Info) { i.Nlink = 2 }), Links},
		{"removed file", opt.judgeFile, with(func(i *Info) { i.Nlink = 0 }), InFlux},
		{"large file", opt.judgeFile, with(func(i *Info) { i.Size = 101 }), Size},
		{"no file may be read", (&Options{Owners: opt.Owners}).judgeFile, with(func(i *Info) { i.Size = 0 }), Size},
		{"nobody is believed", (&Options{MaxFile: 100}).judgeFile, good, Owner},

		{"directory", opt.judgeDir, dir(enemy, 0o755), accepted},
		{"root's directory", opt.judgeDir, dir(0, 0o755), accepted},
		{"group-writable directory", opt.judgeDir, dir(enemy, 0o775), accepted},
		{"nothing for a directory", opt.judgeDir, Info{}, NotDirectory},
		{"file for a directory", opt.judgeDir, good, NotDirectory},
		{"link for a directory", opt.judgeDir, link, Symlink},
		{"stranger's directory", opt.judgeDir, dir(stranger, 0o755), Owner},
		{"directory for everybody", opt.judgeDir, dir(enemy, 0o757), Writable},
		{"sticky directory", opt.judgeDir, dir(0, 0o1777), Writable},

		{"parent", opt.judgeParent, dir(0, 0o755), accepted},
		{"the enemy's parent", opt.judgeParent, dir(enemy, 0o700), accepted},
		{"sticky parent", opt.judgeParent, dir(0, 0o1777), accepted},
		{"parent for everybody", opt.judgeParent, dir(0, 0o777), Writable},
		{"stranger's parent", opt.judgeParent, dir(stranger, 0o755), Owner},
		{"stranger's sticky parent", opt.judgeParent, dir(stranger, 0o1777), Owner},
		{"link for a parent", opt.judgeParent, link, Symlink},

		{"link", opt.judgeLink, link, accepted},
		{"file for a link", opt.judgeLink, good, NotSymlink},
		{"stranger's link", opt.judgeLink, Info{Type: TypeSymlink, UID: stranger, Nlink: 1}, Owner},
		{"removed link", opt.judgeLink, Info{Type: TypeSymlink, UID: enemy}, InFlux},
		{"link to a link", opt.judgeLink, Info{Type: TypeSymlink, UID: enemy, Nlink: 2}, Links},
	} {
		err := tt.judge("name", tt.info)
		var got Reason
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			got = refused.Reason
		}
		if got != tt.want || (err == nil) != (tt.want == accepted) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

func TestMounted(t *testing.T) {
	const root = unix.STATX_ATTR_MOUNT_ROOT
	here := unix.Mkdev(254, 3)
	for _, tt := range []struct {
		what             string
		mask, attributes uint64
		minor            uint32
		want             bool
	}{
		{"no mount", root, 0, 3, false},
		{"mount", root, root, 4, true},
		{"bind mount of the same device", root, root, 3, true},
		{"subvolume or layer with a device of its own", root, 0, 4, false},
		{"old kernel, same device", 0, 0, 3, false},
		{"old kernel, another device", 0, 0, 4, true},
		{"old kernel, a bit without a meaning", 0, root, 3, false},
	} {
		st := &unix.Statx_t{Dev_major: 254, Dev_minor: tt.minor, Attributes_mask: tt.mask, Attributes: tt.attributes}
		if got := mounted(st, here); got != tt.want {
			t.Errorf("%s: mounted = %v", tt.what, got)
		}
	}
}

func TestAllThatWasAnnouncedIsRead(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("12345")
	must(t, err)
	info, err := fstat(int(f.Fd()))
	must(t, err)
	read := func(n int64) error {
		return (&file{fd: int(f.Fd()), name: "f", info: info, left: info.Size + 1 - n}).finish()
	}
	if err := read(5); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{0, 4, 6} {
		wantRefused(t, read(n), "f", InFlux)
	}
}
