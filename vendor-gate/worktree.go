package vendorgate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// A workTree is the files that the operator sees. Names are relative to it and use slashes. No symbolic link is ever
// followed, and no other file system entered.
type workTree struct {
	disk   durable.Disk
	root   string
	temp   string // a file on the same file system, for what is being written
	device uint64
	// The directory that was looked at last stays open, since its neighbours come next.
	last   string
	lastFD int
}

func (r *Repository) openWorkTree() (*workTree, error) {
	var stat unix.Stat_t
	if err := unix.Stat(r.git, &stat); err != nil {
		return nil, fmt.Errorf("stat %s: %w", r.git, err)
	}
	return &workTree{disk: r.Disk, root: r.path, temp: r.own(ownFile), device: stat.Dev, lastFD: -1}, nil
}

// forget closes the directory that was looked at last. It must be called before directories change.
func (w *workTree) forget() {
	if w.lastFD >= 0 {
		unix.Close(w.lastFD)
	}
	w.last, w.lastFD = "", -1
}

// lookIn opens a directory that exists. It stays open until the next call.
func (w *workTree) lookIn(dir string) (int, error) {
	if w.lastFD >= 0 && w.last == dir {
		return w.lastFD, nil
	}
	w.forget()
	fd, err := w.openDir(dir, false)
	if err != nil {
		return -1, err
	}
	w.last, w.lastFD = dir, fd
	return fd, nil
}

// A blockedError says that a part of a path is no directory.
type blockedError struct{ name string }

func (e *blockedError) Error() string { return fmt.Sprintf("%q is no directory", e.name) }

// openDir opens a directory part by part, and makes those that are missing if create is set.
func (w *workTree) openDir(dir string, create bool) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open(w.root, flags, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", w.root, err)
	}
	if dir == "." {
		return fd, nil
	}
	for i, part := range strings.Split(dir, "/") {
		parent := fd
		if fd, err = unix.Openat(parent, part, flags, 0); create && err == unix.ENOENT {
			if err = unix.Mkdirat(parent, part, 0o755); err == nil {
				if fd, err = unix.Openat(parent, part, flags, 0); err == nil {
					err = unix.Fchmod(fd, 0o755)
				}
			}
		}
		unix.Close(parent)
		name := path.Join(strings.Split(dir, "/")[:i+1]...)
		switch {
		case err == unix.ELOOP, err == unix.ENOTDIR:
			return -1, &blockedError{name}
		case err != nil:
			return -1, fmt.Errorf("open %q in the work tree: %w", name, err)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil || stat.Dev != w.device {
			unix.Close(fd)
			return -1, fmt.Errorf("%q is on another file system than .git, which is not supported", name)
		}
		// Who can write it can put links, pipes and other people's files into it while it is worked on.
		if err := trusted(filepath.Join(w.root, name)); err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

// stat says what is at name. Where nothing is, the error is ENOENT, or a blockedError.
func (w *workTree) stat(name string) (stat unix.Stat_t, err error) {
	dir, err := w.lookIn(path.Dir(name))
	if err != nil {
		return stat, err
	}
	if err := unix.Fstatat(dir, path.Base(name), &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stat, fmt.Errorf("stat %q in the work tree: %w", name, err)
	}
	return stat, nil
}

// hash returns the name of the blob that a file's bytes would be.
func (w *workTree) hash(name string) (plumbing.Hash, error) {
	dir, err := w.lookIn(path.Dir(name))
	if err != nil {
		return plumbing.Hash{}, err
	}
	fd, err := unix.Openat(dir, path.Base(name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return plumbing.Hash{}, fmt.Errorf("open %q in the work tree: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return plumbing.Hash{}, err
	}
	hasher := plumbing.NewHasher(plumbing.BlobObject, info.Size())
	if _, err := io.Copy(hasher, f); err != nil {
		return plumbing.Hash{}, err
	}
	return hasher.Sum(), nil
}

// list returns the names of all files below the directory dir.
func (w *workTree) list(dir string) ([]string, error) {
	fd, err := w.openDir(dir, false)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := dir + "/" + e.Name()
		if !e.IsDir() {
			names = append(names, name)
			continue
		}
		below, err := w.list(name)
		if err != nil {
			return nil, err
		}
		names = append(names, below...)
	}
	slices.Sort(names)
	return names, nil
}

// write replaces the file name. It is not flushed to the disk.
func (w *workTree) write(name string, executable bool, modified time.Time, content io.Reader) error {
	w.forget()
	return w.disk.Do("checkout", filepath.Join(w.root, name), func() error {
		if err := os.Remove(w.temp); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		f, err := os.OpenFile(w.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		perm := os.FileMode(0o644)
		if executable {
			perm = 0o755
		}
		if err := errors.Join(err, f.Chmod(perm), f.Close(), os.Chtimes(w.temp, modified, modified)); err != nil {
			return err
		}
		dir, err := w.openDir(path.Dir(name), true)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		if err := removeEmptyDirs(filepath.Join(w.root, name)); err != nil {
			return err
		}
		if err := unix.Renameat(unix.AT_FDCWD, w.temp, dir, path.Base(name)); err != nil {
			return fmt.Errorf("rename to %q in the work tree: %w", name, err)
		}
		return nil
	})
}

// remove removes the file name, and then the directories above it that are empty, up to but not with the directory top.
func (w *workTree) remove(name, top string) error {
	w.forget()
	return w.disk.Do("checkout", filepath.Join(w.root, name), func() error {
		for flags := 0; name != top; flags = unix.AT_REMOVEDIR {
			dir, err := w.openDir(path.Dir(name), false)
			if err != nil {
				return err
			}
			err = unix.Unlinkat(dir, path.Base(name), flags)
			unix.Close(dir)
			switch {
			case flags != 0 && (err == unix.ENOTEMPTY || err == unix.EEXIST):
				return nil
			case err != nil && err != unix.ENOENT:
				return fmt.Errorf("remove %q from the work tree: %w", name, err)
			}
			name = path.Dir(name)
		}
		return nil
	})
}
