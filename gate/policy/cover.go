package policy

import (
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// Cover says of each call of a line, in the order of spec.Translate, what covers it.
func (p *Policy) Cover(calls []call.Call, h Host) []Cover {
	covers := make([]Cover, len(calls))
	var module *form // of the call before, the beginning that covers it
	for i := range calls {
		c := &calls[i]
		before := module
		module = nil
		switch {
		case noProgram(c):
			covers[i].Free = "the shell does it itself"
		case transparent(calls, i, h):
			covers[i].Free = "it only sets the surroundings of what it runs"
		case i > 0 && before != nil && c.Meta.Operator == "wrap" && c.Meta.Wrapper == "python -m" && namesModule(before, c.Argv[0]):
			covers[i].Free = "the entry for " + quote(calls[i-1].Argv[0]) + " names the module"
		default:
			covers[i].Entry, module, covers[i].Why = p.allowed(c, h)
			if covers[i].Entry == nil && i > 0 {
				covers[i].Entry = p.named(&calls[i-1], c, h)
			}
		}
	}
	return covers
}

// named returns the entry for a call that goes on with the words of the one that it runs, if they begin as the entry says:
// sudo systemctl status, npx prettier. What is no word of that call (sh -c, python -m) is not named.
func (p *Policy) named(outer, c *call.Call, h Host) *Entry {
	behind := len(outer.Argv) - len(c.Argv)
	if c.Meta.Operator != "wrap" || c.Form == nil || c.Meta.Depth != outer.Meta.Depth+1 || behind < 1 || !slices.Equal(outer.Argv[behind:], c.Argv) {
		return nil
	}
	e, f, _ := p.allowed(outer, h)
	if e == nil {
		return nil
	}
	operands := f.operands
	for i := range outer.Form.Parts {
		if part := &outer.Form.Parts[i]; part.Role == call.Operand && part.Word < behind && len(operands) > 0 {
			operands = operands[1:]
		}
	}
	if len(operands) == 0 || operands[0] != c.Argv[0] {
		return nil
	}
	inner := form{base: baseName(operands[0]), path: []string{c.Form.Path[0]}, operands: operands[1:]}
	if strings.Contains(operands[0], "/") {
		inner.file = path.Clean(operands[0])
	}
	for len(inner.operands) > 0 && len(inner.path) < len(c.Form.Path) {
		inner.path, inner.operands = append(inner.path, inner.operands[0]), inner.operands[1:]
	}
	if p.covers(e, &inner, c, h).how != fits {
		return nil
	}
	return e
}

// transparent reports whether the call i runs the next one and does nothing else that a policy would mind.
func transparent(calls []call.Call, i int, h Host) bool {
	if i+1 >= len(calls) || calls[i].Form == nil {
		return false
	}
	c, next := &calls[i], &calls[i+1]
	name := baseName(c.Argv[0])
	if !surrounds(name) || next.Meta.Operator != "wrap" || next.Meta.Depth <= c.Meta.Depth || next.Meta.Wrapper != name {
		return false
	}
	if name == c.Argv[0] {
		return true
	}
	return h.Find != nil && h.Find(name) == c.Argv[0]
}

// surrounds reports whether a program only sets variables, limits and the like for the command that it runs.
func surrounds(name string) bool {
	switch name {
	case "env", "timeout", "nice", "nohup", "time", "stdbuf", "command", "builtin", "exec", "ionice", "setsid", "chrt", "taskset",
		"genv", "gtimeout", "gnice", "gnohup", "gtime", "gstdbuf":
		return true
	}
	return false
}

// namesModule reports whether a beginning of a call of Python has -m with that module.
func namesModule(f *form, module string) bool {
	return slices.ContainsFunc(f.options, func(o option) bool { return o.flag == "-m" && o.hasValue && o.value == module })
}

// noProgram reports whether the call stands for something that the shell does without a command: redirections alone,
// arithmetic, and [[ ]].
func noProgram(c *call.Call) bool {
	switch c.Argv[0] {
	case "let":
		return true
	case "test":
		return strings.HasPrefix(c.Meta.Source, "[[")
	case "redirect":
		return len(c.Argv) == 1 && onlyRedirects(c.Meta.Source)
	}
	return false
}

// onlyRedirects reports whether the source of a command is redirections and nothing else. A program can be called
// redirect too; so what is not plain to see here is taken for that.
func onlyRedirects(source string) bool {
	rest := strings.TrimLeft(source, " \t")
	for rest != "" {
		at := 0
		for at < len(rest) && rest[at] >= '0' && rest[at] <= '9' {
			at++
		}
		if at == 0 && rest[0] == '&' {
			at = 1
		}
		end := at
		for end < len(rest) && strings.IndexByte("<>&|-", rest[end]) >= 0 {
			end++
		}
		if end == at || rest[at] != '<' && rest[at] != '>' {
			return false
		}
		rest = strings.TrimLeft(rest[end:], " \t")
		word, ok := plainWord(rest)
		if !ok {
			return false
		}
		rest = strings.TrimLeft(rest[word:], " \t")
	}
	return true
}

// plainWord returns the length of the word that s begins with, which may have quoted parts but nothing escaped.
func plainWord(s string) (int, bool) {
	at := 0
	for at < len(s) {
		switch c := s[at]; {
		case c == ' ' || c == '\t':
			return at, at > 0
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[at+1:], c)
			if end < 0 || strings.ContainsAny(s[at+1:at+1+end], "\\`({") {
				return 0, false
			}
			at += end + 2
		case strings.IndexByte("\\`()<>&|;\n", c) >= 0:
			return 0, false
		default:
			at++
		}
	}
	return at, at > 0
}
