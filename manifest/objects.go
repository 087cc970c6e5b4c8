package manifest

import (
	"crypto/sha256"
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
	// last is when the last manifest was written. What happened to an object since then was not this publisher's doing.
	last unix.Timespec
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
	o := &objects{export: export, dir: dir, disk: disk}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(export, manifestName), &st); err == nil {
		o.last = st.Ctim
	}
	return o, nil
}

func (o *objects) close() error { return o.dir.Close() }

// has judges by what stat says, and reads only what changed since the last manifest was written, or in the same tick of
// the clock. An object that its reader would refuse for what it is does not count.
func (o *objects) has(digest string, size int64) (bool, error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(int(o.dir.Fd()), objectName(digest), &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, &fs.PathError{Op: "stat", Path: o.name(digest), Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size != size || st.Nlink != 1:
		return false, nil
	case before(st.Ctim, o.last):
		return true, nil
	default:
		return o.holds(digest, size)
	}
}

// holds reads an object.
func (o *objects) holds(digest string, size int64) (bool, error) {
	f, err := os.Open(o.name(digest))
	if err != nil {
		return false, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, size+1)); err != nil {
		return false, err
	}
	return hexSum(h) == digest, nil
}

func before(a, b unix.Timespec) bool { return a.Sec < b.Sec || a.Sec == b.Sec && a.Nsec < b.Nsec }

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

// An inventory is what there is of its publisher's in an export.
type inventory struct {
	objects    [256][]string // names of files by their directory
	unfinished []string      // paths of files that an earlier run did not finish
}

// list lists an export.
func (o *objects) list() (*inventory, error) {
	inv := new(inventory)
	if _, err := inv.names(o.export); err != nil {
		return nil, err
	}
	for i := range inv.objects {
		var err error
		if inv.objects[i], err = inv.names(filepath.Join(o.dir.Name(), prefix(i))); err != nil {
			return nil, err
		}
	}
	return inv, nil
}

// names lists a directory, and notes the unfinished files in it.
func (inv *inventory) names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if durable.IsTemp(name) {
			inv.unfinished = append(inv.unfinished, filepath.Join(dir, name))
		}
	}
	return names, err
}

func prefix(i int) string { return fmt.Sprintf("%02x", i) }

// maxRemoved bounds what one run removes. What is left goes next time.
const maxRemoved = 10_000

// clean removes the objects that are in inv and in none of the sets, and the unfinished files. It touches nothing else,
// whatever lies there.
func (o *objects) clean(inv *inventory, sets ...map[string]bool) error {
	unwanted := inv.unfinished
	for i, names := range inv.objects {
		for _, name := range names {
			if digest := prefix(i) + name; !inAny(sets, digest) && validDigest(digest) == nil {
				unwanted = append(unwanted, o.name(digest))
			}
		}
	}
	for _, name := range unwanted[:min(len(unwanted), maxRemoved)] {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
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
