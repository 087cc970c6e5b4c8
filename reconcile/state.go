package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
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

const stateSchema = "gatehouse/state/v1"

// A state is what is remembered of one gate between passes, in state/gates/<gate>.json with a checksum.
type state struct {
	Schema      string      `json:"schema"`
	Gate        string      `json:"gate"`
	Publication publication `json:"publication"`
	// Vendored says which generation a git tree holds, so that an unchanged HEAD is not read again.
	Vendored vendoredTree `json:"vendored"`
	// Replaced is what the last deploy or rollback replaced. It counts only while By is the accepted tree.
	Replaced replacement          `json:"replaced"`
	Rejected map[string]rejection `json:"rejected,omitempty"` // by fingerprint
	Pause    *Pause               `json:"pause,omitempty"`
	Source   sourceSeen           `json:"source"`
	Gone     map[string]time.Time `json:"gone,omitempty"`   // live roots that the claim has and root does not see, since when
	Report   *Report              `json:"report,omitempty"` // of the last pass
	// Seen are the fingerprints of past drifts, the newest last: an id that could mean one of them means none.
	Seen []string `json:"seen,omitempty"`
	// Held is since when there has been one finding or another that the agent's next publish should cure.
	Held time.Time `json:"held,omitzero"`
	// Log is where the gate's log of decisions ended, and where it broke.
	Log     decisionLog `json:"log,omitzero"`
	InForce force       `json:"in_force,omitzero"`
	// Silent is since when the manager of a unit has not answered.
	Silent map[string]time.Time `json:"silent,omitempty"`

	boot string // the host's own boot id
}

type vendoredTree struct {
	ID   string `json:"id"`   // git's id of the directory
	Tree string `json:"tree"` // of the generation in it
}

// A replacement is a deploy or rollback, from the tree that it replaced to the one that is accepted by it.
type replacement struct {
	Tree string    `json:"tree"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	// Paths are what it changed, as long as live was not seen to have taken that over.
	Paths []string `json:"paths,omitempty"`
}

type rejection struct {
	Why string    `json:"why"`
	By  string    `json:"by"`
	At  time.Time `json:"at"`
}

// A Pause holds a gate's notices until a time. Findings and exit codes are as ever.
type Pause struct {
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
	By    string    `json:"by"`
}

// replaced returns the tree that accepted replaced, if a deploy or rollback did.
func (s *state) replaced(accepted string) string {
	if s.Replaced.By != accepted || accepted == "" {
		return ""
	}
	return s.Replaced.Tree
}

// undone returns the paths among the changes whose deployed state the live files never took over.
func (s *state) undone(accepted string, changes []manifest.Change) []string {
	if s.Replaced.By != accepted {
		return nil
	}
	var paths []string
	for _, c := range changes {
		if slices.Contains(s.Replaced.Paths, c.Path) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// A sourceSeen is how the configuration described the live files, and since when. What was published before is of
// other files.
type sourceSeen struct {
	Digest string    `json:"digest"`
	Since  time.Time `json:"since,omitzero"` // zero for the first
}

// next returns what is remembered after the source src was in force at now.
func (seen sourceSeen) next(src *manifest.Source, now time.Time) sourceSeen {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %v", src.Live, src.Owner, src.Limits))
	digest := hex.EncodeToString(sum[:])
	switch seen.Digest {
	case digest:
		return seen
	case "":
		return sourceSeen{Digest: digest}
	default:
		return sourceSeen{digest, now}
	}
}

const maxSeen = 1000

// saw remembers a fingerprint.
func (s *state) saw(fingerprint string) {
	if fingerprint == "" || slices.Contains(s.Seen, fingerprint) {
		return
	}
	s.Seen = append(slices.Clone(s.Seen), fingerprint)
	if extra := len(s.Seen) - maxSeen; extra > 0 {
		s.Seen = s.Seen[extra:]
	}
}

// driftID is DriftID with as many more digits as tell the fingerprint from those seen before. Twelve digits are few
// enough for an agent to make two drifts that share them.
func (s *state) driftID(fingerprint string) string {
	for n := 12; n < len(fingerprint); n++ {
		if !s.shared(fingerprint, fingerprint[:n]) {
			return "d-" + fingerprint[:n]
		}
	}
	return "d-" + fingerprint
}

// shared reports whether prefix is also the beginning of another fingerprint that was seen.
func (s *state) shared(fingerprint, prefix string) bool {
	return slices.ContainsFunc(s.Seen, func(seen string) bool { return seen != fingerprint && strings.HasPrefix(seen, prefix) })
}

// paused reports whether notices are held at now.
func (s *state) paused(now time.Time) bool { return s.Pause != nil && now.Before(s.Pause.Until) }

func (w *Warden) statePath(gate string) string { return filepath.Join(w.State, "gates", gate+".json") }

// loadState reads what is remembered of a gate; a gate that was never seen has an empty state.
func (w *Warden) loadState(gate string) (*state, error) {
	path := w.statePath(gate)
	data, err := durable.ReadSealed(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &state{Schema: stateSchema, Gate: gate}, nil
	case errors.Is(err, durable.ErrCorrupt):
		return nil, fmt.Errorf("%w; restore it from a backup, or move it away to start anew without the gate's "+
			"high-water mark, rejections and pause", err)
	case err != nil:
		return nil, err
	}
	s := new(state)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if s.Schema != stateSchema || s.Gate != gate {
		return nil, fmt.Errorf("read %s: it is %q for gate %q, not %q for %q", path, s.Schema, s.Gate, stateSchema, gate)
	}
	return s, nil
}

func (w *Warden) saveState(s *state) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("state of gate %s: %w", s.Gate, err)
	}
	return w.Disk.WriteSealed(w.statePath(s.Gate), append(data, '\n'), 0o600)
}

// prepare makes the directories of the state, with their permissions, and refuses a state that others could write.
func (w *Warden) prepare() error {
	if err := CheckState(w.State); err != nil {
		return err
	}
	for _, dir := range []struct {
		name string
		perm fs.FileMode
	}{{"", 0o711}, {"accepted", 0o755}, {"grants", 0o755}, {"gates", 0o700}, {"staged", 0o700}, {"intents", 0o700}, {"notices", 0o700}} {
		if err := w.Disk.MkdirAll(filepath.Join(w.State, dir.name), dir.perm); err != nil {
			return fmt.Errorf("prepare the state directory: %w", err)
		}
		if err := CheckState(filepath.Join(w.State, dir.name)); err != nil {
			return err
		}
	}
	return nil
}

// CheckState reports who else could change what is in a state directory, by it or by a directory above it. What is not
// there yet is for this process to make.
func CheckState(dir string) error {
	err := durable.OwnedAbove(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return CheckState(filepath.Dir(dir))
	}
	if err == nil {
		var info fs.FileInfo
		switch info, err = os.Lstat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && !info.IsDir():
			err = fmt.Errorf("%s is no directory", dir)
		case err == nil:
			err = durable.Owned(dir, info)
		}
	}
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}
