package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another process held the lock until the caller's context ended.
var ErrLocked = errors.New("another process is at work")

// A Lock is held until Unlock, or until the process ends.
type Lock struct{ f *os.File }

// AcquireLock takes the lock file name, which it creates with mode 0600, and waits for it until ctx is done. The
// directory must be one that only the caller's user can write: whoever can open the file can hold the lock for ever.
func AcquireLock(ctx context.Context, name string) (*Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for wait := 200 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return &Lock{f}, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
		case <-time.After(wait):
		}
	}
}

// Unlock lets go of the lock. The file stays: removing it would let two processes hold it.
func (l *Lock) Unlock() error { return l.f.Close() }
