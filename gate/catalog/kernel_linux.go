package catalog

import (
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

// byDescriptor is a path that leads to an open file, whatever becomes of its own.
func byDescriptor(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
