package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/internal/safefs"
)

// Marker is the file that makes a directory an exchange. A share that is not mounted has none, so that an empty mount
// point does not look like a fleet that fell silent.
const Marker = "gatehouse-exchange"

// maxNames is how many hosts, or names of one host, a directory may have.
const maxNames = 1 << 17

// How long what changes while it is read is read again. A value is replaced as a whole, so that of a value is short.
const (
	listAgain  = 5 * time.Second
	valueAgain = 20 * time.Millisecond
	claimAgain = time.Second
)

// The deadlines of what is called without one, and of tidying up.
const (
	sweepTime = 2 * time.Minute
	claimTime = 15 * time.Second
	tidyTime  = 5 * time.Second
)

// A Directory is an exchange in a directory: DIR/KIND/HOST/REST, one file per key, and DIR/claims/ID/NUMBER.
//
// It serves one host, tests, and a mount that all hosts share. There, everybody who can write to the directory can write
// as any host: what keeps a host from writing as another is only its signature, and the claims are nobody's. What stands
// there is read with safefs, so links, FIFOs, foreign and oversized files are refused and nothing is waited for; writes
// stay below the directory whatever links are put into it.
type Directory struct {
	disk   durable.Disk
	path   string
	host   string
	owners []uint32
	now    func() time.Time
	swept  sync.Once
}

// OpenDirectory opens the exchange at path for this host. Files that belong to root or one of owners are believed; the
// others are refused.
func OpenDirectory(disk durable.Disk, path, host string, owners []uint32) (*Directory, error) {
	if err := CheckHost(host); err != nil {
		return nil, err
	}
	d := &Directory{disk: disk, path: path, host: host, owners: owners, now: time.Now}
	tree, err := d.open(0)
	if err != nil {
		return nil, err
	}
	return d, tree.Close()
}

// open opens the tree for reading files of at most limit bytes. That the tree is not there means that nothing is known.
func (d *Directory) open(limit int) (*safefs.Dir, error) {
	tree, err := safefs.OpenDir(d.path, safefs.Options{Owners: d.owners, MaxFile: int64(limit)})
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no directory %s", ErrUnavailable, d.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if info, err := tree.Lstat(Marker); err != nil || info.Type != safefs.TypeFile {
		tree.Close()
		return nil, fmt.Errorf("%w: there is no file %s, so this is no exchange, or the share is not mounted; make a new one with: touch %[2]s",
			ErrUnavailable, filepath.Join(d.path, Marker))
	}
	return tree, nil
}

// Put implements Exchange.
func (d *Directory) Put(ctx context.Context, key Key, value []byte) error {
	if err := CheckPut(d.host, key, value); err != nil {
		return err
	}
	if key.Kind == Objects {
		old, err := d.Get(ctx, key)
		if err == nil && bytes.Equal(old.Value, value) && d.now().Sub(old.At) < ObjectAge/2 {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put %s: %w: %w", key, ErrUnavailable, err)
	}
	d.sweep()
	return d.inside(path.Dir(file(key)), func(dir *os.Root) error {
		return writeFile(d.disk, dir, d.path+"/"+file(key), value)
	})
}

// Get implements Exchange.
func (d *Directory) Get(ctx context.Context, key Key) (Entry, error) {
	if err := key.Check(); err != nil {
		return Entry{}, err
	}
	tree, err := d.open(key.Kind.Limit())
	if err != nil {
		return Entry{}, fmt.Errorf("get %s: %w", key, err)
	}
	defer tree.Close()
	e := read(ctx, tree, key)
	if e.Err != nil {
		return Entry{}, fmt.Errorf("get %s: %w", key, e.Err)
	}
	return e, nil
}

// List implements Exchange.
func (d *Directory) List(ctx context.Context, under Key) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := under.CheckUnder(); err != nil {
			yield(Entry{}, err)
			return
		}
		ctx, cancel := within(ctx, sweepTime)
		defer cancel()
		if err := d.scan(ctx, under, yield); err != nil {
			yield(Entry{}, fmt.Errorf("list %s: %w", under, err))
		}
	}
}

// scan yields what is stored under a key. What it returns came before all was yielded.
func (d *Directory) scan(ctx context.Context, under Key, yield func(Entry, error) bool) error {
	tree, err := d.open(under.Kind.Limit())
	if err != nil {
		return err
	}
	defer tree.Close()
	keys, err := keysUnder(ctx, tree, under)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		e := read(ctx, tree, key)
		if errors.Is(e.Err, ErrNotFound) {
			continue
		}
		if !yield(e, nil) {
			return nil
		}
	}
	return nil
}

// keysUnder returns the keys at and below under. A host whose directory is none gets a key without Rest, which cannot be
// read and says so. Names that are no keys are nobody's.
func keysUnder(ctx context.Context, tree *safefs.Dir, under Key) ([]Key, error) {
	if under.Host != "" && (under.Rest != "" || under.Kind == Beats) {
		return []Key{under}, nil
	}
	hosts := []string{under.Host}
	if under.Host == "" {
		var err error
		if hosts, err = names(ctx, tree, string(under.Kind)); err != nil {
			return nil, err
		}
	}
	var keys []Key
	for _, host := range hosts {
		if CheckHost(host) != nil {
			continue
		}
		if !under.Kind.rest() {
			keys = append(keys, Key{Kind: under.Kind, Host: host})
			continue
		}
		if under.Rest != "" {
			keys = append(keys, Key{under.Kind, host, under.Rest})
			continue
		}
		rests, err := names(ctx, tree, string(under.Kind)+"/"+host)
		if err != nil {
			keys = append(keys, Key{Kind: under.Kind, Host: host})
			continue
		}
		for _, rest := range rests {
			if key := (Key{under.Kind, host, rest}); key.Check() == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// names lists a directory that may not be there yet.
func names(ctx context.Context, tree *safefs.Dir, name string) ([]string, error) {
	var list []string
	err := again(ctx, listAgain, func() error {
		dir, err := tree.OpenDir(name)
		if err != nil {
			return err
		}
		defer dir.Close()
		list, err = dir.List(maxNames)
		return err
	}, safefs.InFlux)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return list, nil
}

// read reads one value. What is wrong with it is in the entry.
func read(ctx context.Context, tree *safefs.Dir, key Key) Entry {
	e := Entry{Key: key}
	var info safefs.Info
	err := again(ctx, valueAgain, func() (err error) {
		e.Value, info, err = tree.ReadFile(file(key), nil)
		return err
	}, safefs.InFlux)
	refused, _ := errors.AsType[*safefs.RefusedError](err)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = ErrNotFound
	case refused != nil && refused.Reason == safefs.Size:
		err = fmt.Errorf("%w: %w", ErrTooLarge, err)
	case err == nil:
		err = CheckGot(key, e.Value)
	}
	if e.At, e.Err = info.MTime, err; err != nil {
		e.Value = nil
	}
	return e
}

// again repeats what was refused for one of the reasons, which others at work here cause for a moment, for a while.
func again(ctx context.Context, while time.Duration, try func() error, reasons ...safefs.Reason) error {
	end := time.Now().Add(while)
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		late := time.Now().After(end) // now: a try that a busy machine took long for is not the last
		err := try()
		refused, _ := errors.AsType[*safefs.RefusedError](err)
		if refused == nil || !slices.Contains(reasons, refused.Reason) || late {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// within gives a context a deadline if it has none. A call on a dead share can hang all the same.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// file is where the value of a key is, below the directory.
func file(key Key) string { return key.String() }
