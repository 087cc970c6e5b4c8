package spec

import (
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// This file makes the form of a call: what each of its words is. The parser notes a part where it understands a word, in
// memory that all calls of the line share; where no form is asked for it notes nothing.

// notes is what a parser knows beside the words for it.
type notes struct {
	noting bool   // a form is wanted
	at     int    // the word that is read
	filler string // the command that runs this one, which may put something else for {}
	cut    bool   // the option that is read is not spelt out
	parts  []call.Part
	path   []string
}

// beginForm begins the form of a call whose executable has the name.
func (t *translator) beginForm(to *call.Call, name string) {
	t.forms = append(t.forms, call.Form{})
	to.Form = &t.forms[len(t.forms)-1]
	t.p.noting, t.p.at, t.p.filler = true, 0, t.c.Wrapper
	t.p.parts, t.p.path = t.parts[len(t.parts):], append(t.path[len(t.path):], name)
}

// endForm ends it.
func (t *translator) endForm(to *call.Call) {
	p, f := &t.p, to.Form
	f.Parts, f.Path = p.parts[:len(p.parts):len(p.parts)], p.path[:len(p.path):len(p.path)]
	f.Lost, f.More = p.lost, t.c.XArgs && t.c.Wrapper != "find"
	t.parts, t.path = after(t.parts, f.Parts), after(t.path, f.Path)
	p.noting, p.parts, p.path = false, nil, nil
}

// files marks the operands that are names of files.
func (t *translator) files(f *call.Form) {
	p := &t.p
	n := p.top()
	at := 0
	for _, b := range t.bounds {
		if !n.operands[b.operand].path {
			continue
		}
		for _, op := range p.ops[b.from:b.to] {
			for at < len(f.Parts) && f.Parts[at].Word < int(op.word) {
				at++
			}
			if at < len(f.Parts) && f.Parts[at].Word == int(op.word) {
				f.Parts[at].Path = true
			}
		}
	}
}

// after is all with what was appended behind it, or as it is if that had to move elsewhere.
func after[T any](all, more []T) []T {
	if n := len(all) + len(more); n <= cap(all) && len(more) > 0 && &all[:n][len(all)] == &more[0] {
		return all[:n]
	}
	return all
}

// bareForm makes the form of a command without a spec.
func (t *translator) bareForm(to *call.Call, base string) {
	p := &t.p
	p.words, p.lost = t.c.Words, false
	t.beginForm(to, base)
	ended := false
	for i := 1; i < len(p.words); i++ {
		p.at = i
		text := p.words[i].Text
		switch {
		case ended || len(text) < 2 || text[0] != '-':
			p.note(call.Part{Role: call.Operand, Value: text}, i)
		case text == "--":
			ended = true
			p.note(call.Part{Role: call.Dashes}, i)
		default:
			p.noteStranger(i)
		}
	}
	t.endForm(to)
	p.words = nil
}

// spelt is the name that a command has in a path: that of its spec, or the word itself where that means more.
func (p *pack) spelt(n *node, alias int, word string) string {
	if alias != 0 {
		if a := p.alias(alias); a.tool != "" || len(a.implied) > 0 {
			return word
		}
	}
	return n.name
}

// note adds a part whose value stands in the word i.
func (p *parser) note(part call.Part, i int) {
	if !p.noting {
		return
	}
	part.Word = p.at
	w := &p.words[i]
	if w.State != shell.Exact || w.Splits {
		part.Dynamic = true
		part.Open, part.Glob = opens(w)
		if i != p.at || part.Role == call.Flag {
			part.Open, part.Glob = w.Splits && w.State != shell.Pattern, false // no value turns into an option
		}
	} else if p.filler != "" && strings.Contains(w.Text, "{}") {
		part.Dynamic = true
		part.Open = i == p.at && strings.HasPrefix(w.Text, "{}")
	}
	if part.Open && p.filler == "find" && strings.HasPrefix(w.Text, "{}") {
		part.Open = false // the path of a file begins with the directory that is searched
	}
	p.parts = append(p.parts, part)
}

// dashes ends the options.
func (p *parser) dashes(i int) int {
	p.onlyOperands, p.dashed = true, true
	p.note(call.Part{Role: call.Dashes}, i)
	return i + 1
}

// noteSub adds the subcommand that was entered.
func (p *parser) noteSub(name string, i int) {
	if p.noting {
		p.path = append(p.path, name)
		p.note(call.Part{Role: call.Subcommand, Value: name, Level: len(p.path) - 1}, i)
	}
}

// noteHit adds the occurrence of an option.
func (p *parser) noteHit(h *hit) {
	if !p.noting {
		return
	}
	o := p.optionOf(h)
	part := call.Part{
		Role: call.Flag, Flag: canonical(o.flags), Names: o.flags, Level: int(h.level), Off: h.off, Cut: p.cut,
	}
	i := p.at
	if h.has && h.word != 0 {
		part.Value, part.HasValue, i = h.value, true, int(h.word)
	}
	p.note(part, i)
	if n := &p.parts[len(p.parts)-1]; !part.HasValue {
		n.Dynamic = false
	}
}

// noteMissing adds an option that has too few words behind it, and those that it has, from the word i on, as its values.
func (p *parser) noteMissing(level, option, i int) {
	h := hit{level: int32(level), option: int32(option)}
	p.noteHit(&h)
	for ; i < len(p.words); i++ {
		h.word, h.value, h.has = int32(i), p.words[i].Text, true
		p.noteHit(&h)
	}
}

// noteStranger adds the word i, which looks like an option, or else an operand.
func (p *parser) noteStranger(i int) {
	if !p.noting {
		return
	}
	p.at = i
	text := p.words[i].Text
	if text == "" || text[0] != '-' && text[0] != '+' {
		p.note(call.Part{Role: call.Operand, Value: text}, i)
		return
	}
	part := call.Part{Role: call.Stranger, Flag: text, Level: len(p.path) - 1}
	if eq := strings.IndexByte(text, '='); eq > 0 {
		part.Flag, part.Value, part.HasValue = text[:eq], text[eq+1:], true
	}
	p.note(part, i)
	if n := &p.parts[len(p.parts)-1]; n.Dynamic {
		n.Open = n.Open && (!part.HasValue || p.words[i].Splits || strings.ContainsAny(part.Flag, "$`*?[{"))
	}
}

// noteLetter adds a letter of a bundle that is no option.
func (p *parser) noteLetter(i int, letter byte) {
	if !p.noting {
		return
	}
	if p.words[i].State != shell.Exact {
		p.note(call.Part{Role: call.Stranger, Flag: p.words[i].Text, Level: len(p.path) - 1}, i)
		return
	}
	p.note(call.Part{Role: call.Stranger, Flag: "-" + string(rune(letter)), Level: len(p.path) - 1}, i)
}

// canonical is the first long flag, else the first.
func canonical(flags []string) string {
	for _, f := range flags {
		if strings.HasPrefix(f, "--") {
			return f
		}
	}
	if len(flags) == 0 {
		return ""
	}
	return flags[0]
}

// opens reports whether a word that is not exact can be an option when the line runs, or other words beside it, and
// whether that is so only for certain names of files.
func opens(w *shell.Word) (open, glob bool) {
	switch w.State {
	case shell.Pattern:
		if len(w.Values) == 0 || w.Values[0] == "" {
			return true, true
		}
		first := strings.TrimPrefix(w.Values[0], `\`)
		open = first == "" || strings.IndexByte("-*?[", first[0]) >= 0 && (first[0] == '-' || first == w.Values[0])
		return open, open
	case shell.Several:
		for _, v := range w.Values {
			open = open || strings.HasPrefix(v, "-")
		}
		return open || w.Splits, false
	}
	// The text is the source: what it begins with is known unless that is expanded.
	return w.Splits || w.Text == "" || strings.IndexByte("-$`*?[{~", w.Text[0]) >= 0, false
}
