package flags

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/internal/durable"
)

// A Kept is an entry in a store, and why it does not count, if so.
type Kept struct {
	*Entry
	Problem error
}

// List returns what a store holds for this machine, by path and subcommand. Files that are no entries are left out; a
// store that is not there holds nothing.
func (s Store) List(machine string) ([]Kept, error) {
	names, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept []Kept
	for _, name := range names {
		if durable.IsTemp(name.Name()) {
			continue
		}
		e, err := s.open(filepath.Join(s.Dir, name.Name()))
		if err != nil {
			continue
		}
		now, err := stat(machine, e.File.Path)
		if err == nil {
			err = e.counts(now, e.Sub)
		}
		kept = append(kept, Kept{e, err})
	}
	slices.SortFunc(kept, func(a, b Kept) int { return strings.Compare(call(a.File.Path, a.Sub), call(b.File.Path, b.Sub)) })
	return kept, nil
}
