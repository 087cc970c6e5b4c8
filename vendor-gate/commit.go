package vendorgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"gatehouse/manifest"
)

// Commit makes the generation the accepted copy of the gate, in one commit on top of c.Parent. Where it returns an
// error and no commit, the branch, the index and the work tree are as they were. Where it returns both, the commit is
// there and what should have followed is not: Finish does the rest.
func (r *Repository) Commit(ctx context.Context, c Change) (commit string, err error) {
	defer r.objects.close()
	commit, err = r.commit(ctx, c)
	if err != nil {
		err = fmt.Errorf("repository %s: commit gate %q: %w", r.path, c.Gate, err)
	}
	return commit, err
}

func (r *Repository) commit(ctx context.Context, c Change) (commit string, err error) {
	if err := c.validate(); err != nil {
		return "", err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := r.recover(); err != nil {
		return "", fmt.Errorf("finish an earlier commit: %w", err)
	}
	if !r.bare {
		defer func() { err = errors.Join(err, r.dropLock(r.own(ownIndex), r.indexLock())) }()
		if err := r.takeLock(r.own(ownIndex), r.indexLock(), nil); err != nil {
			return "", err
		}
	}
	if err := r.checkParent(c.Parent); err != nil {
		return "", err
	}
	if err := r.checkIdle(c.Parent.Branch); err != nil {
		return "", err
	}
	b := &builder{r: r, c: c}
	for _, step := range []func(context.Context) error{b.plan, b.check, b.write, b.verify} {
		if err := step(ctx); err != nil {
			return "", err
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return b.move(context.WithoutCancel(ctx))
}

// A builder carries one commit from its parts to its place.
type builder struct {
	r *Repository
	c Change

	manifest []byte
	trees    []tree                   // of the parent, from the root to the vendored directory
	gate     tree                     // of the gate in the parent
	old      fileSet                  // of the gate in the parent
	known    map[string]plumbing.Hash // blobs of the gate in the parent, by the SHA-256 of their bytes
	new      map[string]vendoredFile  // of the gate in the commit
	refresh  *refresh                 // nil in a bare repository
	who      object.Signature         // the committer
	commit   plumbing.Hash
	written  []plumbing.Hash // objects
}

func (b *builder) dir() string { return b.r.vendored + "/" + b.c.Gate }

// maxFiles bounds what is read of a gate's parent, for which no limits are configured.
const maxFiles = 1_000_000

// plan reads what the parent has.
func (b *builder) plan(ctx context.Context) (err error) {
	limits := limitsOf(b.c.Generation)
	if b.manifest, err = b.c.Generation.Marshal(); err != nil {
		return err
	}
	if _, err := manifest.ParseGeneration(b.manifest, limits); err != nil {
		return err
	}
	o := b.r.objects
	if b.trees, err = o.descend(b.c.Parent.Commit, b.r.vendored); err != nil {
		return err
	}
	e, err := b.r.gateEntry(o, b.c.Parent.Commit, b.c.Gate)
	if err != nil {
		return err
	}
	if e != nil {
		if b.gate, err = o.tree(e.id); err != nil {
			return err
		}
	}
	if b.old, err = o.files(b.gate, b.dir(), maxFiles); err != nil {
		return err
	}
	b.known, err = b.knownBlobs(ctx, limits.File)
	return err
}

// limitsOf returns the limits that the generation just keeps.
func limitsOf(g *manifest.Generation) manifest.Limits {
	l := manifest.Limits{Entries: len(g.Entries)}
	for i := range g.Entries {
		l.File = max(l.File, g.Entries[i].Size)
		l.Total += g.Entries[i].Size
	}
	return l
}

// knownBlobs hashes what the parent has, except what is too large to be of use.
func (b *builder) knownBlobs(ctx context.Context, limit int64) (map[string]plumbing.Hash, error) {
	known := make(map[string]plumbing.Hash)
	for name, f := range b.old.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, b.dir()+"/"+filesName+"/") {
			continue
		}
		d, err := b.r.objects.hashBlob(f.id, limit)
		if err == nil {
			known[d.sha256] = f.id
		} else if !errors.Is(err, errTooBig) {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return known, nil
}

// check works out what the commit will be, and refuses it where it would change nothing or cost somebody's work.
func (b *builder) check(ctx context.Context) error {
	root, err := b.writeTrees(ctx, &objectWriter{r: b.r, dry: true})
	if err != nil {
		return err
	}
	if b.c.Parent.Commit != "" {
		parent, err := b.r.objects.commit(b.c.Parent.Commit)
		if err != nil {
			return err
		}
		if parent.TreeHash == root {
			return ErrUnchanged
		}
	}
	if b.r.bare {
		return nil
	}
	if b.refresh, err = b.r.newRefresh(b.c.Gate, b.old.files, b.new); err != nil {
		return err
	}
	return b.refresh.checkClean()
}

// write adds the objects that the parent does not have.
func (b *builder) write(ctx context.Context) error {
	w := &objectWriter{r: b.r, have: maps.Clone(b.old.trees)}
	for _, f := range b.old.files {
		w.have[f.id] = true
	}
	root, err := b.writeTrees(ctx, w)
	if err != nil {
		return err
	}
	if b.commit, err = b.writeCommit(ctx, w, root); err != nil {
		return err
	}
	b.written = w.written
	return b.r.Disk.SyncFS(b.r.git)
}

// writeTrees adds the blobs of the gate and all trees up to the root, whose name it returns.
func (b *builder) writeTrees(ctx context.Context, w *objectWriter) (plumbing.Hash, error) {
	written := make(map[string]plumbing.Hash)
	b.new = make(map[string]vendoredFile)
	gate := new(directory)
	add := func(stored string, mode uint32, id plumbing.Hash) {
		b.new[b.dir()+"/"+stored] = vendoredFile{mode, id}
		parts := strings.Split(stored, "/")
		gate.put(parts, newTreeEntry(mode, parts[len(parts)-1], id))
	}
	id, err := w.bytes(plumbing.BlobObject, b.manifest)
	if err != nil {
		return id, err
	}
	add(manifestName, modeFile, id)
	for _, e := range b.c.Generation.Entries {
		if e.Type != manifest.File {
			continue
		}
		if err := ctx.Err(); err != nil {
			return id, err
		}
		id, ok := b.known[e.SHA256]
		if !ok {
			id, ok = written[e.SHA256]
		}
		if !ok {
			if id, err = w.blob(e, b.c.Content); err != nil {
				return id, err
			}
			written[e.SHA256] = id
		}
		mode := uint32(modeFile)
		if e.Mode&0o100 != 0 {
			mode = modeExecutable
		}
		add(filesName+"/"+manifest.EscapePath(e.Path), mode, id)
	}
	for _, e := range b.gate { // what is not ours stays
		if e.name != manifestName && e.name != filesName {
			gate.put([]string{e.name}, e)
		}
	}
	if id, err = w.directory(gate); err != nil {
		return id, err
	}
	return b.splice(w, id)
}

// splice puts the gate's tree into the trees above it.
func (b *builder) splice(w *objectWriter, id plumbing.Hash) (plumbing.Hash, error) {
	names := append(strings.Split(b.r.vendored, "/"), b.c.Gate)
	for i, t := range slices.Backward(b.trees) {
		var err error
		if id, err = w.bytes(plumbing.TreeObject, t.with(newTreeEntry(modeDir, names[i], id)).encode()); err != nil {
			return id, err
		}
	}
	return id, nil
}

func (b *builder) writeCommit(ctx context.Context, w *objectWriter, root plumbing.Hash) (plumbing.Hash, error) {
	who, err := b.r.committer(b.c.When)
	if err != nil {
		return plumbing.Hash{}, err
	}
	b.who = who
	c := &object.Commit{Author: who, Committer: who, Message: b.c.message(), TreeHash: root}
	if name := clean(b.c.Author.Name); name != "" {
		c.Author.Name, c.Author.Email = name, clean(b.c.Author.Email)
	}
	if b.c.Parent.Commit != "" {
		c.ParentHashes = []plumbing.Hash{plumbing.NewHash(b.c.Parent.Commit)}
	}
	payload, err := encodeCommit(c)
	if err != nil {
		return plumbing.Hash{}, err
	}
	if c.PGPSignature, err = b.r.sign(ctx, who, payload); err != nil {
		return plumbing.Hash{}, err
	}
	if payload, err = encodeCommit(c); err != nil {
		return plumbing.Hash{}, err
	}
	return w.bytes(plumbing.CommitObject, payload)
}

func encodeCommit(c *object.Commit) ([]byte, error) {
	encoded := new(plumbing.MemoryObject)
	if err := c.Encode(encoded); err != nil {
		return nil, err
	}
	r, err := encoded.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// move makes the commit count and lets the operator see it.
func (b *builder) move(ctx context.Context) (string, error) {
	id := b.commit.String()
	in := intent{Gate: b.c.Gate, Branch: b.c.Parent.Branch, Parent: b.c.Parent.Commit, Commit: id}
	if err := b.r.writeIntent(in); err != nil {
		return "", errors.Join(err, b.r.Disk.Remove(b.r.own(ownIntent)))
	}
	moved, err := b.r.moveBranch(b.c.Parent, id, b.c.Subject, b.who)
	if !moved {
		return "", errors.Join(err, b.r.Disk.Remove(b.r.own(ownIntent)))
	}
	if err != nil {
		return id, err
	}
	if b.refresh != nil {
		if err := b.refresh.apply(); err != nil {
			return id, err
		}
	}
	if err := b.r.Disk.Remove(b.r.own(ownIntent)); err != nil {
		return id, err
	}
	return id, b.confirm(ctx)
}
