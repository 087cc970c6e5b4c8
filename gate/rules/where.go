package rules

import (
	"path"
	"slices"
	"strings"

	"gatehouse/gate/ltl"
)

// match says whether a text in the argument matches one of the patterns.
//
// A text is tried as it is written. A file is also tried as an absolute path, below the project, as what its links lead
// to, and by its last part where the pattern has no slash. So is a text that may be a path: a single word of an
// argument that is not known to be prose; what follows "@", "=" or ":" in it too.
func (c *globs) match(e *Event, env *Surroundings, anyTool bool) ltl.Truth {
	found := ltl.No
	note := func(t ltl.Truth) bool {
		if t == ltl.Yes || t == ltl.Maybe && found == ltl.No {
			found = t
		}
		return found == ltl.Yes
	}
	for i := range e.Files {
		f := &e.Files[i]
		done := c.use.of(f)
		if done == ltl.No || c.use == 0 && c.arg != "*" && !f.names(c.arg) {
			continue
		}
		if note(both(done, c.file(f, env))) {
			return ltl.Yes
		}
	}
	if c.use != 0 {
		return found
	}
	if c.arg != "*" {
		got, _ := e.arg(c.arg)
		if c.value(c.arg, got, e, env) {
			return ltl.Yes
		}
		if e.unsure(c.arg, anyTool) {
			note(ltl.Maybe)
		}
		return found
	}
	for name, v := range e.Args {
		if name != "unknown_paths" && (name != "argv" || e.Loose) && c.value(name, v, e, env) {
			return ltl.Yes
		}
	}
	if _, named := e.Args["argv"]; !named && e.Loose && c.value("argv", e.Argv, e, env) {
		return ltl.Yes
	}
	for _, name := range e.Unknown {
		if name == "argv" && (!e.Loose || len(e.Files) > 0) {
			continue // the other arguments have its words
		}
		if !slices.ContainsFunc(e.Files, func(f Touch) bool { return f.Arg == name }) {
			note(ltl.Maybe) // what is not known of files is told by Files
		}
	}
	return found
}

// of says whether that is done with f.
func (u use) of(f *Touch) ltl.Truth {
	switch {
	case u == 0 || u == touches && (f.Reads || f.Writes) || u == reads && f.Reads || u == writes && f.Writes:
		return ltl.Yes
	case !f.Reads && !f.Writes:
		return ltl.Maybe
	default:
		return ltl.No
	}
}

// value reports whether a text in the value of an argument matches.
func (c *globs) value(name string, v any, e *Event, env *Surroundings) bool {
	switch v := v.(type) {
	case string:
		return c.text(name, v, e, env)
	case []string:
		return slices.ContainsFunc(v, func(s string) bool { return c.text(name, s, e, env) })
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return c.value(name, x, e, env) })
	case map[string]any:
		for _, x := range v {
			if c.value(name, x, e, env) {
				return true
			}
		}
		return false
	case nil, bool:
		return false
	default:
		return c.any(spelled(v))
	}
}

func (c *globs) text(name, text string, e *Event, env *Surroundings) bool {
	if c.any(text) {
		return true
	}
	if prose(name) || text == "" || len(text) > 4096 || strings.ContainsAny(text, " \t\n") ||
		strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		return false
	}
	if text[0] == '-' { // an option that is not known, with its value
		if _, value, ok := strings.Cut(text, "="); ok {
			return c.pathText(strings.TrimPrefix(value, "@"), e, env)
		}
		return len(text) > 2 && text[1] != '-' && c.pathText(text[2:], e, env)
	}
	if c.pathText(text, e, env) {
		return true
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '@', '=', ':', ',':
			if c.pathText(text[i+1:], e, env) {
				return true
			}
		}
	}
	return false
}

// pathText tries a text that may be a path.
func (c *globs) pathText(text string, e *Event, env *Surroundings) bool {
	if text == "" {
		return false
	}
	if c.any(text) || c.base(text) {
		return true
	}
	if e.Remote {
		return false
	}
	abs := env.absolute(text)
	return path.IsAbs(abs) && c.path(abs, env)
}

// any reports whether one of the patterns matches text.
func (c *globs) any(text string) bool {
	return slices.ContainsFunc(c.patterns, func(p string) bool { return globMatch(p, text) })
}

// base reports whether a pattern without a slash matches the last part of a path.
func (c *globs) base(text string) bool {
	last := path.Base(text)
	return slices.ContainsFunc(c.patterns, func(p string) bool { return !strings.Contains(p, "/") && globMatch(p, last) })
}

// path reports whether one of the patterns matches an absolute path, or what its links lead to.
func (c *globs) path(abs string, env *Surroundings) bool {
	if c.lexical(abs, env) {
		return true
	}
	if env.Resolve == nil {
		return false
	}
	real := env.Resolve(abs)
	return real != "" && real != abs && c.lexical(real, env)
}

func (c *globs) lexical(abs string, env *Surroundings) bool {
	if c.any(abs) || c.base(abs) {
		return true
	}
	if rel, ok := below(abs, env.Project); ok && c.any(rel) {
		return true
	}
	rel, ok := below(abs, env.Home)
	return ok && c.any("~/"+rel)
}

// file says whether a file that a call touches matches.
func (c *globs) file(f *Touch, env *Surroundings) ltl.Truth {
	if f.Unknown {
		return ltl.Maybe
	}
	sure := func(found bool) ltl.Truth {
		switch {
		case !found:
			return ltl.No
		case f.Sure || f.Pattern:
			return ltl.Yes
		default:
			return ltl.Maybe
		}
	}
	if f.Pattern {
		return c.expand(f, env, sure)
	}
	if c.any(f.Path) || c.base(f.Path) || path.IsAbs(f.Path) && c.path(f.Path, env) {
		return sure(true)
	}
	if f.Tree {
		return c.below(f.Path, env, sure)
	}
	return ltl.No
}

// expand says whether something that a pattern of the shell expands to matches.
func (c *globs) expand(f *Touch, env *Surroundings, sure func(bool) ltl.Truth) ltl.Truth {
	if env.Glob != nil && path.IsAbs(f.Path) {
		paths, all := env.Glob(f.Path)
		found := ltl.No
		for _, p := range paths {
			if c.path(p, env) {
				return sure(true)
			}
			if f.Tree && found == ltl.No {
				found = c.below(p, env, sure)
			}
		}
		if all {
			return found
		}
	}
	tail := ""
	if f.Tree {
		tail = "*"
	}
	for _, p := range c.patterns {
		if !strings.Contains(p, "/") && (f.Tree || globsMeet(p, path.Base(f.Path))) || globsMeet(p, f.Path+tail) {
			return ltl.Maybe
		}
		if rel, ok := below(f.Path, env.Project); ok && globsMeet(p, rel+tail) {
			return ltl.Maybe
		}
	}
	return ltl.No
}

// below says whether something below dir matches.
func (c *globs) below(dir string, env *Surroundings, sure func(bool) ltl.Truth) ltl.Truth {
	if !c.reaches(dir, env) {
		return ltl.No
	}
	if env.Below == nil || !path.IsAbs(dir) {
		return ltl.Maybe
	}
	found, all := env.Below(dir, func(p string) bool { return c.path(p, env) })
	if found || all {
		return sure(found)
	}
	return ltl.Maybe
}

// reaches reports whether a pattern can match anything below dir.
func (c *globs) reaches(dir string, env *Surroundings) bool {
	under := literal(strings.TrimSuffix(dir, "/")) + "/*"
	rel, inProject := below(dir, env.Project)
	for _, p := range c.patterns {
		if !strings.Contains(p, "/") || globsMeet(p, under) || inProject && globsMeet(p, literal(rel)+"/*") {
			return true
		}
		if dir == env.Project || !path.IsAbs(dir) {
			return true
		}
		if env.Project != "" && !inProject && (dir == "/" || strings.HasPrefix(env.Project, dir+"/")) {
			return true // the project is in it
		}
		if strings.HasPrefix(p, "~/") && env.Home != "" && globsMeet(literal(env.Home)+p[1:], under) {
			return true
		}
	}
	return false
}

// prose reports whether an argument of that name holds text that people read, in which the name of a file is no file.
func prose(arg string) bool {
	switch arg {
	case "message", "m", "title", "body", "description", "text", "words", "subject", "comment", "prompt", "content",
		"new_string", "old_string", "notes", "query", "question", "pattern", "stdin":
		return true
	default:
		return false
	}
}

// literal makes a pattern that matches text only.
func literal(text string) string {
	if !strings.ContainsAny(text, `*?[\`) {
		return text
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}

// below returns a path as seen from dir, if it is below it.
func below(abs, dir string) (string, bool) {
	if dir == "" {
		return "", false
	}
	if dir == "/" {
		return strings.TrimPrefix(abs, "/"), abs != "/" && strings.HasPrefix(abs, "/")
	}
	if len(abs) <= len(dir) || abs[len(dir)] != '/' || abs[:len(dir)] != dir {
		return "", false
	}
	return abs[len(dir)+1:], true
}

// absolute returns a path as seen from where the line runs; ~ is the home directory.
func (env *Surroundings) absolute(text string) string {
	switch {
	case path.IsAbs(text):
		return path.Clean(text)
	case (text == "~" || strings.HasPrefix(text, "~/")) && env.Home != "":
		return path.Join(env.Home, text[1:])
	case env.Cwd != "":
		return path.Join(env.Cwd, text)
	case env.Project != "":
		return path.Join(env.Project, text)
	default:
		return text
	}
}
