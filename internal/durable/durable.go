// Package durable changes files so that a crash leaves the old or the new, never a part.
//
// The promise, for every method of Disk but Put and PutFrom: when it returns nil, the content and the name are on the
// disk; when it returns an error, the name still means the old thing or already means the new one. Symbolic links are
// replaced, not followed. Put and PutFrom leave the flush to one later SyncFS, for callers that write many files before
// the one name that refers to them. Errors name the file that was to change, never a temporary one.
//
// Every change is a Step. A Disk may be given a function that is put around each step; tests use it to make a step
// fail before or after it took place, or to kill the process there. Production code uses the zero Disk.
//
// It is written here and not taken from google/renameio, which does not flush the directory and whose unfinished files
// cannot be told from others by their names (IsTemp).
//
// What is not promised: two processes that change the same name are not kept apart. Lock does that, and may only be
// used in directories that nobody else can write.
package durable

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A Step is one change that is about to be made.
type Step struct {
	Op   string // write, put, sync, append, mkdir, rename, symlink, remove, or a caller's own word
	Name string // the file that changes
}

// A Disk makes changes to files. The zero Disk is ready to use.
type Disk struct {
	// Around, if set, is called for each step and decides whether and how change is run.
	Around func(step Step, change func() error) error
}

// Do runs change as a step of its own, for durable changes that are not plain files (a reference in a git
// repository, say).
func (d Disk) Do(op, name string, change func() error) error {
	if d.Around == nil {
		return change()
	}
	return d.Around(Step{op, name}, change)
}

// WriteFile replaces the file name with data and the permissions perm, whatever the umask is.
func (d Disk) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return d.Do("write", name, func() error { return replace(name, perm, true, writing(data)) })
}

// Put is WriteFile without the flush to disk. The caller calls SyncFS before it writes what refers to name.
func (d Disk) Put(name string, data []byte, perm fs.FileMode) error {
	return d.Do("put", name, func() error { return replace(name, perm, false, writing(data)) })
}

// PutFrom is Put for content that fill produces, in memory that does not grow with it. Where fill fails, name is as
// it was.
func (d Disk) PutFrom(name string, perm fs.FileMode, fill func(io.Writer) error) error {
	return d.Do("put", name, func() error { return replace(name, perm, false, fill) })
}

// SyncFS flushes the whole file system that holds dir.
func (d Disk) SyncFS(dir string) error {
	return d.Do("sync", dir, func() error {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := syncFS(f); err != nil {
			return &fs.PathError{Op: "syncfs", Path: dir, Err: err}
		}
		return nil
	})
}

// Append adds data, whole lines, to the end of name in one write. A crash may leave a torn last line; readers of
// such a file skip a last line that does not end in a newline, and Append starts after it on a line of its own.
func (d Disk) Append(name string, data []byte, perm fs.FileMode) error {
	return d.Do("append", name, func() error { return appendTo(name, data, perm) })
}

// MkdirAll makes dir and its missing parents with the permissions perm, whatever the umask is. Directories that are
// there keep theirs. Parents may be links to directories, dir may not.
func (d Disk) MkdirAll(dir string, perm fs.FileMode) error {
	if info, err := os.Lstat(dir); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: unix.ENOTDIR}
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		if err := d.MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	return d.Do("mkdir", dir, func() error {
		if err := os.Mkdir(dir, perm); err != nil {
			// Another process may have made it in the meantime; what else stands there is in the way.
			if info, statErr := os.Lstat(dir); statErr != nil || !info.IsDir() {
				return err
			}
		} else if err := os.Chmod(dir, perm); err != nil {
			return err
		}
		return syncDir(parent)
	})
}

// Rename moves oldname to newname, both on the same file system, and replaces a file that is there. A directory in the
// way, even an empty one, is an error.
func (d Disk) Rename(oldname, newname string) error {
	return d.Do("rename", newname, func() error {
		// fs.ErrNotExist must stay recognisable: callers finish what an earlier run began.
		if err := os.Rename(oldname, newname); err != nil {
			return err
		}
		err := syncDir(filepath.Dir(newname))
		if from := filepath.Dir(oldname); from != filepath.Dir(newname) {
			err = errors.Join(err, syncDir(from))
		}
		return err
	})
}

// Symlink makes name a symbolic link to target and replaces a link or file that is there.
func (d Disk) Symlink(target, name string) error {
	return d.Do("symlink", name, func() error {
		temp := filepath.Join(filepath.Dir(name), tempPrefix+rand.Text())
		if err := os.Symlink(target, temp); err != nil {
			return about(name, err)
		}
		defer os.Remove(temp) // there is nothing to remove after the rename
		if err := os.Rename(temp, name); err != nil {
			return about(name, err)
		}
		return syncDir(filepath.Dir(name))
	})
}

// Remove removes a file or an empty directory. A name that is not there is no error.
func (d Disk) Remove(name string) error {
	return d.Do("remove", name, func() error { return remove(name, os.Remove) })
}

// RemoveAll removes name and all below it. It is not atomic: callers first rename name away if that matters.
func (d Disk) RemoveAll(name string) error {
	return d.Do("remove", name, func() error { return remove(name, os.RemoveAll) })
}

// replace writes a new file beside name and renames it over name.
func replace(name string, perm fs.FileMode, flush bool, fill func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), tempPrefix+"*")
	if err != nil {
		return about(name, err)
	}
	defer os.Remove(f.Name()) // there is nothing to remove after the rename
	err = fill(unfinished{f, name})
	if err == nil {
		err = about(name, f.Chmod(perm))
	}
	if err == nil && flush {
		err = about(name, f.Sync())
	}
	if closing := f.Close(); err == nil {
		err = about(name, closing)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil || !flush {
		return about(name, err)
	}
	return syncDir(filepath.Dir(name))
}

// An unfinished file is a temporary one until it gets its name.
type unfinished struct {
	f    *os.File
	name string
}

func (u unfinished) Write(p []byte) (int, error) {
	n, err := u.f.Write(p)
	return n, about(u.name, err)
}

// about makes an error about a temporary file one about the file that it was to become.
func about(name string, err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return &fs.PathError{Op: e.Op, Path: name, Err: e.Err}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: name, Err: e.Err}
	default:
		return err
	}
}

// tempPrefix begins the name of every file that this package has not finished. Directories that are cleaned by name
// may remove such files when no writer is at work.
const tempPrefix = ".tmp-"

// IsTemp reports whether base is the name of a file that a write left behind when it was cut short.
func IsTemp(base string) bool {
	return len(base) > len(tempPrefix) && base[:len(tempPrefix)] == tempPrefix
}

func writing(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// remove flushes a name that is not there as well: an earlier run may have removed it and died.
func remove(name string, remove func(string) error) error {
	if err := remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := syncDir(filepath.Dir(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func appendTo(name string, data []byte, perm fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	} else if end > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			data = append([]byte{'\n'}, data...)
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
