package vendorgate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"gatehouse/manifest"
)

// verify reads the commit back, as somebody would who knows nothing of how it was made, and holds it to what was
// accepted: the parent's tree but for the gate, and there the generation. What was written comes from the disk, since
// nothing has read it before.
func (b *builder) verify(ctx context.Context) error {
	if err := b.verifyCommit(ctx, b.r.objects); err != nil {
		return fmt.Errorf("commit %s is not what was to be committed: %w", b.commit, err)
	}
	return nil
}

// confirm looks once more when the branch has moved: git may have pruned objects that nothing referred to until then.
func (b *builder) confirm(ctx context.Context) error {
	missing := false
	for _, id := range b.written {
		_, err := os.Lstat(loosePath(filepath.Join(b.r.git, "objects"), id))
		missing = missing || err != nil
	}
	if !missing {
		return nil
	}
	o, err := openObjects(b.r.git) // they may also be in a pack by now
	if err != nil {
		return err
	}
	defer o.close()
	if err := b.verifyCommit(ctx, o); err != nil {
		return fmt.Errorf("commit %s has been made and is damaged; git fsck tells more: %w", b.commit, err)
	}
	return nil
}

func (b *builder) verifyCommit(ctx context.Context, o *objects) error {
	id := b.commit.String()
	c, err := o.commit(id)
	if err != nil {
		return err
	}
	var parents []plumbing.Hash
	if b.c.Parent.Commit != "" {
		parents = append(parents, plumbing.NewHash(b.c.Parent.Commit))
	}
	if !slices.Equal(c.ParentHashes, parents) {
		return fmt.Errorf("its parents are %v", c.ParentHashes)
	}
	trees, err := o.descend(id, b.r.vendored)
	if err != nil {
		return err
	}
	names := append(strings.Split(b.r.vendored, "/"), b.c.Gate)
	for i := range trees {
		if err := sameTree(b.trees[i], trees[i], names[i]); err != nil {
			return fmt.Errorf("in %q: %w", strings.Join(names[:i], "/"), err)
		}
	}
	gate := trees[len(trees)-1].find(b.c.Gate)
	if gate == nil {
		return errors.New("the gate is missing")
	}
	t, err := o.tree(gate.id)
	if err != nil {
		return err
	}
	if err := sameTree(b.gate, t, manifestName, filesName); err != nil {
		return fmt.Errorf("in %q: %w", b.dir(), err)
	}
	if e := t.find(manifestName); e == nil || e.id != plumbing.ComputeHash(plumbing.BlobObject, b.manifest) {
		return fmt.Errorf("%s is another one", manifestName)
	}
	v, err := b.r.read(ctx, o, id, b.c.Gate, limitsOf(b.c.Generation))
	if err != nil {
		return err
	}
	if changes := manifest.Diff(b.c.Generation.Entries, v.Generation.Entries); len(changes) > 0 {
		return fmt.Errorf("%d entries differ, %q first (%s)", len(changes), changes[0].Path, changes[0].Kind)
	}
	if v.Generation.Tree != b.c.Generation.Tree {
		return fmt.Errorf("its tree is %s, not %s", v.Generation.Tree, b.c.Generation.Tree)
	}
	return nil
}

// sameTree reports a difference between two trees, except at some names.
func sameTree(a, b tree, except ...string) error {
	rest := func(t tree) []string {
		var raw []string
		for i := range t {
			if !slices.Contains(except, t[i].name) {
				raw = append(raw, string(t[i].raw))
			}
		}
		return raw
	}
	if !slices.Equal(rest(a), rest(b)) {
		return errors.New("something else has changed")
	}
	return nil
}
