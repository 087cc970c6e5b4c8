package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
)

// An Adopted is what a hub accepted, as it signed it, with its bytes.
type Adopted struct {
	Hub        string
	Sequence   uint64 // the hub's own, which only grows
	Commit     string // in the hub's repository
	By         string // who accepted it there
	Generation *manifest.Generation
	Open       func(manifest.Entry) (io.ReadCloser, error) // whoever reads hashes
}

// A followed is what is remembered of the hub that a gate follows, in state/followed/<gate>.json.
type followed struct {
	Schema  string `json:"schema"`
	Gate    string `json:"gate"`
	Hub     string `json:"hub"`
	mark           // what was taken over of Hub since it is followed
	Problem string `json:"problem,omitempty"` // why what the exchange shows cannot be had
	Refusal string `json:"refusal,omitempty"` // why what was fetched was not taken over
	// Past are the marks of hubs that were followed before: whoever is followed again does not bring back an older review.
	Past map[string]mark `json:"past,omitempty"`
}

// A mark is the last acceptance of a hub that was taken over, the zero mark none.
type mark struct {
	Sequence uint64 `json:"sequence"`
	Tree     string `json:"tree"`
	Commit   string `json:"commit"`
}

const followedSchema = "gatehouse/followed/v1"

// from returns f as it is while hub is followed.
func (f *followed) from(hub string) *followed {
	if f.Hub == hub {
		return f
	}
	next := &followed{Schema: followedSchema, Gate: f.Gate, Hub: hub, Past: make(map[string]mark)}
	maps.Copy(next.Past, f.Past)
	if f.mark != (mark{}) {
		next.Past[f.Hub] = f.mark
	}
	return next
}

// last is what was taken over of a hub last, whenever it was followed.
func (f *followed) last(hub string) mark {
	if f.Hub == hub && f.mark != (mark{}) {
		return f.mark
	}
	return f.Past[hub]
}

// mark is what taking a over leaves.
func (a *Adopted) mark() mark { return mark{a.Sequence, a.Generation.Tree, a.Commit} }

// order says why a cannot follow what was taken over before, or nil.
func (f *followed) order(a *Adopted) error {
	last := f.last(a.Hub)
	switch {
	case a.Sequence < last.Sequence:
		return fmt.Errorf("%w: %s now shows its acceptance %d, and %d was seen before", ErrNotAcceptable, a.Hub, a.Sequence, last.Sequence)
	case a.Sequence == last.Sequence && a.mark() != last:
		return fmt.Errorf("%w: %s shows two acceptances with the number %d", ErrNotAcceptable, a.Hub, a.Sequence)
	}
	return nil
}

// Adopt takes over what a hub accepted: the bytes are verified, the vendored directory is committed in this host's own
// repository, and the generation is put in force as a deploy does it. It does nothing where that was done before, and
// refuses what is older than that. The commit is empty where nothing was to be committed.
func (w *Warden) Adopt(ctx context.Context, g Gate, a Adopted) (commit string, pass *Pass, err error) {
	pass = new(Pass)
	err = w.locked(ctx, func() error {
		f, err := w.loadFollowed(g.Name)
		if err != nil {
			return err
		}
		f = f.from(a.Hub)
		if f.mark == a.mark() && f.Refusal == "" {
			return nil
		}
		changed, err := false, f.order(&a)
		if err == nil {
			commit, changed, err = w.adopt(ctx, g, &a)
		}
		policy := new(PolicyError)
		switch {
		case errors.Is(err, ErrNotAcceptable), errors.Is(err, manifest.ErrMismatch), errors.As(err, &policy):
			f.Refusal = short(err)
			return errors.Join(err, w.saveFollowed(f))
		case err != nil:
			return err
		}
		f.mark, f.Refusal = a.mark(), ""
		if err := w.saveFollowed(f); err != nil || !changed {
			return err
		}
		return w.afterwards(ctx, g, pass, fmt.Sprintf("commit %.12s of %s is in force, accepted there by %s", a.Commit, a.Hub, a.By))
	})
	return commit, pass, err
}

// adopt puts a generation of the hub's in force, and reports whether it was not already.
func (w *Warden) adopt(ctx context.Context, g Gate, a *Adopted) (commit string, changed bool, err error) {
	s, old, err := w.begin(ctx, g)
	if err != nil {
		return "", false, err
	}
	next := manifest.NewGeneration(g.Name, a.Generation.Entries)
	switch {
	case next.Tree != a.Generation.Tree:
		return "", false, fmt.Errorf("%w: the entries do not make the tree %.12s", ErrNotAcceptable, a.Generation.Tree)
	case next.Tree == tree(old):
		return "", false, nil
	case w.Repository == nil:
		return "", false, w.RepositoryErr
	}
	commit, err = w.takeOver(ctx, g, s, old, next, a)
	return commit, err == nil, err
}

// takeOver commits a generation of the hub's and puts it in force.
func (w *Warden) takeOver(ctx context.Context, g Gate, s *state, old, next *manifest.Generation, a *Adopted) (string, error) {
	at, err := w.Repository.Head()
	if err != nil {
		return "", err
	}
	vendored, err := w.Repository.Read(ctx, at.Commit, g.Name, g.Source.Limits)
	if err != nil {
		return "", err
	}
	if head := vendored.Generation.Tree; vendored.TreeID != "" && head != next.Tree && head != tree(old) {
		return "", fmt.Errorf("%w: git has a change of gate %s that is not in force here, and %s does not have it: deploy it, or take it back",
			ErrNotAcceptable, g.Name, a.Hub)
	}
	if err := w.writeGeneration(ctx, g, next, a.Open); err != nil {
		return "", err
	}
	in := w.replacing("follow", g, Decision{By: a.By, Why: fmt.Sprintf("as %s accepted it in commit %.12s", a.Hub, a.Commit)}, old, next)
	in.Hub, in.HubCommit = a.Hub, a.Commit
	if vendored.TreeID != "" && vendored.Generation.Tree == next.Tree {
		in.Commit = at.Commit
		if err := w.saveIntent(in); err != nil {
			return "", err
		}
		return "", w.putInForce(g, s, in, at.Commit)
	}
	return w.carryOut(ctx, g, s, in, vendorgate.Change{
		Gate: g.Name, Parent: at, Generation: next, Content: a.Open, When: in.At,
		Subject: fmt.Sprintf("vendor-gate: take gate %s over from %s", g.Name, a.Hub),
		Body:    commitBody(in.Why, manifest.Diff(entries(old), next.Entries)),
	})
}

// FollowedSequence is the number of the hub's acceptance that was taken over last, 0 for none of this hub.
func (w *Warden) FollowedSequence(g Gate, hub string) (uint64, error) {
	f, err := w.loadFollowed(g.Name)
	if err != nil {
		return 0, err
	}
	return f.last(hub).Sequence, nil
}

// NoteFollowed remembers why what the exchange shows of the hub cannot be had, so that each pass reports it; an empty
// problem ends that.
func (w *Warden) NoteFollowed(ctx context.Context, g Gate, hub, problem string) error {
	if f, err := w.loadFollowed(g.Name); err != nil || f.Problem == problem && (f.Hub == hub || problem == "") {
		return err
	}
	return w.locked(ctx, func() error {
		f, err := w.loadFollowed(g.Name)
		if err != nil {
			return err
		}
		f = f.from(hub)
		f.Problem = problem
		return w.saveFollowed(f)
	})
}

// judgeFollowed adds what went wrong with following a hub.
func (w *Warden) judgeFollowed(g Gate, r *Report) error {
	f, err := w.loadFollowed(g.Name)
	if err != nil || g.Follows == "" || g.Follows != f.Hub {
		return err
	}
	finding := Finding{Result: Unfollowed, Reason: fmt.Sprintf("what %s accepted was not taken over", f.Hub), Next: "warden pull"}
	for _, problem := range []string{f.Problem, f.Refusal} {
		if problem != "" {
			finding.Items = append(finding.Items, Item{ID: "follow/" + problem, Text: problem})
		}
	}
	if len(finding.Items) > 0 {
		r.Findings = append(r.Findings, finding)
		r.settle()
	}
	return nil
}

func (w *Warden) followedPath(gate string) string {
	return filepath.Join(w.State, "followed", gate+".json")
}

func (w *Warden) loadFollowed(gate string) (*followed, error) {
	path := w.followedPath(gate)
	data, err := durable.ReadSealed(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &followed{Schema: followedSchema, Gate: gate}, nil
	case errors.Is(err, durable.ErrCorrupt):
		return nil, fmt.Errorf("%w; restore it from a backup, or move it away to take over anew whatever the hub shows", err)
	case err != nil:
		return nil, err
	}
	f := new(followed)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if f.Schema != followedSchema || f.Gate != gate {
		return nil, fmt.Errorf("read %s: it is %q for gate %q, not %q for %q", path, f.Schema, f.Gate, followedSchema, gate)
	}
	return f, nil
}

func (w *Warden) saveFollowed(f *followed) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("what gate %s follows: %w", f.Gate, err)
	}
	if err := w.Disk.MkdirAll(filepath.Join(w.State, "followed"), 0o700); err != nil {
		return err
	}
	return w.Disk.WriteSealed(w.followedPath(f.Gate), append(data, '\n'), 0o600)
}
