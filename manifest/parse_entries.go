package manifest

import (
	"fmt"
	"math"
	"strings"
)

// entries reads a list of entries and holds each to what Scan would have found: sorted, each below a directory that is
// there too, within the limits, and with what its type has and nothing else.
func (s *scanner) entries(of *shape, limits Limits) []Entry {
	entries := make([]Entry, 0, max(0, min(limits.Entries, strings.Count(s.data, "\n"))))
	check := entryChecker{limits: limits, dirs: make(map[string]bool)}
	for i := range s.array() {
		start := s.pos
		if i >= limits.Entries {
			s.failAt(start, "more than %d entries", limits.Entries)
			break
		}
		e := s.entry(of)
		if s.err == nil {
			if err := check.next(&e); err != nil {
				s.failAt(start, "%q: %v", e.Path, err)
			}
		}
		entries = append(entries, e)
	}
	return entries
}

func (s *scanner) entry(of *shape) Entry {
	var e Entry
	for key := range s.object(of) {
		switch key {
		case "path":
			e.Path = s.text(maxPath)
		case "type":
			e.Type = Type(s.text(maxName))
		case "mode":
			start := s.pos
			if err := e.Mode.parse(s.text(4)); err != nil {
				s.failAt(start, "%v", err)
			}
		case "uid":
			e.UID = uint32(s.uint(math.MaxUint32))
		case "gid":
			e.GID = uint32(s.uint(math.MaxUint32))
		case "size":
			e.Size = int64(s.uint(math.MaxInt64))
		case "mtime":
			e.MTime = s.time()
		case "sha256":
			e.SHA256 = checked(s, 64, validDigest)
		case "target":
			e.Target = checked(s, maxTarget, validText)
		}
	}
	return e
}

// maxTarget is the longest target of a link that Linux makes.
const maxTarget = 4095

// An entryChecker judges entries in their order.
type entryChecker struct {
	limits Limits
	last   string
	total  int64
	dirs   map[string]bool
}

func (c *entryChecker) next(e *Entry) error {
	if err := ValidPath(e.Path); err != nil {
		return err
	}
	if e.Path <= c.last {
		return fmt.Errorf("it comes after %q: entries are sorted and each path is there once", c.last)
	}
	c.last = e.Path
	if err := e.whole(); err != nil {
		return err
	}
	parent := strings.LastIndexByte(e.Path, '/')
	switch {
	case parent > 0 && !c.dirs[e.Path[:parent]]:
		return fmt.Errorf("%q is no directory among the entries before", e.Path[:parent])
	case parent < 0 && e.Type == Symlink:
		return fmt.Errorf("a live root is a directory or a file")
	case e.Type == Dir:
		c.dirs[e.Path] = true
	}
	if e.Size > c.limits.File {
		return fmt.Errorf("%d bytes are more than the limit of %d for a file", e.Size, c.limits.File)
	}
	if e.Size > c.limits.Total-c.total {
		return fmt.Errorf("with it the files have more than the limit of %d bytes together", c.limits.Total)
	}
	c.total += e.Size
	return nil
}

// whole reports what the entry lacks or has too much for its type.
func (e *Entry) whole() error {
	switch e.Type {
	case File:
		if e.SHA256 == "" {
			return fmt.Errorf("a file needs \"sha256\"")
		}
	case Symlink:
		if e.Target == "" || e.Mode != 0o777 {
			return fmt.Errorf("a link needs \"target\" and the mode 0777")
		}
	case Dir:
	default:
		return fmt.Errorf("\"type\" is %q, not file, dir or symlink", string(e.Type))
	}
	switch {
	case e.Type != File && (e.SHA256 != "" || e.Size != 0):
		return fmt.Errorf("only a file has \"sha256\" and a \"size\" above 0")
	case e.Type != Symlink && e.Target != "":
		return fmt.Errorf("only a link has \"target\"")
	}
	return nil
}
