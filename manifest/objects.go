package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// objects are the contents in an export, as its publisher sees them: one file each, objects/ab/cdef…, named by its
// SHA-256. Nobody else may be publishing meanwhile. Workers use it at the same time.
type objects struct {
	export  string
	dir     *os.File
	disk    durable.Disk
	written atomic.Int64
}

// objectName is the path of an object below the directory of the objects.
func objectName(digest string) string { return digest[:2] + "/" + digest[2:] }

// openObjects opens the objects of an export, and makes their directory if there is none.
func openObjects(export string, disk durable.Disk) (*objects, error) {
	name := filepath.Join(export, objectsName)
	if err := makeDir(disk, name, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &objects{export: export, dir: dir, disk: disk}, nil
}

func (o *objects) close() error { return o.dir.Close() }

// has judges by the size alone. An object that its reader would refuse for what it is does not count.
func (o *objects) has(digest string, size int64) (bool, error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(int(o.dir.Fd()), objectName(digest), &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, &fs.PathError{Op: "stat", Path: o.name(digest), Err: err}
	}
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == size && st.Nlink == 1, nil
}

func (o *objects) name(digest string) string { return filepath.Join(o.dir.Name(), objectName(digest)) }

func (o *objects) keep(digest string, data []byte) error {
	return o.put(digest, func(name string) error { return o.disk.Put(name, data, 0o644) })
}

func (o *objects) keepFrom(digest string, fill func(io.Writer) error) error {
	return o.put(digest, func(name string) error { return o.disk.PutFrom(name, 0o644, fill) })
}

func (o *objects) put(digest string, write func(name string) error) error {
	name := o.name(digest)
	if err := makeDir(o.disk, filepath.Dir(name), 0o755); err != nil {
		return err
	}
	o.written.Add(1)
	return write(name)
}

// An inventory is what a publisher may remove from an export.
type inventory struct {
	digests    []string // of objects
	unfinished []string // names of files
}

// list lists the objects, and what an earlier run left unfinished.
func (o *objects) list() (*inventory, error) {
	inv := new(inventory)
	if err := inv.add(o.export, ""); err != nil {
		return nil, err
	}
	for i := range 256 {
		prefix := fmt.Sprintf("%02x", i)
		if err := inv.add(filepath.Join(o.dir.Name(), prefix), prefix); err != nil {
			return nil, err
		}
	}
	return inv, nil
}

func (inv *inventory) add(dir, prefix string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		switch name := e.Name(); {
		case !e.Type().IsRegular():
		case validDigest(prefix+name) == nil:
			inv.digests = append(inv.digests, prefix+name)
		case durable.IsTemp(name):
			inv.unfinished = append(inv.unfinished, filepath.Join(dir, name))
		}
	}
	return err
}

// maxRemoved bounds what one run removes. What is left goes next time.
const maxRemoved = 10_000

// clean removes those of the objects in inv that are in none of the sets, and the unfinished files. It touches nothing
// else, whatever lies there.
func (o *objects) clean(inv *inventory, sets ...map[string]bool) error {
	unwanted := inv.unfinished
	for _, digest := range inv.digests {
		if !inAny(sets, digest) {
			unwanted = append(unwanted, o.name(digest))
		}
	}
	for _, name := range unwanted[:min(len(unwanted), maxRemoved)] {
		err := o.disk.Do("remove", name, func() error { return os.Remove(name) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove old objects: %w", err)
		}
	}
	return nil
}

func inAny(sets []map[string]bool, digest string) bool {
	for _, set := range sets {
		if set[digest] {
			return true
		}
	}
	return false
}
