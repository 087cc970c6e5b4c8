package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"gatehouse/internal/wire"
)

// A part is one of the states of a change.
type part struct {
	id      ID
	version uint64
	data    string // as encode gives it
}

func (p part) state(file string) (*State, error) {
	state, err := decodeState(p.id, p.data)
	if err != nil {
		return nil, fmt.Errorf("read the memory of %v: a change of %s: %w", p.id, file, err)
	}
	return state, nil
}

// jointMagic begins what is sealed in a file that holds a change of several memories.
const jointMagic = "gatehouse joint memory 1\n"

func encodeJoint(parts []part) string {
	var w wire.Writer
	w.Raw(jointMagic)
	w.Uint(uint64(len(parts)))
	for _, p := range parts {
		w.Text(p.id.kind)
		w.Text(p.id.name)
		w.Uint(p.version)
		w.Text(p.data)
	}
	return string(w.Bytes())
}

func decodeJoint(data string) ([]part, error) {
	r := wire.NewReader(data)
	r.Raw(jointMagic)
	var parts []part
	for range r.Len() {
		if r.Err() != nil {
			break
		}
		var p part
		switch kind, name := r.Text(), r.Text(); kind {
		case "sessions":
			p.id = Session(name)
		case "projects":
			p.id = Project(name)
		}
		if p.id == (ID{}) {
			r.Fail(errors.New("it names no memory"))
		}
		p.version = r.Uint()
		p.data = r.Text()
		parts = append(parts, p)
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return parts, nil
}

// jointFile is the file for a change of the memories of parts. Its name says which they are; whoever holds their locks
// is the only one who writes it.
func (s Store) jointFile(parts []part) string {
	var tags []string
	for _, p := range parts {
		tags = append(tags, p.id.tag())
	}
	return filepath.Join(s.Dir, "joint", strings.Join(tags, "."))
}

func (id ID) tag() string { return digest(id.kind + "/" + id.key) }

// A jointChange is a change of several memories that is not everywhere yet.
type jointChange struct {
	file  string
	parts []part
}

// jointWith returns the changes that are under way, or were cut short, and concern one of ids.
func (s Store) jointWith(ids []ID) ([]jointChange, error) {
	name := filepath.Join(s.Dir, "joint")
	dir, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(filepath.Join(name, "any"))
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []jointChange
	for _, name := range names {
		if !concerns(name, ids) {
			continue
		}
		file := filepath.Join(dir.Name(), name)
		data, err := readSealed(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has become everywhere
		}
		var parts []part
		if err == nil {
			parts, err = decodeJoint(data)
		}
		if err != nil {
			return nil, fmt.Errorf("read a change of memory: %s: %w; a person can undo that change by removing the file", file, err)
		}
		found = append(found, jointChange{file, parts})
	}
	return found, nil
}

func concerns(name string, ids []ID) bool {
	for _, id := range ids {
		if strings.Contains(name, id.tag()) {
			return true
		}
	}
	return false
}
