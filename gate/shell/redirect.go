package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects evaluates the redirections of one statement.
func (w *walker) redirects(list []*syntax.Redirect, c *ctx, st *state) []Redirect {
	out := w.redirectRoom(len(list))
	for _, r := range list {
		out = append(out, w.redirect(r, c, st))
	}
	return out
}

// redirectRoom is an empty slice with room for n, which belongs to the caller.
func (w *walker) redirectRoom(n int) []Redirect {
	if len(w.redirs) < n {
		w.redirs = make([]Redirect, max(n, 2))
	}
	out := w.redirs[:0:n]
	w.redirs = w.redirs[n:]
	return out
}

// plainRedirects are redirections in which nothing is expanded.
func (w *walker) plainRedirects(list []*syntax.Redirect) ([]Redirect, bool) {
	for _, r := range list {
		if _, ok := plainText(r.Word); !ok || endsAtDash(r) || r.Hdoc != nil || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.N != nil && r.N.Value[0] == '{' {
			return nil, false
		}
	}
	out := w.redirectRoom(len(list))
	for _, r := range list {
		text, _ := plainText(r.Word)
		out = append(out, plainRedirect(r, text))
	}
	return out, true
}

func plainRedirect(r *syntax.Redirect, text string) Redirect {
	out := Redirect{Op: opText(r.Op), Target: exact(text), FD: -1}
	if r.N != nil {
		out.FD, _ = strconv.Atoi(r.N.Value)
	}
	switch r.Op {
	case syntax.WordHdoc:
		out.Body = exact(text + "\n")
	case syntax.DplOut, syntax.DplIn:
		out.Copy = isDescriptor(text)
	}
	return out
}

// endsAtDash reports whether bash sees two words where the parser sees one: >&- and <&- are whole with the dash.
func endsAtDash(r *syntax.Redirect) bool {
	if r.Op != syntax.DplOut && r.Op != syntax.DplIn || len(r.Word.Parts) == 0 {
		return false
	}
	first, ok := r.Word.Parts[0].(*syntax.Lit)
	return ok && strings.HasPrefix(first.Value, "-") && (first.Value != "-" || len(r.Word.Parts) > 1)
}

func (w *walker) redirect(r *syntax.Redirect, c *ctx, st *state) Redirect {
	if endsAtDash(r) {
		w.fail(Unsupported, "bash takes what follows the dash for a word of its own; put a space after it", w.nodeText(r.Word))
	}
	out := Redirect{Op: opText(r.Op), FD: -1}
	if r.N != nil {
		if name, ok := strings.CutPrefix(r.N.Value, "{"); ok {
			out.FDName = strings.TrimSuffix(name, "}")
			w.assign(st, out.FDName, Word{Text: "$" + out.FDName})
		} else if n, err := strconv.Atoi(r.N.Value); err == nil {
			out.FD = n
		}
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		out.Target, out.Body = w.heredoc(r, c, st)
		return out
	case syntax.WordHdoc:
		out.Target = w.one(r.Word, c, st)
		out.Body = out.Target
		if out.Body.State == Exact {
			out.Body.Text += "\n"
		}
		return out
	}
	if words := w.expand([]*syntax.Word{r.Word}, c, st); len(words) == 1 {
		out.Target = words[0]
		out.Target.Splits = false // more than one word is an error
	} else {
		out.Target = Word{Text: w.nodeText(r.Word)}
	}
	if r.Op == syntax.DplOut || r.Op == syntax.DplIn {
		t := out.Target
		out.Copy = t.State == Exact && isDescriptor(t.Text)
	}
	return out
}

// opText is the operator as written.
func opText(op syntax.RedirOperator) string {
	switch op {
	case syntax.RdrOut:
		return ">"
	case syntax.AppOut:
		return ">>"
	case syntax.RdrIn:
		return "<"
	}
	return op.String()
}

// isDescriptor reports whether the word after >& or <& is a descriptor: 2, 2- or -.
func isDescriptor(s string) bool {
	if s == "-" {
		return true
	}
	s = strings.TrimSuffix(s, "-")
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// heredoc gives the delimiter and the text of a here-document.
func (w *walker) heredoc(r *syntax.Redirect, c *ctx, st *state) (delimiter, body Word) {
	quoted := false
	var name strings.Builder
	for _, part := range r.Word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			quoted = quoted || strings.IndexByte(p.Value, '\\') >= 0
			name.WriteString(strings.ReplaceAll(p.Value, "\\", ""))
		case *syntax.SglQuoted:
			quoted = true
			name.WriteString(p.Value)
		case *syntax.DblQuoted:
			quoted = true
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					name.WriteString(lit.Value)
				}
			}
		default:
			w.fail(Unsupported, "the delimiter of a here-document should be a plain word", w.nodeText(r.Word))
		}
	}
	delimiter = exact(name.String())
	if r.Hdoc == nil || len(r.Hdoc.Parts) == 0 {
		return delimiter, exact("")
	}
	parts := r.Hdoc.Parts
	if r.Op == syntax.DashHdoc {
		parts = untab(parts)
	}
	if lit, ok := first[*syntax.Lit](parts); ok && quoted && len(parts) == 1 {
		return delimiter, exact(lit.Value)
	}
	if quoted {
		var text strings.Builder
		for _, part := range parts {
			if lit, ok := part.(*syntax.Lit); ok {
				text.WriteString(lit.Value)
			} else {
				text.WriteString(w.nodeText(part))
			}
		}
		return delimiter, exact(text.String())
	}
	e := expander{w: w, c: c, st: st, state: Exact}
	for _, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok {
			e.docLit(lit.Value)
		} else {
			e.parts([]syntax.WordPart{part}, true)
		}
	}
	return delimiter, e.single()
}

// docLit adds source text of a here-document, in which a double quote is nothing special.
func (e *expander) docLit(s string) {
	for {
		i := strings.Index(s, `\"`)
		if i < 0 || i > 0 && s[i-1] == '\\' {
			break
		}
		e.quotedLit(s[:i])
		e.add(`\"`)
		s = s[i+2:]
	}
	if strings.Contains(s, `\"`) && strings.Contains(s, `\\`) {
		e.unknown(s, false) // which backslash belongs to which is not worth telling apart
		return
	}
	e.quotedLit(s)
}

// untab takes the tabs at the beginning of lines away, as <<- does.
func untab(parts []syntax.WordPart) []syntax.WordPart {
	out := make([]syntax.WordPart, len(parts))
	start := true
	for i, part := range parts {
		out[i] = part
		lit, ok := part.(*syntax.Lit)
		if !ok {
			start = false
			continue
		}
		var text strings.Builder
		for _, r := range []byte(lit.Value) {
			if start && r == '\t' {
				continue
			}
			text.WriteByte(r)
			start = r == '\n'
		}
		if lit.Value == "" {
			continue
		}
		clone := *lit
		clone.Value = text.String()
		out[i] = &clone
	}
	return out
}

// inherit is own, as it holds for what is inside, before outer.
func inherit(own, outer []Redirect) []Redirect {
	if len(own) == 0 {
		return outer
	}
	out := make([]Redirect, 0, len(own)+len(outer))
	for _, r := range own {
		r.Inherited = true
		out = append(out, r)
	}
	return append(out, outer...)
}

// stdinOf is the standard input under the redirections own.
func stdinOf(own []Redirect, outer Stdin) Stdin {
	in := outer
	for i := range own {
		r := &own[i]
		if r.FD > 0 || r.FDName != "" {
			continue
		}
		switch r.Op {
		case "<<", "<<-", "<<<":
			in = Stdin{}
			if r.Body.State == Exact {
				in = Stdin{Known: true, Text: r.Body.Text}
			}
		case "<", "<>", "<&":
			in = Stdin{}
			if r.Op == "<" && r.Target.State == Exact && r.Target.Text == "/dev/null" {
				in.Known = true
			}
		default:
			if r.FD == 0 {
				in = Stdin{}
			}
		}
	}
	return in
}
