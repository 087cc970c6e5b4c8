//go:build linux

package durable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestALockIsHeldByOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	setUmask(t, 0)
	first, err := AcquireLock(t.Context(), name)
	must(t, err)
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o200 {
		t.Errorf("%v, %v: a lock file that can be opened to be read can be held by who may write nothing", info.Mode(), err)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AcquireLock(ended, name); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), name) {
		t.Errorf("while it is held: %v, want ErrLocked of %s", err, name)
	}

	second := make(chan *Lock)
	go func() {
		l, err := AcquireLock(t.Context(), name)
		if err != nil {
			t.Error(err)
		}
		second <- l
	}()
	select {
	case <-second:
		t.Fatal("two hold the lock")
	case <-time.After(200 * time.Millisecond): // several of its attempts
	}
	must(t, first.Unlock())
	l := <-second
	if _, err := AcquireLock(ended, name); !errors.Is(err, ErrLocked) {
		t.Errorf("while the second holds it: %v, want ErrLocked", err)
	}
	must(t, l.Unlock())
	if l, err = AcquireLock(ended, name); err != nil {
		t.Errorf("a free lock is taken without waiting: %v", err)
	}
	must(t, l.Unlock())
}

// Who asked once and was refused is in nobody's way afterwards.
func TestWhoDoesNotWaitForALockDoesNotQueueForIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 200 {
		l, err := AcquireLock(ended, name)
		must(t, err)
		if _, err := AcquireLock(ended, name); !errors.Is(err, ErrLocked) {
			t.Fatalf("while it is held: %v", err)
		}
		must(t, l.Unlock())
	}
}

func TestALockEndsWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "lock")
	cmd, out := startVictim(t, dir, "hold the lock")
	if line, err := out.ReadString('\n'); line != "locked\n" {
		t.Fatalf("the victim says %q, %v", line, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AcquireLock(ended, name); !errors.Is(err, ErrLocked) {
		t.Errorf("while another process holds it: %v, want ErrLocked", err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	l, err := AcquireLock(ended, name)
	must(t, err)
	must(t, l.Unlock())
	if _, err := os.Stat(name); err != nil {
		t.Errorf("the lock file is gone: %v", err)
	}
}
