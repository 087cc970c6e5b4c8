package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

const fleetSchema = "gatehouse/fleet/v1"

// A fleetState is what is remembered of a gate on other hosts, in state/remote/<gate>.json with a checksum: one file
// and one flush for a pass over all of them. The changes of a drift can be many and are the same on all hosts that have
// it, so they lie beside it, in state/remote/changes/, each list by its SHA-256.
type fleetState struct {
	Schema    string    `json:"schema"`
	Gate      string    `json:"gate"`
	CheckedAt time.Time `json:"checked_at,omitzero"`
	// InForce and Past are the trees that were accepted here, the present one and those before it, the newest last. A host
	// that still has one of Past is behind: accepting it again would undo a review.
	InForce  force                 `json:"in_force,omitzero"`
	Past     []string              `json:"past,omitempty"`
	Rejected map[string]rejection  `json:"rejected,omitempty"` // by fingerprint
	Seen     []string              `json:"seen,omitempty"`     // fingerprints, as in a state
	Hosts    map[string]*hostState `json:"hosts"`
	Told     []*told               `json:"told,omitempty"` // what is announced
}

// A hostState is what is remembered of one host.
type hostState struct {
	Publication publication `json:"publication"`
	Log         decisionLog `json:"log,omitzero"`
	Content     string      `json:"content,omitempty"` // SHA-256 of the list of its entries
	Report      *Report     `json:"report,omitempty"`  // of the last pass, without changes
	Changes     string      `json:"changes,omitempty"` // SHA-256 of the changes
	HeadChanges string      `json:"head_changes,omitempty"`
}

const maxPast = 1000

// takeOver remembers that the accepted tree is another one now.
func (s *fleetState) takeOver(accepted string, now time.Time) {
	if was := s.InForce.Tree; was != "" && was != accepted {
		s.Past = append(slices.DeleteFunc(slices.Clone(s.Past), func(t string) bool { return t == was || t == accepted }), was)
		s.Past = s.Past[max(len(s.Past)-maxPast, 0):]
	}
	s.InForce = s.InForce.next(accepted, now)
}

// wasAccepted reports whether the tree is one that was accepted before the present one.
func (s *fleetState) wasAccepted(tree string) bool { return slices.Contains(s.Past, tree) }

func (s *fleetState) host(name string) *hostState {
	if s.Hosts[name] == nil {
		s.Hosts[name] = new(hostState)
	}
	return s.Hosts[name]
}

// remember takes over the reports of a look. A host that is no longer in the inventory is forgotten, but for its
// high-water mark: whoever brings it back does not bring back what was replayed.
func (s *fleetState) remember(look *fleetLook) {
	now := look.now
	s.CheckedAt = now
	listed := make(map[string]bool, len(look.reports))
	compared := true
	open := make(map[string]bool)
	for i := range look.reports {
		r := &look.reports[i]
		listed[r.Host] = true
		h := s.host(r.Host)
		r.Since = now
		if last := h.Report; last != nil && last.Result == r.Result && last.Fingerprint == r.Fingerprint {
			r.Since = last.Since
		}
		compared = compared && r.Complete()
		if !r.Complete() && h.Report != nil && h.Report.Fingerprint != "" {
			open[h.Report.Fingerprint] = true // it may still be there
		}
		open[r.Fingerprint] = true
	}
	seen := state{Seen: s.Seen}
	for _, fingerprint := range slices.Sorted(maps.Keys(open)) {
		seen.saw(fingerprint)
	}
	s.Seen = seen.Seen
	for i := range look.reports {
		r := &look.reports[i]
		if r.Fingerprint != "" {
			r.ID = seen.driftID(r.Fingerprint)
		}
		kept := *r
		kept.Changes, kept.HeadChanges = nil, nil
		s.Hosts[r.Host].Report = &kept
	}
	for name, h := range s.Hosts {
		if !listed[name] {
			h.Report, h.Changes, h.HeadChanges, h.Content = nil, "", "", ""
		}
	}
	for fingerprint := range s.Rejected {
		if compared && !open[fingerprint] {
			delete(s.Rejected, fingerprint)
		}
	}
}

func (w *Warden) fleetPath(gate string) string { return filepath.Join(w.State, "remote", gate+".json") }

func (w *Warden) loadFleet(gate string) (*fleetState, error) {
	path := w.fleetPath(gate)
	data, err := durable.ReadSealed(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fleetState{Schema: fleetSchema, Gate: gate, Hosts: make(map[string]*hostState)}, nil
	case errors.Is(err, durable.ErrCorrupt):
		return nil, fmt.Errorf("%w; restore it from a backup, or move it away to start anew without the hosts' "+
			"high-water marks and rejections", err)
	case err != nil:
		return nil, err
	}
	s := new(fleetState)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if s.Schema != fleetSchema || s.Gate != gate {
		return nil, fmt.Errorf("read %s: it is %q for gate %q, not %q for %q", path, s.Schema, s.Gate, fleetSchema, gate)
	}
	if s.Hosts == nil {
		s.Hosts = make(map[string]*hostState)
	}
	return s, nil
}

func (w *Warden) saveFleet(s *fleetState) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("state of gate %s on other hosts: %w", s.Gate, err)
	}
	return w.Disk.WriteSealed(w.fleetPath(s.Gate), append(data, '\n'), 0o600)
}

// keepChanges stores the changes of all reports, each list once.
func (w *Warden) keepChanges(look *fleetLook) error {
	names := make(map[*manifest.Change]string) // by the first of a list, which hosts share
	keep := func(changes []manifest.Change) (string, error) {
		if len(changes) == 0 {
			return "", nil
		}
		if name, ok := names[&changes[0]]; ok {
			return name, nil
		}
		data, err := json.Marshal(changes)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		name := hex.EncodeToString(sum[:])
		names[&changes[0]] = name
		if info, err := os.Lstat(w.changesPath(name)); err == nil && info.Size() == int64(len(data)) {
			return name, nil
		}
		return name, w.Disk.WriteFile(w.changesPath(name), data, 0o600)
	}
	for i := range look.reports {
		r := &look.reports[i]
		h := look.state.Hosts[r.Host]
		var err error
		if h.Changes, err = keep(r.Changes); err != nil {
			return err
		}
		if h.HeadChanges, err = keep(r.HeadChanges); err != nil {
			return err
		}
	}
	return nil
}

func (w *Warden) changesPath(name string) string {
	return filepath.Join(w.State, "remote", "changes", name)
}

// readChanges returns a list of changes that keepChanges stored.
func (w *Warden) readChanges(name string) ([]manifest.Change, error) {
	changes := []manifest.Change{}
	if name == "" {
		return changes, nil
	}
	data, err := os.ReadFile(w.changesPath(name))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("read %s: %w", w.changesPath(name), durable.ErrCorrupt)
	}
	return changes, json.Unmarshal(data, &changes)
}

// fleetStates loads the states of all gates of other hosts.
func (w *Warden) fleetStates() ([]*fleetState, error) {
	files, err := os.ReadDir(filepath.Join(w.State, "remote"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var states []*fleetState
	for _, file := range files {
		if gate, ok := cutJSON(file); ok && !strings.HasPrefix(gate, ".") && file.Type().IsRegular() {
			s, err := w.loadFleet(gate)
			if err != nil {
				return nil, err
			}
			states = append(states, s)
		}
	}
	return states, nil
}

// fleetDrifts are the fingerprints of the drifts that other hosts have.
func (w *Warden) fleetDrifts() (map[string]bool, error) {
	states, err := w.fleetStates()
	if err != nil {
		return nil, err
	}
	open := make(map[string]bool)
	for _, s := range states {
		for _, h := range s.Hosts {
			if h.Report != nil {
				open[h.Report.Fingerprint] = true
			}
		}
	}
	return open, nil
}

// pruneFleet removes lists of changes and objects that no host's report needs any more.
func (w *Warden) pruneFleet() error {
	states, err := w.fleetStates()
	if err != nil {
		return nil // a state that cannot be read may need any of them
	}
	changes, contents := make(map[string]bool), make(map[string]bool)
	for _, s := range states {
		for _, h := range s.Hosts {
			changes[h.Changes], changes[h.HeadChanges], contents[h.Content] = true, true, true
			if h.Report == nil || h.Report.Fingerprint == "" || w.hasStaged(h.Report.Fingerprint) {
				continue
			}
			// What is not staged yet is fetched piece by piece.
			list, err := w.readChanges(h.Changes)
			if err != nil {
				continue
			}
			for _, c := range list {
				if c.New != nil && c.New.Type == manifest.File {
					contents[c.New.SHA256] = true
				}
			}
		}
	}
	return errors.Join(w.keepOnly(filepath.Join(w.State, "remote", "changes"), changes, 0), w.keepOnly(RemoteObjects(w.State), contents, fetchTime))
}

func (w *Warden) hasStaged(fingerprint string) bool {
	_, err := os.Lstat(w.stagedDir(fingerprint))
	return err == nil
}

// fetchTime is how long an object may lie here before a pass has seen what needs it: a fetch takes no lock of a pass.
const fetchTime = 10 * time.Minute

// keepOnly removes the files of a directory that are older than an age, but those that are named.
func (w *Warden) keepOnly(dir string, named map[string]bool, age time.Duration) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if named[file.Name()] {
			continue
		}
		if info, err := file.Info(); err != nil || age == 0 || w.Now().Sub(info.ModTime()) > age {
			if err := w.Disk.Remove(filepath.Join(dir, file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentOf is the name of a list of entries: the SHA-256 of what Marshal writes.
func contentOf(g *manifest.Generation) (string, error) {
	data, err := g.Marshal()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
