package vendorgate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/go-git/go-git/v5/plumbing"

	"gatehouse/internal/durable"
)

// Finish completes a commit of the gate that was cut short: it removes the locks that are provably ours, and brings the
// index and the work tree up to the commit where they still are as the commit before had them. It does nothing where
// nothing was cut short. What is left of another gate's commit is for that gate's Finish, or for the next Commit.
func (r *Repository) Finish(ctx context.Context, gate string) error {
	defer r.objects.close()
	if err := r.finish(ctx, gate); err != nil {
		return fmt.Errorf("repository %s: finish the commit of gate %q: %w", r.path, gate, err)
	}
	return nil
}

func (r *Repository) finish(ctx context.Context, gate string) error {
	if left, err := os.ReadDir(r.own("")); errors.Is(err, fs.ErrNotExist) || len(left) == 1 && left[0].Name() == ownLock {
		return nil
	} else if err != nil {
		return err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if in, err := r.readIntent(); err != nil || in != nil && in.Gate != gate {
		return err
	}
	return r.recover()
}

// recover finishes what an earlier run left. The caller holds our lock.
func (r *Repository) recover() error {
	in, err := r.readIntent()
	if err != nil {
		return err
	}
	if err := r.dropLock(r.own(ownIndex), r.indexLock()); err != nil {
		return err
	}
	if in != nil {
		if err := r.dropLock(r.own(ownRef), r.refPath(in.Branch)+".lock"); err != nil {
			return err
		}
		if err := r.resume(in); err != nil {
			return err
		}
	}
	return r.tidy()
}

// tidy removes all files of ours but the lock, the intent last.
func (r *Repository) tidy() error {
	entries, err := os.ReadDir(r.own(""))
	if err != nil {
		return err
	}
	names := []string{ownIntent}
	for _, e := range entries {
		if name := e.Name(); name == ownIndex || name == ownRef || name == ownFile || durable.IsTemp(name) {
			names = append([]string{name}, names...)
		}
	}
	for _, name := range names {
		if _, err := os.Lstat(r.own(name)); err == nil {
			if err := r.Disk.Remove(r.own(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// resume refreshes the index and the work tree for a commit that was made.
func (r *Repository) resume(in *intent) (err error) {
	if r.bare {
		return nil
	}
	if now, err := r.resolve(in.Branch); err != nil || now == in.Parent {
		return err // it was not made
	}
	old, new, err := r.stillNew(in)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil // the operator has thrown the commit away, and git has forgotten it
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.dropLock(r.own(ownIndex), r.indexLock())) }()
	if err := r.takeLock(r.own(ownIndex), r.indexLock(), nil); err != nil {
		return err
	}
	f, err := r.newRefresh(in.Gate, old, new)
	if err != nil {
		return err
	}
	return f.apply()
}

// stillNew returns the files before and after the commit, without those that HEAD has otherwise by now.
func (r *Repository) stillNew(in *intent) (old, new map[string]vendoredFile, err error) {
	at, err := r.head()
	if err != nil && !errors.Is(err, ErrDetached) {
		return nil, nil, err
	}
	var sets [3]map[string]vendoredFile
	for i, commit := range []string{in.Parent, in.Commit, at.Commit} {
		if sets[i], err = r.filesIn(commit, in.Gate); err != nil {
			return nil, nil, err
		}
	}
	old, committed, head := sets[0], sets[1], sets[2]
	overtaken := func(name string, _ vendoredFile) bool {
		was, inCommit := committed[name]
		is, inHead := head[name]
		return inCommit != inHead || was != is
	}
	new = maps.Clone(committed)
	maps.DeleteFunc(old, overtaken)
	maps.DeleteFunc(new, overtaken)
	return old, new, nil
}

func (r *Repository) filesIn(commit, gate string) (map[string]vendoredFile, error) {
	e, err := r.gateEntry(r.objects, commit, gate)
	if err != nil || e == nil {
		return make(map[string]vendoredFile), err
	}
	t, err := r.objects.tree(e.id)
	if err != nil {
		return nil, err
	}
	set, err := r.objects.files(t, r.vendored+"/"+gate, maxFiles)
	return set.files, err
}
