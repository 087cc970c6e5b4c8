package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
)

// Accept makes the drift with the given fingerprint the accepted state of g: everything is verified again, the
// vendored directory is committed, and the new generation is put in force. It returns the commit and a pass over the
// gate. The fingerprint is a whole one, as Find returns it.
func (w *Warden) Accept(ctx context.Context, g Gate, fingerprint string, d Decision) (commit string, pass *Pass, err error) {
	pass = new(Pass)
	err = w.locked(ctx, func() error {
		if g.Problem != nil {
			return g.Problem
		}
		now := w.Now().UTC()
		s, err := w.loadState(g.Name)
		if err != nil {
			return err
		}
		if _, err := w.settle(ctx, g, s); err != nil {
			return err
		}
		s.boot = w.BootID
		f, err := w.observe(ctx, g, s)
		if err != nil {
			return err
		}
		report := judge(g.Name, *f, s, g.Interval, now)
		if err := acceptable(&report, fingerprint, g.Witness); err != nil {
			// What is there instead is staged, so that it can be looked at under the name that the refusal gives it.
			return errors.Join(err, w.again(ctx, g, pass))
		}
		if err := w.verifyStaged(fingerprint, report.Changes); err != nil {
			return err
		}
		next := manifest.NewGeneration(g.Name, withSizes(f.claim.Entries, entries(f.accepted)))
		content, closeContent, err := w.acceptedContent(g, fingerprint, report.Changes)
		if err != nil {
			return err
		}
		defer closeContent()
		if err := w.writeGeneration(ctx, g, next, content); err != nil {
			return err
		}
		in := newIntent("accept", g, d, now)
		in.Fingerprint, in.Tree, in.Replaces = fingerprint, next.Tree, tree(f.accepted)
		commit, err = w.carryOut(ctx, g, s, in, vendorgate.Change{
			Gate: g.Name, Parent: f.at, Generation: next, Content: content, When: now,
			Subject: fmt.Sprintf("vendor-gate: accept %s of gate %s", DriftID(fingerprint), g.Name),
			Body:    commitBody(d.Why, report.Changes),
		})
		if err != nil {
			return err
		}
		why := fmt.Sprintf("accepted by %s in commit %.12s", d.By, commit)
		return w.afterwards(ctx, g, pass, why)
	})
	return commit, pass, err
}

// ErrNotAcceptable means that the gate does not stand as it would have to for this acceptance. Nothing was changed.
var ErrNotAcceptable = errors.New("not accepted")

// acceptable says why the drift cannot be accepted as the gate stands now, or nil.
func acceptable(r *Report, fingerprint string, witness bool) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrNotAcceptable, fmt.Sprintf(format, args...))
	}
	for _, f := range r.Findings {
		if f.Result.beside() {
			continue
		}
		switch f.Result {
		case Drifted, Rejected:
		case Overdue:
			if !witness {
				return refuse("%s, and there is no witness of the live files", f.Reason)
			}
		case Behind:
			if r.Restorable {
				return refuse("%s; accepting them would undo the review: run %q", f.Reason, f.Next)
			}
			return refuse("%s; run %q first: accepting would undo the review", f.Reason, f.Next)
		case Diverged:
			return refuse("%s; run %q first, then look at what is left", f.Reason, f.Next)
		default:
			return refuse("the gate cannot be judged now (%s): %s%s", f.Result, f.Reason, itemsText(f.Items))
		}
	}
	switch {
	case r.Fingerprint == fingerprint && len(r.Undoes) > 0:
		return refuse("it would take back what was reviewed and deployed (%s); the live files never took that over: run "+
			"\"gate restore\" as the agent's user, and make the change again on top", strings.Join(r.Undoes, ", "))
	case r.Fingerprint == fingerprint:
		return nil
	case r.Fingerprint == "":
		return refuse("%s is no longer there: the live files are as accepted", DriftID(fingerprint))
	default:
		return refuse("the live side moved on: the drift is now %s, not %s; look at it with \"warden diff %s\"",
			DriftID(r.Fingerprint), DriftID(fingerprint), DriftID(r.Fingerprint))
	}
}

// verifyStaged hashes the staged bytes again. Where one is not what was shown, all of them go, so that the next pass
// stages them anew.
func (w *Warden) verifyStaged(fingerprint string, changes []manifest.Change) error {
	dir := w.stagedDir(fingerprint)
	for _, c := range changes {
		if c.New == nil || c.New.Type != manifest.File {
			continue
		}
		digest, err := hashFile(filepath.Join(dir, c.New.SHA256))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: %s is not staged; run \"warden reconcile\" and look at the diff again",
				ErrNotAcceptable, DriftID(fingerprint))
		case err != nil:
			return fmt.Errorf("verify what is staged: %w", err)
		case digest != c.New.SHA256:
			return errors.Join(fmt.Errorf("%w: the staged copy of %q was changed after it was staged; it was thrown away: "+
				"run \"warden reconcile\" and look at the diff again", ErrNotAcceptable, c.Path), w.Disk.RemoveAll(dir))
		}
	}
	return nil
}

// acceptedContent returns where the bytes of an accepted drift come from: what is staged, and for what did not change
// the copy that is accepted already. WriteGeneration and Commit hash what they read.
func (w *Warden) acceptedContent(g Gate, fingerprint string, changes []manifest.Change) (
	content func(manifest.Entry) (io.ReadCloser, error), done func(), err error) {
	staged := make(map[string]bool)
	for _, c := range changes {
		if c.New != nil && c.New.Type == manifest.File {
			staged[c.New.SHA256] = true
		}
	}
	old, err := w.accepted(g)
	if err != nil {
		return nil, nil, err
	}
	done = func() {
		if old != nil {
			old.Close()
		}
	}
	return func(e manifest.Entry) (io.ReadCloser, error) {
		switch {
		case staged[e.SHA256]:
			return os.Open(filepath.Join(w.stagedDir(fingerprint), e.SHA256))
		case old != nil:
			return old.Open(e.Path)
		default:
			return nil, fmt.Errorf("%q is neither staged nor accepted", e.Path)
		}
	}, done, nil
}

// withSizes takes the size of what did not change from what is accepted. It is no part of any digest, so nothing has
// compared it with what the publisher says.
func withSizes(claimed, accepted []manifest.Entry) []manifest.Entry {
	known := make(map[string]manifest.Entry, len(accepted))
	for _, e := range accepted {
		known[e.Path] = e
	}
	sized := slices.Clone(claimed)
	for i := range sized {
		if old, ok := known[sized[i].Path]; ok && old.Type == sized[i].Type && old.SHA256 == sized[i].SHA256 {
			sized[i].Size = old.Size
		}
	}
	return sized
}

// afterwards looks at the gate once more, closes what was open about its drift with why, and delivers.
func (w *Warden) afterwards(ctx context.Context, g Gate, pass *Pass, why string) error {
	for _, kind := range []string{kindDrift, string(Behind)} {
		if err := w.Outbox.Clear(kind, g.Name, subject, why, w.Now()); err != nil {
			return err
		}
	}
	return w.again(ctx, g, pass)
}

// again makes a pass over g and delivers what it has to say. A gate that only other hosts have is looked at when they are.
func (w *Warden) again(ctx context.Context, g Gate, pass *Pass) error {
	if g.Export == "" {
		return w.deliver(ctx, pass, []Gate{g})
	}
	report, err := w.pass(ctx, g, 1)
	if err != nil {
		return err
	}
	pass.Reports = append(pass.Reports, *report)
	return w.deliver(ctx, pass, []Gate{g})
}

func commitBody(why string, changes []manifest.Change) string {
	var b strings.Builder
	if why != "" {
		b.WriteString(why + "\n\n")
	}
	const most = 100
	for i := range changes {
		if i == most {
			fmt.Fprintf(&b, "and %d more\n", len(changes)-most)
			break
		}
		b.WriteString(ChangeText(&changes[i]) + "\n")
	}
	return b.String()
}

func itemsText(items []Item) string {
	if len(items) == 0 {
		return ""
	}
	texts := make([]string, 0, 3)
	for _, item := range items[:min(len(items), 3)] {
		texts = append(texts, item.Text)
	}
	if len(items) > 3 {
		texts = append(texts, fmt.Sprintf("and %d more", len(items)-3))
	}
	return ": " + strings.Join(texts, "; ")
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
