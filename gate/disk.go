package gate

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Disk is what judging asks about files. No method may block for long or read without bound.
type Disk interface {
	Lstat(path string) (fs.FileInfo, error)
	Readlink(path string) (string, error)
	// Straight reports whether a path is a directory, and neither it nor one above it is a link. False may be wrong.
	Straight(path string) bool
	// List returns the names in a directory, at most max of them; more is set if there are others.
	List(dir string, max int) (names []fs.DirEntry, more bool, err error)
}

// machine is the disk of this machine. It opens nothing but directories and regular files, and never waits for a writer.
type machine struct{}

func (machine) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }
func (machine) Readlink(path string) (string, error)   { return os.Readlink(path) }

func (machine) List(dir string, max int) ([]fs.DirEntry, bool, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	names, err := f.ReadDir(max + 1)
	if err == io.EOF {
		err = nil
	}
	if len(names) > max {
		return names[:max], true, nil
	}
	return names, false, err
}

// readRegular returns at most max bytes of a regular file.
func readRegular(path string, max int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var size int64
	if info, err := f.Stat(); err == nil {
		size = min(info.Size(), max)
	}
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // so that it need not grow
	_, err = b.ReadFrom(io.LimitReader(f, max))
	return b.Bytes(), err
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
