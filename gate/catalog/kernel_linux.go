package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// able reports an error where tools cannot be run.
func able() error { return nil }

// dying makes a child end with this program.
func dying() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// openAt opens what a path leads to, by the name that the kernel has for it.
func openAt(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(real, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: real, Err: err}
	}
	f := os.NewFile(uintptr(fd), real)
	at, err := os.Readlink(byDescriptor(f))
	if err == nil && at != real {
		err = fmt.Errorf("%s was exchanged while it was looked at", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openPlain opens a path that holds no link. Where a directory is closed, the error names the first of those in it. The
// service is denied openat2, by which setuid bits could be set unseen, so this and openBeneath go step by step.
func openPlain(path string) (*os.File, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	at := os.NewFile(uintptr(fd), "/")
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." {
			continue
		}
		next, st, err := step(at, part)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			next.Close()
			err = &fs.PathError{Op: "lstat", Path: next.Name(), Err: unix.ELOOP}
		}
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// step opens what has the name part in a directory, itself where it is a link.
func step(dir *os.File, part string) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	path := filepath.Join(dir.Name(), part)
	fd, err := unix.Openat(int(dir.Fd()), part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, st, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, st, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return f, st, nil
}

// openBeneath opens a path below a directory, following links but for a last one where follow is not set. Nothing is
// looked at that is not below it.
func openBeneath(dir, rel string, follow bool) (*os.File, error) {
	top, err := openPlain(dir)
	if err != nil {
		return nil, err
	}
	way := []*os.File{top} // each lies in the one before
	defer func() {
		for _, f := range way {
			f.Close()
		}
	}()
	out := fmt.Errorf("%s leads out of the project, or by an absolute link", filepath.Join(dir, rel))
	rest := strings.Split(rel, "/")
	if strings.HasPrefix(rel, "/") {
		return nil, out
	}
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(way) == 1 {
				return nil, out
			}
			way[len(way)-1].Close()
			way = way[:len(way)-1]
			continue
		}
		f, st, err := step(way[len(way)-1], part)
		if err != nil {
			return nil, err
		}
		switch kind := st.Mode & unix.S_IFMT; {
		case kind == unix.S_IFLNK && (follow || len(rest) > 0):
			target, err := readLink(f)
			f.Close()
			if links++; err == nil && links > maxLinks {
				err = &fs.PathError{Op: "lstat", Path: f.Name(), Err: unix.ELOOP}
			}
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(target, "/") {
				return nil, out
			}
			rest = append(strings.Split(target, "/"), rest...)
		case kind != unix.S_IFDIR && len(rest) > 0:
			f.Close()
			return nil, &fs.PathError{Op: "lstat", Path: f.Name(), Err: unix.ENOTDIR}
		default:
			way = append(way, f)
		}
	}
	last := way[len(way)-1]
	way = way[:len(way)-1]
	return last, nil
}

// readLink returns where an open link leads.
func readLink(link *os.File) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(link.Fd()), "", buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: link.Name(), Err: err}
	}
	return string(buf[:n]), nil
}

// byDescriptor is a path that leads to an open file, whatever becomes of its own.
func byDescriptor(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
