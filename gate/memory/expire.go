package memory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gatehouse/internal/durable"
)

// atOnce is how many sessions one Expire forgets at most, since somebody waits for it.
const atOnce = 16

// Expire forgets sessions that did not change since a time. Of many it leaves some to the next who calls it. Projects stay.
func (s Store) Expire(ctx context.Context, since time.Time) error {
	errs := []error{s.removeTemps(since)}
	top := filepath.Join(s.Dir, "sessions")
	entries, err := os.ReadDir(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	for left := atOnce; left > 0 && len(entries) > 0; entries = entries[1:] {
		dir := filepath.Join(top, entries[0].Name())
		if changed, err := changedAt(dir); err == nil && entries[0].IsDir() && !changed.After(since) {
			errs = append(errs, s.expire(ctx, dir, since))
			left--
		}
	}
	return errors.Join(errs...)
}

// expire forgets the session in dir, unless it changed since. What its id is does not matter for that, and may not be
// known.
func (s Store) expire(ctx context.Context, dir string, since time.Time) error {
	id := ID{"sessions", filepath.Base(dir), filepath.Base(dir)}
	held, err := s.hold(ctx, []ID{id})
	if err != nil {
		return err
	}
	defer held.release()
	if changed, err := changedAt(dir); err != nil || changed.After(since) {
		return err
	}
	// The state first: what is left of the rest after a crash belongs to nobody.
	if err := s.Disk.Remove(s.file(id)); err != nil {
		return err
	}
	return s.Disk.RemoveAll(dir)
}

// removeTemps removes what writers that were killed left in joint/, where others may be at work.
func (s Store) removeTemps(since time.Time) error {
	dir := filepath.Join(s.Dir, "joint")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && durable.IsTemp(e.Name()) && info.ModTime().Before(since) {
			errs = append(errs, s.Disk.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// changedAt is when the state in dir was written, or else the directory.
func changedAt(dir string) (time.Time, error) {
	info, err := os.Lstat(filepath.Join(dir, "state"))
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Lstat(dir)
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
