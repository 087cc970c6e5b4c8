package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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

// openPlain opens a path that holds no link. Where a directory is closed, the error names the first of those in it.
func openPlain(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		return os.NewFile(uintptr(fd), path), nil
	}
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrPermission) && dir != path {
		f, err := openPlain(dir)
		if err != nil {
			return nil, err
		}
		f.Close()
	}
	return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
}

// openBeneath opens a path below a directory. The kernel looks at nothing that is not below it.
func openBeneath(dir, rel string, flags uint64) (*os.File, error) {
	at, err := openPlain(dir)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	if rel == "" {
		rel = "."
	}
	path := filepath.Join(dir, rel)
	fd, err := unix.Openat2(int(at.Fd()), rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	switch {
	case errors.Is(err, unix.EXDEV):
		return nil, fmt.Errorf("%s leads out of the project, or by an absolute link", path)
	case err != nil:
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// byDescriptor is a path that leads to an open file, whatever becomes of its own.
func byDescriptor(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
