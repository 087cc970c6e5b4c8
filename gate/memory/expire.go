package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/internal/wire"
)

// Info tells of one session without reading its trace.
type Info struct {
	Session string
	Calls   uint64
	Stopped string
	Changed time.Time
}

// Sessions returns the sessions that are remembered, in no order. One that cannot be understood is part of the error; the
// others are returned all the same.
func (s Store) Sessions() ([]Info, error) {
	var infos []Info
	var errs []error
	err := s.eachSession(func(dir string, changed time.Time) {
		id, err := sessionIn(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		var state *State
		if err == nil {
			state, err = s.Load(id)
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		infos = append(infos, Info{id.name, state.Calls, state.Stopped, changed})
	})
	return infos, errors.Join(append(errs, err)...)
}

// Expire forgets the sessions that did not change for the time age, and returns how many they were. Projects stay.
func (s Store) Expire(ctx context.Context, now time.Time, age time.Duration) (int, error) {
	count := 0
	var errs []error
	err := s.eachSession(func(dir string, changed time.Time) {
		if now.Sub(changed) <= age {
			return
		}
		gone, err := s.expire(ctx, dir, now.Add(-age))
		if err != nil {
			errs = append(errs, err)
		}
		if gone {
			count++
		}
	})
	return count, errors.Join(append(errs, err, s.removeTemps(now.Add(-age)))...)
}

// expire forgets the session in dir, unless it changed since. What its id is does not matter for that, and may not be
// known.
func (s Store) expire(ctx context.Context, dir string, since time.Time) (gone bool, err error) {
	id := ID{"sessions", filepath.Base(dir), filepath.Base(dir)}
	held, err := s.hold(ctx, []ID{id})
	if err != nil {
		return false, err
	}
	defer held.release()
	if changed, err := changedAt(dir); err != nil || changed.After(since) {
		return false, err
	}
	return true, s.forget(id)
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

// eachSession calls visit for each directory of a session, with the time of its last change.
func (s Store) eachSession(visit func(dir string, changed time.Time)) error {
	top := filepath.Join(s.Dir, "sessions")
	entries, err := os.ReadDir(top)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		dir := filepath.Join(top, e.Name())
		if changed, err := changedAt(dir); err == nil && e.IsDir() {
			visit(dir, changed)
		}
	}
	return err
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

// sessionIn returns the session whose directory dir is.
func sessionIn(dir string) (ID, error) {
	name := filepath.Join(dir, "state")
	data, err := readSealed(name)
	if err != nil {
		return ID{}, fmt.Errorf("read %s: %w", name, err)
	}
	r := wire.NewReader(data)
	r.Raw(stateMagic)
	r.Text()
	id := Session(r.Text())
	if r.Err() != nil || id.key != filepath.Base(dir) {
		return ID{}, fmt.Errorf("read %s: %w", name, ErrCorrupt)
	}
	return id, nil
}
