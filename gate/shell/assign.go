package shell

import "mvdan.cc/sh/v3/syntax"

// prefix evaluates the assignments before a command.
func (w *walker) prefix(list []*syntax.Assign, c *ctx, st *state) []Assign {
	env := make([]Assign, 0, len(list))
	inner := *st
	for _, a := range list {
		if a.Array != nil || a.Index != nil {
			w.fail(Unsupported, "an array before a command does not reach it; assign it on a line of its own", w.nodeText(a))
			return env
		}
		b := w.assigned(a, c, &inner)
		inner.bind(w, b)
		if w.work < 0 {
			w.limit("takes too many steps to follow")
			return env
		}
		env = append(env, Assign{Name: a.Name.Value, Value: b.val})
	}
	st.flags = inner.flags
	return env
}

// assignments follows a command that is nothing but assignments.
func (w *walker) assignments(s *syntax.Stmt, call *syntax.CallExpr, c ctx, st state) (yes, no state) {
	mark := len(w.out)
	x := w.cell(c, st)
	for _, a := range call.Assigns {
		x.st.bind(w, w.assigned(a, &x.c, &x.st))
		if w.work < 0 {
			w.limit("takes too many steps to follow")
			break
		}
	}
	ran := len(w.out) > mark
	var own []Redirect
	if len(s.Redirs) > 0 {
		own = w.redirects(s.Redirs, &x.c, &x.st)
	}
	c, st = w.free(x)
	if len(own) > 0 {
		w.emit(Command{Words: []Word{exact("redirect")}, Source: w.stmtText(s)}, c, &st, own)
		return st, st
	}
	if ran {
		return st, st
	}
	return st, st.with(never)
}

// assigned is the binding that an assignment makes.
func (w *walker) assigned(a *syntax.Assign, c *ctx, st *state) binding {
	name := a.Name.Value
	b := w.current(st, name)
	switch {
	case a.Array != nil:
		w.arrayValue(&b, a, c, st)
		return b
	case a.Index != nil:
		n, known := w.subscript(a.Index, b.isList || b.kind == scalar, c, st)
		v := w.one(a.Value, c, st)
		if b.unset == yes && b.kind == scalar {
			b.kind, b.isList, b.array, b.unset = indexed, true, nil, no
		}
		switch {
		case b.frozen || !known || !b.isList || a.Append || n < 0 || n > int64(len(b.array)):
			b.opaque()
		case n == int64(len(b.array)):
			b.setList(append(b.array[:n:n], v))
		default:
			list := append([]Word(nil), b.array...)
			list[n] = v
			b.setList(list)
		}
		return b
	}
	v := w.one(a.Value, c, st)
	if a.Append {
		v = concat(b.value(), v, w.nodeText(a))
	}
	w.give(&b, v)
	return b
}

// current is the binding of a name as it is before an assignment to it.
func (w *walker) current(st *state, name string) binding {
	b := w.lookup(st, name)
	if st.find(w, name) == nil && b.val.State != Exact {
		b.export = perhaps
	}
	if st.flags&allExport != 0 {
		b.export = yes
	}
	return b
}

// give makes v the value of b.
func (w *walker) give(b *binding, v Word) {
	switch {
	case b.frozen:
		if v.State == Exact {
			w.checkEvaluated(v.Text)
		}
		v = Word{Text: "$" + b.name}
	case b.isList:
		list := append([]Word(nil), b.array...)
		if len(list) == 0 {
			list = []Word{v}
		} else {
			list[0] = v
		}
		b.setList(list)
		return
	case b.kind != scalar:
		b.opaque()
		return
	}
	v.Splits = false
	b.val, b.unset = v, no
}

func (w *walker) assign(st *state, name string, v Word) {
	b := w.current(st, name)
	w.give(&b, v)
	st.bind(w, b)
}

func (b *binding) opaque() {
	b.kind, b.isList, b.array, b.unset = opaqueArray, false, nil, perhaps
	b.val = Word{Text: "$" + b.name}
}

func (b *binding) setList(list []Word) {
	b.kind, b.isList, b.array = indexed, true, list
	b.val, b.unset = exact(""), yes
	if len(list) > 0 {
		b.val, b.unset = list[0], no
	}
	for _, word := range list {
		if word.Splits { // which element is which is not known
			b.opaque()
			return
		}
	}
}

// arrayValue evaluates NAME=(…).
func (w *walker) arrayValue(b *binding, a *syntax.Assign, c *ctx, st *state) {
	mark := len(w.stack)
	known := !b.frozen
	for _, elem := range a.Array.Elems {
		if elem.Index != nil {
			known = false
			w.subscript(elem.Index, b.isList || b.kind == scalar, c, st)
			w.one(elem.Value, c, st)
			continue
		}
		w.expandWord(elem.Value, c, st)
	}
	list := append([]Word(nil), w.stack[mark:]...)
	w.stack = w.stack[:mark]
	if a.Append {
		switch {
		case b.isList:
			list = append(b.array[:len(b.array):len(b.array)], list...)
		case b.kind == scalar && b.unset == yes:
		case b.kind == scalar && b.unset == no:
			list = append([]Word{b.val}, list...)
		default:
			known = false
		}
	}
	for _, word := range list {
		known = known && word.State != Pattern
	}
	if !known {
		b.opaque()
		return
	}
	b.setList(list)
}

// concat is the word a followed by b; text is its source.
func concat(a, b Word, text string) Word {
	if a.State == Exact && b.State == Exact {
		return exact(a.Text + b.Text)
	}
	out := Word{Text: text}
	values := func(v Word) []string {
		switch v.State {
		case Exact:
			return []string{v.Text}
		case Several, Maybe:
			return v.Values
		}
		return nil
	}
	left, right := values(a), values(b)
	if len(left)*len(right) == 0 || len(left)*len(right) > maxValues {
		return out
	}
	out.State = min(a.State, b.State, Several)
	for _, l := range left {
		for _, r := range right {
			out.addValue(l + r)
		}
	}
	return out
}
