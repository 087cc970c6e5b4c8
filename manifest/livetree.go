package manifest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// A liveTree changes live files by the paths of their entries. It works in directories that it has opened from the live
// root down, one component after the other and no link, so that what it writes lands in the tree. It guards against
// accidents only: who runs it could write the files without it.
type liveTree struct {
	disk  durable.Disk
	roots map[string]string // absolute path of each live root by its name
	dir   *os.Root          // the directory that was used last
	path  string            // its path
	lent  map[string]Mode   // modes of directories that were made writable for the time being
}

func newLiveTree(disk durable.Disk, src Source) *liveTree {
	t := &liveTree{disk: disk, roots: make(map[string]string), lent: make(map[string]Mode)}
	for _, live := range src.Live {
		t.roots[live.Name] = live.Root
	}
	return t
}

// close gives back the modes that are still lent.
func (t *liveTree) close() error {
	var errs []error
	for path, mode := range t.lent {
		errs = append(errs, t.chmod(path, mode))
	}
	t.leave()
	return errors.Join(errs...)
}

// file is the name by which people know path.
func (t *liveTree) file(path string) string {
	name, rel, _ := strings.Cut(path, "/")
	return filepath.Join(t.roots[name], rel)
}

func (t *liveTree) isDir(path string) (bool, error) {
	info, err := os.Lstat(t.file(path))
	return err == nil && info.IsDir(), err
}

// writable reports why the entry at path cannot be written or removed: the nearest directory that exists neither lets
// this user write nor belongs to them.
func (t *liveTree) writable(path string) error {
	for dir := filepath.Dir(t.file(path)); ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if err := unix.Lstat(dir, &st); errors.Is(err, fs.ErrNotExist) && dir != "/" {
			continue
		}
		err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		if err != nil && int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("%q cannot be written: this user may not write in %s: %w", path, dir, err)
		}
		return nil
	}
}

// write replaces what is at path, unless it is a directory, with a file that fill writes.
func (t *liveTree) write(path string, mode Mode, fill func(io.Writer) error) error {
	dir, base, err := t.parent(path)
	if err != nil {
		return err
	}
	return t.disk.Do("write", t.file(path), func() error {
		temp := tempName()
		f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		err = errors.Join(fill(f), f.Chmod(mode.fileMode()), f.Sync(), f.Close())
		return finish(dir, temp, base, err)
	})
}

// symlink replaces what is at path, unless it is a directory, with a link.
func (t *liveTree) symlink(path, target string) error {
	dir, base, err := t.parent(path)
	if err != nil {
		return err
	}
	return t.disk.Do("symlink", t.file(path), func() error {
		temp := tempName()
		if err := dir.Symlink(target, temp); err != nil {
			return err
		}
		return finish(dir, temp, base, nil)
	})
}

// mkdir makes a directory that only its owner may use; chmod follows when it is full.
func (t *liveTree) mkdir(path string) error {
	dir, base, err := t.parent(path)
	if err != nil {
		return err
	}
	return t.disk.Do("mkdir", t.file(path), func() error {
		if err := dir.Mkdir(base, 0o700); err != nil {
			return err
		}
		return flush(dir)
	})
}

// remove removes a file, a link or an empty directory.
func (t *liveTree) remove(path string) error {
	dir, base, err := t.parent(path)
	if err != nil {
		return err
	}
	delete(t.lent, path)
	return t.disk.Do("remove", t.file(path), func() error {
		if err := dir.Remove(base); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return flush(dir)
	})
}

// chmod sets the mode of a directory.
func (t *liveTree) chmod(path string, mode Mode) error {
	dir, err := t.enter(path)
	if err != nil {
		return err
	}
	return t.disk.Do("chmod", t.file(path), func() error {
		f, err := dir.Open(".")
		if err != nil {
			return err
		}
		defer f.Close()
		if err := errors.Join(f.Chmod(mode.fileMode()), f.Sync()); err != nil {
			return err
		}
		delete(t.lent, path)
		return nil
	})
}

// parent opens the directory that holds path, makes it if it is above a live root, and lends it a mode that allows to
// write in it if it is not.
func (t *liveTree) parent(file string) (dir *os.Root, base string, err error) {
	if !strings.Contains(file, "/") {
		above := filepath.Dir(t.file(file))
		if err := t.disk.MkdirAll(above, 0o755); err != nil {
			return nil, "", err
		}
		t.leave()
		t.dir, err = os.OpenRoot(above)
		return t.dir, filepath.Base(t.file(file)), err
	}
	parent := path.Dir(file)
	if dir, err = t.enter(parent); err != nil {
		return nil, "", err
	}
	info, err := dir.Stat(".")
	if err != nil {
		return nil, "", err
	}
	if mode := modeOf(info.Mode()); mode&0o200 == 0 {
		if err := t.chmod(parent, mode|0o200); err != nil {
			return nil, "", err
		}
		t.lent[parent] = mode
	}
	return dir, path.Base(file), nil
}

// enter opens the directory at path.
func (t *liveTree) enter(path string) (*os.Root, error) {
	if t.dir != nil && t.path == path {
		return t.dir, nil
	}
	t.leave()
	name, rel, below := strings.Cut(path, "/")
	dir, err := openOnly(t.roots[name], os.Lstat, os.OpenRoot)
	for below && err == nil {
		var part string
		part, rel, below = strings.Cut(rel, "/")
		dir, err = into(dir, part)
	}
	if err != nil {
		return nil, fmt.Errorf("open live directory %q: %w", path, err)
	}
	t.dir, t.path = dir, path
	return dir, nil
}

func (t *liveTree) leave() {
	if t.dir != nil {
		t.dir.Close()
	}
	t.dir, t.path = nil, ""
}

// into opens a directory in dir, which it closes.
func into(dir *os.Root, name string) (*os.Root, error) {
	defer dir.Close()
	return openOnly(name, dir.Lstat, dir.OpenRoot)
}

// openOnly opens a directory but follows no link, as os.OpenRoot does, and as an os.Root does with one that stays in it.
func openOnly(name string, lstat func(string) (fs.FileInfo, error), open func(string) (*os.Root, error)) (*os.Root, error) {
	seen, err := lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.ENOTDIR}
	}
	dir, err := open(name)
	if err != nil {
		return nil, err
	}
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(seen, opened) {
		return nil, errors.Join(err, &fs.PathError{Op: "open", Path: name, Err: unix.ESTALE}, dir.Close())
	}
	return dir, nil
}

// finish gives the file temp in dir its name, or removes it if it could not be written.
func finish(dir *os.Root, temp, name string, err error) error {
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return flush(dir)
}

func flush(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// tempName is a name that durable.IsTemp knows.
func tempName() string { return ".tmp-" + rand.Text() }

// fileMode is the mode as package os has it.
func (m Mode) fileMode() fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	for _, special := range specialBits() {
		if m&special.kernel != 0 {
			mode |= special.os
		}
	}
	return mode
}

func modeOf(mode fs.FileMode) Mode {
	m := Mode(mode.Perm())
	for _, special := range specialBits() {
		if mode&special.os != 0 {
			m |= special.kernel
		}
	}
	return m
}

type modeBit struct {
	kernel Mode
	os     fs.FileMode
}

func specialBits() [3]modeBit {
	return [3]modeBit{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}}
}
