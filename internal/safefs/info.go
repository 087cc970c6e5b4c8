package safefs

import (
	"time"

	"golang.org/x/sys/unix"
)

// A Type is the kind of thing that a name means. The zero Type is none.
type Type string

// The types. A special file is a FIFO, a socket, a device, or what a later kernel may invent.
const (
	TypeFile    Type = "file"
	TypeDir     Type = "dir"
	TypeSymlink Type = "symlink"
	TypeSpecial Type = "special"
)

// Info is what fstat says of a thing. Two Infos of one file are equal (==) unless something changed; times are UTC.
type Info struct {
	Type            Type
	Mode            uint32 // permission, setuid, setgid and sticky bits: at most 07777
	UID, GID        uint32
	Size            int64
	MTime, CTime    time.Time
	Dev, Ino, Nlink uint64
}

func (i Info) sameFile(j Info) bool { return i.Dev == j.Dev && i.Ino == j.Ino }

// look says what component is in the directory fd, which lies on the device dev; with no component, what fd itself is.
// Nothing is opened, no link is followed, and a file system that is mounted there, perhaps served by a daemon that
// never answers, is not asked. In the tree, a mount point is EXDEV.
func look(fd int, component string, dev uint64, w way) (Info, error) {
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH | unix.AT_STATX_DONT_SYNC
	var st unix.Statx_t
	_, err := retry(func() (int, error) {
		return 0, unix.Statx(fd, component, flags, unix.STATX_BASIC_STATS, &st)
	})
	if err != nil {
		return Info{}, err
	}
	if w == inTree && mounted(&st, dev) {
		return Info{}, unix.EXDEV
	}
	return Info{
		Type:  typeOf(uint32(st.Mode)),
		Mode:  uint32(st.Mode) & 0o7777,
		UID:   st.Uid,
		GID:   st.Gid,
		Size:  int64(st.Size),
		MTime: time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)).UTC(),
		CTime: time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec)).UTC(),
		Dev:   unix.Mkdev(st.Dev_major, st.Dev_minor),
		Ino:   st.Ino,
		Nlink: uint64(st.Nlink),
	}, nil
}

// mounted reports whether st is of a mount point in a directory on the device dev. Before Linux 5.8 only another device
// tells.
func mounted(st *unix.Statx_t, dev uint64) bool {
	if st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	return unix.Mkdev(st.Dev_major, st.Dev_minor) != dev
}

func fstat(fd int) (Info, error) {
	var st unix.Stat_t
	if _, err := retry(func() (int, error) { return 0, unix.Fstat(fd, &st) }); err != nil {
		return Info{}, err
	}
	return Info{
		Type:  typeOf(st.Mode),
		Mode:  st.Mode & 0o7777,
		UID:   st.Uid,
		GID:   st.Gid,
		Size:  st.Size,
		MTime: time.Unix(st.Mtim.Unix()).UTC(),
		CTime: time.Unix(st.Ctim.Unix()).UTC(),
		Dev:   uint64(st.Dev),
		Ino:   st.Ino,
		Nlink: uint64(st.Nlink),
	}, nil
}

func typeOf(mode uint32) Type {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return TypeFile
	case unix.S_IFDIR:
		return TypeDir
	case unix.S_IFLNK:
		return TypeSymlink
	default:
		return TypeSpecial
	}
}
