package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// A ChangeKind says how an entry differs. The more telling one is taken: type before content before mode.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Content ChangeKind = "content" // bytes of a file or target of a link; the mode may differ too
	ModeBit ChangeKind = "mode"
	Retyped ChangeKind = "type"
)

// A Side is one side of a change: what stood, or stands, at the path.
type Side struct {
	Type   Type   `json:"type"`
	Mode   Mode   `json:"mode"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	Target string `json:"target,omitempty"`
}

// A Change is one difference between two sets of entries. Old is nil for what was added, New for what was removed.
type Change struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	Old  *Side      `json:"old"`
	New  *Side      `json:"new"`
	// RenamedFrom is set on an added file whose bytes are those of exactly one removed file. It is for people and is
	// no part of an identity.
	RenamedFrom string `json:"renamed_from,omitempty"`
}

// Diff lists what changed from the old entries to the new ones, by path. Both must be sorted by path.
func Diff(old, new []Entry) []Change {
	var changes []Change
	for len(old) > 0 || len(new) > 0 {
		switch {
		case len(new) == 0 || len(old) > 0 && old[0].Path < new[0].Path:
			changes = append(changes, Change{Path: old[0].Path, Kind: Removed, Old: side(&old[0])})
			old = old[1:]
		case len(old) == 0 || new[0].Path < old[0].Path:
			changes = append(changes, Change{Path: new[0].Path, Kind: Added, New: side(&new[0])})
			new = new[1:]
		default:
			if kind := differ(&old[0], &new[0]); kind != "" {
				changes = append(changes, Change{Path: old[0].Path, Kind: kind, Old: side(&old[0]), New: side(&new[0])})
			}
			old, new = old[1:], new[1:]
		}
	}
	markRenames(changes)
	return changes
}

// ID identifies a change: the same one has the same ID on every host and at every time.
func (c *Change) ID() string {
	identity := appendField(nil, "gatehouse/change/v1")
	for _, text := range c.identity() {
		identity = appendField(identity, text)
	}
	sum := sha256.Sum256(identity)
	return hex.EncodeToString(sum[:])
}

// Fingerprint identifies a drift of the named gate: lower-case hex of
// SHA-256("gatehouse/drift/v1" ‖ gate ‖ changes by path), where every field (path, kind, old type, mode and digest,
// new type, mode and digest) is preceded by its length in bytes as a big-endian uint32. Times, hosts and owners are
// no part of it. It is empty for no changes.
func Fingerprint(gate string, changes []Change) string {
	if len(changes) == 0 {
		return ""
	}
	sorted := slices.Clone(changes)
	slices.SortFunc(sorted, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	identity := appendField(appendField(nil, "gatehouse/drift/v1"), gate)
	for i := range sorted {
		for _, text := range sorted[i].identity() {
			identity = appendField(identity, text)
		}
	}
	sum := sha256.Sum256(identity)
	return hex.EncodeToString(sum[:])
}

// Digest is what this side holds: the SHA-256 of a file, the target of a link, nothing for a directory.
func (s *Side) Digest() string {
	switch s.Type {
	case File:
		return s.SHA256
	case Symlink:
		return s.Target
	default:
		return ""
	}
}

func (c *Change) identity() []string {
	fields := []string{c.Path, string(c.Kind), "", "", "", "", "", ""}
	if c.Old != nil {
		fields[2], fields[3], fields[4] = string(c.Old.Type), c.Old.Mode.String(), c.Old.Digest()
	}
	if c.New != nil {
		fields[5], fields[6], fields[7] = string(c.New.Type), c.New.Mode.String(), c.New.Digest()
	}
	return fields
}

func side(e *Entry) *Side {
	return &Side{Type: e.Type, Mode: e.Mode, Size: e.Size, SHA256: e.SHA256, Target: e.Target}
}

func differ(a, b *Entry) ChangeKind {
	switch {
	case a.Type != b.Type:
		return Retyped
	case a.Digest() != b.Digest():
		return Content
	case a.Mode != b.Mode:
		return ModeBit
	default:
		return ""
	}
}

// markRenames pairs added with removed files of equal bytes, where the pair is the only one with them.
func markRenames(changes []Change) {
	const ambiguous = -1
	index := func(kind ChangeKind, of func(*Change) *Side) map[string]int {
		byDigest := make(map[string]int)
		for i := range changes {
			c := &changes[i]
			if c.Kind != kind || of(c).Type != File {
				continue
			}
			if _, seen := byDigest[of(c).SHA256]; seen {
				byDigest[of(c).SHA256] = ambiguous
			} else {
				byDigest[of(c).SHA256] = i
			}
		}
		return byDigest
	}
	removed := index(Removed, func(c *Change) *Side { return c.Old })
	for digest, to := range index(Added, func(c *Change) *Side { return c.New }) {
		if from, ok := removed[digest]; ok && from != ambiguous && to != ambiguous {
			changes[to].RenamedFrom = changes[from].Path
		}
	}
}
