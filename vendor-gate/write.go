package vendorgate

import (
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"

	"gatehouse/manifest"
)

// An objectWriter adds loose objects to a repository, not yet flushed to the disk. What a crash leaves unfinished is
// named as git names such files, so that git's own housekeeping removes it.
type objectWriter struct {
	r       *Repository
	dry     bool                   // only work out names
	have    map[plumbing.Hash]bool // what the parent commit has, and git will therefore keep
	written []plumbing.Hash
	zlib    *zlib.Writer
}

// write adds an object of size bytes, which fill writes.
func (w *objectWriter) write(
	kind plumbing.ObjectType, size int64, fill func(io.Writer) error,
) (id plumbing.Hash, err error) {
	if w.dry {
		hasher := plumbing.NewHasher(kind, size)
		err = fill(hasher)
		return hasher.Sum(), err
	}
	dir := filepath.Join(w.r.git, "objects")
	err = w.r.Disk.Do("put", filepath.Join(dir, kind.String()), func() error {
		f, err := os.CreateTemp(dir, "tmp_obj_")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name()) // there is nothing to remove after the rename
		id, err = w.compress(f, kind, size, fill)
		if err := errors.Join(err, f.Chmod(0o444), f.Close()); err != nil {
			return err
		}
		return place(f.Name(), dir, id)
	})
	w.written = append(w.written, id)
	return id, err
}

// compress writes an object as git stores it and returns its name.
func (w *objectWriter) compress(
	f io.Writer, kind plumbing.ObjectType, size int64, fill func(io.Writer) error,
) (plumbing.Hash, error) {
	if w.zlib == nil {
		var err error
		if w.zlib, err = zlib.NewWriterLevel(f, zlib.BestSpeed); err != nil { // the level that git takes
			return plumbing.Hash{}, err
		}
	} else {
		w.zlib.Reset(f)
	}
	hasher := plumbing.NewHasher(kind, size)
	if _, err := w.zlib.Write([]byte(kind.String() + " " + strconv.FormatInt(size, 10) + "\x00")); err != nil {
		return plumbing.Hash{}, err
	}
	if err := fill(io.MultiWriter(w.zlib, hasher)); err != nil {
		return plumbing.Hash{}, err
	}
	return hasher.Sum(), w.zlib.Close()
}

// place gives a finished object its name. One that is there already is replaced by its like, with a new time: git
// removes objects that nothing refers to when they are old.
func place(temp, dir string, id plumbing.Hash) error {
	name := loosePath(dir, id)
	if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(temp, name)
}

func loosePath(dir string, id plumbing.Hash) string {
	name := id.String()
	return filepath.Join(dir, name[:2], name[2:])
}

// bytes adds a small object whose name can be known before.
func (w *objectWriter) bytes(kind plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	if id := plumbing.ComputeHash(kind, data); w.have[id] {
		return id, nil
	}
	return w.write(kind, int64(len(data)), func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
}

// blob adds the content of an entry, and takes it only if its SHA-256 is the entry's.
func (w *objectWriter) blob(e manifest.Entry, content func(manifest.Entry) (io.ReadCloser, error)) (plumbing.Hash, error) {
	in, err := content(e)
	if err != nil {
		return plumbing.Hash{}, fmt.Errorf("content of %q: %w", e.Path, err)
	}
	defer in.Close()
	return w.write(plumbing.BlobObject, e.Size, func(out io.Writer) error {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(in, e.Size+1))
		if err != nil {
			return fmt.Errorf("content of %q: %w", e.Path, err)
		}
		if digest := hex.EncodeToString(h.Sum(nil)); n != e.Size || digest != e.SHA256 {
			return fmt.Errorf("content of %q is not what was accepted: the SHA-256 of %d bytes is %s, not %s",
				e.Path, n, digest, e.SHA256)
		}
		return nil
	})
}

// A directory is what is to be a tree.
type directory struct {
	entries tree
	dirs    map[string]*directory
}

// put places an entry at a path below d.
func (d *directory) put(parts []string, e treeEntry) {
	if len(parts) == 1 {
		d.entries = append(d.entries, e)
		return
	}
	child := d.dirs[parts[0]]
	if child == nil {
		child = new(directory)
		if d.dirs == nil {
			d.dirs = make(map[string]*directory)
		}
		d.dirs[parts[0]] = child
	}
	child.put(parts[1:], e)
}

// directory adds the trees of d and all below it.
func (w *objectWriter) directory(d *directory) (plumbing.Hash, error) {
	t := d.entries
	for name, child := range d.dirs {
		id, err := w.directory(child)
		if err != nil {
			return plumbing.Hash{}, err
		}
		t = append(t, newTreeEntry(modeDir, name, id))
	}
	slices.SortFunc(t, compareTreeEntries)
	return w.bytes(plumbing.TreeObject, t.encode())
}
