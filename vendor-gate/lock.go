package vendorgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gatehouse/internal/durable"
)

// The files of ours in .git/gatehouse. ownIndex and ownRef are what index.lock and the branch's lock are links to.
const (
	ownDir    = "gatehouse"
	ownLock   = "lock"
	ownIntent = "intent.json"
	ownIndex  = "index"
	ownRef    = "ref"
	ownFile   = "file" // a file of the work tree that is being written
)

func (r *Repository) own(name string) string { return filepath.Join(r.git, ownDir, name) }

// lock keeps other processes of ours out of the repository until unlock is called.
func (r *Repository) lock(ctx context.Context) (unlock func(), err error) {
	if err := r.Disk.MkdirAll(filepath.Join(r.git, ownDir), 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	l, err := durable.AcquireLock(ctx, r.own(ownLock))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%w: another warden is at work in the repository", ErrLocked)
	} else if err != nil {
		return nil, err
	}
	return func() { l.Unlock() }, nil
}

// takeLock makes a lock of git's as a second link to our own file, which holds data.
func (r *Repository) takeLock(own, lock string, data []byte) error {
	if err := r.Disk.WriteFile(own, data, 0o644); err != nil {
		return err
	}
	err := r.Disk.Do("lock", lock, func() error { return os.Link(own, lock) })
	if errors.Is(err, fs.ErrExist) && !sameFile(own, lock) {
		return fmt.Errorf("%w: %s is there: git is at work in the repository, or was killed in it; "+
			"try again, and if no git is running, remove that file", ErrLocked, lock)
	}
	return err
}

// dropLock removes the lock if it is ours, and our own file.
func (r *Repository) dropLock(own, lock string) error {
	if sameFile(own, lock) {
		if err := r.Disk.Remove(lock); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(own); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return r.Disk.Remove(own)
}

func sameFile(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func (r *Repository) indexPath() string { return filepath.Join(r.git, "index") }

func (r *Repository) indexLock() string { return r.indexPath() + ".lock" }

func (r *Repository) refPath(branch string) string {
	return filepath.Join(r.git, filepath.FromSlash(branch))
}

// An intent is what a commit was about to do when it moved the branch.
type intent struct {
	Schema string `json:"schema"`
	Gate   string `json:"gate"`
	Branch string `json:"branch"`
	Parent string `json:"parent"`
	Commit string `json:"commit"`
}

const intentSchema = "gatehouse/vendor-intent/v1"

func (r *Repository) writeIntent(in intent) error {
	in.Schema = intentSchema
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return r.Disk.WriteFile(r.own(ownIntent), append(data, '\n'), 0o600)
}

// readIntent returns what an earlier run had in mind, or nil.
func (r *Repository) readIntent() (*intent, error) {
	data, err := os.ReadFile(r.own(ownIntent))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	in := new(intent)
	if err := json.Unmarshal(data, in); err != nil || in.Schema != intentSchema {
		return nil, fmt.Errorf("%s is not what this version of Gatehouse writes; look at git status of %s, then remove that file",
			r.own(ownIntent), r.vendored)
	}
	return in, nil
}
