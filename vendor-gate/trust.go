package vendorgate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// trusted reports why what lies at name may have been written by somebody else.
func trusted(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return trustedInfo(name, info)
}

func trustedInfo(name string, info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	return trustedStat(name, stat.Uid, stat.Gid, stat.Mode)
}

func trustedStat(name string, uid, gid, mode uint32) error {
	euid := os.Geteuid()
	switch {
	case uid != 0 && int(uid) != euid:
		return fmt.Errorf("%s belongs to uid %d, who could change it at any time; chown -R %d it if it is to be trusted",
			name, uid, euid)
	case mode&0o002 != 0:
		return fmt.Errorf("everybody can write %s; chmod -R o-w it if it is to be trusted", name)
	case mode&0o020 != 0 && gid != 0 && int(gid) != os.Getegid():
		return fmt.Errorf("group %d can write %s; chmod -R g-w it if it is to be trusted", gid, name)
	}
	return nil
}

// trustedWay reports who else can put something in the place of name, which no link leads to: whoever can write a
// directory above it can rename what is in it, but for what belongs to others where it is sticky.
func trustedWay(name string) error {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		var stat unix.Stat_t
		if err := unix.Lstat(dir, &stat); err != nil {
			return &fs.PathError{Op: "lstat", Path: dir, Err: err}
		}
		if stat.Mode&unix.S_ISVTX != 0 {
			stat.Mode &^= 0o022
		}
		if trustedStat(dir, stat.Uid, stat.Gid, stat.Mode) != nil {
			return fmt.Errorf("others than root can write %s (uid %d, mode %04o), and could put something else in the place of %s; "+
				"keep it where only root can write, such as below /srv", dir, stat.Uid, stat.Mode&0o7777, name)
		}
		if dir == "/" {
			return nil
		}
	}
}

// trustedAt is trusted for what links may lead to, and for the way there.
func trustedAt(name string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	return errors.Join(trusted(real), trustedWay(real))
}

// trustedRef is trusted for a branch: for its file, and the directories in which that lies.
func (r *Repository) trustedRef(branch string) error {
	for name := branch; name != "refs"; name = path.Dir(name) {
		err := trusted(r.refPath(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return nil
}
