package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gatehouse/internal/durable"
)

// A Publisher writes an export: the manifest of a gate and the contents that it names. It runs as the gate's user, in
// whose hands the export is, so it trusts what it finds there as far as that user may be wrong by accident: an object
// that has the right size and did not change since the last run is not read again. Root hashes what it takes.
type Publisher struct {
	Gate, Host string
	Source     Source
	Export     string // directory, absolute
	Disk       durable.Disk

	// Log, if set, says where the decision log ends. It is asked while no other run publishes, so that no manifest names
	// an earlier end than the one before; nil is that there is no log.
	Log func(ctx context.Context) *Log
}

// Names in an export.
const (
	manifestName = "manifest.json"
	objectsName  = "objects"
	lockName     = ".lock"
)

// Publish scans the live files and makes the export say what they are. The steps are, in this order: contents that are
// not there yet, one flush of the file system, the manifest in place of the last one, and the removal of contents that
// neither of the two names. So a reader finds all that the manifest names, whichever of the two it read, and a run cut
// short at any point leaves the last export.
//
// now should be from before the call: whatever changes later is then newer than the manifest says it is. A manifest of
// the last run that cannot be read is replaced; its reader will have said so.
func (p *Publisher) Publish(ctx context.Context, now time.Time) (*Manifest, error) {
	m, err := p.publish(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("publish gate %q: %w", p.Gate, err)
	}
	return m, nil
}

func (p *Publisher) publish(ctx context.Context, now time.Time) (*Manifest, error) {
	bootID, err := BootID()
	if err := errors.Join(err, ValidGate(p.Gate), ValidHost(p.Host), p.makeExport()); err != nil {
		return nil, err
	}
	lock, err := durable.AcquireLock(ctx, filepath.Join(p.Export, lockName))
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()

	objects, err := openObjects(p.Export, p.Disk)
	if err != nil {
		return nil, err
	}
	defer objects.close()
	var previous *Manifest
	var old *inventory
	var oldErr error
	var reading sync.WaitGroup
	reading.Go(func() {
		previous = p.last(ctx)
		old, oldErr = objects.list()
	})
	found, err := scan(ctx, p.Source, objects)
	reading.Wait()
	if err := errors.Join(err, oldErr); err != nil {
		return nil, err
	}
	m := &Manifest{
		Schema:      Schema,
		Gate:        p.Gate,
		Host:        p.Host,
		BootID:      bootID,
		Sequence:    sequence(previous.Sequence, now),
		PublishedAt: now.Round(0).UTC(),
		Tree:        Tree(found.Entries),
		Entries:     found.Entries,
		Refused:     found.Refused,
	}
	if p.Log != nil {
		m.Log = p.Log(ctx)
	}
	return m, p.write(m, previous, objects, old)
}

// write makes m the manifest of the export.
func (p *Publisher) write(m, previous *Manifest, objects *objects, old *inventory) error {
	data, err := m.Marshal()
	if err != nil {
		return err
	}
	if limit := p.Source.Limits.document(); int64(len(data)) > limit {
		return fmt.Errorf("the manifest has %d bytes, more than the %d that its reader takes; exclude what does not belong "+
			"to the gate, or raise the limit on entries", len(data), limit)
	}
	// What the last manifest names was flushed before that was written.
	before, named := digests(previous), digests(m)
	if objects.written.Load() > 0 || !subset(named, before) {
		if err := p.Disk.SyncFS(p.Export); err != nil {
			return err
		}
	}
	if err := p.Disk.WriteFile(filepath.Join(p.Export, manifestName), data, 0o644); err != nil {
		return err
	}
	return objects.clean(old, named, before)
}

// sequence is the number of the manifest that is written now. A last number from more than an hour ahead was not
// counted up to, and going on from there would spoil the order for good.
func sequence(last uint64, now time.Time) uint64 {
	clock := uint64(max(now.UnixMilli(), 1))
	if last < clock || last > clock+uint64(time.Hour.Milliseconds()) {
		return clock
	}
	return last + 1
}

// last returns the manifest that stands in the export, or an empty one.
func (p *Publisher) last(ctx context.Context) *Manifest {
	export, err := OpenExport(p.Export, p.Source.Owner, p.Source.Limits)
	if err != nil {
		return new(Manifest)
	}
	defer export.Close()
	m, err := export.Manifest(ctx)
	if err != nil {
		return new(Manifest)
	}
	return m
}

// makeExport makes the directory of the export, if whoever installed Gatehouse left that to the gate's user.
func (p *Publisher) makeExport() error {
	if !filepath.IsAbs(p.Export) || filepath.Clean(p.Export) != p.Export {
		return fmt.Errorf("export directory %q is no clean absolute path", p.Export)
	}
	_, err := os.Lstat(p.Export)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDir(p.Disk, p.Export, 0o755); err != nil {
		return fmt.Errorf("the export directory cannot be made: %w; as root, run: install -d -m 0755 -o %d %s",
			err, os.Geteuid(), p.Export)
	}
	return nil
}

// makeDir makes one directory with exactly these permissions, without a flush. One that is there is left as it is.
func makeDir(disk durable.Disk, dir string, perm fs.FileMode) error {
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	return disk.Do("mkdir", dir, func() error {
		if err := os.Mkdir(dir, perm); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return nil
			}
			return err
		}
		return os.Chmod(dir, perm)
	})
}

// digests is the set of contents that a manifest names.
func digests(m *Manifest) map[string]bool {
	set := make(map[string]bool, len(m.Entries))
	for i := range m.Entries {
		if m.Entries[i].Type == File {
			set[m.Entries[i].SHA256] = true
		}
	}
	return set
}

func subset(a, b map[string]bool) bool {
	for digest := range a {
		if !b[digest] {
			return false
		}
	}
	return true
}
