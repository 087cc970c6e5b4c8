package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expand does to ws what bash does to the words of a command: brace, tilde, parameter, command and arithmetic expansion,
// splitting, quote removal. Globs stay as they are. Substitutions are followed on the way. The result belongs to the caller.
func (w *walker) expand(ws []*syntax.Word, c *ctx, st *state) []Word {
	mark := len(w.stack)
	for _, word := range ws {
		if text, ok := plainText(word); ok {
			w.stack = append(w.stack, Word{Text: text, State: Exact})
			continue
		}
		w.expandWord(word, c, st)
	}
	out := w.room(len(w.stack) - mark)
	copy(out, w.stack[mark:])
	w.stack = w.stack[:mark]
	return out
}

// plainText is the text of a word in which nothing is expanded, nor taken away but one pair of quotes.
func plainText(word *syntax.Word) (string, bool) {
	if len(word.Parts) != 1 {
		return "", false
	}
	switch p := word.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, !special(p.Value)
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		switch len(p.Parts) {
		case 0:
			return "", true
		case 1:
			if lit, ok := p.Parts[0].(*syntax.Lit); ok {
				return lit.Value, strings.IndexByte(lit.Value, '\\') < 0
			}
		}
	}
	return "", false
}

// special reports whether bash could make something else of an unquoted s.
func special(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', '*', '?', '[', '~', '{':
			return true
		}
	}
	return false
}

// expandWord puts the fields of one word on the stack.
func (w *walker) expandWord(word *syntax.Word, c *ctx, st *state) {
	e := w.expander(c, st)
	defer w.freeExpander(e)
	e.splitting = true
	if hasBrace(word) {
		fields, changed := w.braces(word)
		if w.dialect == posix && len(fields) > 1 { // dash has no braces, bash has them as sh, too
			e.unknown(w.nodeText(word), true)
			e.flush()
			return
		}
		for _, parts := range fields {
			name, dollar := braceGlues(parts)
			if dollar {
				w.fail(Unsupported, "a $ that braces put before something else is not followed; write the words out", w.nodeText(word))
			}
			e.braced = changed
			e.word(parts)
			if name {
				e.unknown("", true)
			}
			e.flush()
		}
		return
	}
	e.word(word.Parts)
	e.flush()
}

// one is the value of a word that stays one word: of an assignment, a here-string, a case.
func (w *walker) one(word *syntax.Word, c *ctx, st *state) Word {
	if word == nil {
		return Word{State: Exact}
	}
	if text, ok := plainText(word); ok {
		return Word{Text: text, State: Exact}
	}
	e := w.expander(c, st)
	defer w.freeExpander(e)
	e.assigned = true
	e.word(word.Parts)
	return e.single()
}

func (w *walker) expander(c *ctx, st *state) *expander {
	e := w.exps
	if e == nil {
		e = new(expander)
	} else {
		w.exps = e.next
	}
	*e = expander{w: w, c: c, st: st, state: Exact, text: e.text[:0]}
	return e
}

func (w *walker) freeExpander(e *expander) {
	*e = expander{text: e.text[:0], next: w.exps}
	w.exps = e
}

// An expander makes fields of the parts of a word.
type expander struct {
	w  *walker
	c  *ctx
	st *state

	splitting bool // unquoted values are split, and globs are globs
	assigned  bool // a tilde is expanded after each colon, too
	braced    bool // braces made the word, which is no assignment then
	inPattern bool // extended globs are always on: [[ x == @(a|b) ]]

	text    []byte
	pattern []byte   // text with a backslash before what is not a glob; made once there is a glob
	alts    []string // the values so far; nil: text is the only one
	state   State    // Exact until something is less
	begun   bool     // there is a field
	globs   bool
	bracket bool // a [ was seen, which is a glob if a ] follows
	many    bool
	next    *expander
}

// word adds the parts of a whole word.
func (e *expander) word(parts []syntax.WordPart) {
	if lit, ok := first[*syntax.Lit](parts); ok && strings.IndexByte(lit.Value, '~') >= 0 {
		e.tildes(lit.Value, len(parts) == 1)
		parts = parts[1:]
	}
	e.parts(parts, false)
}

func first[P syntax.WordPart](parts []syntax.WordPart) (p P, ok bool) {
	if len(parts) > 0 {
		p, ok = parts[0].(P)
	}
	return p, ok
}

func (e *expander) parts(parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		if e.w.err != nil {
			return
		}
		switch p := part.(type) {
		case *syntax.Lit:
			if quoted {
				e.quotedLit(p.Value)
			} else {
				e.lit(p.Value)
			}
		case *syntax.SglQuoted:
			e.begun = true
			switch {
			case p.Dollar:
				e.add(e.w.ansiC(p.Value))
			case quoted: // "${x:-'a'}"
				e.add("'" + p.Value + "'")
			default:
				e.add(p.Value)
			}
		case *syntax.DblQuoted:
			if !listOnly(p) {
				e.begun = true
			}
			e.parts(p.Parts, true)
		case *syntax.ParamExp:
			e.param(p, quoted)
		case *syntax.CmdSubst:
			mark := len(e.w.out)
			v := e.w.cmdSubst(p, *e.c, *e.st)
			e.value(v, e.w.nodeText(p), quoted || e.st.ifs == ifsDefault && e.w.isNumber(p, mark))
		case *syntax.ArithmExp:
			e.value(e.w.arithmValue(p.X, e.c, e.st), e.w.nodeText(p), true)
		case *syntax.ProcSubst:
			e.w.procSubst(p, *e.c, *e.st)
			e.unknown(e.w.nodeText(p), false)
		case *syntax.ExtGlob:
			e.extGlob(p)
		default:
			e.w.fail(Unsupported, "this expansion is not followed; write the value out", e.w.nodeText(p))
		}
	}
}

// listOnly reports whether q holds nothing but "$@" or "${a[@]}", which can become no word at all.
func listOnly(q *syntax.DblQuoted) bool {
	if len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	return ok && (p.Param != nil && p.Param.Value == "@" || indexText(p.Index) == "@")
}

// add adds characters that stand for themselves.
func (e *expander) add(s string) {
	if s == "" {
		return
	}
	e.begun = true
	e.w.spendText(len(s) * (1 + len(e.alts)))
	e.text = append(e.text, s...)
	if e.pattern != nil {
		e.pattern = escapePattern(e.pattern, s)
	}
	if e.bracket && strings.IndexByte(s, ']') >= 0 {
		e.globs = true
	}
	if e.state == Pattern && len(e.alts) > 0 {
		s = string(escapePattern(nil, s))
	}
	for i := range e.alts {
		e.alts[i] += s
	}
}

// addGlob adds one character of a pattern, or more.
func (e *expander) addGlob(s string) {
	if !e.splitting && !e.inPattern {
		e.add(s)
		return
	}
	e.begun = true
	if e.state == Pattern && e.alts != nil {
		e.text = append(e.text, s...)
		for i := range e.alts {
			e.alts[i] += s
		}
		return
	}
	if e.pattern == nil {
		e.pattern = escapePattern(make([]byte, 0, 2*len(e.text)+16), string(e.text))
	}
	e.text = append(e.text, s...)
	e.pattern = append(e.pattern, s...)
	for i := range e.alts {
		e.alts[i] += s
	}
	switch s[0] {
	case '[':
		e.bracket = true
	case ']':
		if e.bracket {
			e.globs = true
		}
	case '-', '!', '^', ':', '\\':
	default:
		e.globs = true
	}
}

// lit adds unquoted source text.
func (e *expander) lit(s string) {
	from := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			e.add(s[from:i])
			e.begun = true
			if i++; i < len(s) && s[i] == '\n' {
				from = i + 1
				continue
			}
			from = i
			if i >= len(s) { // a backslash at the end of the text stands for itself
				e.add("\\")
				from = len(s)
			}
		case '*', '?', '[', ']', '-', '!', '^', ':':
			if (s[i] == '*' || s[i] == '?' || s[i] == '[') || e.bracket {
				e.add(s[from:i])
				e.addGlob(s[i : i+1])
				from = i + 1
			}
		}
	}
	if from < len(s) {
		e.add(s[from:])
	}
}

// quotedLit adds source text between double quotes.
func (e *expander) quotedLit(s string) {
	from := 0
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		switch s[i+1] {
		case '$', '`', '"', '\\', '\n':
			e.add(s[from:i])
			from = i + 1
			if s[i+1] == '\n' {
				from++
			}
			i++
		}
	}
	e.add(s[from:])
}

// unknown adds a part that is known only at run time, shown as its source.
func (e *expander) unknown(source string, many bool) {
	e.begun = true
	e.text = append(e.text, source...)
	e.state, e.alts, e.many = Unknown, nil, e.many || many
}

func (e *expander) extGlob(p *syntax.ExtGlob) {
	text := p.Op.String() + p.Pattern.Value + ")"
	if !e.inPattern && !e.w.globs {
		e.w.fail(Syntax, "bash reads an extended glob only after a line with shopt -s extglob; list the files instead", text)
		return
	}
	if strings.ContainsAny(p.Pattern.Value, "$`<>\\'\"") {
		e.w.fail(Unsupported, "an expansion or quote inside an extended glob is not followed; write the pattern out", text)
		return
	}
	if e.state == Unknown || e.alts != nil {
		e.unknown(text, true)
		return
	}
	if !e.splitting && !e.inPattern {
		e.add(text)
		return
	}
	e.addGlob(text)
	e.globs = true
}

func (w *walker) spendText(n int) {
	if w.text -= n; w.text < 0 {
		w.limit("expands to too much text")
	}
}
