package manifest

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/gobwas/glob"
)

// maxLive bounds the number of live roots of a gate.
const maxLive = 100

// A Live is a place where a gate's files are in use.
type Live struct {
	Name string // first part of the paths of its entries
	Root string // absolute path of a directory, or of a single file
	// Exclude are patterns of paths below Root that are none of the gate's business. They are as in gobwas/glob, with **/
	// for any number of directories, none included. A directory that matches is left out with all below it; x/** is the
	// same as x.
	Exclude []string
}

// A Source says what the files of a gate are and who may own them.
type Source struct {
	Live   []Live
	Owner  uint32 // uid of the gate's user, besides root
	Limits Limits
}

// Limits bound what is scanned, published and believed. Zero Limits let nothing pass.
type Limits struct {
	Entries int   // number of entries of a gate
	File    int64 // bytes of one file
	Total   int64 // bytes of all files together
}

// document is how many bytes a manifest may have: enough for long names, little enough to be read whole.
func (l Limits) document() int64 {
	const least, head, each = 1 << 20, 64 << 10, 1 << 10
	entries := min(max(int64(l.Entries), 0), math.MaxInt64/each-head)
	return max(least, head+each*entries)
}

// Valid reports what is wrong with a source, all at once.
func (s *Source) Valid() error {
	_, err := s.excludes()
	return err
}

// excludes returns what each live root leaves out.
func (s *Source) excludes() ([]matcher, error) {
	var errs []error
	if len(s.Live) > maxLive {
		errs = append(errs, fmt.Errorf("%d live roots are more than %d", len(s.Live), maxLive))
	}
	seen := make(map[string]bool)
	matchers := make([]matcher, len(s.Live))
	for i, live := range s.Live {
		if err := validLiveName(live.Name); err != nil {
			errs = append(errs, err)
		}
		if seen[live.Name] {
			errs = append(errs, fmt.Errorf("two live roots have the name %q", live.Name))
		}
		seen[live.Name] = true
		if !filepath.IsAbs(live.Root) || filepath.Clean(live.Root) != live.Root || live.Root == "/" {
			errs = append(errs, fmt.Errorf("live root %q: %q is no clean absolute path below /", live.Name, live.Root))
		}
		var err error
		if matchers[i], err = newMatcher(live.Exclude); err != nil {
			errs = append(errs, fmt.Errorf("live root %q: %w", live.Name, err))
		}
	}
	return matchers, errors.Join(errs...)
}

// A matcher says which paths, relative to a live root, are left out.
type matcher []*glob.Pattern

func newMatcher(patterns []string) (matcher, error) {
	var m matcher
	var errs []error
	for _, text := range patterns {
		if text == "" || strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/") || strings.HasPrefix(text, "./") {
			errs = append(errs, fmt.Errorf("exclude %q: a pattern is a path below the root, without / at its ends", text))
			continue
		}
		if dir, ok := strings.CutSuffix(text, "/**"); ok {
			text = dir
		}
		pattern, err := glob.Compiler{Separators: []rune{'/'}, Globstar: true}.Compile(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("exclude %q: %w", text, err))
			continue
		}
		m = append(m, pattern)
	}
	return m, errors.Join(errs...)
}

// excludes reports whether a path is left out itself. What lies below it then is too.
func (m matcher) excludes(path string) bool {
	for _, pattern := range m {
		if pattern.Match(path) {
			return true
		}
	}
	return false
}

// covers reports whether path or a directory above it is left out.
func (m matcher) covers(path string) bool {
	for i := range len(path) {
		if path[i] == '/' && m.excludes(path[:i]) {
			return true
		}
	}
	return m.excludes(path)
}
