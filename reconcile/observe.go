package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
)

// observe gathers the facts of one gate. An error means that something of ours could not be read; what is wrong with
// the export is among the facts.
func (w *Warden) observe(ctx context.Context, g Gate, s *state) (*facts, error) {
	f := &facts{export: g.Export, byAccepted: g.ByAccepted}
	accepted, err := w.accepted(g)
	if err != nil {
		return nil, err
	}
	if accepted != nil {
		f.accepted = accepted.Generation
		accepted.Close()
	}
	if f.at, f.head, err = w.head(ctx, g, s, f.accepted); err != nil {
		return nil, err
	}
	f.claim, f.digest, f.claimErr = readClaim(ctx, g)
	if f.claimErr == nil && f.claim.Gate != g.Name {
		f.claim, f.claimErr = nil, fmt.Errorf("the manifest in %s is of gate %q, not %q", g.Export, f.claim.Gate, g.Name)
	}
	if f.claimErr != nil && ctx.Err() != nil {
		return nil, f.claimErr
	}
	if g.Witness {
		if f.witness, err = manifest.Scan(ctx, g.Source); err != nil {
			return nil, fmt.Errorf("look at the live files: %w", err)
		}
	}
	return f, nil
}

func readClaim(ctx context.Context, g Gate) (*manifest.Manifest, string, error) {
	export, err := manifest.OpenExport(g.Export, g.Source.Owner, g.Source.Limits)
	if err != nil {
		return nil, "", err
	}
	defer export.Close()
	m, err := export.Manifest(ctx)
	if err != nil {
		return nil, "", err
	}
	return m, claimDigest(m), export.Same()
}

// claimDigest identifies one publication. Its time and sequence are in it, so that two different manifests with the
// same number are told apart.
func claimDigest(m *manifest.Manifest) string {
	text := fmt.Appendf(nil, "%d\n%s\n%s\n%s\n%q\n", m.Sequence, m.BootID, m.PublishedAt, m.Tree, m.Refused)
	if m.Log != nil {
		text = fmt.Appendf(text, "%v\n", *m.Log)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// accepted opens root's own copy of the gate, nil if nothing was accepted yet.
func (w *Warden) accepted(g Gate) (*manifest.StoredGeneration, error) {
	link := w.acceptedLink(g.Name)
	stored, err := manifest.OpenGeneration(link, g.Source.Limits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the accepted copy %s: %w", link, err)
	}
	if stored.Generation.Gate != g.Name {
		stored.Close()
		return nil, fmt.Errorf("read the accepted copy %s: it is of gate %q", link, stored.Generation.Gate)
	}
	return stored, nil
}

// AcceptedTree returns the tree that is in force for g, empty for none.
func (w *Warden) AcceptedTree(g Gate) (string, error) {
	stored, err := w.accepted(g)
	if err != nil || stored == nil {
		return "", err
	}
	defer stored.Close()
	return stored.Generation.Tree, nil
}

func (w *Warden) acceptedLink(gate string) string { return filepath.Join(w.State, "accepted", gate) }

// head returns where the repository stands and what it has there for the gate, nil for nothing. Where git's tree is
// the one that was read before and is what is accepted, it is not read again.
func (w *Warden) head(ctx context.Context, g Gate, s *state, accepted *manifest.Generation) (
	at vendorgate.Head, head *manifest.Generation, err error) {
	if w.Repository == nil {
		return at, nil, w.RepositoryErr
	}
	at, err = w.Repository.Head()
	if err != nil && !(errors.Is(err, vendorgate.ErrDetached) && at.Commit != "") {
		return at, nil, err // on a detached head there is something to compare with, though nothing to commit to
	}
	id, err := w.Repository.TreeID(at.Commit, g.Name)
	switch {
	case err != nil || id == "":
		return at, nil, err
	case accepted != nil && s.Vendored.ID == id && s.Vendored.Tree == accepted.Tree:
		return at, accepted, nil
	}
	vendored, err := w.Repository.Read(ctx, at.Commit, g.Name, g.Source.Limits)
	if err != nil {
		return at, nil, err
	}
	s.Vendored = vendoredTree{ID: id, Tree: vendored.Generation.Tree}
	return at, vendored.Generation, nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
func isInFlux(err error) bool  { return manifest.IsInFlux(err) }
