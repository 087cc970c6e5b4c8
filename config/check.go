package config

import (
	"fmt"
	"strings"

	"gatehouse/internal/document"
	"gatehouse/manifest"
)

// A place is a directory or file that the configuration names, and the key that names it.
type place struct{ key, path, what string }

// check holds the values against each other. What could not be read is empty, has been reported, and is left alone.
func (c *Config) check(doc *document.Document) {
	switch {
	case len(c.Gates) > 0 || doc.Has("fleet"):
	case !doc.Has("gates"):
		doc.Bad("gates", "is required, unless fleet names gates of other hosts")
	case doc.Problems() == 0:
		doc.Bad("gates", "must not be empty, unless fleet names gates of other hosts")
	}
	ours := []place{
		{"repository", c.Repository, "the repository"},
		{"state", c.State, "the state"},
		{"index", c.Index, "the index"},
	}
	var names []string
	var exports, lives []place
	for i, g := range c.Gates {
		key := fmt.Sprintf("gates[%d]", i)
		names = append(names, g.Name)
		exports = append(exports, place{key + ".export", g.Export, "the export of " + key})
		roots := liveRoots(g, key)
		lives = append(lives, roots...)
		checkLive(doc, g, key, roots)
		checkLoadedBy(doc, g, key)
	}
	once(doc, "gates", names)
	// What the agent's user can write must not hold, or lie in, what root believes; and an export is no live file.
	apart(doc, exports, exports)
	apart(doc, exports, ours)
	apart(doc, lives, ours)
	apart(doc, exports, lives)
	if c.Peers != nil {
		c.checkPeers(doc, exports, lives, ours)
	}
	c.checkFleet(doc)
}

func liveRoots(g Gate, key string) []place {
	var roots []place
	for i, l := range g.Live {
		roots = append(roots, place{
			key:  fmt.Sprintf("%s.live[%d].root", key, i),
			path: l.Root,
			what: fmt.Sprintf("the live root %q", l.Name),
		})
	}
	return roots
}

func checkLive(doc *document.Document, g Gate, key string, roots []place) {
	var names []string
	for _, l := range g.Live {
		names = append(names, l.Name)
	}
	once(doc, key+".live", names)
	apart(doc, roots, roots)
	source := manifest.Source{Live: g.Live, Limits: g.Limits}
	if err := source.Valid(); err != nil && doc.Problems() == 0 { // else it has been said, with its place
		doc.Bad(key+".live", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// checkLoadedBy finds the misspelt live name in `plugn/**`.
func checkLoadedBy(doc *document.Document, g Gate, key string) {
	for i, l := range g.LoadedBy {
		for j, file := range l.Files {
			first, _, _ := strings.Cut(file, "/")
			if validName(first) && !hasLive(g.Live, first) {
				at := fmt.Sprintf("%s.loaded_by[%d].files[%d]", key, i, j)
				doc.Bad(at, "%q begins with the name of no live root", file)
			}
		}
	}
}

func hasLive(live []manifest.Live, name string) bool {
	for _, l := range live {
		if l.Name == name || l.Name == "" { // an empty name has been reported
			return true
		}
	}
	return false
}

// once reports each name in a list that stands there before.
func once(doc *document.Document, list string, names []string) {
	first := make(map[string]int)
	for i, name := range names {
		if at, again := first[name]; again && name != "" {
			doc.Bad(fmt.Sprintf("%s[%d].name", list, i), "%q is also the name of %s[%d]", name, list, at)
		} else {
			first[name] = i
		}
	}
}

// apart reports each place among these that is, holds or lies in one of the others. Where both lists are the same,
// each pair is looked at once and the later place is the one at fault.
func apart(doc *document.Document, these, others []place) {
	same := len(these) > 0 && len(others) > 0 && &these[0] == &others[0]
	for i, a := range these {
		against := others
		if same {
			against = others[:i]
		}
		for _, b := range against {
			switch {
			case a.path == "" || b.path == "":
			case a.path == b.path:
				doc.Bad(a.key, "%q is %s as well", a.path, b.what)
			case inside(b.path, a.path):
				doc.Bad(a.key, "%q lies in %s, %q", a.path, b.what, b.path)
			case inside(a.path, b.path):
				doc.Bad(a.key, "%q holds %s, %q", a.path, b.what, b.path)
			}
		}
	}
}

// inside reports whether path lies below dir. Both are clean and absolute, and neither is "/".
func inside(dir, path string) bool { return strings.HasPrefix(path, dir+"/") }
