package policy

import (
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// Denied returns the entry that stands against c, or against what c runs elsewhere, and how sure that is. The call must
// have its Form; without it every entry for its name stands against it.
func (p *Policy) Denied(c *call.Call, h Host) (*Entry, Match) {
	if c.Form != nil && strings.HasPrefix(c.Form.Path[0], "git-") && len(c.Form.Path) == 1 {
		c = undashed(c)
	}
	e, m := p.deniedAs(c, h)
	if m != Yes && c.Form != nil {
		if other := twin(c); other != nil {
			if e, m := p.deniedAs(other, h); m != No {
				return e, m
			}
		}
	}
	return e, m
}

// deniedAs is Denied for the one way in which c says it.
func (p *Policy) deniedAs(c *call.Call, h Host) (*Entry, Match) {
	var maybe *Entry
	name := ""
	switch {
	case c.Form != nil:
		name = c.Form.Path[0]
	case len(c.Argv) > 0:
		name = baseName(c.Argv[0])
	}
	for _, at := range p.denies.of(name) {
		e := &p.Deny[at.entry]
		switch e.refuses(c, h) {
		case Yes:
			return e, Yes
		case Maybe:
			if maybe == nil {
				maybe = e
			}
		}
	}
	for i := range c.Elsewhere {
		switch e, m := p.Denied(&c.Elsewhere[i], h); m {
		case Yes:
			return e, Yes
		case Maybe:
			if maybe == nil {
				maybe = e
			}
		}
	}
	if maybe != nil {
		return maybe, Maybe
	}
	return nil, No
}

// undashed reads the program git-push as git push.
func undashed(c *call.Call) *call.Call {
	sub := strings.TrimPrefix(c.Form.Path[0], "git-")
	form := call.Form{Path: []string{"git", sub}, More: c.Form.More}
	form.Parts = append([]call.Part{{Role: call.Subcommand, Value: sub, Level: 1}}, c.Form.Parts...)
	return &call.Call{Argv: c.Argv, Form: &form, Elsewhere: c.Elsewhere}
}

// refuses compares the call with one entry for the same executable.
func (e *Entry) refuses(c *call.Call, h Host) Match {
	if c.Form == nil {
		return Yes
	}
	f := &e.begins[0]
	m := f.begins(c)
	for i := range f.options {
		if m == No {
			return No
		}
		m = min(m, f.options[i].in(c, h))
	}
	if m == No || len(e.flags) == 0 {
		return m
	}
	one := No
	for i := range e.flags {
		all := Yes
		for j := range e.flags[i].options {
			all = min(all, e.flags[i].options[j].in(c, h))
		}
		one = max(one, all)
	}
	return min(m, one)
}

// begins reports whether the subcommands and operands of the call begin with those of the entry. A word behind an option
// that no spec knows may be the value of that option, and a word that is known only at run time may be any.
func (f *form) begins(c *call.Call) Match {
	var at [maxWords + 2]Match // how sure it is that so many of the entry's words have been seen
	n := len(f.path) - 1 + len(f.operands)
	at[0] = Yes
	value := false // the word can be the value of an unknown option
	for i := range c.Form.Parts {
		part := &c.Form.Parts[i]
		switch part.Role {
		case call.Stranger:
			value = !part.HasValue || part.Open
			continue
		case call.Flag:
			value = false
			if part.Open { // its value may be more than one word
				for j := 1; j <= n; j++ {
					at[j] = max(at[j], min(at[j-1], Maybe))
				}
			}
			continue
		case call.Dashes:
			value = false
			continue
		}
		if at[n] == Yes {
			return Yes
		}
		for j := n - 1; j >= 0; j-- {
			if at[j] == No {
				continue
			}
			if m := f.word(j, part); m != No {
				at[j+1] = max(at[j+1], min(at[j], m))
			}
			switch {
			case value, c.Form.Path[0] == "cargo" && strings.HasPrefix(part.Value, "+"): // it may be none of the words: a toolchain is none
			case part.Open:
				at[j] = min(at[j], Maybe)
			default:
				at[j] = No
			}
		}
		if part.Open {
			for j := 1; j <= n; j++ {
				at[j] = max(at[j], min(at[j-1], Maybe))
			}
		}
		value = false
	}
	if at[n] == No && c.Form.More && slices.Max(at[:n+1]) != No {
		return Maybe
	}
	return at[n]
}

// word compares a subcommand or operand with the word j of the entry.
func (f *form) word(j int, part *call.Part) Match {
	if part.Dynamic {
		return Maybe
	}
	if j < len(f.path)-1 {
		if part.Value == f.path[j+1] {
			return Yes
		}
		return No
	}
	j -= len(f.path) - 1
	want := f.operands[j]
	if part.Value == want || f.tree && j == len(f.operands)-1 && below(want, part.Value) ||
		path.Clean(part.Value) == path.Clean(want) {
		return Yes
	}
	return No
}

// in reports whether the call has the option, in whatever spelling.
func (o *option) in(c *call.Call, h Host) Match {
	found, ended := No, false
	for i := range c.Form.Parts {
		part := &c.Form.Parts[i]
		if part.Role == call.Dashes {
			ended = true
		}
		m := max(o.like(part), o.refspec(c, part), o.forced(c, i))
		if m == Maybe && part.Role == call.Stranger && !part.HasValue {
			m = o.next(c.Form.Parts[i+1:], part.Word+1)
		}
		if m == Yes {
			return Yes
		} else if m == Maybe {
			found = Maybe
		}
		if part.Open && !ended && found == No && (!part.Glob || h.Dashed == nil || h.Dashed(c, part.Word)) {
			found = Maybe
		}
	}
	if c.Form.More && !ended {
		return max(found, Maybe)
	}
	return found
}

// refspec reports whether a part says what git push has an option for: +main forces, and :main deletes.
func (o *option) refspec(c *call.Call, part *call.Part) Match {
	if o.flag != "--force" && o.flag != "--delete" || part.Role != call.Operand || c.Name != "git_push" || len(part.Value) < 2 || o.off {
		return No
	}
	if part.Value[0] == '+' && o.flag == "--force" || part.Value[0] == ':' && o.flag == "--delete" {
		return Yes
	}
	return No
}

// forced reports whether a part and another one say together what git branch has one letter for: -d -f is -D.
func (o *option) forced(c *call.Call, i int) Match {
	if c.Name != "git_branch" || !slices.Contains(c.Form.Parts[i].Names, map[string]string{"-D": "-d", "-M": "-m", "-C": "-c"}[o.flag]) {
		return No
	}
	if slices.ContainsFunc(c.Form.Parts, func(p call.Part) bool {
		return p.Role == call.Flag && p.Flag == "--force" || p.Role == call.Stranger && (p.Flag == "-f" || p.Flag == "--force")
	}) {
		return Yes
	}
	return No
}

// next reports whether the word behind an option that no spec knows is the value that o wants.
func (o *option) next(rest []call.Part, word int) Match {
	switch {
	case len(rest) == 0 || rest[0].Word != word:
		return No
	case rest[0].Dynamic:
		return Maybe
	case rest[0].Role == call.Operand && rest[0].Value == o.value:
		return Yes
	}
	return No
}

// like reports whether a part is the option, or could be read as it.
func (o *option) like(part *call.Part) Match {
	switch {
	case part.Role != call.Flag && part.Role != call.Stranger:
		return No
	case o.is(part):
		if part.Off != o.off {
			return No
		}
	case part.Role == call.Flag || !o.spells(part.Flag):
		return No
	}
	switch {
	case !o.hasValue || part.HasValue && !part.Dynamic && part.Value == o.value:
		return Yes
	case part.Dynamic, part.Role == call.Stranger && !part.HasValue:
		return Maybe
	}
	return No
}

// spells reports whether text, which no spec knows, may be another spelling of the option: a long one cut short, or
// letters behind one dash.
func (o *option) spells(text string) bool {
	if spelling(o.flag, text) {
		return true
	}
	for _, name := range o.names {
		if spelling(name, text) {
			return true
		}
	}
	return false
}

func spelling(name, text string) bool {
	switch {
	case strings.HasPrefix(text, "--"):
		return len(text) > 2 && strings.HasPrefix(name, text)
	case len(name) == 2 && name[0] == '-' && len(text) > 1 && text[0] == '-':
		return strings.IndexByte(text[1:], name[1]) >= 0
	}
	return name == text
}
