package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWhatTheLogCannotHaveWrittenIsAnErrorAtOnce puts into the directory of the log what its user may put there. A hook
// that waits for it would run into its limit before the memory of rules learns of a call.
func TestWhatTheLogCannotHaveWrittenIsAnErrorAtOnce(t *testing.T) {
	put := map[string]func(name string) error{
		"a pipe":               func(name string) error { return unix.Mkfifo(name, 0o600) },
		"a pipe behind a link": func(name string) error { return errors.Join(unix.Mkfifo(name+"-", 0o600), os.Symlink(name+"-", name)) },
		"a directory":          func(name string) error { return os.Mkdir(name, 0o700) },
		"a huge file":          func(name string) error { return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<40)) },
	}
	do := map[string]func(context.Context, Log) error{
		"append":     func(ctx context.Context, l Log) error { return l.Append(ctx, decision("ls")) },
		"checkpoint": func(ctx context.Context, l Log) error { _, err := l.Checkpoint(ctx); return err },
		"newest":     func(ctx context.Context, l Log) error { return l.Newest(ctx, func(Line) error { return nil }) },
		"history":    func(ctx context.Context, l Log) error { _, err := l.History(ctx, "c-0123"); return err },
		"verify":     func(ctx context.Context, l Log) error { _, err := l.Verify(ctx); return err },
		"follow":     func(ctx context.Context, l Log) error { return l.Follow(ctx, 0, func(Line) error { return nil }) },
	}
	for what, put := range put {
		for name, do := range do {
			t.Run(what+", "+name, func(t *testing.T) {
				l := newLog(t)
				fill(t, l, 1)
				closed := filepath.Join(l.Dir, closedName(1))
				if err := errors.Join(os.Rename(l.path(current), closed), put(l.path(current))); err != nil {
					t.Fatal(err)
				}
				failed := make(chan error, 1)
				go func() { failed <- do(t.Context(), l) }()
				select {
				case err := <-failed:
					if err == nil || errors.Is(err, fs.ErrNotExist) {
						t.Errorf("got %v, want an error that says what is in the way", err)
					}
				case <-time.After(time.Minute):
					t.Error("it waits")
				}
			})
		}
	}
}
