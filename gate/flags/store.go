package flags

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// A Store is a directory of entries.
type Store struct {
	Dir  string
	Root bool // only what root wrote counts: the file is root's, and nobody else can write it
}

// ErrMiss is what Lookup returns when no store has an entry that counts. The error says why.
var ErrMiss = errors.New("not harvested")

// maxEntry is the size of the largest entry that is read or written.
const maxEntry = 1 << 20

// Lookup returns the first entry that counts for the program at path and its subcommand, asking the stores in order. It
// does not run anything. An entry counts if it was made on this machine from the very file: the same by its stat, or by
// its content where that differs.
func Lookup(stores []Store, machine, path string, sub []string) (*Entry, error) {
	now, err := stat(machine, path)
	if err != nil {
		return nil, err
	}
	miss := fmt.Errorf("flags of %s: %w", call(path, sub), ErrMiss)
	for _, s := range stores {
		e, err := s.load(path, sub)
		if err == nil {
			err = e.counts(now, sub)
		}
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, fs.ErrNotExist):
			miss = fmt.Errorf("flags of %s: %w: %s: %v", call(path, sub), ErrMiss, filepath.Join(s.Dir, fileName(path, sub)), err)
		}
	}
	return nil, miss
}

// counts says why e does not count for the file as it is now, nil if it does.
func (e *Entry) counts(now Identity, sub []string) error {
	switch {
	case e.File.Machine != now.Machine:
		return errors.New("made on another machine")
	case e.File.Path != now.Path || !slices.Equal(e.Sub, sub):
		return errors.New("made for another command")
	case e.File.sameStat(now):
		return nil
	}
	if e.File.Size == now.Size {
		if sum, _, err := digest(now.Path); err != nil {
			return err
		} else if sum == e.File.SHA256 {
			return nil
		}
	}
	return errors.New("the program has changed since")
}

func (s Store) load(path string, sub []string) (*Entry, error) {
	return s.open(filepath.Join(s.Dir, fileName(path, sub)))
}

// open reads an entry in one read, and refuses to wait for anything.
func (s Store) open(name string) (*Entry, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errors.New("not a regular file")
	case s.Root && (st.Uid != 0 || st.Mode&0o022 != 0):
		return nil, errors.New("not root's alone")
	case st.Size > maxEntry:
		return nil, errors.New("too large")
	}
	data := make([]byte, st.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return decode(string(data))
}

// Save writes an entry into the store.
func (s Store) Save(disk durable.Disk, e *Entry) error {
	data := e.encode()
	if len(data) > maxEntry {
		return fmt.Errorf("flags of %s: %d bytes are too many to keep", call(e.File.Path, e.Sub), len(data))
	}
	if err := disk.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(s.Dir, fileName(e.File.Path, e.Sub)), data, 0o644)
}

// fileName is one name per program and subcommand: readable in front, exact behind.
func fileName(path string, sub []string) string {
	var b strings.Builder
	for _, r := range strings.Join(append([]string{filepath.Base(path)}, sub...), "-") {
		if r < 0x80 && isNameRune(r) && b.Len() < 48 {
			b.WriteRune(r)
		}
	}
	sum := sha256.Sum256([]byte(path + "\x00" + strings.Join(sub, "\x00")))
	return b.String() + "-" + hex.EncodeToString(sum[:12])
}

// call is how a person writes the program and its subcommand.
func call(path string, sub []string) string {
	return strings.Join(append([]string{path}, sub...), " ")
}
