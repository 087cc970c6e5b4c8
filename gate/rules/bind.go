package rules

import (
	"crypto/sha256"
	"path"
	"strconv"
	"strings"

	"gatehouse/gate/ltl"
)

// keySize is how many bytes of a digest stand for the values of the variables of a rule: what is remembered shows no
// value, and nobody finds two that share one.
const keySize = 16

// maxKeys is how many combinations of values one call may have; beyond it they count as not known.
const maxKeys = 4096

// bound says with which values of the variables a call matches a pattern.
type bound struct {
	sure, maybe []string // keys
	any         bool     // it may match with values that nobody can name
}

// bind says with which values of vars e matches p.
func (p pattern) bind(e *Event, env *Surroundings, vars []string) bound {
	var b bound
	for i := range p {
		p[i].bind(e, env, vars, &b)
	}
	return b
}

func (t *target) bind(e *Event, env *Surroundings, vars []string, b *bound) {
	match := t.match(e, env)
	if match == ltl.No {
		return
	}
	keys, sure := []string{""}, match == ltl.Yes
	for _, name := range vars {
		values, known := t.values(e, env, name)
		if !known {
			b.any, sure = true, false
		}
		if len(keys)*len(values) > maxKeys {
			b.any = true
			return
		}
		next := make([]string, 0, len(keys)*len(values))
		for _, k := range keys {
			for _, v := range values {
				next = append(next, k+strconv.Itoa(len(v))+":"+v)
			}
		}
		keys = next
	}
	for i := range keys {
		sum := sha256.Sum256([]byte(keys[i]))
		keys[i] = string(sum[:keySize])
	}
	if sure {
		b.sure = append(b.sure, keys...)
	} else {
		b.maybe = append(b.maybe, keys...)
	}
}

// values returns the values of a variable: the files that the argument names, or the texts in it. A variable that stands
// at several arguments has the values that all of them have.
func (t *target) values(e *Event, env *Surroundings, name string) (values []string, known bool) {
	known = true
	first := true
	for i := range t.with {
		c := &t.with[i]
		if c.name != name {
			continue
		}
		got, ok := t.valuesOf(e, env, c.arg)
		known = known && ok
		if first {
			values, first = got, false
			continue
		}
		shared := values[:0:0]
		for _, v := range values {
			for _, w := range got {
				if v == w {
					shared = append(shared, v)
					break
				}
			}
		}
		values = shared
	}
	return values, known
}

func (t *target) valuesOf(e *Event, env *Surroundings, arg string) (values []string, known bool) {
	known = !e.unsure(arg, t.anyTool())
	files := false
	for i := range e.Files {
		f := &e.Files[i]
		if !f.names(arg) {
			continue
		}
		files = files || f.Arg == arg
		paths := []string{f.Path}
		switch {
		case f.Unknown || f.Pattern && env.Glob == nil:
			known = false
			continue
		case f.Pattern:
			all := false
			if paths, all = env.Glob(f.Path); !all {
				known = false
			}
		case !f.Sure:
			known = false
		}
		for _, p := range paths {
			if t.exists != either {
				switch f.existing(p, env) {
				case t.exists:
				case either:
					known = false
				default:
					continue
				}
			}
			values = appendNew(values, real(p, env))
		}
	}
	if files {
		return values, known
	}
	got, _ := e.arg(arg)
	for _, v := range elements(got) {
		if strings.HasPrefix(v, "/") {
			v = real(path.Clean(v), env)
		}
		values = appendNew(values, v)
	}
	return values, known
}

// existing says whether there is something at p, either where nobody can tell.
func (f *Touch) existing(p string, env *Surroundings) wanted {
	one := Touch{Path: p, Sure: f.Sure}
	switch one.exists(env) {
	case ltl.Yes:
		return yes
	case ltl.No:
		return no
	default:
		return either
	}
}

// real is what a path leads to.
func real(p string, env *Surroundings) string {
	if env.Resolve != nil && path.IsAbs(p) {
		if r := env.Resolve(p); r != "" {
			return r
		}
	}
	return p
}

func appendNew(list []string, s string) []string {
	if contains(list, s) {
		return list
	}
	return append(list, s)
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
