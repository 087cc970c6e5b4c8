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
// SHA-256. They are listed once, in which time nobody else may be publishing. What has the right size counts as there;
// what its reader would refuse for other reasons does not. Workers use it at the same time.
type objects struct {
	dir     string
	disk    durable.Disk
	sizes   map[string]int64 // by digest, as listed
	stale   []string         // files that an earlier run left unfinished
	written atomic.Int64
}

// objectName is the path of an object below the directory of the objects.
func objectName(digest string) string { return digest[:2] + "/" + digest[2:] }

// listObjects lists the objects of an export. That there are none yet is no error.
func listObjects(export string, disk durable.Disk) (*objects, error) {
	o := &objects{dir: filepath.Join(export, objectsName), disk: disk, sizes: make(map[string]int64)}
	if err := o.list(export, ""); err != nil {
		return nil, err
	}
	for i := range 256 {
		prefix := fmt.Sprintf("%02x", i)
		if err := o.list(filepath.Join(o.dir, prefix), prefix); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// list notes what is in dir: unfinished files, and objects whose digest begins with prefix.
func (o *objects) list(dir, prefix string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		digest := prefix + name
		isObject := validDigest(digest) == nil
		if !isObject && !durable.IsTemp(name) {
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return &fs.PathError{Op: "stat", Path: filepath.Join(dir, name), Err: err}
		}
		switch regular := st.Mode&unix.S_IFMT == unix.S_IFREG; {
		case regular && !isObject:
			o.stale = append(o.stale, filepath.Join(dir, name))
		case regular && st.Nlink == 1:
			o.sizes[digest] = st.Size
		}
	}
	return nil
}

func (o *objects) has(digest string, size int64) (bool, error) {
	there, ok := o.sizes[digest]
	return ok && there == size, nil
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

// clean removes the objects that were listed and are in none of the sets, and the unfinished files. It touches nothing
// else, whatever lies there.
func (o *objects) clean(sets ...map[string]bool) error {
	unwanted := o.stale
	for digest := range o.sizes {
		if !inAny(sets, digest) {
			unwanted = append(unwanted, filepath.Join(o.dir, objectName(digest)))
		}
	}
	for _, name := range unwanted[:min(len(unwanted), maxRemoved)] {
		if err := o.disk.Do("remove", name, func() error { return os.Remove(name) }); err != nil {
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
