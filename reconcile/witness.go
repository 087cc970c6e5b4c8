package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/manifest"
)

// clockGrain is how far a file's times may lag behind the clock: the kernel stamps files by its tick.
const clockGrain = 15 * time.Millisecond

// compareWitness compares what root saw with what the publisher claims. A difference that is younger than the claim is
// unpublished; any other means that the publisher does not tell the truth, or that something hides from it.
func compareWitness(f facts, s *state, now time.Time) []Finding {
	published := publishedAt(f.claim, s.Publication.next(f.claim, f.digest, s.boot, now), now)
	unjudged, refused := unjudgedPaths(f), claimRefused(f)
	seen := make(map[string]*manifest.Entry, len(f.witness.Entries))
	for i := range f.witness.Entries {
		seen[f.witness.Entries[i].Path] = &f.witness.Entries[i]
	}
	unpublished := Finding{Result: Unpublished, Next: "gate publish",
		Reason: "live files changed after they were published; the next export will show it"}
	disagrees := Finding{Result: PublisherDisagrees,
		Reason: "root sees other live files than the publisher claims, and they did not change since"}
	for _, c := range manifest.Diff(f.claim.Entries, f.witness.Entries) {
		if below(unjudged, c.Path) || below(refused, c.Path) {
			continue // what only the publisher refuses is compared with what was accepted
		}
		item := Item{ID: c.ID(), Text: ChangeText(&c)}
		at, known := changedAt(&c, seen, s.Gone)
		if at.Before(s.Source.Since) {
			at = s.Source.Since // it may be the configuration that changed, and not the file
		}
		if !known || !at.Before(published.Add(-clockGrain)) {
			unpublished.Items = append(unpublished.Items, item)
		} else {
			disagrees.Items = append(disagrees.Items, item)
		}
	}
	return slices.DeleteFunc([]Finding{disagrees, unpublished}, func(f Finding) bool { return len(f.Items) == 0 })
}

// publishedAt is when the publisher can have begun at the latest to look at the live files: as it claims, but not
// before the floor and not after now.
func publishedAt(m *manifest.Manifest, p publication, now time.Time) time.Time {
	at := m.PublishedAt
	if at.Before(p.Floor) {
		at = p.Floor
	}
	if at.After(now) {
		at = now
	}
	return at
}

// changedAt is when the live side of a difference came to be, by the file system's own change time: that of the entry,
// or of the directory that an entry vanished from, or when root first saw a live root gone.
func changedAt(c *manifest.Change, seen map[string]*manifest.Entry, gone map[string]time.Time) (time.Time, bool) {
	path := c.Path
	for path != "" {
		if e, ok := seen[path]; ok {
			return e.CTime, true
		}
		if parentOf(path) == "" {
			at, ok := gone[path]
			return at, ok
		}
		path = parentOf(path)
	}
	return time.Time{}, false
}

// goneRoots remembers since when each live root that the claim has is not there.
func goneRoots(before map[string]time.Time, f facts, now time.Time) map[string]time.Time {
	if f.claim == nil || f.witness == nil {
		return before
	}
	after := make(map[string]time.Time)
	for i := range f.claim.Entries {
		path := f.claim.Entries[i].Path
		if strings.Contains(path, "/") || slices.ContainsFunc(f.witness.Entries, func(e manifest.Entry) bool { return e.Path == path }) {
			continue
		}
		after[path] = now
		if at, ok := before[path]; ok {
			after[path] = at
		}
	}
	return after
}

// below reports whether path or a directory above it is in the set.
func below(set map[string]bool, path string) bool {
	for ; path != ""; path = parentOf(path) {
		if set[path] {
			return true
		}
	}
	return false
}

// ChangeText is a change in one line, with names quoted in ASCII: one that only looks like another does not pass for it.
func ChangeText(c *manifest.Change) string {
	switch {
	case c.RenamedFrom != "":
		return fmt.Sprintf("renamed %+q to %+q (%s)", c.RenamedFrom, c.Path, c.New.Mode)
	case c.Kind == manifest.Content && c.New.Type == manifest.File:
		return fmt.Sprintf("content %+q (%d to %d bytes%s)", c.Path, c.Old.Size, c.New.Size, modeText(c))
	case c.Kind == manifest.Content:
		return fmt.Sprintf("link %+q now points to %+q", c.Path, c.New.Target)
	case c.Kind == manifest.ModeBit:
		return fmt.Sprintf("mode %+q (%s to %s)", c.Path, c.Old.Mode, c.New.Mode)
	case c.Kind == manifest.Retyped:
		return fmt.Sprintf("type %+q (%s to %s)", c.Path, sideText(c.Old), sideText(c.New))
	case c.Kind == manifest.Removed:
		return fmt.Sprintf("removed %s %+q", c.Old.Type, c.Path)
	case c.New.Type == manifest.Symlink:
		return fmt.Sprintf("added link %+q to %+q", c.Path, c.New.Target)
	case c.New.Type == manifest.Dir:
		return fmt.Sprintf("added dir %+q (%s)", c.Path, c.New.Mode)
	default:
		return fmt.Sprintf("added %+q (%s, %d bytes)", c.Path, c.New.Mode, c.New.Size)
	}
}

// sideText is one side of a change of type.
func sideText(s *manifest.Side) string {
	if s.Type == manifest.Symlink {
		return fmt.Sprintf("link to %+q", s.Target)
	}
	return fmt.Sprintf("%s %s", s.Type, s.Mode)
}

func modeText(c *manifest.Change) string {
	if c.Old.Mode == c.New.Mode {
		return ""
	}
	return fmt.Sprintf(", mode %s to %s", c.Old.Mode, c.New.Mode)
}
