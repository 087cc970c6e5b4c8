package reconcile

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
)

// An intent says what is about to be committed, so that a run that was cut short can be finished or undone.
type intent struct {
	ID          string    `json:"id"` // stands in the commit as the trailer Acceptance
	Action      string    `json:"action"`
	Gate        string    `json:"gate"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Tree        string    `json:"tree"`            // of the new generation
	Replaces    string    `json:"replaces"`        // the tree that was accepted before, empty for none
	Paths       []string  `json:"paths,omitempty"` // what a deploy or rollback changes
	Hosts       []string  `json:"hosts,omitempty"` // that have it
	Hub         string    `json:"hub,omitempty"`   // whose acceptance this host takes over
	HubCommit   string    `json:"hub_commit,omitempty"`
	Commit      string    `json:"commit,omitempty"` // of a deploy: it is there already
	By          string    `json:"by"`
	Why         string    `json:"why,omitempty"`
	At          time.Time `json:"at"`
}

// The trailers of a commit that warden makes.
const (
	trailerGate        = "Gate"
	trailerFingerprint = "Fingerprint"
	trailerHost        = "Host"
	trailerBy          = "Accepted-by"
	trailerID          = "Acceptance"
	trailerHosts       = "Hosts" // how many there are
	trailerHub         = "Hub"
	trailerHubCommit   = "Hub-Commit"
)

// A Decision is who decided and why.
type Decision struct {
	By  string
	Why string
}

func newIntent(action string, g Gate, d Decision, now time.Time) *intent {
	return &intent{ID: "a-" + strings.ToLower(rand.Text()), Action: action, Gate: g.Name, By: d.By, Why: d.Why, At: now}
}

// carryOut commits a prepared generation under its intent, puts it in force and returns the commit.
func (w *Warden) carryOut(ctx context.Context, g Gate, s *state, in *intent, c vendorgate.Change) (string, error) {
	if err := w.saveIntent(in); err != nil {
		return "", err
	}
	c.Trailers = in.trailers(w.Host)
	commit, err := w.Repository.Commit(ctx, c)
	if err != nil {
		// Whether the commit took place is for the repository to say, not for the error.
		done, undo := w.settle(context.WithoutCancel(ctx), g, s)
		if done != "" {
			err = fmt.Errorf("commit %.12s took place and is in force, but: %w", done, err)
		}
		return "", errors.Join(err, undo)
	}
	return commit, w.putInForce(g, s, in, commit)
}

// settle finishes or undoes what an intent on disk says was begun, and returns the commit of what it finished.
func (w *Warden) settle(ctx context.Context, g Gate, s *state) (commit string, err error) {
	in, err := w.loadIntent(g.Name)
	if err != nil || in == nil {
		return "", err
	}
	if in.Commit != "" {
		return in.Commit, w.putInForce(g, s, in, in.Commit)
	}
	if w.Repository == nil {
		return "", w.RepositoryErr
	}
	commit, found, err := w.Repository.FindTrailer(trailerID, in.ID, 1000)
	if err != nil {
		return "", fmt.Errorf("look for the commit of an acceptance that was cut short: %w", err)
	}
	if err := w.Repository.Finish(ctx, g.Name); err != nil {
		return "", fmt.Errorf("finish an acceptance that was cut short: %w", err)
	}
	if !found {
		return "", w.Disk.Remove(w.intentPath(g.Name))
	}
	return commit, w.putInForce(g, s, in, commit)
}

// putInForce makes the generation of in the accepted one. Every step may be done again.
func (w *Warden) putInForce(g Gate, s *state, in *intent, commit string) error {
	s.Vendored = vendoredTree{}
	s.Replaced = replacement{Tree: in.Replaces, By: in.Tree, At: in.At, Paths: in.Paths}
	if in.Action == "accept" && len(in.Paths) == 0 {
		s.Replaced = replacement{} // live is the new state already
	}
	if err := w.saveState(s); err != nil {
		return err
	}
	if err := w.Disk.Symlink(generationName(g.Name, in.Tree), w.acceptedLink(g.Name)); err != nil {
		return fmt.Errorf("put the accepted copy in force: %w", err)
	}
	if err := w.dropGenerations(g.Name, in.Tree, in.Replaces); err != nil {
		return err
	}
	err := w.record(Event{At: in.At, Gate: g.Name, Action: in.Action, Fingerprint: in.Fingerprint, Tree: in.Tree,
		Replaces: in.Replaces, Commit: commit, By: in.By, Why: in.Why, ID: in.ID})
	if err != nil {
		return err
	}
	return w.Disk.Remove(w.intentPath(g.Name))
}

// writeGeneration prepares state/accepted/<gate>.<tree>. It changes nothing that is in force.
func (w *Warden) writeGeneration(ctx context.Context, g Gate, next *manifest.Generation,
	content func(manifest.Entry) (io.ReadCloser, error)) error {
	dir := filepath.Join(w.State, "accepted", generationName(g.Name, next.Tree))
	if stored, err := manifest.OpenGeneration(dir, g.Source.Limits); err == nil {
		err := stored.Verify(ctx)
		stored.Close()
		if err == nil && stored.Generation.Tree == next.Tree {
			return w.compile(g, dir) // a run that was cut short may have left it out
		}
	}
	if err := w.Disk.RemoveAll(dir); err != nil {
		return fmt.Errorf("prepare the accepted copy: %w", err)
	}
	perms := manifest.GenerationPerms{Dir: 0o750, File: 0o640, GID: g.GroupID}
	if err := manifest.WriteGeneration(ctx, w.Disk, dir, next, content, perms); err != nil {
		return fmt.Errorf("prepare the accepted copy: %w", err)
	}
	if err := w.compile(g, dir); err != nil {
		return errors.Join(err, w.Disk.RemoveAll(dir))
	}
	return nil
}

// dropGenerations removes all generations of a gate but the two that are named.
func (w *Warden) dropGenerations(gate, keep, previous string) error {
	dir := filepath.Join(w.State, "accepted")
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		tree, ok := strings.CutPrefix(name.Name(), gate+".")
		if !ok || tree == keep || tree == previous {
			continue
		}
		if err := w.Disk.RemoveAll(filepath.Join(dir, name.Name())); err != nil {
			return fmt.Errorf("remove an old accepted copy: %w", err)
		}
	}
	return nil
}

func generationName(gate, tree string) string { return gate + "." + tree }

func (in *intent) trailers(host string) [][2]string {
	t := [][2]string{{trailerGate, in.Gate}}
	if in.Fingerprint != "" {
		t = append(t, [2]string{trailerFingerprint, in.Fingerprint})
	}
	hosts := in.Hosts
	if len(hosts) == 0 {
		hosts = []string{host}
	}
	const most = 20
	for _, name := range hosts[:min(len(hosts), most)] {
		t = append(t, [2]string{trailerHost, name})
	}
	if len(hosts) > most {
		t = append(t, [2]string{trailerHosts, fmt.Sprint(len(hosts))})
	}
	if in.Hub != "" {
		t = append(t, [2]string{trailerHub, in.Hub}, [2]string{trailerHubCommit, in.HubCommit})
	}
	return append(t, [2]string{trailerBy, in.By}, [2]string{trailerID, in.ID})
}

func (w *Warden) intentPath(gate string) string {
	return filepath.Join(w.State, "intents", gate+".json")
}

func (w *Warden) saveIntent(in *intent) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("intent for gate %s: %w", in.Gate, err)
	}
	return w.Disk.WriteSealed(w.intentPath(in.Gate), append(data, '\n'), 0o600)
}

func (w *Warden) loadIntent(gate string) (*intent, error) {
	path := w.intentPath(gate)
	data, err := durable.ReadSealed(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in := new(intent)
	if err := json.Unmarshal(data, in); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if in.Gate != gate || in.ID == "" || in.Tree == "" {
		return nil, fmt.Errorf("read %s: it is no intent for gate %q", path, gate)
	}
	return in, nil
}
