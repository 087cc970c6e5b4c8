package vendorgate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	cacheSize     = 16 * cache.MiByte
	largeObject   = 1 << 20  // larger ones are streamed
	maxTree       = 64 << 20 // bytes of one tree or commit
	maxAlternates = 5        // as deep as git follows them
)

// objects reads the object store of a repository and of those that it borrows from. Every object that is read to its
// end has been checked against its name, which go-git does not do.
type objects struct {
	git      string
	replaced map[plumbing.Hash]bool // those for which git shows other ones

	mu      sync.Mutex
	stores  []objectStore
	digests map[plumbing.Hash]digest // of blobs that have been hashed
}

type digest struct {
	sha256 string
	size   int64
}

// An objectStore is one directory of objects.
type objectStore struct {
	*filesystem.ObjectStorage
	dir string
}

func openObjects(git string) (*objects, error) {
	o := &objects{git: git, digests: make(map[plumbing.Hash]digest)}
	var err error
	if o.replaced, err = replacedObjects(git); err != nil {
		return nil, err
	}
	return o, o.add(filepath.Join(git, "objects"), 0)
}

// close closes the packs. They are opened again when they are needed.
func (o *objects) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeStores()
}

func (o *objects) closeStores() {
	for _, store := range o.stores {
		store.Close()
	}
}

// add opens the object directory dir and its alternates. go-git would read relative alternates as something else.
func (o *objects) add(dir string, depth int) error {
	if filepath.Base(dir) != "objects" || depth > maxAlternates {
		return fmt.Errorf("cannot read objects borrowed from %q; run git repack -a -d and remove objects/info/alternates", dir)
	}
	if depth > 0 { // what is borrowed is opened as plainly as what is ours
		if err := trustedAt(dir); err != nil {
			return fmt.Errorf("objects borrowed from %q: %w", dir, err)
		}
	}
	fsys := osfs.New(filepath.Dir(dir))
	o.stores = append(o.stores, objectStore{filesystem.NewObjectStorageWithOptions(dotgit.New(fsys), cache.NewObjectLRU(cacheSize),
		filesystem.Options{LargeObjectThreshold: largeObject, KeepDescriptors: true}), dir})
	list, err := os.ReadFile(filepath.Join(dir, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(dir, line)
		}
		if err := o.add(filepath.Clean(line), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// open returns an object's size, which is at most limit, and its bytes. Another process may have packed the store anew since it was opened, so
// whatever fails is tried once more with fresh eyes.
func (o *objects) open(kind plumbing.ObjectType, id plumbing.Hash, limit int64) (size int64, r io.ReadCloser, err error) {
	if kind != plumbing.CommitObject { // histories are patched together with replaced commits: descend looks at those
		if err := o.checkReplaced(kind, id); err != nil {
			return 0, nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if size, r, err = o.find(kind, id, limit); err == nil {
		return size, r, nil
	}
	fresh, openErr := openObjects(o.git)
	if openErr != nil {
		return 0, nil, openErr
	}
	o.closeStores()
	o.stores = fresh.stores
	if size, r, err = o.find(kind, id, limit); err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", kind, id, err)
	}
	return size, r, nil
}

func (o *objects) find(kind plumbing.ObjectType, id plumbing.Hash, limit int64) (int64, io.ReadCloser, error) {
	for _, store := range o.stores {
		// Where there are alternates, go-git would go on to look there in its own way.
		if len(o.stores) > 1 {
			if err := store.HasEncodedObject(id); errors.Is(err, plumbing.ErrObjectNotFound) {
				continue
			} else if err != nil {
				return 0, nil, err
			}
		}
		if err := store.checkSize(id, limit); err != nil {
			return 0, nil, err
		}
		encoded, err := store.EncodedObject(kind, id)
		if err != nil {
			return 0, nil, err
		}
		if size := encoded.Size(); size > limit {
			return 0, nil, tooBig(size, limit)
		}
		r, err := encoded.Reader()
		if err != nil {
			return 0, nil, err
		}
		return encoded.Size(), &verifying{r, plumbing.NewHasher(kind, encoded.Size()), id}, nil
	}
	return 0, nil, plumbing.ErrObjectNotFound
}

// checkSize looks at the size of a packed object before go-git takes it apart: one that is a difference to another is put
// together in memory, and a few bytes may say that it is large. A loose one is streamed.
func (s objectStore) checkSize(id plumbing.Hash, limit int64) error {
	if _, err := os.Lstat(loosePath(s.dir, id)); err == nil {
		return nil
	}
	size, err := s.EncodedObjectSize(id)
	if err == nil && size > limit {
		err = tooBig(size, limit)
	}
	return err
}

var errTooBig = errors.New("more than the limit")

func tooBig(size, limit int64) error {
	return fmt.Errorf("%d bytes are %w of %d", size, errTooBig, limit)
}

// read returns the bytes of a commit or tree.
func (o *objects) read(kind plumbing.ObjectType, id plumbing.Hash) ([]byte, error) {
	size, r, err := o.open(kind, id, maxTree)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = b.ReadFrom(r)
	return b.Bytes(), err
}

func (o *objects) commit(id string) (*object.Commit, error) {
	hash := plumbing.NewHash(id)
	data, err := o.read(plumbing.CommitObject, hash)
	if err != nil {
		return nil, err
	}
	encoded := new(plumbing.MemoryObject)
	encoded.SetType(plumbing.CommitObject)
	if _, err := encoded.Write(data); err != nil {
		return nil, err
	}
	c := new(object.Commit)
	if err := c.Decode(encoded); err != nil {
		return nil, fmt.Errorf("commit %s: %w", id, err)
	}
	return c, nil
}

// verifying reads an object and ends in an error if the bytes are not those that the name stands for.
type verifying struct {
	io.ReadCloser
	hasher plumbing.Hasher
	id     plumbing.Hash
}

func (v *verifying) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.hasher.Write(p[:n])
	if err == io.EOF && v.hasher.Sum() != v.id {
		err = fmt.Errorf("object %s is corrupt: its bytes do not make its name; git fsck tells more", v.id)
	}
	return n, err
}
