package systemd

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"gatehouse/internal/safefs"
	"gatehouse/manifest"
)

// recordSchema is the schema of the file in which a process may say what it has loaded: loaded.json in its runtime
// directory (RuntimeDirectory= of its unit, /run/NAME or /run/user/UID/NAME; for a user's unit without one,
// /run/user/UID/gatehouse), such as
//
//	{"schema": "gatehouse/loaded/v1", "invocation_id": "…", "files": {"plugin/index.js": "<SHA-256 of the bytes it read>"}}
//
// with $INVOCATION_ID, and "boot_id" if it likes. The suspect writes it, so a record never makes a verdict better: a
// digest that is not that of the file on the disk makes the unit stale; one of another run, and files that it does not
// name, say nothing. A record that is there and cannot be read or understood makes the verdict unknown.
const recordSchema = "gatehouse/loaded/v1"

const (
	recordName     = "loaded.json"
	maxRecord      = 1 << 20
	maxRuntimeDirs = 20
)

// A record is what the process of a unit says of itself.
type record struct {
	Schema       string            `json:"schema"`
	InvocationID string            `json:"invocation_id"`
	BootID       string            `json:"boot_id"`
	Files        map[string]string `json:"files"`
}

// readRecord looks in the runtime directories of u for a record of any of the owners. There may be none.
func (c *Checker) readRecord(w Watch, u *unitState, owners []uint32) (*record, error) {
	base := c.runDir()
	dirs := u.runtimeDirs
	switch {
	case w.User:
		base = filepath.Join(base, "user", strconv.FormatUint(uint64(w.UID), 10))
		if len(dirs) == 0 {
			dirs = []string{"gatehouse"}
		}
	case u.dynamicUser:
		base = filepath.Join(base, "private")
	}
	if len(dirs) > maxRuntimeDirs {
		return nil, fmt.Errorf("the unit has %d runtime directories", len(dirs))
	}
	for _, name := range dirs {
		if safefs.ValidName(name) != nil {
			return nil, fmt.Errorf("the runtime directory %.100q is no name of one", name)
		}
		path := filepath.Join(base, name)
		r, err := readRecordIn(path, owners)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(path, recordName), err)
		}
		if r != nil {
			return r, nil
		}
	}
	return nil, nil
}

func readRecordIn(path string, owners []uint32) (*record, error) {
	dir, err := safefs.OpenDir(path, safefs.Options{Owners: owners, MaxFile: maxRecord})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for try := 0; ; try++ {
		data, _, err := dir.ReadFile(recordName, nil)
		switch refused, _ := errors.AsType[*safefs.RefusedError](err); {
		case err == nil:
			return parseRecord(data)
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case refused == nil || refused.Reason != safefs.InFlux || try == 2:
			return nil, err
		}
	}
}

func parseRecord(data []byte) (*record, error) {
	r := new(record)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more after the end of the document")
	}
	if r.Schema != recordSchema {
		return nil, fmt.Errorf("the schema %.50q is not %q", r.Schema, recordSchema)
	}
	for path, digest := range r.Files {
		if err := manifest.ValidPath(path); err != nil {
			return nil, err
		}
		if raw, err := hex.DecodeString(digest); err != nil || len(raw) != 32 || hex.EncodeToString(raw) != digest {
			return nil, fmt.Errorf("%.50q of %q is no SHA-256 in lower-case hex", digest, path)
		}
	}
	return r, nil
}

// contradicts returns the path of a file that is not what the process of this run says it has loaded, or "".
func (r *record) contradicts(invocation, bootID string, s *selection, m patterns) string {
	if r == nil || r.InvocationID != invocation || r.BootID != "" && r.BootID != bootID {
		return ""
	}
	onDisk := make(map[string]string)
	links := make(map[string]bool)
	for _, e := range s.entries {
		onDisk[e.Path] = e.SHA256
		links[e.Path] = e.Type == manifest.Symlink
	}
	first := ""
	for path, digest := range r.Files {
		if !m.cover(path) || onDisk[path] == digest || links[path] || first != "" && first < path {
			continue
		}
		throughLink := false
		for dir := range parents(path) {
			throughLink = throughLink || links[dir]
		}
		if !throughLink { // the process may name a file by the link that it went through
			first = path
		}
	}
	return first
}
