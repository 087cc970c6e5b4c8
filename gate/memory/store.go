package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrCorrupt means that a memory is there and cannot be understood: cut short, edited, of another version.
var ErrCorrupt = errors.New("not a memory that can be understood")

// Load returns what the memory id holds. It reads one small file and one directory, which is empty but for the moment in
// which two memories change at once; it takes no lock and writes nothing.
func (s Store) Load(id ID) (*State, error) {
	if id == (ID{}) {
		return nil, errors.New("load memory: no session or project is named")
	}
	pending, err := s.jointOf(id)
	if err != nil {
		return nil, err
	}
	state, err := s.read(id)
	if err != nil {
		return nil, err
	}
	for _, p := range pending {
		if p.version > state.kept.version {
			if state, err = p.state(s.file(id)); err != nil {
				return nil, err
			}
		}
	}
	return state, nil
}

// Update changes the memories ids as one: it locks them, gives change what they hold, in the same order, and writes down
// what change made of it. The records that change returns are added to the trace of each. Where change returns an
// error, nothing is changed, and Update returns that error.
//
// When Update returns nil, the change counts, for whoever comes next; when it returns an error, nothing has changed.
func (s Store) Update(ctx context.Context, ids []ID, change func(states []*State) ([]Record, error)) error {
	held, err := s.hold(ctx, ids)
	if err != nil {
		return err
	}
	defer held.release()
	states, before := make([]*State, len(ids)), make([][]byte, len(ids))
	for i, id := range ids {
		if states[i], err = s.read(id); err != nil {
			return err
		}
		before[i] = states[i].encode(id)
	}
	records, err := change(states)
	if err != nil {
		return err
	}
	lines := encodeRecords(records)
	var parts []part
	for i, id := range ids {
		if err := s.keep(id, states[i], lines); err != nil {
			return err
		}
		if bytes.Equal(states[i].encode(id), before[i]) {
			continue
		}
		states[i].kept.version++
		parts = append(parts, part{id, states[i].kept.version, string(states[i].encode(id))})
	}
	return s.commit(parts)
}

// commit makes parts count, all or none.
func (s Store) commit(parts []part) error {
	if len(parts) < 2 {
		for _, p := range parts {
			return s.replace(s.file(p.id), seal(p.data))
		}
		return nil
	}
	joint := s.jointFile(parts)
	if err := s.replace(joint, seal(encodeJoint(parts))); err != nil {
		return err
	}
	// From here on the change counts; what fails now, the next one who comes does again.
	if s.apply(parts) == nil {
		s.Disk.Remove(joint)
	}
	return nil
}

// apply writes the states of parts that are younger than what is there. The caller holds their locks.
func (s Store) apply(parts []part) error {
	for _, p := range parts {
		state, err := s.read(p.id)
		if err != nil {
			return err
		}
		if state.kept.version >= p.version {
			continue
		}
		if err := s.Disk.MkdirAll(s.dir(p.id), 0o700); err != nil {
			return err
		}
		if err := s.replace(s.file(p.id), seal(p.data)); err != nil {
			return err
		}
	}
	return nil
}

// read returns what stands in the state file of id, the zero State where there is none.
func (s Store) read(id ID) (*State, error) {
	name := s.file(id)
	data, err := readSealed(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = absent(name); err == nil {
			return newState(), nil
		}
	}
	var state *State
	if err == nil {
		state, err = decodeState(id, data)
	}
	if err != nil {
		return nil, fmt.Errorf("read the memory of %v: %s: %w; a person can start it anew by removing %s", id, name, err, s.dir(id))
	}
	return state, nil
}

func (s Store) dir(id ID) string  { return filepath.Join(s.Dir, id.kind, id.key) }
func (s Store) file(id ID) string { return filepath.Join(s.dir(id), "state") }

// absent returns nil if nobody ever wrote what is not there: the nearest directory above that is there must be one. Behind a
// link that leads nowhere nothing would be remembered, and nothing missed.
func absent(name string) error {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("%w: %v", ErrCorrupt, err)
		}
		return nil
	}
}

// replace makes data the content of name. An error that comes after the deed is none: a caller that tried again would do
// it twice.
func (s Store) replace(name string, data []byte) error {
	err := s.Disk.WriteFile(name, data, 0o600)
	if err != nil {
		if now, reading := readRegular(name); reading == nil && bytes.Equal(now, data) {
			return nil
		}
	}
	return err
}

// maxFile bounds what is read of one file. States and segments are far smaller, unless one line had thousands of calls.
const maxFile = 32 << 20

// readRegular reads a file that the agent's user may have put there: it does not wait, as it would for a pipe. It goes
// to the system directly, since every check reads a file this way.
func readRegular(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFREG || info.Size > maxFile {
		return nil, fmt.Errorf("%w: no file, or far too large", ErrCorrupt)
	}
	data := make([]byte, info.Size)
	for read := 0; read < len(data); {
		n, err := unix.Read(fd, data[read:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return nil, fmt.Errorf("%w: it becomes shorter", ErrCorrupt)
		default:
			read += n
		}
	}
	return data, nil
}
