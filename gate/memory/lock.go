package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gatehouse/internal/durable"
)

// Memories share a fixed number of locks, so that no lock file ever has to be removed. They are taken in the order of
// their numbers, whatever the order of the memories.
const lockFiles = 64

const defaultWait = 10 * time.Second

// held are the locks that a process holds.
type held []*durable.Lock

func (h held) release() {
	for _, l := range h {
		l.Unlock()
	}
}

// hold locks the memories ids and finishes what others left half done with them. A change that was cut short may concern
// further memories; they are locked as well.
func (s Store) hold(ctx context.Context, ids []ID) (held, error) {
	if err := named(ids); err != nil {
		return nil, fmt.Errorf("change memory: %w", err)
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Wait, defaultWait))
	defer cancel()
	for all := slices.Clone(ids); ; {
		locks, err := s.lock(ctx, all)
		if err != nil {
			return nil, err
		}
		changes, err := s.jointWith(all)
		before := len(all)
		for _, c := range changes {
			for _, p := range c.parts {
				if !slices.Contains(all, p.id) {
					all = append(all, p.id)
				}
			}
		}
		if err == nil && len(all) == before {
			if err = s.settle(changes); err == nil {
				return locks, nil
			}
		}
		locks.release()
		if err != nil {
			return nil, err
		}
	}
}

// settle finishes changes, whose memories are locked.
func (s Store) settle(changes []jointChange) error {
	for _, c := range changes {
		if err := s.apply(c.parts); err != nil {
			return err
		}
		if err := s.Disk.Remove(c.file); err != nil {
			return err
		}
	}
	return nil
}

func (s Store) lock(ctx context.Context, ids []ID) (held, error) {
	var numbers []int
	for _, id := range ids {
		numbers = append(numbers, id.lock())
	}
	slices.Sort(numbers)
	var locks held
	for _, n := range slices.Compact(numbers) {
		l, err := durable.AcquireLock(ctx, filepath.Join(s.Dir, "locks", fmt.Sprintf("%02d", n)))
		if err != nil {
			locks.release()
			return nil, fmt.Errorf("change the memory of %v: %w", ids[0], err)
		}
		locks = append(locks, l)
	}
	return locks, nil
}

func (id ID) lock() int {
	n := 0
	for _, c := range []byte(id.tag()) {
		n = (n*31 + int(c)) % lockFiles
	}
	return n
}

// prepare makes the directories that all changes need.
func (s Store) prepare() error {
	for _, dir := range []string{s.Dir, filepath.Join(s.Dir, "locks")} {
		if err := s.Disk.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	info, err := os.Stat(s.Dir)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner != os.Geteuid() {
		return fmt.Errorf("keep memories in %s: it belongs to another user (uid %d)", s.Dir, owner)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("keep memories in %s: others can write there; chmod go-w %[1]s", s.Dir)
	}
	return nil
}

func named(ids []ID) error {
	if len(ids) == 0 {
		return errors.New("no session or project is named")
	}
	for i, id := range ids {
		if id == (ID{}) || slices.Contains(ids[:i], id) {
			return fmt.Errorf("%v is named, or named twice", id)
		}
	}
	return nil
}
