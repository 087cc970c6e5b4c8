package shell

import "strings"

// value adds the value v of a part, whose text is source.
func (e *expander) value(v Word, source string, quoted bool) {
	split := !quoted && e.splitting
	switch {
	case v.State == Exact && !v.Splits:
		if split {
			e.split(v.Text, source)
		} else {
			e.add(v.Text)
		}
	case v.State == Several || v.State == Maybe || v.State == Pattern:
		e.alternatives(v, source, split)
	default:
		e.unknown(source, split || v.Splits)
	}
}

// alternatives adds a part that has one of several values.
func (e *expander) alternatives(v Word, source string, split bool) {
	many := v.Splits
	if split && v.State == Pattern {
		many = true
	} else if split {
		var whole []string // those that stay one word
		for _, s := range v.Values {
			if !e.splits(s) && !special(s) {
				whole = append(whole, s)
			}
		}
		many = many || v.State == Maybe
		if len(whole) < len(v.Values) {
			many, v.Values, v.State = true, whole, Maybe
		}
	}
	if e.state == Unknown || len(v.Values) == 0 || e.state == Pattern && v.State != Pattern || e.globs || e.pattern != nil {
		e.unknown(source, many)
		return
	}
	state := min(v.State, e.state)
	before := e.alts
	if before == nil {
		before = []string{string(e.text)}
	}
	if len(before)*len(v.Values) > maxValues || v.State == Pattern && e.state != Exact {
		e.unknown(source, many)
		return
	}
	e.alts = make([]string, 0, len(before)*len(v.Values))
	for _, b := range before {
		if v.State == Pattern && e.state != Pattern {
			b = string(escapePattern(nil, b))
		}
		for _, s := range v.Values {
			e.w.spendText(len(b) + len(s))
			e.alts = append(e.alts, b+s)
		}
	}
	e.text = append(e.text, source...)
	e.begun, e.many, e.state = true, e.many || many, state
}

// splits reports whether an unquoted s could be other than one word.
func (e *expander) splits(s string) bool {
	seps, known := e.separators()
	return !known || s == "" || strings.ContainsAny(s, seps)
}

// separators are the characters of IFS.
func (e *expander) separators() (string, bool) {
	switch e.st.ifs {
	case ifsDefault:
		return " \t\n", true
	case ifsKnown:
		if b := e.st.find(e.w, "IFS"); b != nil {
			return b.val.Text, true
		}
	}
	return "", false
}

// split adds the value s of an unquoted part, which may begin further fields and holds globs.
func (e *expander) split(s, source string) {
	seps, known := e.separators()
	if !known || strings.IndexByte(s, '\\') >= 0 && special(strings.ReplaceAll(s, "\\", "")) {
		e.unknown(source, true)
		return
	}
	blank := func(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }
	for i := 0; i < len(s); {
		if strings.IndexByte(seps, s[i]) < 0 {
			j := i
			for j < len(s) && strings.IndexByte(seps, s[j]) < 0 {
				j++
			}
			e.globText(s[i:j])
			i = j
			continue
		}
		// Blanks around one other separator go with it; each further separator ends an empty field.
		ended := false
		for i < len(s) && strings.IndexByte(seps, s[i]) >= 0 {
			if !blank(s[i]) {
				if ended {
					e.begun = true
					e.flush()
					ended = false
				}
				if !e.begun {
					e.begun = true
				}
				e.flush()
				ended = true
			} else if e.begun {
				e.flush()
			}
			i++
		}
	}
}

// globText adds text in which globs are active, though backslashes are not.
func (e *expander) globText(s string) {
	from := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[':
			e.add(s[from:i])
			e.addGlob(s[i : i+1])
			from = i + 1
		case ']', '-', '!', '^', ':':
			if e.bracket {
				e.add(s[from:i])
				e.addGlob(s[i : i+1])
				from = i + 1
			}
		}
	}
	e.add(s[from:])
}

// flush ends a field and puts it on the stack.
func (e *expander) flush() {
	if e.begun {
		e.w.stack = append(e.w.stack, e.single())
	}
	*e = expander{w: e.w, c: e.c, st: e.st, splitting: e.splitting, assigned: e.assigned, inPattern: e.inPattern,
		state: Exact, text: e.text[:0]}
}

// single is the field so far.
func (e *expander) single() Word {
	out := Word{Text: string(e.text), State: e.state, Splits: e.many}
	switch {
	case e.state == Unknown:
		out.Splits = out.Splits || e.globs
	case e.alts != nil && e.globs:
		out.State, out.Splits = Unknown, true
	case e.alts != nil:
		out.Values = e.alts
		return out.settled()
	case e.globs:
		out.State, out.Values = Pattern, []string{string(e.pattern)}
	}
	return out
}
