package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// Allowed returns the entry that covers c, which must have its Form; if there is none, why the nearest one does not.
func (p *Policy) Allowed(c *call.Call, h Host) (*Entry, string) {
	e, _, why := p.allowed(c, h)
	return e, why
}

// allowed is Allowed with the form of the entry that fits.
func (p *Policy) allowed(c *call.Call, h Host) (*Entry, *form, string) {
	if c.Form == nil || len(c.Argv) == 0 {
		return nil, nil, "its words were not taken apart"
	}
	var nearest miss
	var near *Entry
	var of *form
	list := p.allows.of(baseName(c.Argv[0]))
	for _, at := range list {
		e := &p.Allow[at.entry]
		for i := range e.begins {
			f := &e.begins[i]
			m := p.covers(e, f, c, h)
			if m.how == fits {
				return e, f, ""
			}
			if near == nil || m.how > nearest.how {
				near, nearest, of = e, m, f
			}
		}
	}
	if near == nil {
		return nil, nil, "no entry names " + quote(baseName(c.Argv[0]))
	}
	return nil, nil, nearest.why(near, of, c, p)
}

// Names reports whether an entry that has the option flag itself covers c.
func (p *Policy) Names(c *call.Call, flag string, h Host) bool {
	if c.Form == nil || len(c.Argv) == 0 {
		return false
	}
	for _, at := range p.allows.of(baseName(c.Argv[0])) {
		e := &p.Allow[at.entry]
		for i := range e.begins {
			f := &e.begins[i]
			if slices.ContainsFunc(f.options, func(o option) bool { return slices.Contains(o.names, flag) }) && p.covers(e, f, c, h).how == fits {
				return true
			}
		}
	}
	return false
}

// A miss says why an entry does not cover a call; the later ones are nearer. The zero miss is that nobody has looked.
type miss struct {
	how nearness
	at  int // the option or operand
}

// A nearness is how far the comparison came.
type nearness uint8

const (
	unseen    nearness = iota
	byFile             // the program is named by another path
	byPath             // another subcommand
	byAlias            // a subcommand that no spec knows, which can be an alias of one that is refused
	byWord             // another operand
	byRunTime          // a word before those that count is known only at run time
	byUnknown          // an option that the spec does not know stands before the words that count
	byOption           // an option of the entry is not there
	byValue            // … has another value, or is taken back
	byMore             // more words than an exact entry has
	byRemote           // more than one command is run on the other host
	fits
)

// covers compares the call with the beginning f of the entry e.
func (p *Policy) covers(e *Entry, f *form, c *call.Call, h Host) miss {
	if !sameFile(f, c.Argv[0], h) {
		return miss{how: byFile}
	}
	have := c.Form.Path
	if len(f.path) > len(have) || !slices.Equal(f.path[1:], have[1:len(f.path)]) {
		return miss{how: byPath}
	}
	if len(f.operands) > 0 && len(f.path) != len(have) {
		return miss{how: byWord}
	}
	if c.Form.Lost && len(f.path) < len(have) && hasAliases(have[0]) && len(p.denies.of(have[0])) > 0 {
		return miss{how: byAlias}
	}
	if m := f.ordered(c); m.how != fits {
		return m
	}
	for i := range f.options {
		if m := f.option(i, c); m.how != fits {
			return m
		}
	}
	if e.Exact && !f.whole(c) {
		return miss{how: byMore}
	}
	if len(f.operands) > 1 && remoteShell(f.path[0]) && !oneElsewhere(c) {
		return miss{how: byRemote}
	}
	return miss{how: fits}
}

// sameFile reports whether the name of a call leads to the program that f means.
func sameFile(f *form, name string, h Host) bool {
	byPath := strings.IndexByte(name, '/') >= 0
	switch {
	case f.file == "" && !byPath:
		return true
	case f.file != "" && byPath && f.file == path.Clean(name):
		return true
	case h.Find == nil, f.file != "" && byPath:
		return false
	case byPath: // the entry has a bare name
		return path.IsAbs(name) && h.Find(f.base) == path.Clean(name)
	}
	return path.IsAbs(f.file) && h.Find(name) == f.file
}

// ordered compares subcommands and operands, which must stand in the order of the entry, with nothing before them that
// could change what they are.
func (f *form) ordered(c *call.Call) miss {
	subs, operands := len(f.path)-1, len(f.operands)
	var doubt nearness
	at := 0
	for i := range c.Form.Parts {
		if subs == 0 && at == operands && !f.tree {
			break
		}
		part := &c.Form.Parts[i]
		switch {
		case part.Role == call.Subcommand && subs > 0:
			if doubt != unseen {
				return miss{how: doubt}
			}
			subs--
		case part.Role == call.Operand && operands > 0:
			want := f.operands[min(at, operands-1)]
			last := at >= operands-1
			switch {
			case doubt != unseen:
				return miss{doubt, at}
			case part.Dynamic:
				return miss{byRunTime, at}
			case last && f.tree:
				if !below(want, part.Value) {
					return miss{byWord, at}
				}
			case part.Value != want:
				return miss{byWord, at}
			}
			at++
		case part.Role == call.Stranger && !f.names(part):
			doubt = byUnknown
		}
		if part.Open {
			doubt = byRunTime
		}
	}
	switch {
	case subs > 0:
		return miss{how: byPath}
	case at < operands:
		return miss{byWord, at}
	case f.tree && (c.Form.More || doubt == byRunTime):
		return miss{byRunTime, at}
	}
	return miss{how: fits}
}

// names reports whether the entry has that option, which the spec does not know.
func (f *form) names(part *call.Part) bool {
	for i := range f.options {
		if o := &f.options[i]; o.stranger && o.flag == part.Flag {
			return true
		}
	}
	return false
}

// option looks for the option i of the entry. Every time that it stands in the call, it must say what the entry says.
func (f *form) option(i int, c *call.Call) miss {
	want := &f.options[i]
	found, after := false, false
	for j := range c.Form.Parts {
		part := &c.Form.Parts[j]
		if !want.is(part) {
			after = part.Role == call.Stranger && !part.HasValue && !f.names(part) // the next word can be its value
			continue
		}
		if part.Off != want.off || part.Cut {
			return miss{byValue, i}
		}
		if want.hasValue && !f.says(part) {
			return miss{byValue, i}
		}
		found = found || !after && (!want.hasValue || part.Value == want.value)
		after = false
	}
	if !found {
		return miss{byOption, i}
	}
	return miss{how: fits}
}

// is reports whether a part is that very option.
func (o *option) is(part *call.Part) bool {
	switch part.Role {
	case call.Flag:
		if o.stranger {
			return slices.Contains(part.Names, o.flag)
		}
		return o.level == part.Level && o.flag == part.Flag
	case call.Stranger:
		return o.stranger && o.flag == part.Flag
	}
	return false
}

// says reports whether the entry has the option of the part with just that value, or with any.
func (f *form) says(part *call.Part) bool {
	for i := range f.options {
		o := &f.options[i]
		if o.is(part) && (!o.hasValue || part.HasValue && !part.Dynamic && o.value == part.Value) {
			return true
		}
	}
	return false
}

// whole reports whether the call has nothing that the entry does not name.
func (f *form) whole(c *call.Call) bool {
	if c.Form.More || len(c.Form.Path) != len(f.path) {
		return false
	}
	operands := 0
	for i := range c.Form.Parts {
		part := &c.Form.Parts[i]
		switch {
		case part.Role == call.Operand:
			operands++
		case part.Role == call.Subcommand, part.Role == call.Dashes:
		case !slices.ContainsFunc(f.options, func(o option) bool { return o.is(part) && o.hasValue == part.HasValue }):
			return false
		}
		if part.Open {
			return false
		}
	}
	return operands == len(f.operands) || f.tree && operands > len(f.operands)
}

// below reports whether the path name is the directory dir or something below it, by the names alone.
func below(dir, name string) bool {
	dir, name = path.Clean(dir), path.Clean(name)
	if dir == "." {
		return name == "." || !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
	}
	return name == dir || len(name) > len(dir) && name[:len(dir)] == dir && (name[len(dir)] == '/' || dir == "/")
}

// hasAliases reports whether a program takes subcommands of the user's own, which can stand for any other.
func hasAliases(name string) bool {
	switch name {
	case "git", "gh", "glab", "cargo", "hg", "jj", "svn", "yarn", "pnpm", "composer", "rails", "mise", "just":
		return true
	}
	return false
}

// remoteShell reports whether a program gives its operands, joined, to a shell elsewhere.
func remoteShell(name string) bool { return name == "ssh" || name == "slogin" || name == "autossh" }

// oneElsewhere reports whether what c runs elsewhere is one command with what that one runs in its turn.
func oneElsewhere(c *call.Call) bool {
	if len(c.Elsewhere) == 0 || len(c.Elsewhere[0].Meta.Redirects) > 0 {
		return false
	}
	for i := 1; i < len(c.Elsewhere); i++ {
		if c.Elsewhere[i].Meta.Depth <= c.Elsewhere[0].Meta.Depth {
			return false
		}
	}
	return true
}

// why says it in words, for the agent.
func (m miss) why(e *Entry, f *form, c *call.Call, p *Policy) string {
	name := fmt.Sprintf("the entry %s (%s)", quote(e.Text), e.At)
	if len(e.Only) > 0 && (m.how == byWord || m.how == byOption || m.how == byValue) {
		return fmt.Sprintf("%s wants one of %s behind it", name, quoteSome(e.Only))
	}
	switch m.how {
	case byFile:
		return fmt.Sprintf("%s is for the program that PATH finds, and %s is another file", name, quote(c.Argv[0]))
	case byPath:
		return "no entry names " + quote(strings.Join(c.Form.Path, " "))
	case byAlias:
		return fmt.Sprintf("%s does not cover %s: no spec knows that subcommand, and it can be an alias of one that deny refuses; "+
			"an entry of its own would", name, quote(strings.Join(c.Form.Path, " ")))
	case byWord:
		if m.at < len(f.operands) {
			return "the nearest is " + strings.TrimPrefix(name, "the ")
		}
		return name + " is for other words"
	case byRunTime:
		return name + " covers words that are known only at run time no further"
	case byUnknown:
		return name + " does not cover it: an option that no spec knows stands before the words that count, and may take one of them"
	case byOption:
		return fmt.Sprintf("%s wants %s", name, quote(asWritten(e.Text, f.options[m.at].flag)))
	case byValue:
		return fmt.Sprintf("%s wants %s with its value, each time", name, quote(asWritten(e.Text, f.options[m.at].flag)))
	case byMore:
		return name + " is exact, and there is more"
	case byRemote:
		return name + " covers one command on the other host"
	}
	return name + " does not cover it"
}

// asWritten is an option as the entry spells it, where that is plain to see: an entry "sed -n" is not told to want --quiet.
func asWritten(entry, flag string) string {
	var options []string
	for _, word := range strings.Fields(entry) {
		if len(word) > 1 && word[0] == '-' {
			options = append(options, word)
		}
	}
	if len(options) == 1 && !strings.Contains(entry, flag) {
		return options[0]
	}
	return flag
}

// quoteSome quotes the first texts of a list.
func quoteSome(list []string) string {
	const most = 5
	var quoted []string
	for _, text := range list[:min(len(list), most)] {
		quoted = append(quoted, quote(text))
	}
	text := strings.Join(quoted, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
