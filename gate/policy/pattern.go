package policy

import "strings"

// Patterns are the patterns of one key, in order.
type Patterns []Pattern

// A Pattern is one of them, as in a .gitignore.
type Pattern struct {
	Text    string
	At      string // FILE:LINE; "" for a default
	permits bool   // it lets something be done: where its directory is not known it matches nothing
}

// Match returns the pattern that decides that the absolute path, which must be clean, is one of those meant: it matches
// the path or a directory above it, and no later one that does so begins with a "!". It is nil if there is none.
func (p Patterns) Match(name string, at Place) *Pattern {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].matches(name, at) {
			if p[i].not() {
				return nil
			}
			return &p[i]
		}
	}
	return nil
}

// Below is Match for the patterns of a .gitignore in the directory dir, to the letter: nothing but what lies below dir
// counts, and a pattern that ends in a slash is for directories. One that begins with a ! decides as well.
func (p Patterns) Below(dir, name string) (ignored, decided bool) {
	rest, ok := under(name, dir)
	if !ok || rest == "" {
		return false, false
	}
	whole := name[len(name)-len(rest)-1:] // with the slash before it: in any directory
	for i := len(p) - 1; i >= 0; i-- {
		body := strings.TrimPrefix(p[i].Text, "!")
		in, here := rest, whole
		if trimmed := strings.TrimSuffix(body, "/"); trimmed != body {
			body = trimmed
			in, here = parent(rest), parent(whole)
		}
		if strings.IndexByte(body, '/') >= 0 {
			here = in
		}
		if body = strings.TrimPrefix(body, "/"); body != "" && matchPath(body, here) {
			return !p[i].not(), true
		}
	}
	return false, false
}

// parent is a path without its last part.
func parent(name string) string { return name[:max(strings.LastIndexByte(name, '/'), 0)] }

// not reports whether the pattern takes back what others match.
func (p *Pattern) not() bool { return strings.HasPrefix(p.Text, "!") }

// Reaches returns a pattern that can match something below the absolute directory dir, or dir; nil if none can.
func (p Patterns) Reaches(dir string, at Place) *Pattern {
	for i := range p {
		if !p[i].not() && p[i].each(at, func(base, body string) bool { return reaches(dir, base, body) }) {
			return &p[i]
		}
	}
	return nil
}

// MayMatch returns a pattern that can match something that the absolute shell glob can match; nil if none can. In the
// glob a backslash stands before what is not special.
func (p Patterns) MayMatch(glob string, at Place) *Pattern {
	for i := range p {
		if !p[i].not() && p[i].each(at, func(base, body string) bool { return overlaps(glob, base, body) }) {
			return &p[i]
		}
	}
	return nil
}

// wrong says why text is no pattern.
func wrong(text string) string {
	body := strings.TrimPrefix(text, "!")
	switch {
	case strings.Trim(body, "/") == "" && body != "/":
		return "is empty"
	case strings.HasPrefix(body, "~"):
		return "begins with a ~; write ${HOME}"
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(body, "${HOME}"), "${PROJECT}")
	if rest != body && rest != "" && rest[0] != '/' || strings.Contains(rest, "${") {
		return "has a variable that is neither ${PROJECT}/ nor ${HOME}/ at the beginning"
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/"), "/") {
		switch {
		case part == "." || part == ".." || part == "" && rest != "" && rest != "/":
			return "has a part that is empty, . or .., so it can match no path"
		case strings.Contains(part, "**") && part != "**":
			return "has ** beside other characters; it stands for directories, alone between slashes"
		case !wellFormed(part):
			return "has a [ without its ], or ends in a backslash"
		}
	}
	return ""
}

// matches reports whether the pattern, without its "!", matches name or a directory above it.
func (p *Pattern) matches(name string, at Place) bool {
	text := strings.TrimPrefix(p.Text, "!")
	base, body := p.split(text, at)
	if base == nowhere {
		return false
	}
	if rest, ok := under(name, base); ok && matchPath(body, rest) {
		return true
	}
	if text[0] == '/' && at.Project != "" { // the second reading
		rest, ok := under(name, at.Project)
		return ok && matchPath(body, rest)
	}
	return false
}

// each tries the directories that the pattern can start from.
func (p *Pattern) each(at Place, try func(base, body string) bool) bool {
	base, body := p.split(p.Text, at)
	if base == nowhere {
		return false
	}
	return try(base, body) || p.Text[0] == '/' && at.Project != "" && try(at.Project, body)
}

const nowhere = "\x00" // the base of a pattern that matches nothing

// split returns the directory that a pattern starts from and what follows it, without slashes at the ends:
//
//   - ${PROJECT}/x and ${HOME}/x start there;
//   - /x starts at the root, and below the project as in a .gitignore: both readings count;
//   - x and x/, with no other slash, and **/x match in any directory;
//   - x/y starts at the project.
func (p *Pattern) split(text string, at Place) (base, body string) {
	body = strings.TrimSuffix(text, "/")
	if rest, ok := strings.CutPrefix(body, "${HOME}"); ok {
		return p.known(at.Home), strings.TrimPrefix(rest, "/")
	}
	if rest, ok := strings.CutPrefix(body, "${PROJECT}"); ok {
		return p.known(at.Project), strings.TrimPrefix(rest, "/")
	}
	switch {
	case text == "":
		return nowhere, ""
	case text[0] == '/':
		return "/", strings.TrimPrefix(body, "/")
	case strings.HasPrefix(body, "**/") || body == "**":
		return "/", body
	case strings.IndexByte(body, '/') < 0:
		return "", body // any directory
	case at.Project == "" && !p.permits:
		return "", body
	}
	return p.known(at.Project), body
}

// known is a directory, or nowhere where it is not known and the pattern permits something. A pattern that forbids then
// holds in any directory.
func (p *Pattern) known(dir string) string {
	if dir == "" && p.permits {
		return nowhere
	}
	return dir
}

// under returns what follows the directory base in name; base "" is any directory, which matchPath is told by a ** that
// stands before the body. It is the whole name then.
func under(name, base string) (string, bool) {
	switch {
	case base == "":
		return name, true
	case base == "/":
		return name[1:], true
	case name == base:
		return "", true
	case len(name) > len(base) && name[:len(base)] == base && name[len(base)] == '/':
		return name[len(base)+1:], true
	}
	return "", false
}

// matchPath reports whether the pattern matches the name or a directory above it. A name that begins with a slash is
// matched in any directory of it.
func matchPath(pattern, name string) bool {
	again, from := "", "" // the pattern behind the last **, and where it was tried last
	deep := false
	if len(name) > 0 && name[0] == '/' {
		name = name[1:]
		deep, again, from = true, pattern, name
	}
	for {
		if pattern == "" {
			return true
		}
		part, rest := cut(pattern)
		switch {
		case part == "**" && rest == "":
			return name != ""
		case part == "**":
			deep, again, from = true, rest, name
			pattern = rest
			continue
		case name != "":
			if have, behind := cut(name); matchPart(part, have) {
				pattern, name = rest, behind
				continue
			}
		}
		if !deep || from == "" {
			return false
		}
		_, from = cut(from)
		pattern, name = again, from
	}
}

// cut takes the first part off.
func cut(s string) (part, rest string) {
	if i := strings.IndexByte(s, '/'); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// reaches reports whether the pattern body below base can match dir, something above it or something below it.
func reaches(dir, base, body string) bool {
	if base == "" {
		return true
	}
	rest, ok := under(dir, base)
	if !ok {
		_, ok = under(base, dir)
		return ok
	}
	for body != "" && rest != "" {
		part, more := cut(body)
		if part == "**" {
			return true
		}
		have, behind := cut(rest)
		if !matchPart(part, have) {
			return false
		}
		body, rest = more, behind
	}
	return true
}
