package durable

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another process held the lock until the caller's context ended.
var ErrLocked = errors.New("another process is at work")

// A Lock is held until Unlock, or until the process ends.
type Lock struct{ f *os.File }

// AcquireLock takes the lock file name and waits for it until ctx is done; if it is done already, it asks once. The
// directory must be one that only the caller's user can write: whoever can open the file can hold the lock for ever. To open
// a file for reading looks harmless, so this one does not allow it.
func AcquireLock(ctx context.Context, name string) (*Lock, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o200)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return &Lock{f}, nil
	} else if !errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if ctx.Err() != nil { // who does not wait must not stand in the queue, where the lock would come to it for a moment
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	// The kernel keeps the queue: who asks again and again can be overtaken for ever.
	got := make(chan error, 1)
	go func() { got <- flock(f, unix.LOCK_EX) }()
	select {
	case err := <-got:
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		return &Lock{f}, nil
	case <-ctx.Done():
		go func() { // a wait for a lock cannot be called off; what it gets is given back at once
			<-got
			f.Close()
		}()
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Unlock lets go of the lock, also where a program that is just being started has the file as well. The file stays: removing
// it would let two processes hold it.
func (l *Lock) Unlock() error { return errors.Join(flock(l.f, unix.LOCK_UN), l.f.Close()) }
