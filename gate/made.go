package gate

import (
	"path"
	"strings"

	"gatehouse/gate/call"
)

// made is what the calls of the line so far may have brought about: a file that one of them makes is there for the next.
type made struct {
	anything bool // a program ran that may make any file
	paths    map[string]bool
	trees    []string
}

// note adds what a call does.
func (m *made) note(c *call.Call) {
	for i := range c.Effects {
		e := &c.Effects[i]
		if e.Remote {
			continue
		}
		switch e.Kind {
		case call.Any, call.Run, call.Code, call.System:
			if e.Kind != call.Any || e.Path == "" || e.Sure == call.Unknown {
				m.anything = true
			}
		case call.Write, call.Append:
			switch {
			case e.Sure == call.Unknown || e.Pattern:
				m.anything = true
			case e.Tree:
				m.trees = append(m.trees, e.Path)
			}
			if m.paths == nil {
				m.paths = make(map[string]bool)
			}
			for p := e.Path; len(p) > 1 && len(p) <= maxPath && p[0] == '/' && !m.paths[p]; p = path.Dir(p) {
				m.paths[p] = true // mkdir -p makes those above it too
			}
		}
	}
}

// has reports whether something may be at a path by now.
func (m *made) has(p string) bool {
	if m.anything || m.paths[p] {
		return true
	}
	for _, tree := range m.trees {
		if within(p, tree) {
			return true
		}
	}
	return false
}

// below reports whether something below a directory, which ends in a slash, may be new by now.
func (m *made) below(dir string) bool {
	if m.anything {
		return true
	}
	for p := range m.paths {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	for _, tree := range m.trees {
		if within(dir, tree) || strings.HasPrefix(tree, dir) {
			return true
		}
	}
	return false
}

// madeBefore reports whether a program that the call i names by its path may be made earlier on the line.
func (j *judge) madeBefore(i int, name string) bool {
	var m made
	for n := range i {
		m.note(&j.calls[n])
	}
	if path.IsAbs(name) {
		return m.has(path.Clean(name))
	}
	return m.has(path.Join(j.commands[i].Dir.Path, name))
}
