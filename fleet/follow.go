package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/reconcile"
)

// A Follower takes over what a hub accepted: Fetch brings it to this host, and Load reads and verifies it there. The
// two may be different processes, so Load believes nothing of what Fetch wrote.
type Follower struct {
	Exchange exchange.Exchange // for Fetch
	Hub      string
	Open     Open
	Dir      string // of root's
	Disk     durable.Disk
}

// Fetch fetches what the hub accepted of a gate, with the contents that have does not know. It takes nothing whose
// number is below after: an exchange that shows an older acceptance would undo a review (ErrOlder). It reports whether
// there is something newer.
func (f *Follower) Fetch(ctx context.Context, gate string, limits manifest.Limits, after uint64, have func(digest string) bool) (bool, error) {
	fresh, err := f.fetch(ctx, gate, limits, after, have)
	if err != nil {
		return false, fmt.Errorf("fetch gate %s from %s: %w", gate, f.Hub, err)
	}
	return fresh, nil
}

func (f *Follower) fetch(ctx context.Context, gate string, limits manifest.Limits, after uint64, have func(digest string) bool) (bool, error) {
	store := f.objects(gate)
	if err := errors.Join(f.Disk.MkdirAll(f.Dir, 0o700), f.Disk.MkdirAll(store.dir, 0o700)); err != nil {
		return false, err
	}
	entry, err := request(ctx, requestTimeout, func(ctx context.Context) (exchange.Entry, error) {
		return f.Exchange.Get(ctx, exchange.Key{Kind: exchange.Accepted, Host: f.Hub, Rest: gate})
	})
	if err != nil {
		return false, err
	}
	a, err := openAcceptance(f.Open, f.Hub, gate, entry.Value)
	if err != nil {
		return false, err
	}
	if a.Sequence < after {
		return false, fmt.Errorf("its number is %d, and %d was seen before: %w", a.Sequence, after, ErrOlder)
	}
	if kept, err := os.ReadFile(f.envelope(gate)); err == nil && bytes.Equal(kept, entry.Value) {
		if _, err := f.load(gate, limits, have); err == nil {
			return a.Sequence > after, nil
		}
	}
	list, err := f.list(ctx, &store, a, limits)
	if err != nil {
		return false, err
	}
	for i := range list.Entries {
		e := &list.Entries[i]
		if e.Type != manifest.File || have(e.SHA256) || store.has(e.SHA256, e.Size) {
			continue
		}
		data, err := get(ctx, f.Exchange, f.Hub, e.SHA256, e.Size)
		if err == nil {
			err = store.keep(e.SHA256, data)
		}
		if err != nil {
			return false, fmt.Errorf("%q: %w", e.Path, incomplete(err))
		}
	}
	if err := f.Disk.SyncFS(f.Dir); err != nil {
		return false, err
	}
	return a.Sequence > after, f.Disk.WriteFile(f.envelope(gate), entry.Value, 0o600)
}

// list fetches the list of entries that an acceptance names, and holds it to what the acceptance says.
func (f *Follower) list(ctx context.Context, store *objects, a *acceptance, limits manifest.Limits) (*manifest.Generation, error) {
	data, err := store.read(a.Content)
	if err != nil {
		if data, err = get(ctx, f.Exchange, f.Hub, a.Content, documentLimit(limits)); err != nil {
			return nil, fmt.Errorf("the list of entries: %w", incomplete(err))
		}
		if err := store.keep(a.Content, data); err != nil {
			return nil, err
		}
	}
	return listOf(data, a, limits)
}

// incomplete says what it means that an object which was announced is not there.
func incomplete(err error) error {
	if errors.Is(err, exchange.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	return err
}

func listOf(data []byte, a *acceptance, limits manifest.Limits) (*manifest.Generation, error) {
	list, err := manifest.ParseGeneration(data, limits)
	if err != nil {
		return nil, err
	}
	if list.Gate != a.Gate || list.Tree != a.Tree {
		return nil, fmt.Errorf("the list of entries is of gate %q and tree %.12s, and not of %q and %.12s: %w", list.Gate, list.Tree, a.Gate, a.Tree, ErrForged)
	}
	return list, nil
}

// Load returns what was fetched, verified again from the disk; nil where nothing was. Contents are read where they are
// needed: from what was fetched, or else from what kept opens, which is what is accepted here already.
func (f *Follower) Load(gate string, limits manifest.Limits, kept func(digest string) (io.ReadCloser, error)) (*reconcile.Adopted, error) {
	a, err := f.load(gate, limits, func(digest string) bool {
		file, err := kept(digest)
		if err == nil {
			file.Close()
		}
		return err == nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read what was fetched of gate %s from %s: %w", gate, f.Hub, err)
	}
	a.Open = func(e manifest.Entry) (io.ReadCloser, error) {
		file, err := os.Open(filepath.Join(f.objects(gate).dir, e.SHA256))
		if errors.Is(err, fs.ErrNotExist) {
			return kept(e.SHA256)
		}
		return file, err
	}
	return a, nil
}

func (f *Follower) load(gate string, limits manifest.Limits, have func(digest string) bool) (*reconcile.Adopted, error) {
	envelope, err := os.ReadFile(f.envelope(gate))
	if err != nil {
		return nil, err
	}
	a, err := openAcceptance(f.Open, f.Hub, gate, envelope)
	if err != nil {
		return nil, err
	}
	store := f.objects(gate)
	data, err := store.read(a.Content)
	if err != nil {
		return nil, err
	}
	list, err := listOf(data, a, limits)
	if err != nil {
		return nil, err
	}
	for i := range list.Entries {
		e := &list.Entries[i]
		if e.Type != manifest.File || have(e.SHA256) {
			continue
		}
		if _, err := store.read(e.SHA256); err != nil {
			return nil, fmt.Errorf("%q: %w", e.Path, err)
		}
	}
	return &reconcile.Adopted{Hub: f.Hub, Sequence: a.Sequence, Commit: a.Commit, By: a.By, Generation: list}, nil
}

// Drop removes the contents that were fetched of a gate, once they are accepted here. What says which they were stays.
func (f *Follower) Drop(gate string, a *reconcile.Adopted) error {
	store := f.objects(gate)
	files, err := os.ReadDir(store.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	document, err := a.Generation.Marshal()
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.Name() != digestOf(document) {
			if err := f.Disk.Remove(filepath.Join(store.dir, file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Follower) objects(gate string) objects {
	return objects{filepath.Join(f.Dir, gate+".objects"), f.Disk}
}

func (f *Follower) envelope(gate string) string { return filepath.Join(f.Dir, gate+".signed") }
