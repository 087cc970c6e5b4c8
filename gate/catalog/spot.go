package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A spot is a file or directory by its path and, where others could put something else there, by what it is.
type spot struct {
	Path     string
	Dev, Ino uint64 // 0: whatever is there
}

// see finds what lies at a path now, with all links followed. The answer belongs together: the kernel says where what was
// opened lies, so that a part of the path that is exchanged meanwhile is found.
func see(path string) (spot, unix.Stat_t, error) {
	var st unix.Stat_t
	f, err := openAt(path)
	if err != nil {
		return spot{}, st, err
	}
	defer f.Close()
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return spot{}, st, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return spot{Path: f.Name(), Dev: uint64(st.Dev), Ino: st.Ino}, st, nil
}

// hold opens a spot, without the right to read it. strict asks that nobody but root made a link on the way there.
func (s spot) hold(strict bool) (*os.File, error) {
	if strict {
		if err := rootsLinks(s.Path); err != nil {
			return nil, err
		}
	}
	if s.Ino == 0 {
		return openAt(s.Path)
	}
	f, err := openPlain(s.Path)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (uint64(st.Dev) != s.Dev || st.Ino != s.Ino) {
		err = fmt.Errorf("%s was exchanged while the call was prepared", s.Path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// maxLinks is how many links the kernel follows.
const maxLinks = 40

// rootsLinks reports an error if a link that an absolute path leads through belongs to others than root.
func rootsLinks(path string) error {
	return onTheWay(path, func(at string, st *unix.Stat_t) error {
		if st.Mode&unix.S_IFMT == unix.S_IFLNK && st.Uid != 0 {
			return fmt.Errorf("%s leads through the link %s, which belongs to uid %d", path, at, st.Uid)
		}
		return nil
	})
}

// onTheWay looks at each directory, link and file that an absolute path leads through, one by one, the last included.
func onTheWay(path string, look func(at string, st *unix.Stat_t) error) error {
	at, rest, links := "/", path, 0
	for {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return &fs.PathError{Op: "lstat", Path: at, Err: err}
		}
		if err := look(at, &st); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			if links++; links > maxLinks {
				return &fs.PathError{Op: "follow", Path: path, Err: unix.ELOOP}
			}
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			rest = target + "/" + rest
			at = filepath.Dir(at)
			if filepath.IsAbs(target) {
				at = "/"
			}
		}
		part := ""
		for part == "" || part == "." {
			if rest == "" {
				return nil
			}
			part, rest, _ = strings.Cut(rest, "/")
		}
		at = filepath.Join(at, part) // whose parent holds no link: it was followed before
	}
}

// within reports whether a path is a directory or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// holdPlain opens a path that holds no link, without the right to read it.
func holdPlain(path string) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	f, err := openPlain(path)
	if err != nil {
		return nil, st, err
	}
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		f.Close()
		return nil, st, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return f, st, nil
}

// seeBeneath is see for a path below a directory that holds no link, with the links that do not lead out of it.
func seeBeneath(dir, rel string) (spot, unix.Stat_t, error) {
	var st unix.Stat_t
	f, err := openBeneath(dir, rel, true)
	if err != nil {
		return spot{}, st, err
	}
	defer f.Close()
	err = unix.Fstat(int(f.Fd()), &st)
	real, linkErr := os.Readlink(byDescriptor(f))
	return spot{Path: real, Dev: uint64(st.Dev), Ino: st.Ino}, st, errors.Join(err, linkErr)
}

// beneath is inside for who looks at nothing that is not below dir.
func beneath(dir, value string) error {
	for at := value; ; at = filepath.Dir(at) {
		f, err := openBeneath(dir, at, true)
		if err == nil {
			f.Close()
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return failed(PathOutside, "%q cannot be followed: %w", value, err)
		}
		if link, err := openBeneath(dir, at, false); err == nil {
			link.Close()
			return failed(PathOutside, "%q is a link that leads nowhere", value)
		}
		if at == "." {
			return failed(NoDirectory, "%w", err)
		}
	}
}
