package manifest

import (
	"slices"
	"strings"
)

// A Generation describes the files of a gate as a person accepted them. Its entries carry no owners and no times.
type Generation struct {
	Schema  string
	Gate    string
	Tree    string
	Entries []Entry
}

// NewGeneration takes over path, type, mode, size and digest of the entries, sorted by path.
func NewGeneration(gate string, entries []Entry) *Generation {
	g := &Generation{Schema: GenerationSchema, Gate: gate, Entries: make([]Entry, len(entries))}
	for i := range entries {
		e := &entries[i]
		g.Entries[i] = Entry{Path: e.Path, Type: e.Type, Mode: e.Mode, Size: e.Size, SHA256: e.SHA256, Target: e.Target}
	}
	slices.SortFunc(g.Entries, byPath)
	g.Tree = Tree(g.Entries)
	return g
}

// Find returns the entry with this path, or nil.
func (g *Generation) Find(path string) *Entry {
	i, ok := slices.BinarySearchFunc(g.Entries, path, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
	if !ok {
		return nil
	}
	return &g.Entries[i]
}
