package safefs

import (
	"time"

	"golang.org/x/sys/unix"
)

// holding opens the thing itself and not what is in it.
const holding = unix.O_PATH

// openRoot holds "/", and by that finds out whether there is openat2.
func (o *Options) openRoot() (place, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := -1, error(unix.ENOSYS)
	if !o.byHand {
		how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
		fd, err = retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, "/", &how) })
	}
	if err == unix.ENOSYS || err == unix.EPERM {
		o.byHand = true
		fd, err = retry(func() (int, error) { return unix.Open("/", flags, 0) })
	}
	if err != nil {
		return place{}, failed("open", "/", err)
	}
	info, err := fstat(fd)
	if err != nil {
		unix.Close(fd)
		return place{}, failed("stat", "/", err)
	}
	return place{fd: fd, info: info}, nil
}

// openat opens one component of a name. It follows no link.
func (o *Options) openat(in place, component string, flags int, w way) (int, error) {
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	if o.byHand {
		return retry(func() (int, error) { return unix.Openat(in.fd, component, flags, 0) })
	}
	how := unix.OpenHow{
		Flags:   uint64(flags),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if w == inTree {
		how.Resolve |= unix.RESOLVE_NO_XDEV
	}
	return retry(func() (int, error) { return unix.Openat2(in.fd, component, &how) })
}

// openSelf opens for reading the very directory that dir is a descriptor of, with a position of its own.
func openSelf(dir int) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
}

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

// readNames returns names in the directory fd in no order, and stops when it has seen as many as enough.
func readNames(fd, enough int) (names []string, err error) {
	buf := make([]byte, 32<<10)
	for len(names) < enough {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil || n == 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], enough-len(names), names)
	}
	return names, nil
}

// listAttributes returns the names of the extended attributes of fd, each ended by a zero byte.
func listAttributes(fd int) ([]byte, error) {
	list := make([]byte, 1024)
	n, err := retry(func() (int, error) { return unix.Flistxattr(fd, list) })
	if err == unix.ERANGE {
		list = make([]byte, 64<<10) // XATTR_LIST_MAX
		n, err = retry(func() (int, error) { return unix.Flistxattr(fd, list) })
	}
	return list[:max(n, 0)], err
}

// brokenDisk reports whether err speaks of the disk, or of whoever serves it.
func brokenDisk(err error) bool {
	switch err {
	case unix.EIO, unix.EUCLEAN, unix.EBADMSG, unix.ESTALE, unix.ENODATA, unix.EREMOTEIO, unix.ETIMEDOUT, unix.ENOTCONN:
		return true
	}
	return false
}
