package policy

import (
	"fmt"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// Lint returns what in p is no error and likely not meant, in the order of the file's lists: entries that can never
// count, and entries that let more pass than they look like.
func (p *Policy) Lint() (found []Problem) {
	add := func(at, format string, args ...any) { found = append(found, Problem{at, fmt.Sprintf(format, args...)}) }
	for i := range p.Allow {
		e := &p.Allow[i]
		if first := p.earlier(i); first != nil {
			add(e.At, "allow %q adds nothing: %q (%s) covers it", e.Text, first.Text, first.At)
		}
		if d := p.hides(e); d != nil {
			add(e.At, "allow %q never counts: deny %q (%s) refuses all that it covers", e.Text, d.Text, d.At)
		}
		if why := p.broad(e); why != "" {
			add(e.At, "allow %q %s", e.Text, why)
		}
	}
	for i := range p.Deny {
		for j := range i {
			if same(&p.Deny[i], &p.Deny[j]) {
				add(p.Deny[i].At, "deny %q stands twice; it is also on line %d", p.Deny[i].Text, lineOf(p.Deny[j].At))
				break
			}
		}
		if e := &p.Deny[i]; reserved(e.begins[0].base) && len(e.begins[0].path) == 1 && len(e.begins[0].operands) == 0 {
			add(e.At, "deny %q never counts: it is a word of the shell, not a command", e.Text)
		}
	}
	seen := map[string]Variable{}
	for _, v := range p.Env {
		if first, twice := seen[v.Name]; twice {
			add(v.At, "env.allow has %s twice; it is also on line %d", v.Name, lineOf(first.At))
		}
		seen[v.Name] = v
		switch {
		case v.Name == "*":
			add(v.At, "env.allow %q lets every variable be set that is not known to choose a program; name those that are needed", v.Name)
		case Dangerous(v.Name):
			add(v.At, "env.allow %s lets a line choose the program, library or configuration that is used", v.Name)
		}
	}
	return append(found, p.lintPaths()...)
}

func (p *Policy) lintPaths() (found []Problem) {
	for _, l := range []struct {
		name string
		list Patterns
	}{
		{"deny", p.Paths.Deny}, {"read_only", p.Paths.ReadOnly}, {"redirects", p.Paths.Redirects}, {"create", p.Paths.Create},
	} {
		for i := range l.list {
			for j := range i {
				if l.list[i].Text == l.list[j].Text {
					found = append(found, Problem{l.list[i].At, fmt.Sprintf("paths.%s has %q twice", l.name, l.list[i].Text)})
					break
				}
			}
			if l.list[i].Text[0] == '!' && i == 0 {
				found = append(found, Problem{l.list[i].At,
					fmt.Sprintf("paths.%s begins with %q, which takes back nothing: it must stand behind what it takes back", l.name, l.list[i].Text)})
			}
		}
	}
	return found
}

// earlier returns an entry of allow that covers all that the entry i covers and asks no more of it: an earlier one, or a
// later one that does not say the same.
func (p *Policy) earlier(i int) *Entry {
	e := &p.Allow[i]
	for j := range p.Allow {
		other := &p.Allow[j]
		if j == i || other.Exact || other.Trust || other.SHA256 != "" {
			continue
		}
		if covers(other, e) && (j < i || !covers(e, other)) {
			return other
		}
	}
	return nil
}

// covers reports whether a covers every call that b covers.
func covers(a, b *Entry) bool {
	for i := range b.begins {
		if !slices.ContainsFunc(a.begins, func(f form) bool { return f.within(&b.begins[i]) }) {
			return false
		}
	}
	return true
}

// within reports whether every call that begins with g begins with f.
func (f *form) within(g *form) bool {
	if f.base != g.base || f.file != g.file || f.tree && !g.tree || len(f.operands) > len(g.operands) {
		return false
	}
	if len(f.path) > len(g.path) || !slices.Equal(f.path, g.path[:len(f.path)]) || len(f.operands) > 0 && len(f.path) != len(g.path) {
		return false
	}
	for i, want := range f.operands {
		if want != g.operands[i] {
			return false
		}
	}
	for i := range f.options {
		o := f.options[i]
		if !slices.ContainsFunc(g.options, func(have option) bool {
			return have.flag == o.flag && have.level == o.level && have.off == o.off && (!o.hasValue || have.hasValue && have.value == o.value)
		}) {
			return false
		}
	}
	return true
}

// hides returns an entry of deny that refuses all that an entry of allow covers.
func (p *Policy) hides(e *Entry) *Entry {
	for i := range p.Deny {
		d := &p.Deny[i]
		all := true
		for j := range e.begins {
			all = all && d.refusesAll(&e.begins[j])
		}
		if all {
			return d
		}
	}
	return nil
}

// refusesAll reports whether d refuses every call that begins with f: it refuses the one that is no more than f.
func (e *Entry) refusesAll(f *form) bool {
	if f.path[0] != e.begins[0].path[0] {
		return false
	}
	c := &call.Call{Argv: []string{f.base}, Form: &call.Form{Path: f.path}}
	for i, name := range f.path[1:] {
		c.Form.Parts = append(c.Form.Parts, call.Part{Role: call.Subcommand, Value: name, Level: i + 1})
	}
	for i := range f.options {
		o := &f.options[i]
		part := call.Part{Role: call.Flag, Flag: o.flag, Names: o.names, Value: o.value, HasValue: o.hasValue, Off: o.off, Level: o.level}
		if o.stranger {
			part.Role = call.Stranger
		}
		c.Form.Parts = append(c.Form.Parts, part)
	}
	c.Form.Parts = append(c.Form.Parts, call.Part{Role: call.Dashes})
	for _, text := range f.operands {
		c.Form.Parts = append(c.Form.Parts, call.Part{Role: call.Operand, Value: text})
	}
	return e.refuses(c, Host{}) == Yes
}

func same(a, b *Entry) bool {
	return a.Text == b.Text && slices.Equal(a.Flags, b.Flags)
}

// broad says what an entry of allow lets pass that does not meet the eye.
func (p *Policy) broad(e *Entry) string {
	f := &e.begins[0]
	bare := len(f.path) == 1 && len(f.operands) == 0 && len(f.options) == 0 && len(e.Only) == 0
	switch name := f.base; {
	case reserved(name) && bare:
		return "never counts: it is a word of the shell, not a command"
	case name == "sudo" || name == "su" || name == "doas" || name == "pkexec" || name == "run0":
		return "lets calls act as another user, who is not bound by this policy's files"
	case surrounds(name) && bare && name != "command" && name != "env":
		return "is only needed where it runs nothing: a wrapper of this kind is seen through"
	case !bare:
		return ""
	case strings.HasPrefix(name, "python"), slices.Contains([]string{"node", "deno", "bun", "perl", "ruby", "php", "lua", "Rscript", "osascript",
		"tclsh", "guile", "ghci", "groovy", "scala", "jshell", "irb"}, name):
		return "lets any program in that language run, which can do everything; name what it may run with only"
	case slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "pwsh", "busybox"}, name):
		return "lets any script file run unseen; the calls of -c and of here-documents are judged, those of a file are not"
	case slices.Contains([]string{"npx", "pnpx", "bunx", "uvx", "pipx", "ssh", "docker", "podman", "kubectl", "eval", "source", "."}, name):
		return "lets it run whatever it is told to; name the subcommand or the operands"
	}
	return ""
}

// reserved reports whether a word is one that the shell keeps for itself.
func reserved(word string) bool {
	switch word {
	case "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function", "in", "{", "}",
		"!", "]]", "coproc":
		return true
	}
	return false
}
