package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gatehouse/internal/safefs"
)

// A Snapshot is what Scan found, sorted by path.
type Snapshot struct {
	Entries []Entry
	Refused []Refusal
}

// Scan looks at the live files of src: at all of them, and at every byte. What it cannot read, judge or name is in
// Refused. A live root that is not there has no entries, which is a finding for whoever compares. An error means that
// the scan could not be made, never that something is wrong with the files.
func Scan(ctx context.Context, src Source) (*Snapshot, error) {
	found, err := scan(ctx, src, nil)
	if err != nil {
		return nil, err
	}
	return &found.Snapshot, nil
}

// A survey is a snapshot and what only this package needs to know about it.
type survey struct {
	Snapshot
	partial bool // a limit on the number of entries left things unseen
}

// scan walks the live roots in one goroutine, which decides what is looked at, in an order that depends on nothing but
// the names. One worker for each processor reads the files and gives their content to keep, unless that is nil.
func scan(ctx context.Context, src Source, keep keeper) (*survey, error) {
	excludes, err := src.excludes()
	if err != nil {
		return nil, fmt.Errorf("scan live files: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWalker(ctx, &src)
	workers := make([]worker, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range workers {
		workers[i] = worker{limits: src.Limits, total: &w.total, keep: keep}
		running.Go(func() {
			for j := range w.jobs {
				if err := workers[i].do(ctx, j); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i, live := range src.Live {
		if err := w.live(live, excludes[i]); err != nil {
			cancel(err)
			break
		}
	}
	close(w.jobs)
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("scan live files: %w", err)
	}
	found := &survey{partial: w.partial}
	found.Entries, found.Refused = w.entries, w.refused
	for i := range workers {
		found.Entries = append(found.Entries, workers[i].entries...)
		found.Refused = append(found.Refused, workers[i].refused...)
	}
	slices.SortFunc(found.Entries, byPath)
	slices.SortFunc(found.Refused, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	return found, nil
}

// findings are collected by the walker and by each worker on its own.
type findings struct {
	entries []Entry
	refused []Refusal
}

func newFindings() findings { return findings{entries: []Entry{}, refused: []Refusal{}} }

// refuse notes why path is no entry. It returns err itself where that is no refusal but a fault. What is gone is
// nothing to note: it was removed before it was looked at.
func (f *findings) refuse(path string, err error) error {
	refused, ok := errors.AsType[*safefs.RefusedError](err)
	switch {
	case !ok:
		return err
	case refused.Reason != safefs.Missing:
		f.note(path, refused.Reason, refused.Hint)
	}
	return nil
}

func (f *findings) note(path string, reason safefs.Reason, hint string) {
	text := printable(phrase(reason) + ": " + hint)
	text = strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
	f.refused = append(f.refused, Refusal{Path: printable(path), Reason: text})
}

func (f *findings) add(path string, typ Type, info *safefs.Info) *Entry {
	f.entries = append(f.entries, Entry{
		Path: path, Type: typ, Mode: Mode(info.Mode), UID: info.UID, GID: info.GID,
		MTime: writable(info.MTime), CTime: info.CTime,
	})
	return &f.entries[len(f.entries)-1]
}

// phrase is a reason as people read it.
func phrase(reason safefs.Reason) string {
	if reason == safefs.InFlux {
		return "in flux"
	}
	return string(reason)
}

// writable returns t, or the nearest time that can be written in a manifest: a file may claim to be from any year.
func writable(t time.Time) time.Time {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	switch {
	case t.Before(first):
		return first
	case t.After(last):
		return last
	default:
		return t
	}
}

// attempts is how often something is read that changes meanwhile.
const attempts = 3

// persist calls try until it says something else than "in flux", but not too often.
func persist[T any](try func() (T, error)) (T, error) {
	for range attempts - 1 {
		if value, err := try(); !isRefused(err, safefs.InFlux) {
			return value, err
		}
	}
	return try()
}

func isRefused(err error, reason safefs.Reason) bool {
	refused, ok := errors.AsType[*safefs.RefusedError](err)
	return ok && refused.Reason == reason
}
