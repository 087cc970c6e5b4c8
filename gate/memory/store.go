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

// Load returns what the memories ids hold, in the same order. It reads a small file of each and one directory, which is
// empty but for the moment in which two memories change at once; it takes no lock and writes nothing.
func (s Store) Load(ids []ID) ([]*State, error) {
	if err := named(ids); err != nil {
		return nil, fmt.Errorf("load memory: %w", err)
	}
	changes, err := s.jointWith(ids)
	if err != nil {
		return nil, err
	}
	states := make([]*State, len(ids))
	for i, id := range ids {
		if states[i], _, err = s.read(id); err != nil {
			return nil, err
		}
		for _, c := range changes {
			for _, p := range c.parts {
				if p.id != id || p.version <= states[i].version {
					continue
				}
				if states[i], err = p.state(s.file(id)); err != nil {
					return nil, err
				}
			}
		}
	}
	return states, nil
}

// Update changes the memories ids as one: it locks them, gives change what they hold, in the same order, and writes down
// what change made of it. Where change returns an error, nothing is changed, and Update returns that error.
//
// When Update returns nil, the change counts, for whoever comes next; when it returns an error, nothing has changed.
func (s Store) Update(ctx context.Context, ids []ID, change func(states []*State) error) error {
	held, err := s.hold(ctx, ids)
	if err != nil {
		return err
	}
	defer held.release()
	states, before := make([]*State, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		if states[i], before[i], err = s.read(id); err != nil {
			return err
		}
	}
	if err := change(states); err != nil {
		return err
	}
	var parts []part
	for i, id := range ids {
		if string(states[i].encode(id)) == before[i] {
			s.touch(id)
			continue
		}
		states[i].version++
		parts = append(parts, part{id, states[i].version, string(states[i].encode(id))})
	}
	return s.commit(parts)
}

// touch notes that a memory is in use, for Expire. Where that cannot be written down, it is forgotten earlier.
func (s Store) touch(id ID) {
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, s.file(id), nil, unix.AT_SYMLINK_NOFOLLOW)
}

// commit makes parts count, all or none.
func (s Store) commit(parts []part) error {
	if len(parts) < 2 {
		for _, p := range parts {
			return s.write(p)
		}
		return nil
	}
	joint := s.jointFile(parts)
	if err := s.Disk.MkdirAll(filepath.Dir(joint), 0o700); err != nil {
		return err
	}
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
		state, _, err := s.read(p.id)
		if err != nil {
			return err
		}
		if state.version >= p.version {
			continue
		}
		if err := s.write(p); err != nil {
			return err
		}
	}
	return nil
}

func (s Store) write(p part) error {
	if err := s.Disk.MkdirAll(s.dir(p.id), 0o700); err != nil {
		return err
	}
	if p.version%sweepEvery == 0 {
		s.sweep(p.id)
	}
	return s.replace(s.file(p.id), seal(p.data))
}

// sweepEvery is after how many changes of a memory its directory is swept.
const sweepEvery = 64

// sweep removes what is in the directory of id and belongs to nothing: what a writer that was killed left, and the calls
// that an earlier version kept. The caller has the lock, and writes the directory next; what cannot be removed stays until
// the next time.
func (s Store) sweep(id ID) {
	entries, _ := os.ReadDir(s.dir(id))
	for _, e := range entries {
		if name := filepath.Join(s.dir(id), e.Name()); name != s.file(id) {
			s.Disk.Do("remove", name, func() error { return os.Remove(name) })
		}
	}
}

// read returns what stands in the state file of id, also as it stands there; where there is none, the zero State.
func (s Store) read(id ID) (state *State, data string, err error) {
	name := s.file(id)
	if data, err = readSealed(name); errors.Is(err, fs.ErrNotExist) {
		if err = absent(name); err == nil {
			state = newState()
			return state, string(state.encode(id)), nil
		}
	}
	if err == nil {
		state, err = decodeState(id, data)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the memory of %v: %s: %w; a person can start it anew by removing %s", id, name, err, s.dir(id))
	}
	return state, data, nil
}

func (s Store) dir(id ID) string  { return filepath.Join(s.Dir, id.kind, id.key) }
func (s Store) file(id ID) string { return filepath.Join(s.dir(id), "state") }

// absent returns nil if nobody ever wrote what is not there: the nearest directory above that is there must be one. Behind a
// link that leads nowhere nothing would be remembered, and nothing missed.
func absent(name string) error {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_, err = os.Stat(dir)
		}
		if err != nil {
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

// maxFile bounds what is read of one file. States are far smaller.
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
