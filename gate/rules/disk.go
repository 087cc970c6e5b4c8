package rules

import (
	"path"
	"slices"

	"gatehouse/gate/ltl"
)

// onDisk says whether a file that the target is about exists, or does not.
func (t *target) onDisk(e *Event, env *Surroundings) ltl.Truth {
	found := ltl.No
	about := 0
	for i := range e.Files {
		f := &e.Files[i]
		if !t.about(f, env) {
			continue
		}
		about++
		switch f.exists(env) {
		case ltl.Maybe:
			found = ltl.Maybe
		case ltl.Yes:
			if t.exists == yes {
				return f.certain()
			}
		default:
			if t.exists == no {
				return f.certain()
			}
		}
	}
	if about == 0 && len(e.Unknown) > 0 {
		return ltl.Maybe
	}
	return found
}

// about reports whether the conditions of t are about that file; without conditions all files are.
func (t *target) about(f *Touch, env *Surroundings) bool {
	named := false
	for i := range t.with {
		if f.names(t.with[i].arg) {
			named = true
		}
	}
	for i := range t.where {
		c := &t.where[i]
		if c.use != 0 && c.use.of(f) == ltl.No {
			return false
		}
		if c.use != 0 || f.names(c.arg) || c.arg == "*" {
			return c.file(f, env) != ltl.No
		}
	}
	return named || !t.aboutFiles()
}

// aboutFiles reports whether a condition of t picks the files.
func (t *target) aboutFiles() bool {
	return len(t.where) > 0 || slices.ContainsFunc(t.with, func(c equals) bool { return c.name != "" })
}

func (f *Touch) certain() ltl.Truth {
	if f.Sure {
		return ltl.Yes
	}
	return ltl.Maybe
}

// exists says whether there is such a file now.
func (f *Touch) exists(env *Surroundings) ltl.Truth {
	switch {
	case f.Unknown || env.Exists == nil || !path.IsAbs(f.Path):
		return ltl.Maybe
	case f.Pattern:
		if env.Glob == nil {
			return ltl.Maybe
		}
		paths, all := env.Glob(f.Path)
		if len(paths) == 0 && !all {
			return ltl.Maybe
		}
		return truth(len(paths) > 0)
	default:
		return truth(env.Exists(f.Path))
	}
}
