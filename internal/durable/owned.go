package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Owned reports who else than root and this process's user can change what is at name, of which info was read: its owner,
// everybody, or a group. An access control list shows in the bits of the group, whichever group that is.
func Owned(name string, info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	switch {
	case !believed(info):
		return fmt.Errorf("%s belongs to uid %d, who could change it at any time; chown -R %d it if it is to be trusted",
			name, stat.Uid, os.Geteuid())
	case stat.Mode&0o002 != 0:
		return fmt.Errorf("everybody can write %s; chmod -R o-w it if it is to be trusted", name)
	case stat.Mode&0o020 == 0:
		return nil
	case stat.Gid != 0 && int(stat.Gid) != os.Getegid():
		return fmt.Errorf("group %d can write %s; chmod -R g-w it if it is to be trusted", stat.Gid, name)
	}
	_, err := unix.Getxattr(name, "system.posix_acl_access", nil)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return errors.Join(fmt.Errorf("an access control list lets others write %s; setfacl -bR it if it is to be trusted", name), err)
}

// OwnedAbove reports who else can put something in the place of name, an absolute path that leads through no link: whoever
// can write a directory above it can rename what is in that, unless it is sticky.
func OwnedAbove(name string) error {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", dir)
		}
		if err != nil {
			return err
		}
		sticky := info.Mode()&fs.ModeSticky != 0 && believed(info)
		if err := Owned(dir, info); err != nil && !sticky {
			return fmt.Errorf("something else can be put in the place of %s: %w", name, err)
		}
		if dir == "/" {
			return nil
		}
	}
}

// believed reports whether root or this process's user owns what info is of.
func believed(info fs.FileInfo) bool {
	uid := info.Sys().(*syscall.Stat_t).Uid
	return uid == 0 || int(uid) == os.Geteuid()
}
