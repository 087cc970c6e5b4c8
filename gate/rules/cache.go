package rules

import "slices"

// cached returns env with each question asked of the disk once, however many rules ask it.
func (env Surroundings) cached() Surroundings {
	out := env
	out.Exists = once(env.Exists)
	out.Resolve = once(env.Resolve)
	if glob := env.Glob; glob != nil {
		ask := once(func(pattern string) listing {
			paths, all := glob(pattern)
			return listing{paths, all}
		})
		out.Glob = func(pattern string) ([]string, bool) {
			l := ask(pattern)
			return l.paths, l.all
		}
	}
	if below := env.Below; below != nil {
		ask := once(func(dir string) listing {
			var l listing
			_, l.all = below(dir, func(p string) bool {
				l.paths = append(l.paths, p)
				return false
			})
			return l
		})
		out.Below = func(dir string, match func(string) bool) (found, all bool) {
			l := ask(dir)
			return slices.ContainsFunc(l.paths, match), l.all
		}
	}
	return out
}

// A listing is what a question was answered with, and whether that is all.
type listing struct {
	paths []string
	all   bool
}

// once remembers the answers of ask, which may be nil.
func once[T any](ask func(string) T) func(string) T {
	if ask == nil {
		return nil
	}
	answers := make(map[string]T)
	return func(s string) T {
		if t, ok := answers[s]; ok {
			return t
		}
		t := ask(s)
		answers[s] = t
		return t
	}
}
