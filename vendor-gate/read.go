package vendorgate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"gatehouse/manifest"
)

// Vendored is the accepted copy of a gate as one commit has it.
type Vendored struct {
	Commit     string
	TreeID     string               // of the gate's directory; empty if it is not there
	Generation *manifest.Generation // never nil; without entries if nothing is vendored

	objects *objects
	blobs   map[string]plumbing.Hash // by the path of the entry
}

// TreeID identifies what commit has of the gate, at the price of a few small reads. It is empty if it has nothing.
func (r *Repository) TreeID(commit, gate string) (string, error) {
	defer r.objects.close()
	e, err := r.gateEntry(r.objects, commit, gate)
	if err != nil {
		return "", fmt.Errorf("repository %s: %w", r.path, err)
	}
	return e.treeID(), nil
}

// treeID is empty for a nil entry.
func (e *treeEntry) treeID() string {
	if e == nil {
		return ""
	}
	return e.id.String()
}

// gateEntry finds the directory of a gate in a commit. It is nil where there is none.
func (r *Repository) gateEntry(o *objects, commit, gate string) (*treeEntry, error) {
	if err := manifest.ValidGate(gate); err != nil {
		return nil, err
	}
	trees, err := o.descend(commit, r.vendored)
	if err != nil {
		return nil, err
	}
	e := trees[len(trees)-1].find(gate)
	if e != nil && e.mode&modeType != modeDir {
		return nil, fmt.Errorf("%q is %s in commit %s, not a directory", r.vendored+"/"+gate, e.kind(), commit)
	}
	return e, nil
}

// Read returns what commit has of the gate. Every blob has been read and hashed.
func (r *Repository) Read(ctx context.Context, commit, gate string, limits manifest.Limits) (*Vendored, error) {
	defer r.objects.close()
	v, err := r.read(ctx, r.objects, commit, gate, limits)
	if err != nil {
		return nil, fmt.Errorf("repository %s: read %q: %w", r.path, r.vendored+"/"+gate, err)
	}
	return v, nil
}

func (r *Repository) read(ctx context.Context, o *objects, commit, gate string, limits manifest.Limits) (*Vendored, error) {
	v := &Vendored{Commit: commit, Generation: manifest.NewGeneration(gate, nil), objects: o}
	e, err := r.gateEntry(o, commit, gate)
	if err != nil || e == nil {
		return v, err
	}
	v.TreeID = e.treeID()
	t, err := o.tree(e.id)
	if err != nil {
		return nil, err
	}
	dir := r.vendored + "/" + gate
	set, err := o.files(t, dir, limits.Entries)
	if err != nil {
		return nil, err
	}
	v.blobs = make(map[string]plumbing.Hash, len(set.files))
	var listed *manifest.Generation
	files := make([]gitFile, 0, len(set.files))
	total := int64(0)
	for _, name := range slices.Sorted(maps.Keys(set.files)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := set.files[name]
		stored, ok := strings.CutPrefix(name, dir+"/"+filesName+"/")
		if !ok {
			if listed, err = o.generation(f.id, gate, limits); err != nil {
				return nil, err
			}
			continue
		}
		path, err := manifest.UnescapePath(stored)
		if err == nil {
			err = manifest.ValidPath(path)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		d, err := o.hashBlob(f.id, limits.File)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		if total += d.size; total > limits.Total {
			return nil, fmt.Errorf("%q: with it the files have more than the limit of %d bytes together", name, limits.Total)
		}
		v.blobs[path] = f.id
		files = append(files, gitFile{path, f.mode == modeExecutable, d.size, d.sha256})
	}
	if v.Generation, err = merge(gate, files, listed); err != nil {
		return nil, err
	}
	if len(v.Generation.Entries) > limits.Entries {
		return nil, fmt.Errorf("%d entries are more than the limit of %d", len(v.Generation.Entries), limits.Entries)
	}
	return v, nil
}

// Open returns the bytes of a file of the generation.
func (v *Vendored) Open(path string) (io.ReadCloser, error) {
	id, ok := v.blobs[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	defer v.objects.close() // what is open by now stays so
	_, r, err := v.objects.open(plumbing.BlobObject, id, math.MaxInt64)
	return r, err
}

// generation reads a manifest.json.
func (o *objects) generation(id plumbing.Hash, gate string, limits manifest.Limits) (*manifest.Generation, error) {
	_, r, err := o.open(plumbing.BlobObject, id, maxTree)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		return nil, err
	}
	g, err := manifest.ParseGeneration(b.Bytes(), limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if g.Gate != gate {
		return nil, fmt.Errorf("%s is that of the gate %q", manifestName, g.Gate)
	}
	return g, nil
}

// hashBlob returns the SHA-256 and the size of a blob of at most limit bytes. It reads each blob once.
func (o *objects) hashBlob(id plumbing.Hash, limit int64) (digest, error) {
	o.mu.Lock()
	d, ok := o.digests[id]
	o.mu.Unlock()
	if ok && d.size <= limit {
		return d, nil
	}
	size, r, err := o.open(plumbing.BlobObject, id, limit)
	if err != nil {
		return digest{}, err
	}
	defer r.Close()
	h := sha256.New()
	if n, err := io.Copy(h, r); err != nil {
		return digest{}, err
	} else if n != size {
		return digest{}, fmt.Errorf("object %s has %d bytes and says it has %d", id, n, size)
	}
	d = digest{hex.EncodeToString(h.Sum(nil)), size}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.digests[id] = d
	return d, nil
}
