package reconcile

import (
	"context"
	"fmt"
	"io"
	"strings"

	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
)

// Deploy puts what HEAD of the repository has for g in force. Where live still holds what that replaces, the report is
// Restorable: the agent's next publish restores it.
func (w *Warden) Deploy(ctx context.Context, g Gate, d Decision) (*Pass, error) {
	pass := new(Pass)
	err := w.locked(ctx, func() error {
		s, old, err := w.begin(ctx, g)
		if err != nil {
			return err
		}
		at, err := w.Repository.Head()
		if err != nil {
			return err
		}
		vendored, err := w.Repository.Read(ctx, at.Commit, g.Name, g.Source.Limits)
		if err != nil {
			return err
		}
		switch {
		case vendored.TreeID == "":
			return fmt.Errorf("deploy gate %s: git has nothing for it at HEAD", g.Name)
		case vendored.Generation.Tree == tree(old):
			return w.again(ctx, g, pass)
		}
		next := vendored.Generation
		if err := w.writeGeneration(ctx, g, next, vendoredContent(vendored)); err != nil {
			return err
		}
		in := w.replacing("deploy", g, d, old, next)
		in.Commit = at.Commit
		if err := w.saveIntent(in); err != nil {
			return err
		}
		if err := w.putInForce(g, s, in, at.Commit); err != nil {
			return err
		}
		return w.afterwards(ctx, g, pass, fmt.Sprintf("commit %.12s deployed by %s", at.Commit, d.By))
	})
	return pass, err
}

// Rollback commits an earlier vendored state of g, the one before the last by default, and puts it in force. The
// commit may be given by the beginning of its id; it must be one that changed the gate.
func (w *Warden) Rollback(ctx context.Context, g Gate, to string, d Decision) (commit string, pass *Pass, err error) {
	pass = new(Pass)
	err = w.locked(ctx, func() error {
		s, old, err := w.begin(ctx, g)
		if err != nil {
			return err
		}
		parent, err := w.Repository.Head()
		if err != nil {
			return err
		}
		log, err := w.Repository.Log(g.Name, 1000)
		if err != nil {
			return err
		}
		target, err := earlier(log, g.Name, to)
		if err != nil {
			return err
		}
		vendored, err := w.Repository.Read(ctx, target, g.Name, g.Source.Limits)
		if err != nil {
			return err
		}
		if vendored.TreeID == "" {
			return fmt.Errorf("roll back gate %s: it has no files in commit %.12s", g.Name, target)
		}
		next := vendored.Generation
		if err := w.writeGeneration(ctx, g, next, vendoredContent(vendored)); err != nil {
			return err
		}
		in := w.replacing("rollback", g, d, old, next)
		commit, err = w.carryOut(ctx, g, s, in, vendorgate.Change{
			Gate: g.Name, Parent: parent, Generation: next, Content: vendoredContent(vendored), When: in.At,
			Subject: fmt.Sprintf("vendor-gate: roll gate %s back to %.12s", g.Name, target),
			Body:    commitBody(d.Why, manifest.Diff(entries(old), next.Entries)),
		})
		if err != nil {
			return err
		}
		return w.afterwards(ctx, g, pass, fmt.Sprintf("rolled back by %s in commit %.12s", d.By, commit))
	})
	return commit, pass, err
}

// begin loads the state of g, settles what was cut short, and returns the generation that is in force, nil for none.
func (w *Warden) begin(ctx context.Context, g Gate) (s *state, accepted *manifest.Generation, err error) {
	if g.Problem != nil {
		return nil, nil, g.Problem
	}
	if s, err = w.loadState(g.Name); err != nil {
		return nil, nil, err
	}
	if _, err := w.settle(ctx, g, s); err != nil {
		return nil, nil, err
	}
	stored, err := w.accepted(g)
	if err != nil || stored == nil {
		return s, nil, err
	}
	defer stored.Close()
	return s, stored.Generation, nil
}

// replacing makes the intent of putting next in the place of old.
func (w *Warden) replacing(action string, g Gate, d Decision, old, next *manifest.Generation) *intent {
	in := newIntent(action, g, d, w.Now().UTC())
	in.Tree, in.Replaces = next.Tree, tree(old)
	for _, c := range manifest.Diff(entries(old), next.Entries) {
		in.Paths = append(in.Paths, c.Path)
	}
	return in
}

// earlier picks the commit to roll back to.
func earlier(log []vendorgate.LogEntry, gate, to string) (string, error) {
	if to == "" {
		if len(log) < 2 {
			return "", fmt.Errorf("roll back gate %s: git has no earlier state of it", gate)
		}
		return log[1].Commit, nil
	}
	if len(to) < 4 {
		return "", fmt.Errorf("roll back gate %s: %q is too short: give 4 or more digits of the commit", gate, to)
	}
	var found string
	for _, entry := range log {
		if !strings.HasPrefix(entry.Commit, strings.ToLower(to)) {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("roll back gate %s: %q is the beginning of more than one commit", gate, to)
		}
		found = entry.Commit
	}
	if found == "" {
		return "", fmt.Errorf("roll back gate %s: %q is no commit that changed it; \"warden history %s\" lists them", gate, to, gate)
	}
	return found, nil
}

func vendoredContent(v *vendorgate.Vendored) func(manifest.Entry) (io.ReadCloser, error) {
	return func(e manifest.Entry) (io.ReadCloser, error) { return v.Open(e.Path) }
}
