package systemd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gobwas/glob"
	"golang.org/x/sys/unix"

	"gatehouse/manifest"
)

// A selection is the part of a gate's files that one unit has loaded, and the directories that lead there.
type selection struct {
	entries []manifest.Entry // files and links
	dirs    []manifest.Entry // on the way to them inside the live roots, and those that match themselves
	above   []above
	refused string // why something that may belong here could not be looked at
}

// An above is a directory above a live root in whose place the gate's user can put another one.
type above struct {
	path  string
	ctime time.Time
}

// choose takes from a scan what the patterns match, and all that is below a directory that they match.
func choose(found *manifest.Snapshot, patterns []string) (selection, error) {
	var s selection
	m, err := newPatterns(patterns)
	if err != nil {
		return s, err
	}
	ways := make(map[string]bool)
	for _, e := range found.Entries {
		if m.cover(e.Path) {
			for dir := range parents(e.Path) {
				ways[dir] = true
			}
			if e.Type != manifest.Dir {
				s.entries = append(s.entries, e)
			}
		}
	}
	for _, e := range found.Entries {
		if e.Type == manifest.Dir && (ways[e.Path] || m.cover(e.Path)) {
			s.dirs = append(s.dirs, e)
		}
	}
	for _, r := range found.Refused {
		if m.cover(r.Path) || m.reach(r.Path) || strings.HasPrefix(r.Reason, "entries") { // a limit hides what follows
			s.refused = fmt.Sprintf("%.200q could not be looked at: %s", r.Path, r.Reason)
			break
		}
	}
	return s, nil
}

// times identifies when each thing was last changed: as long as it stays the same, none of them was.
func (s *selection) times() string {
	h := sha256.New()
	for _, e := range slices.Concat(s.entries, s.dirs) {
		fmt.Fprintf(h, "%q %d %d\n", e.Path, e.CTime.UnixNano(), e.MTime.UnixNano())
	}
	for _, a := range s.above {
		fmt.Fprintf(h, "%q %d\n", a.path, a.ctime.UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// newest is the time of the latest change of anything.
func (s *selection) newest() (t time.Time) {
	for _, e := range slices.Concat(s.entries, s.dirs) {
		t = later(t, changed(&e))
	}
	for _, a := range s.above {
		t = later(t, a.ctime)
	}
	return t
}

// contents are the digests and link targets by path.
func (s *selection) contents() map[string]string {
	contents := make(map[string]string, len(s.entries))
	for _, e := range s.entries {
		contents[e.Path] = string(e.Type) + " " + e.Digest()
	}
	return contents
}

// changed is when an entry was last changed. The modification time is what its owner says, and may be no time at all, as
// in trees that were made reproducible.
func changed(e *manifest.Entry) time.Time { return later(e.CTime, e.MTime) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// findAbove looks at the directories above the live roots that the chosen entries are in. The live root itself is an
// entry of its own.
func findAbove(s *selection, source manifest.Source) error {
	used := s.roots()
	seen := make(map[string]bool)
	for _, live := range source.Live {
		for path := filepath.Dir(live.Root); used[live.Name] && path != "/" && !seen[path]; path = filepath.Dir(path) {
			seen[path] = true
			here, err := statDir(path)
			if err != nil {
				return err
			}
			parent, err := statDir(filepath.Dir(path))
			if err != nil {
				return err
			}
			if swappable(here, parent, source.Owner) {
				s.above = append(s.above, above{path, time.Unix(here.Ctim.Unix()).UTC()})
			}
		}
	}
	return nil
}

// statDir looks at a directory through no link: one in its place could lead to where looking takes for ever.
func statDir(path string) (*unix.Stat_t, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	defer unix.Close(fd)
	info := new(unix.Stat_t)
	if err := unix.Fstat(fd, info); err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	return info, nil
}

// roots are the names of the live roots that have something to do with the selection.
func (s *selection) roots() map[string]bool {
	used := make(map[string]bool)
	for _, e := range slices.Concat(s.entries, s.dirs) {
		name, _, _ := strings.Cut(e.Path, "/")
		used[name] = true
	}
	return used
}

// swappable reports whether the user can rename what lies in the directory parent.
func swappable(here, parent *unix.Stat_t, user uint32) bool {
	switch {
	case parent.Uid == user:
		return true
	case parent.Mode&unix.S_ISVTX != 0 && here.Uid != user:
		return false
	default:
		return parent.Mode&0o022 != 0
	}
}

// A pattern selects paths of a manifest.
type pattern struct {
	*glob.Pattern
	literal string // what every path that it matches begins with
	depth   int    // how many slashes a path that it matches has; -1: any number
}

type patterns []pattern

func newPatterns(texts []string) (patterns, error) {
	var m patterns
	for _, text := range texts {
		p, err := glob.Compiler{Separators: []rune{'/'}, Globstar: true}.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", text, err)
		}
		literal := text
		if i := strings.IndexAny(text, `*?[{\!`); i >= 0 {
			literal = text[:i]
		}
		depth := strings.Count(text, "/")
		if strings.Contains(text, "**") || strings.ContainsAny(text, `{\`) {
			depth = -1
		}
		m = append(m, pattern{p, literal, depth})
	}
	return m, nil
}

// cover reports whether path, or a directory above it, is matched.
func (m patterns) cover(path string) bool {
	match := func(path string) bool {
		return slices.ContainsFunc(m, func(p pattern) bool { return p.Match(path) })
	}
	for dir := range parents(path) {
		if match(dir) {
			return true
		}
	}
	return match(path)
}

// reach reports whether something below path could be matched.
func (m patterns) reach(path string) bool {
	return slices.ContainsFunc(m, func(p pattern) bool {
		deep := p.depth < 0 || p.depth > strings.Count(path, "/")
		return deep && (strings.HasPrefix(p.literal, path+"/") || strings.HasPrefix(path+"/", p.literal))
	})
}

// parents yields the paths of the directories above path, from the live root down.
func parents(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(path) {
			if path[i] == '/' && !yield(path[:i]) {
				return
			}
		}
	}
}
