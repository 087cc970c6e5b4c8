package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// A parameter is what ${…} speaks of, before its operator.
type parameter struct {
	name string
	binding
	list   []Word // of $@, $*, ${a[@]}
	isList bool
	open   bool // the list is not all
	star   bool // joined by the first character of IFS when quoted
}

func (e *expander) parameter(p *syntax.ParamExp) parameter {
	w, st := e.w, e.st
	name := p.Param.Value
	out := parameter{name: name}
	out.binding = binding{name: name, val: Word{Text: "$" + name}}
	switch name {
	case "@", "*":
		out.isList, out.star, out.open = true, name == "*", true
		if st.args != nil {
			out.list, out.open = st.args.list, st.args.open
		}
		return out
	case "#":
		if st.args != nil && !st.args.open {
			out.val = exact(strconv.Itoa(len(st.args.list)))
		}
		return out
	case "?", "$", "!", "-":
		return out
	case "0":
		if st.args != nil {
			out.val = st.args.zero
		}
		return out
	}
	if name[0] >= '0' && name[0] <= '9' {
		n, err := strconv.Atoi(name)
		if err != nil {
			return out
		}
		out.unset = perhaps
		if st.args != nil {
			switch {
			case n <= len(st.args.list):
				out.unset, out.val = no, st.args.list[n-1]
			case !st.args.open:
				out.unset = yes
			}
		}
		return out
	}
	out.binding = w.lookup(st, name)
	if p.Index == nil {
		return out
	}
	switch index := indexText(p.Index); {
	case index == "@" || index == "*":
		out.isList, out.star, out.open = true, index == "*", true
		switch {
		case out.binding.isList:
			out.list, out.open = out.array, false
		case out.kind == scalar && out.unset == no && out.val.State == Exact:
			out.list, out.open = []Word{out.val}, false
		case out.kind == scalar && out.unset == yes:
			out.open = false
		}
	default:
		n, known := w.subscript(p.Index, out.binding.isList || out.kind == scalar, e.c, st)
		out.val, out.unset = Word{Text: w.nodeText(p)}, perhaps
		if b := w.lookup(st, name); b.isList && known {
			if n < 0 {
				n += int64(len(b.array))
			}
			out.unset = yes
			if n >= 0 && n < int64(len(b.array)) {
				out.unset, out.val = no, b.array[n]
			}
		} else if b.kind == scalar && known && n == 0 {
			out.val, out.unset = b.val, b.unset
		}
	}
	return out
}

func exact(s string) Word { return Word{Text: s, State: Exact} }

// indexText is the text of a subscript that is one plain word.
func indexText(x syntax.ArithmExpr) string {
	if word, ok := x.(*syntax.Word); ok {
		return word.Lit()
	}
	return ""
}

// param adds $name or ${…}.
func (e *expander) param(p *syntax.ParamExp, quoted bool) {
	w := e.w
	source := w.nodeText(p)
	if p.Param == nil || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 || p.Width || p.IsSet {
		w.fail(Unsupported, "this expansion is not followed; write the value out", source)
		return
	}
	if p.Names != 0 {
		e.unknown(source, !quoted || p.Names == syntax.NamesPrefixWords)
		return
	}
	q := e.parameter(p)
	if p.Excl && !e.indirect(&q, source) {
		e.unknown(source, !quoted || q.isList)
		return
	}
	if p.Length {
		e.length(&q, source)
		return
	}
	var op func(string) (string, bool)
	switch {
	case p.Slice != nil:
		if q.isList {
			e.sliceList(&q, p.Slice)
		} else {
			op = e.slice(p.Slice)
		}
	case p.Repl != nil:
		op = e.replacement(p.Repl)
	case p.Exp != nil:
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			e.defaults(p, &q, source, quoted)
			return
		}
		op = e.operation(p.Exp, &q, source)
	}
	if w.err != nil {
		return
	}
	if q.isList {
		e.addList(&q, op, source, quoted)
		return
	}
	switch q.name {
	case "#", "?", "$": // numbers
		quoted = quoted || op == nil && e.st.ifs == ifsDefault
	}
	e.value(mapWord(q.value(), op), source, quoted)
}

// mapWord applies op to the values of v.
func mapWord(v Word, op func(string) (string, bool)) Word {
	if op == nil {
		return v
	}
	out := Word{Text: v.Text, State: v.State, Splits: v.Splits}
	switch v.State {
	case Exact:
		s, ok := op(v.Text)
		if !ok {
			return Word{Text: v.Text, Splits: v.Splits}
		}
		out.Text = s
	case Several, Maybe:
		for _, old := range v.Values {
			s, ok := op(old)
			if !ok {
				return Word{Text: v.Text, Splits: v.Splits}
			}
			out.addValue(s)
		}
	default:
		out.State = Unknown
	}
	return out.settled()
}

// addList adds the elements of $@, $* or an array.
func (e *expander) addList(q *parameter, op func(string) (string, bool), source string, quoted bool) {
	if q.star && quoted || !e.splitting {
		sep, known := " ", e.st.ifs == ifsDefault
		if q.open || !known {
			e.unknown(source, false)
			return
		}
		for i, elem := range q.list {
			if i > 0 {
				e.add(sep)
			}
			e.value(mapWord(elem, op), elem.Text, true)
		}
		return
	}
	for i, elem := range q.list {
		if i > 0 {
			e.flush()
		}
		if quoted {
			e.begun = true
		}
		e.value(mapWord(elem, op), elem.Text, quoted)
	}
	if q.open {
		if len(q.list) > 0 {
			e.flush()
		}
		e.unknown(source, true)
	}
}

// indirect follows ${!name} and reports whether q is now what it stands for.
func (e *expander) indirect(q *parameter, source string) bool {
	if q.isList { // ${!a[@]}: the subscripts
		return false
	}
	v := q.value()
	for _, s := range append(v.Values, v.Text) {
		if v.State != Unknown && v.State != Maybe && runsText(s) {
			e.w.fail(Unsupported, "a name that is itself an expression is evaluated; write the variable out", source)
		}
	}
	if v.State != Exact || !syntax.ValidName(v.Text) {
		return false
	}
	*q = parameter{name: v.Text, binding: e.w.lookup(e.st, v.Text)}
	return true
}

func (e *expander) length(q *parameter, source string) {
	if q.isList {
		for _, elem := range q.list {
			q.open = q.open || elem.Splits
		}
		if q.open {
			e.unknown(source, false)
		} else {
			e.add(strconv.Itoa(len(q.list)))
		}
		return
	}
	count := func(s string) (string, bool) { return strconv.Itoa(utf8.RuneCountInString(s)), true }
	e.value(mapWord(q.value(), count), source, true)
}

// defaults adds ${x:-y} and its kin.
func (e *expander) defaults(p *syntax.ParamExp, q *parameter, source string, quoted bool) {
	op := p.Exp.Op
	colon := op == syntax.AlternateUnsetOrNull || op == syntax.DefaultUnsetOrNull || op == syntax.ErrorUnsetOrNull ||
		op == syntax.AssignUnsetOrNull
	missing := q.unset
	if q.isList {
		missing = perhaps
		if !q.open {
			missing = no
			if len(q.list) == 0 {
				missing = yes
			} else if colon && len(q.list) == 1 {
				missing = emptiness(q.list[0])
			}
		}
	} else if colon && missing != yes {
		missing = max(missing, emptiness(q.val))
	}
	have := q.value()
	if q.isList {
		have = Word{Text: source, Splits: true}
	}
	var other Word
	use := func(may tri) { // follow the word, if it may be used
		if may == no {
			return
		}
		c := *e.c
		c.cond = c.cond || may == perhaps
		other = e.alternative(p.Exp.Word, &c, source, quoted)
	}
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		use(yes - missing)
		e.choose(other, exact(""), yes-missing, source, quoted)
		return
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		use(missing)
		if missing != no {
			e.st.flags |= maybeGone
		}
		if q.isList {
			break
		}
		if missing != no {
			have = q.val
		}
		e.value(have, source, quoted)
		return
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		use(missing)
		if missing != no && !q.isList && syntax.ValidName(q.name) {
			b := q.binding
			if b.kind != scalar || p.Index != nil {
				b = binding{name: q.name, kind: opaqueArray, val: Word{Text: source}}
			} else {
				b.val = other
				if missing == perhaps {
					b.val = mergeWords(q.val, other, source)
				}
				b.unset = no
				if missing == perhaps && e.st.find(e.w, q.name) == nil {
					b.export = perhaps // if it was not there before, it is not exported
				}
			}
			e.st.bind(e.w, b)
		}
	default:
		use(missing)
	}
	if q.isList && missing == no {
		e.addList(q, nil, source, quoted)
		return
	}
	if missing != yes && !q.isList {
		have = q.val // where it is missing, the other word stands in
	}
	e.choose(other, have, missing, source, quoted)
}

// choose adds a where may is yes, b where it is no, and either where nobody knows.
func (e *expander) choose(a, b Word, may tri, source string, quoted bool) {
	switch may {
	case yes:
		e.value(a, source, quoted)
	case no:
		e.value(b, source, quoted)
	default:
		e.value(mergeWords(a, b, source), source, quoted)
	}
}

// emptiness says whether a value that is set is the empty string.
func emptiness(v Word) tri {
	switch v.State {
	case Exact:
		if v.Text == "" {
			return yes
		}
		return no
	case Several:
		empty := 0
		for _, s := range v.Values {
			empty += btoi(s == "")
		}
		if empty == 0 {
			return no
		}
	}
	return perhaps
}

// alternative is the value of the word in ${x:-word}. Quotes in it are kept apart only as far as it takes to be sure.
func (e *expander) alternative(word *syntax.Word, c *ctx, source string, quoted bool) Word {
	if word == nil {
		return exact("")
	}
	in := expander{w: e.w, c: c, st: e.st, state: Exact}
	if quoted {
		in.parts(word.Parts, true)
	} else {
		in.word(word.Parts)
	}
	v := in.single()
	if quoted || !e.splitting {
		return v
	}
	for _, part := range word.Parts {
		lit, isLit := part.(*syntax.Lit)
		if _, isParam := part.(*syntax.ParamExp); isParam || isLit && strings.IndexByte(lit.Value, '\\') < 0 {
			continue
		}
		if v.State == Exact && (special(v.Text) || e.splits(v.Text)) {
			return Word{Text: source, Splits: true}
		}
	}
	return v
}
