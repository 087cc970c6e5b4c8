package wiring

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A record is what was there before the gate was put into a client's settings. It holds whole files, which may hold
// secrets, so it can be read by its user only.
type record struct {
	Schema  string       `json:"schema"`
	Client  string       `json:"client"`
	Scope   Scope        `json:"scope"`
	Project string       `json:"project,omitempty"`
	Files   []fileRecord `json:"files"`
	Dirs    []string     `json:"dirs,omitempty"` // made for them, deepest first
}

type fileRecord struct {
	Path    string `json:"path"`
	Target  string `json:"target"`
	Existed bool   `json:"existed"`
	Before  []byte `json:"before,omitempty"`
	Mode    uint32 `json:"mode"`
	After   string `json:"after"` // SHA-256
}

const recordSchema = "gatehouse/hook-record/v1"

func newRecord(client string, s Scope, project string) record {
	r := record{Schema: recordSchema, Client: client, Scope: s}
	if s == Project {
		r.Project = project
	}
	return r
}

func (r *record) file(target string) *fileRecord {
	i := slices.IndexFunc(r.Files, func(f fileRecord) bool { return f.Target == target })
	if i < 0 {
		return nil
	}
	return &r.Files[i]
}

func (r *record) keep(f *fileRecord) {
	if f != nil {
		r.Files = append(r.Files, *f)
	}
}

// add takes a file in, and the directories that will have to be made for it.
func (r *record) add(f fileRecord) {
	r.Files = append(r.Files, f)
	for dir := filepath.Dir(f.Target); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		if !slices.Contains(r.Dirs, dir) {
			r.Dirs = append(r.Dirs, dir)
		}
	}
	slices.SortFunc(r.Dirs, func(a, b string) int { return len(b) - len(a) })
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// recordName is the file of a record. There is one for each project.
func (h Host) recordName(client string, s Scope, project string) string {
	name := client + "-" + string(s)
	if s == Project {
		name += "-" + digest([]byte(project))[:12]
	}
	return filepath.Join(h.State, name+".json")
}

// readRecord returns the record of an earlier run, or an empty one.
func (h Host) readRecord(client string, s Scope) (record, error) {
	empty := newRecord(client, s, h.Project)
	if h.State == "" {
		return empty, nil
	}
	name := h.recordName(client, s, h.Project)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, err
	}
	var r record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || r.Schema != recordSchema || r.Client != client || r.Scope != s {
		return empty, fmt.Errorf("%s is no record of what was changed (%v): move it away", name, err)
	}
	return r, nil
}

func (h Host) writeRecord(r record) error {
	if h.State == "" {
		return errors.New("there is no directory to keep a record of the change in")
	}
	kept, err := h.readRecord(r.Client, r.Scope)
	if err != nil {
		return err
	}
	for _, f := range kept.Files { // of files that this run does not touch
		if r.file(f.Target) == nil {
			r.Files = append(r.Files, f)
		}
	}
	for _, dir := range kept.Dirs {
		if !slices.Contains(r.Dirs, dir) {
			r.Dirs = append(r.Dirs, dir)
		}
	}
	slices.SortFunc(r.Dirs, func(a, b string) int { return len(b) - len(a) })
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	name := h.recordName(r.Client, r.Scope, r.Project)
	if err := h.Disk.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return h.Disk.WriteFile(name, append(data, '\n'), 0o600)
}

func (h Host) dropRecord(r record) error {
	if h.State == "" {
		return nil
	}
	return h.Disk.Remove(h.recordName(r.Client, r.Scope, r.Project))
}
