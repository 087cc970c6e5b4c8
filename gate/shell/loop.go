package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) while(l *syntax.WhileClause, c ctx, st state) (yes, no state) {
	if w.o.Strict {
		w.fail(StrictLoop, "strict mode allows only loops over a list that is written out; write the list", w.nodeText(l))
		return st, st
	}
	return w.repeat(st, nil, func(st state) (state, state) {
		ic := c
		ic.rep = true
		y, n := w.stmts(l.Cond, ic, st)
		if l.Until {
			y, n = n, y
		}
		if len(l.Cond) > 0 {
			ic.op = ";"
		}
		ic.cond = true
		y2, n2 := w.stmts(l.Do, ic, y)
		return w.join(y2, n2), n
	})
}

func (w *walker) forClause(f *syntax.ForClause, c ctx, st state) (yes, no state) {
	switch loop := f.Loop.(type) {
	case *syntax.CStyleLoop:
		return w.cLoop(f, loop, c, st)
	case *syntax.WordIter:
		return w.forWords(f, loop, c, st)
	}
	w.fail(Unsupported, "this loop is not followed; use for … in", w.nodeText(f))
	return st, st
}

func (w *walker) cLoop(f *syntax.ForClause, loop *syntax.CStyleLoop, c ctx, st state) (yes, no state) {
	if w.o.Strict {
		w.fail(StrictLoop, "strict mode allows only loops over a list that is written out; write the list", w.nodeText(f))
		return st, st
	}
	w.arithm(loop.Init, &c, &st)
	return w.repeat(st, nil, func(st state) (state, state) {
		ic := c
		ic.rep = true
		w.arithm(loop.Cond, &ic, &st)
		end := st
		ic.cond = true
		y, n := w.stmts(f.Do, ic, st)
		out := w.join(y, n)
		w.arithm(loop.Post, &ic, &out)
		return out, end
	})
}

// forWords follows for and select over words.
func (w *walker) forWords(f *syntax.ForClause, loop *syntax.WordIter, c ctx, st state) (yes, no state) {
	name := loop.Name.Value
	var list []Word
	known := true
	if !loop.InPos.IsValid() { // over "$@"
		if known = st.args != nil && !st.args.open; known {
			list = st.args.list
		}
	} else {
		list = w.expand(loop.Items, &c, &st)
	}
	for _, word := range list {
		known = known && word.State == Exact && !word.Splits
	}
	if known && len(list) == 0 {
		return st, st.with(never)
	}
	if known && !f.Select && len(list) <= w.o.Limits.Loop && w.passes >= len(list) && !rebinds(f.Do, name) {
		return w.unroll(f, name, list, c, st)
	}
	if w.o.Strict {
		w.fail(StrictLoop, "strict mode allows only loops over a list that is written out; write the list", w.nodeText(f))
		return st, st
	}
	val := loopValue(list, known, "$"+name)
	if f.Select {
		w.setUnknown(exact("REPLY"), false, &st)
		val = mergeWords(val, exact(""), "$"+name)
	}
	dir := st.dir
	return w.repeat(st, &name, func(st state) (state, state) {
		ic := c
		ic.rep, ic.cond = true, true
		end := st
		in := val
		if in.State == Pattern && st.dir != dir { // the pattern meant another directory
			in = Word{Text: in.Text}
		}
		w.assign(&st, name, in)
		y, n := w.stmts(f.Do, ic, st)
		return w.join(y, n), end
	})
}

// loopValue is the value of a loop's variable in some pass.
func loopValue(list []Word, known bool, text string) Word {
	out := Word{Text: text}
	if known {
		out.State = Several
		for _, word := range list {
			out.addValue(word.Text)
		}
		return out.settled()
	}
	out.State = Pattern
	for _, word := range list {
		switch {
		case word.State == Pattern && !word.Splits:
			out.Values = append(out.Values, word.Values...)
		case word.State == Exact && !word.Splits:
			out.Values = append(out.Values, string(escapePattern(nil, word.Text)))
		default:
			return Word{Text: text}
		}
	}
	if len(out.Values) == 0 || len(out.Values) > maxValues {
		return Word{Text: text}
	}
	return out
}

// unroll follows the body once for each word.
func (w *walker) unroll(f *syntax.ForClause, name string, list []Word, c ctx, st state) (yes, no state) {
	w.passes -= len(list)
	before := st.flags & maybeLeft
	w.frames = append(w.frames, frame{out: st.with(never)})
	at := len(w.frames) - 1
	yes, no = st, st.with(never)
	for i, word := range list {
		if i > 0 {
			c.op = ";"
		}
		w.assign(&st, name, word)
		w.frames[at].next = st.with(never)
		yes, no = w.stmts(f.Do, c, st)
		next := w.frames[at].next
		if next.flags&dead == 0 {
			yes, no = w.join(yes, next), w.join(no, next)
		}
		st = w.join(yes, no)
		if w.frames[at].out.flags&dead != 0 && !w.frames[at].further {
			st.flags = st.flags&^maybeLeft | before
		}
		if st.dead() {
			break
		}
	}
	fr := w.frames[at]
	w.frames = w.frames[:at]
	end := func(s state) state {
		if fr.out.flags&dead == 0 {
			s = w.join(s, fr.out)
		}
		if !fr.further {
			s.flags = s.flags&^maybeLeft | before
		}
		return s
	}
	return end(yes), end(no)
}

// repeat follows a loop that may run any number of times. pass follows it once, from the state at its beginning, and
// returns the states at its end and where its condition ends it. It is made again, from a state in which all that it
// changed is unknown, until nothing more changes.
func (w *walker) repeat(st state, name *string, pass func(state) (state, state)) (yes, no state) {
	before := st.flags & maybeLeft
	var changed []string
	last := st // the end of the pass before
	for round := 0; ; round++ {
		if w.work -= 16; w.work < 0 {
			w.limit("takes too many steps to follow")
		}
		outs, words, pipes := len(w.out), w.wordCount, w.pipes
		exits := slices.Clone(w.exits)
		from := st
		if round > 0 {
			for _, n := range changed {
				b := merge(w.current(&from, n), w.current(&last, n))
				b.widen()
				from.bind(w, b)
			}
		}
		base := from.vars
		w.frames = append(w.frames, frame{out: st.with(never), next: st.with(never)})
		at := len(w.frames) - 1
		again, end := pass(from)
		fr := w.frames[at]
		w.frames = w.frames[:at]
		again = w.join(again, fr.next)
		fresh := false
		for _, s := range [...]state{again, end, fr.out} {
			for _, n := range newer(w, s.vars, base) {
				if !slices.Contains(changed, n) {
					changed, fresh = append(changed, n), true
				}
			}
		}
		moved := !again.dead() && !from.dir.cover(again.dir)
		grown := !again.dead() && again.funcs != from.funcs
		if w.err == nil && round < 6 && (fresh || moved || grown || round == 0 && len(changed) > 0) {
			w.out, w.wordCount, w.pipes, w.exits = w.out[:outs], words, pipes, exits
			last = again
			if moved {
				st.dir = w.widenPlaces(from.dir, again.dir)
			}
			if grown {
				st.funcs = joinFuncs(w, from.funcs, again.funcs)
			}
			continue
		}
		if round >= 6 && (fresh || moved || grown) {
			w.limit("has a loop that changes too much to follow")
		}
		// The loop ends by its condition, at the beginning or after a pass, or by break.
		out := end
		if name != nil {
			out = w.join(end, again)
		}
		if fr.out.flags&dead == 0 {
			out = w.join(out, fr.out)
		}
		if again.flags&gone != 0 {
			out.flags |= maybeGone
		}
		if !fr.further {
			out.flags = out.flags&^maybeLeft | before
		}
		return out, out
	}
}

// widen makes the value unknown, though the values that are known of it stay as some that it can have.
func (b *binding) widen() {
	if b.kind != scalar {
		b.opaque()
		return
	}
	v := b.val
	switch v.State {
	case Exact:
		v = Word{Text: "$" + b.name, State: Maybe, Values: []string{v.Text}}
	case Several:
		v.State = Maybe
	case Maybe:
	default:
		v = Word{Text: "$" + b.name}
	}
	b.val, b.unset = v, perhaps
	if v.State == Unknown {
		b.unset = no
	}
}

// widenPlaces is where a loop may be at the beginning of some pass.
func (w *walker) widenPlaces(a, b *places) *places {
	out := w.newPlaces(a.at, true)
	if !out.cover(b) { // pushd and popd of different number
		out = w.newPlaces(append(slices.Clone(a.at), place{lost: true}), true)
	}
	return out
}

// cover reports whether each of the places b is among a. Where there are more in a, only what is on their stacks counts.
func (a *places) cover(b *places) bool {
	if a == b {
		return true
	}
	for _, p := range b.at {
		if !slices.ContainsFunc(a.at, func(q place) bool {
			return samePlace(p, q) || a.unsure && (sameStack(p, q) || q.lost && len(q.stack) == 0)
		}) {
			return false
		}
	}
	return a.unsure || !b.unsure
}

// rebinds reports whether statements set a variable in a way that one can see.
func rebinds(list []*syntax.Stmt, name string) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				found = found || n.Name != nil && n.Name.Value == name
			case *syntax.WordIter:
				found = found || n.Name.Value == name
			case *syntax.CallExpr:
				if len(n.Args) > 0 && n.Args[0].Lit() == "read" {
					for _, a := range n.Args[1:] {
						found = found || a.Lit() == name
					}
				}
			}
			return !found
		})
	}
	return found
}
