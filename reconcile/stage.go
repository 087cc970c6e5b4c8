package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gatehouse/manifest"
)

// errExportMoved means that another manifest stood in the export after its objects were read.
var errExportMoved = errors.New("the export moved on")

// stage copies the changed objects of a drift into state/staged/<fingerprint>/<sha256>. The directory appears whole or
// not at all. An object that does not hash to its name makes the report a mismatch.
func (w *Warden) stage(ctx context.Context, g Gate, r *Report, f *facts) error {
	if f.claim == nil || r.Fingerprint == "" {
		return nil
	}
	dir := w.stagedDir(r.Fingerprint)
	if w.isStaged(dir, r.Changes) {
		return nil
	}
	export, err := manifest.OpenExport(g.Export, g.Source.Owner, g.Source.Limits)
	if err != nil {
		return errExportMoved // it was there a moment ago
	}
	defer export.Close()
	var bad []Item
	err = w.fillStaged(r.Fingerprint, func(fresh string) error {
		for _, c := range r.Changes {
			if c.New == nil || c.New.Type != manifest.File {
				continue
			}
			var source error // what the export's owner can cause, kept apart from our own disk
			err := w.Disk.PutFrom(filepath.Join(fresh, c.New.SHA256), 0o600, func(to io.Writer) error {
				sink := &faultyWriter{w: to}
				err := export.ReadObject(ctx, c.New.SHA256, c.New.Size, sink)
				if err != nil && sink.err == nil {
					source = err
				}
				return err
			})
			if err != nil && (source == nil || ctx.Err() != nil) {
				return err
			}
			if err != nil {
				bad = append(bad, Item{ID: c.ID(), Text: mismatchText(&c, source)})
			}
		}
		if again, digest, err := readClaim(ctx, g); err != nil || digest != f.digest || again.Tree != f.claim.Tree {
			return errExportMoved
		}
		if len(bad) > 0 {
			return manifest.ErrMismatch
		}
		return nil
	})
	if len(bad) == 0 || !errors.Is(err, manifest.ErrMismatch) {
		return err
	}
	r.Findings = append(r.Findings, Finding{Result: Mismatch, Items: bad, Next: "gate publish",
		Reason: "objects in the export are not what the manifest says; nothing of this drift was staged"})
	r.settle()
	for i := range r.Findings {
		if isDrift(r.Findings[i].Result) {
			r.Findings[i].Next = "" // it cannot be accepted like this
		}
	}
	return nil
}

// fillStaged makes the directory of what is staged for a drift out of what fill puts into a fresh one.
func (w *Warden) fillStaged(fingerprint string, fill func(fresh string) error) error {
	dir := w.stagedDir(fingerprint)
	fresh := dir + ".new" // a run that was killed here leaves it, and prune removes it
	failed := func(err error) error { return fmt.Errorf("stage %s: %w", DriftID(fingerprint), err) }
	if err := w.Disk.RemoveAll(fresh); err != nil {
		return failed(err)
	}
	if err := w.Disk.MkdirAll(fresh, 0o700); err != nil {
		return failed(err)
	}
	if err := fill(fresh); err != nil {
		return errors.Join(failed(err), w.Disk.RemoveAll(fresh))
	}
	if err := w.Disk.SyncFS(fresh); err != nil {
		return failed(err)
	}
	if err := w.Disk.RemoveAll(dir); err != nil {
		return failed(err)
	}
	if err := w.Disk.Rename(fresh, dir); err != nil {
		return failed(err)
	}
	return nil
}

// mismatchText says what is wrong with the object of a change.
func mismatchText(c *manifest.Change, err error) string {
	switch {
	case errors.Is(err, manifest.ErrMismatch):
		return fmt.Sprintf("%q: the object %.12s… has other bytes", c.Path, c.New.SHA256)
	case isMissing(err):
		return fmt.Sprintf("%q: there is no object %.12s…", c.Path, c.New.SHA256)
	default:
		return fmt.Sprintf("%q: %v", c.Path, err)
	}
}

// isStaged reports whether every changed object is there with its size. Accept looks at the bytes.
func (w *Warden) isStaged(dir string, changes []manifest.Change) bool {
	if _, err := os.Lstat(dir); err != nil {
		return false
	}
	for _, c := range changes {
		if c.New == nil || c.New.Type != manifest.File {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, c.New.SHA256))
		if err != nil || !info.Mode().IsRegular() || info.Size() != c.New.Size {
			return false
		}
	}
	return true
}

// prune removes what is staged for drifts that no gate has any more.
func (w *Warden) prune() error {
	names, err := os.ReadDir(filepath.Join(w.State, "staged"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	open := make(map[string]bool)
	states, err := os.ReadDir(filepath.Join(w.State, "gates"))
	if err != nil {
		return err
	}
	for _, file := range states {
		gate, ok := cutJSON(file)
		if !ok {
			continue
		}
		s, err := w.loadState(gate)
		if err != nil {
			return nil // a state that cannot be read may name any of them
		}
		if s.Report != nil {
			open[s.Report.Fingerprint] = true
		}
	}
	fleets, err := w.fleetDrifts()
	if err != nil {
		return nil // likewise
	}
	for _, name := range names {
		if !open[name.Name()] && !fleets[name.Name()] {
			if err := w.Disk.RemoveAll(filepath.Join(w.State, "staged", name.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Warden) stagedDir(fingerprint string) string {
	return filepath.Join(w.State, "staged", fingerprint)
}

func cutJSON(file fs.DirEntry) (string, bool) {
	name := file.Name()
	if filepath.Ext(name) != ".json" {
		return "", false
	}
	return name[:len(name)-len(".json")], true
}

// A faultyWriter remembers whether writing, and not reading, was what failed.
type faultyWriter struct {
	w   io.Writer
	err error
}

func (f *faultyWriter) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err != nil {
		f.err = err
	}
	return n, err
}
