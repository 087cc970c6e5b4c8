package gate

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/call"
)

const maxCode = 256 << 10 // bytes of a program that are looked through

// literals looks through programs that stand on the line, python3 -c and its like, for the names of files: what is
// written in quotes, or looks like a path.
func (j *judge) literals(i int) {
	c := &j.calls[i]
	for n := range c.Effects {
		if e := &c.Effects[n]; e.Kind == call.Code && e.Text != "" && !e.Remote {
			if j.wraps(i) {
				continue // followed as a script
			}
			j.code(i, e.Text)
		}
	}
	if in := &j.commands[i].Stdin; interpreter(c.Argv[0]) {
		if in.Known {
			j.code(i, in.Text)
		}
		for n := range j.commands[i].Redirects {
			j.code(i, j.commands[i].Redirects[n].Body.Text)
		}
	}
}

// interpreter reports whether a program runs what it reads.
func interpreter(name string) bool {
	name = strings.TrimRight(path.Base(name), "0123456789.")
	switch name {
	case "python", "pypy", "node", "nodejs", "ruby", "perl", "php", "deno", "bun", "lua", "Rscript", "julia", "tclsh", "awk", "gawk", "mawk":
		return true
	}
	return false
}

// code judges the names in a program.
func (j *judge) code(i int, text string) {
	if len(text) > maxCode {
		j.vague(i, fmt.Sprintf("the program that %s gets is more than the gate looks through", j.name(i)))
		return
	}
	dir := j.commands[i].Dir.Path
	seen := make(map[string]bool)
	for name := range names(text) {
		if seen[name] {
			continue
		}
		if j.over(4) {
			return
		}
		seen[name] = true
		p := name
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			p = path.Join(j.home, rest)
		} else if p[0] != '/' {
			if dir == "" {
				continue
			}
			p = path.Join(dir, p)
		}
		p = path.Clean(p)
		s := j.view.at(p)
		for _, place := range []string{p, s.real} {
			if pattern := j.p.Paths.Deny.Match(place, j.ground.place); pattern != nil {
				j.add(Reason{Stage: StagePaths, Call: i, Rule: pattern.Text, At: pattern.At,
					Text: fmt.Sprintf("the program names %s, which is among the paths that no call may touch", j.show(place))})
				break
			}
			if j.protected(place) {
				j.add(protectReason(i, j.show(place)))
				break
			}
			if j.instructs(place) {
				j.vague(i, fmt.Sprintf("the program names %s, where git finds which programs to run", j.show(place)))
				break
			}
		}
		if s.exists && (name[0] == '/' && strings.Count(p, "/") > 1 || strings.HasPrefix(name, "~/") || strings.HasPrefix(name, "../")) &&
			!stream(p) && !j.ground.inside(s.real) {
			j.outside(i, p, s.real)
		}
	}
}

// names yields what in a program can be the name of a file: the texts in quotes, and words between other signs.
func names(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, quote := range []byte{'\'', '"', '`'} {
			rest := text
			for {
				from := strings.IndexByte(rest, quote)
				if from < 0 {
					break
				}
				to := strings.IndexByte(rest[from+1:], quote)
				if to < 0 {
					break
				}
				if name := rest[from+1 : from+1+to]; plausible(name) && !yield(name) {
					return
				}
				rest = rest[from+1+to:]
			}
		}
		for _, name := range strings.FieldsFunc(text, sign) {
			if plausible(name) && strings.ContainsAny(name, "./~") && !yield(name) {
				return
			}
		}
	}
}

// sign reports whether a character stands between names rather than in one.
func sign(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\'', '"', '`', '(', ')', '[', ']', '{', '}', '<', '>', '|', '&', ';', ',', '=', '+', '*', '?', ':', '!', '^', '%',
		'$', '#', '@', '\\':
		return true
	}
	return false
}

func plausible(name string) bool {
	return name != "" && len(name) < 4096 && !strings.ContainsAny(name, "\n\x00") && name != "." && name != ".." && name != "/"
}
