package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"gatehouse/gate"
)

// A Place is where a catalogue is looked for: beside the policy that is in force.
type Place struct {
	Policy  gate.Provenance // as gate.Gate.Provenance says
	Problem error           // as gate.Gate.Problem says: why everything is denied
	UID     uint32          // whose calls these are
	Git     string          // the git that is asked where there is no warden; "": /usr/bin/git and the like
}

// A Source says why a catalogue counts.
type Source struct {
	Mode   string `json:"mode"` // accepted, by the warden; committed, in git
	Dir    string `json:"dir"`
	Gate   string `json:"gate,omitempty"`
	Tree   string `json:"tree,omitempty"`   // of the accepted generation
	Commit string `json:"commit,omitempty"` // that HEAD is
}

// open reads the catalogue that is in force. It is complete: in order, frozen, and let into force by a person. Which
// programs there are on this machine is not looked at yet.
func open(ctx context.Context, p Place) (*Catalogue, error) {
	files, from, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	c, err := Parse(filepath.Join(from.Dir, File), files[File])
	if err != nil {
		return nil, err
	}
	c.From = from
	data, ok := files[LockFile]
	if !ok {
		const way = "a person can look at the tools and run: gate catalog freeze"
		if from.Mode == "accepted" {
			return nil, failed(NotFrozen, "what was accepted of gate %s has no %s; "+way+", then gate publish and, as root, warden accept", from.Gate, LockFile)
		}
		return nil, failed(NotFrozen, "%s is not there; "+way, filepath.Join(from.Dir, LockFile))
	}
	l, err := ParseLock(filepath.Join(from.Dir, LockFile), data)
	if err != nil {
		return nil, err
	}
	if err := c.lock(l); err != nil {
		return nil, err
	}
	return c, nil
}

// read reads both files, each once, and says whose word they are.
func (p Place) read(ctx context.Context) (map[string][]byte, Source, error) {
	from := Source{Dir: p.Policy.Dir, Gate: p.Policy.Gate, Tree: p.Policy.Tree}
	if p.Problem != nil {
		return nil, from, failed(NotAccepted, "the policy denies everything, and its catalogue with it: %w", p.Problem)
	}
	switch p.Policy.Mode {
	case gate.ModeAccepted:
		from.Mode = "accepted"
		dir, err := acceptedPolicy(p.Policy.Dir)
		if err != nil {
			return nil, from, err
		}
		from.Dir = dir
		files, err := readBoth(dir, func(st *unix.Stat_t) bool { return st.Uid == 0 && st.Mode&0o022 == 0 })
		return files, from, err
	case gate.ModeLive:
		from.Mode, from.Tree = "committed", ""
		files, err := readBoth(from.Dir, func(st *unix.Stat_t) bool { return (st.Uid == p.UID || st.Uid == 0) && st.Mode&0o022 == 0 })
		if err != nil {
			return nil, from, err
		}
		from.Commit, err = committed(ctx, p.Git, p.UID, from.Dir, files)
		return files, from, err
	case gate.ModeGiven:
		return nil, from, failed(NotAccepted, "the policy %s was named by the caller; only one that is in force brings a catalogue", p.Policy.Dir)
	default:
		return nil, from, failed(NoCatalogue, "there is no policy that a catalogue could belong to")
	}
}

// acceptedPolicy finds the policy directory in a generation: the one live root with a gate.yaml.
func acceptedPolicy(generation string) (string, error) {
	generation, err := filepath.EvalSymlinks(generation) // the warden may put another in its place at any time
	if err != nil {
		return "", &Error{Code: NoCatalogue, Err: err}
	}
	roots, err := os.ReadDir(filepath.Join(generation, "files"))
	if err != nil {
		return "", &Error{Code: NoCatalogue, Err: err}
	}
	found := ""
	for _, root := range roots {
		dir := filepath.Join(generation, "files", root.Name())
		if info, err := os.Lstat(filepath.Join(dir, "gate.yaml")); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if found != "" {
			return "", failed(NoCatalogue, "%s and %s both hold a policy", found, dir)
		}
		found = dir
	}
	if found == "" {
		return "", failed(NoCatalogue, "%s holds no policy", generation)
	}
	return found, nil
}

func readBoth(dir string, believed func(*unix.Stat_t) bool) (map[string][]byte, error) {
	files := make(map[string][]byte, 2)
	for _, name := range []string{File, LockFile} {
		path := filepath.Join(dir, name)
		data, err := readFile(path, believed)
		if errors.Is(err, fs.ErrNotExist) {
			if name == File {
				return nil, failed(NoCatalogue, "there is no catalogue at %s; a person can write one, as docs/catalog.md shows", path)
			}
			continue
		}
		if err != nil {
			return nil, &Error{Code: NotAccepted, Err: err}
		}
		files[name] = data
	}
	return files, nil
}

func readFile(path string, believed func(*unix.Stat_t) bool) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			err = fmt.Errorf("%s is a link; put the file itself there", path)
		}
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	if !believed(&st) {
		return nil, fmt.Errorf("%s belongs to uid %d with mode %04o, and others could have written it", path, st.Uid, st.Mode&0o7777)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return data, err
}
