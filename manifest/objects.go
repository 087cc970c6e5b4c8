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
// SHA-256. Several goroutines may use it at once.
type objects struct {
	dir     string
	disk    durable.Disk
	written atomic.Int64
}

// objectName is the path of an object below the directory of the objects.
func objectName(digest string) string { return digest[:2] + "/" + digest[2:] }

// has judges by the size alone. An object that its reader would refuse for what it is does not count.
func (o *objects) has(digest string, size int64) (bool, error) {
	name := o.dir + "/" + objectName(digest)
	var st unix.Stat_t
	switch err := unix.Lstat(name, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == size && st.Nlink == 1, nil
}

func (o *objects) keep(digest string, data []byte) error {
	return o.put(digest, func(name string) error { return o.disk.Put(name, data, 0o644) })
}

func (o *objects) keepFrom(digest string, fill func(io.Writer) error) error {
	return o.put(digest, func(name string) error { return o.disk.PutFrom(name, 0o644, fill) })
}

func (o *objects) put(digest string, write func(name string) error) error {
	name := filepath.Join(o.dir, objectName(digest))
	for _, dir := range []string{o.dir, filepath.Dir(name)} {
		if err := makeDir(o.disk, dir, 0o755); err != nil {
			return err
		}
	}
	o.written.Add(1)
	return write(name)
}

// maxRemoved bounds what one run removes. What is left goes next time.
const maxRemoved = 10_000

// clean removes objects that are in none of the sets, and files that an earlier run left unfinished. It touches nothing
// else, whatever lies there. Nobody else may be publishing.
func (o *objects) clean(export string, sets ...map[string]bool) error {
	removed := 0
	remove := func(dir string, unwanted func(name string) bool) error {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if removed == maxRemoved || !e.Type().IsRegular() || !durable.IsTemp(e.Name()) && !unwanted(e.Name()) {
				continue
			}
			name := filepath.Join(dir, e.Name())
			if err := o.disk.Do("remove", name, func() error { return os.Remove(name) }); err != nil {
				return err
			}
			removed++
		}
		return nil
	}
	err := remove(export, func(string) bool { return false })
	for i := range 256 {
		prefix := fmt.Sprintf("%02x", i)
		err = errors.Join(err, remove(filepath.Join(o.dir, prefix), func(name string) bool {
			digest := prefix + name
			return validDigest(digest) == nil && !inAny(sets, digest)
		}))
	}
	if err != nil {
		return fmt.Errorf("remove old objects: %w", err)
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
