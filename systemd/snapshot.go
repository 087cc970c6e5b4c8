package systemd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

const snapshotSchema = "gatehouse/loaded-snapshot/v1"

// maxKnown bounds the processes that are remembered of one unit.
const maxKnown = 1000

// A memory is what root keeps of one unit between two looks: which processes were in it, and, once all files were older
// than the oldest process, what they were.
type memory struct {
	Schema string `json:"schema"`
	BootID string `json:"boot_id"`
	Run    string `json:"run"`

	// Known are processes that were in the unit. With a snapshot, they are those that can only have read what is in it.
	Known []known `json:"known"`

	// Files is the snapshot: digests and targets by path. Without one it is nil.
	Files map[string]string `json:"files,omitempty"`
	// Times is selection.times at the last look, and Since when, counted from boot, it was so for certain: first from the
	// start of the oldest process, then from the look that saw other times with the same content.
	Times string        `json:"times,omitempty"`
	Since time.Duration `json:"since,omitempty"`
}

type known struct {
	PID    int    `json:"pid"`
	Ticks  uint64 `json:"ticks"`
	Image  string `json:"image,omitempty"`
	Forked bool   `json:"forked,omitempty"`
}

// knows reports whether p was there and, as far as can be told, has not executed anything since. An image is what the
// process lets be seen: another one says that it did, the same one says nothing.
func (m *memory) knows(p *process) bool {
	return slices.ContainsFunc(m.Known, func(k known) bool {
		return k.PID == p.pid && k.Ticks == p.ticks && k.Forked == p.forked && (k.Image == p.image || k.Image == "" || p.image == "")
	})
}

func newKnown(processes []process) []known {
	all := make([]known, 0, len(processes))
	for _, p := range processes {
		all = append(all, known{p.pid, p.ticks, p.image, p.forked})
	}
	return all
}

// differs returns the path of an entry that is not what it was at the snapshot: the newest one, or else one that is gone.
func (m *memory) differs(s *selection) (path string, different bool) {
	now := s.contents()
	var newest time.Time
	for _, e := range s.entries {
		if t := changed(&e); m.Files[e.Path] != now[e.Path] && (path == "" || t.After(newest)) {
			path, newest = e.Path, t
		}
	}
	if path != "" {
		return path, true
	}
	for was := range m.Files {
		if _, ok := now[was]; !ok && (path == "" || was < path) {
			path = was
		}
	}
	return path, path != ""
}

// snapshotName is where the memory of a unit is kept.
func (c *Checker) snapshotName(w Watch) (string, error) {
	if err := manifest.ValidGate(w.Gate); err != nil {
		return "", err
	}
	if w.Unit == "" || len(w.Unit) > 240 || w.Unit[0] == '.' || strings.ContainsAny(w.Unit, "/\x00") {
		return "", fmt.Errorf("%q is no name of a unit", w.Unit)
	}
	return filepath.Join(c.Dir, w.Gate, w.Unit+"."+w.scope()+".json"), nil
}

// recall returns what is remembered from this boot, or nothing: a file that is not as it was written counts as none.
func (c *Checker) recall(w Watch) (*memory, error) {
	name, err := c.snapshotName(w)
	if err != nil {
		return nil, err
	}
	data, err := durable.ReadSealed(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrCorrupt) {
		return new(memory), nil
	}
	if err != nil {
		return nil, err
	}
	m := new(memory)
	if json.Unmarshal(data, m) != nil || m.Schema != snapshotSchema || m.BootID != c.BootID {
		return new(memory), nil
	}
	return m, nil
}

// remember writes m unless it is what is there already.
func (c *Checker) remember(w Watch, m *memory) error {
	name, err := c.snapshotName(w)
	if err != nil {
		return err
	}
	m.Schema, m.BootID = snapshotSchema, c.BootID
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if there, err := durable.ReadSealed(name); err == nil && bytes.Equal(there, data) {
		return nil
	}
	if err := c.Disk.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return c.Disk.WriteSealed(name, data, 0o600)
}

// steadiness is what was seen of the wall clock, by the clock that counts from boot.
type steadiness struct {
	since time.Duration // it was seen to run as it does now. What started later did so under the same clock
	other time.Duration // it was seen to run otherwise. For what started before, stamps that agree with now prove nothing; 0: never
}

// steady keeps what was seen of the wall clock at looks of this boot. The first one sees nothing but how it runs.
func (c *Checker) steady(now clock) (steadiness, error) {
	type seen struct {
		BootID string        `json:"boot_id"`
		Since  time.Duration `json:"since"`
		Zero   time.Time     `json:"zero"` // of the clock that counts from boot
		Other  time.Duration `json:"other,omitempty"`
	}
	name := filepath.Join(c.Dir, "clock.json")
	var last seen
	next := seen{BootID: c.BootID, Since: now.boot, Zero: now.at(0)}
	data, err := durable.ReadSealed(name)
	if err == nil && json.Unmarshal(data, &last) == nil && last.BootID == c.BootID && last.Since <= now.boot {
		if now.setSince(last.Zero, 0) == 0 {
			return steadiness{last.Since, last.Other}, nil
		}
		next.Other = last.Since
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, durable.ErrCorrupt) {
		return steadiness{}, err
	}
	if data, err = json.Marshal(next); err != nil {
		return steadiness{}, err
	}
	if err := c.Disk.MkdirAll(c.Dir, 0o700); err != nil {
		return steadiness{}, err
	}
	return steadiness{next.Since, next.Other}, c.Disk.WriteSealed(name, data, 0o600)
}

// bootIDOf reads the identity of this boot.
func bootIDOf(proc string) (string, error) {
	data, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	return strings.TrimSpace(string(data)), err
}
