package wiring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxFile is more than any client's settings are.
const maxFile = 4 << 20

// A target is the file that a name of a client's settings leads to.
type target struct {
	path   string // with every link followed
	exists bool
	data   []byte
	mode   fs.FileMode
}

// follow finds the file behind a name, and says why it must not be written if that is so. within is the directory that
// it has to lie in when links lead to it, "" for root's own files, where no links are followed at all.
func (h Host) follow(name, within string) (target, error) {
	if within == "" {
		return h.rootTarget(name)
	}
	real, err := resolve(name)
	if err != nil {
		return target{}, err
	}
	base, err := resolve(within)
	if err != nil {
		return target{}, err
	}
	if !below(real, base) {
		return target{}, fmt.Errorf("%s leads to %s, which is outside of %s: change it where it comes from, or take the link away", name, real, base)
	}
	return h.readTarget(name, real)
}

func (h Host) readTarget(name, real string) (target, error) {
	t := target{path: real, mode: 0o644}
	info, err := os.Lstat(real)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case !info.Mode().IsRegular():
		return t, fmt.Errorf("%s is no regular file", name)
	case ok && int(stat.Uid) != h.UID:
		return t, fmt.Errorf("%s belongs to uid %d: run this as that user", name, stat.Uid)
	case info.Mode().Perm()&0o200 == 0:
		return t, fmt.Errorf("%s is read-only (mode %04o), so something else looks after it: chmod u+w it first", name, info.Mode().Perm())
	case info.Size() > maxFile:
		return t, fmt.Errorf("%s has %d bytes, which no settings have", name, info.Size())
	}
	t.exists, t.mode = true, info.Mode().Perm()
	t.data, err = os.ReadFile(real)
	return t, err
}

// rootTarget is follow for files that only root may reach.
func (h Host) rootTarget(name string) (target, error) {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return target{}, err
		case !info.IsDir():
			return target{}, fmt.Errorf("%s is no directory", dir)
		default:
			if why := h.open(info); why != "" {
				return target{}, fmt.Errorf("%s %s: what is below it would not be root's alone", dir, why)
			}
		}
		if dir == filepath.Dir(dir) || dir == filepath.Clean(h.Root) {
			break
		}
	}
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return target{}, fmt.Errorf("%s is a link: an administrator's file has to be one itself", name)
	}
	return h.readTarget(name, name)
}

// open says how others than root can change a file or directory, "" if they cannot.
func (h Host) open(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "has no owner"
	case stat.Uid != 0 && int(stat.Uid) != h.UID:
		return fmt.Sprintf("belongs to uid %d", stat.Uid)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Sprintf("can be written by others (mode %04o)", info.Mode().Perm())
	default:
		return ""
	}
}

// resolve follows every link of a name; what is missing at its end stays as it is.
func resolve(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%s is a link that leads nowhere", name)
	}
	dir := filepath.Dir(name)
	if dir == name {
		return name, nil
	}
	real, err = resolve(dir)
	return filepath.Join(real, filepath.Base(name)), err
}

// below reports whether a path is a directory or lies in it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
