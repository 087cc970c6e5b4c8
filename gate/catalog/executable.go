package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxExecutable bounds what is hashed before a run.
const maxExecutable = 1 << 30

// An identity tells whether a path still means the file that was looked at.
type identity struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64 // nanoseconds
}

// A measured executable is one whose bytes were read.
type measured struct {
	real   string // with all links followed
	sha256 string
	id     identity
}

func identify(f *os.File) (identity, uint32, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return identity{}, 0, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identity{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}, uint32(st.Mode), nil
}

// measure hashes the program at path.
func measure(path string) (measured, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return measured{}, &Error{Code: ExecutableMissing, Err: err}
	}
	defer f.Close()
	id, mode, err := identify(f)
	if err != nil {
		return measured{}, &Error{Code: ExecutableMissing, Err: err}
	}
	switch {
	case mode&unix.S_IFMT != unix.S_IFREG || mode&0o111 == 0:
		return measured{}, failed(ExecutableMissing, "%s is no file that can be run", path)
	case id.Size > maxExecutable:
		return measured{}, failed(ExecutableMissing, "%s is larger than %d bytes", path, maxExecutable)
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(f, maxExecutable+1))
	if err != nil {
		return measured{}, &Error{Code: ExecutableMissing, Err: err}
	}
	if after, _, err := identify(f); err != nil || after != id || n != id.Size {
		return measured{}, failed(ExecutableChanged, "%s changed while it was read", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return measured{}, &Error{Code: ExecutableMissing, Err: err}
	}
	return measured{real: real, sha256: hex.EncodeToString(hash.Sum(nil)), id: id}, nil
}

// rootsOwn reports an error unless only root can change what a path means: each directory, link and file on the way.
func rootsOwn(path string) error {
	return onTheWay(path, func(at string, st *unix.Stat_t) error {
		link := st.Mode&unix.S_IFMT == unix.S_IFLNK
		if st.Uid != 0 || !link && st.Mode&0o022 != 0 {
			return fmt.Errorf("%s can be changed by others than root", at)
		}
		return nil
	})
}

// verify takes the digest of a tool's program anew and compares it with what was frozen. boundary asks for a program that
// nobody but root can change.
func (t *Tool) verify(boundary bool) (measured, error) {
	path := t.Argv[0]
	if why := runsOthers(path); why != "" {
		return measured{}, failed(Shell, "%s", why)
	}
	m, err := measure(path)
	if err != nil {
		return m, err
	}
	if m.real != t.frozen.Path || !t.frozen.has(m.sha256) {
		return m, failed(ExecutableChanged, "%s (%s, SHA-256 %.12s…) is not the program that was frozen; a person can look at it and run: "+
			"gate catalog freeze", path, m.real, m.sha256)
	}
	if boundary {
		if err := rootsOwn(path); err != nil {
			return m, &Error{Code: ExecutableOpen, Err: err}
		}
	}
	return m, nil
}

// still reports an error unless path means the file that was measured.
func (id identity) still(path string) error {
	f, err := openAt(path)
	if err != nil {
		return err
	}
	defer f.Close()
	now, _, err := identify(f)
	if err == nil && now != id {
		err = errors.New(path + " was replaced while the call was prepared")
	}
	return err
}
