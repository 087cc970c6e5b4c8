package shell

import "mvdan.cc/sh/v3/syntax"

// testClause follows [[ … ]], which is listed as the command test with the words of the expression.
func (w *walker) testClause(s *syntax.Stmt, t *syntax.TestClause, c ctx, st state) (yes, no state) {
	mark := len(w.stack)
	w.stack = append(w.stack, exact("test"))
	w.testExpr(t.X, &c, &st)
	words := w.room(len(w.stack) - mark)
	copy(words, w.stack[mark:])
	w.stack = w.stack[:mark]
	var own []Redirect
	if len(s.Redirs) > 0 {
		own = w.redirects(s.Redirs, &c, &st)
	}
	w.emit(Command{Words: words, Source: w.stmtText(s)}, c, &st, own)
	return st, st
}

// testExpr puts the words of a test on the stack.
func (w *walker) testExpr(x syntax.TestExpr, c *ctx, st *state) {
	if w.err != nil || !w.enter() {
		return
	}
	defer w.leave()
	push := func(text string) { w.stack = append(w.stack, exact(text)) }
	switch x := x.(type) {
	case *syntax.Word:
		w.stack = append(w.stack, w.testWord(x, c, st))
	case *syntax.ParenTest:
		push("(")
		w.testExpr(x.X, c, st)
		push(")")
	case *syntax.UnaryTest:
		push(x.Op.String())
		mark := len(w.stack)
		w.testExpr(x.X, c, st)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w.checkWords(w.stack[mark:], &state{dir: &places{}}, 8)
		}
	case *syntax.BinaryTest:
		mark := len(w.stack)
		w.testExpr(x.X, c, st)
		push(x.Op.String())
		right := *c
		if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
			right.cond = true
		}
		w.testExpr(x.Y, &right, st)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.checkWords(w.stack[mark:], st, 0) // both sides are arithmetic
		}
	default:
		w.fail(Unsupported, "this test is not followed; use test", w.nodeText(x))
	}
}

func (w *walker) checkWords(words []Word, st *state, depth int) {
	for _, word := range words {
		if word.State == Exact {
			if _, ok := w.number(word, st, depth); ok {
				continue
			}
			w.checkEvaluated(word.Text)
		}
		for _, v := range word.Values {
			w.checkEvaluated(v)
		}
	}
}

// testWord is a word in [[ ]]: it is not split, and extended globs are always on.
func (w *walker) testWord(word *syntax.Word, c *ctx, st *state) Word {
	if text, ok := plainText(word); ok {
		return exact(text)
	}
	e := expander{w: w, c: c, st: st, state: Exact, inPattern: true}
	e.word(word.Parts)
	v := e.single()
	if v.State == Pattern { // a pattern for text, not for files
		return exact(v.Text)
	}
	return v
}

// arithmCmd follows (( … )), which is listed as the command let.
func (w *walker) arithmCmd(s *syntax.Stmt, a *syntax.ArithmCmd, c ctx, st state) (yes, no state) {
	n, known := w.arithm(a.X, &c, &st)
	text := w.between(a.Left, a.Right)
	if len(text) >= 2 {
		text = text[2:]
	}
	return w.arithmDone(s, []Word{exact("let"), exact(text)}, n, known, c, st)
}

func (w *walker) let(s *syntax.Stmt, l *syntax.LetClause, c ctx, st state) (yes, no state) {
	words := []Word{exact("let")}
	n, known := int64(0), false
	for _, x := range l.Exprs {
		n, known = w.arithm(x, &c, &st)
		words = append(words, exact(w.nodeText(x)))
	}
	return w.arithmDone(s, words, n, known, c, st)
}

func (w *walker) arithmDone(s *syntax.Stmt, words []Word, n int64, known bool, c ctx, st state) (yes, no state) {
	var own []Redirect
	if len(s.Redirs) > 0 {
		own = w.redirects(s.Redirs, &c, &st)
	}
	w.emit(Command{Words: words, Source: w.stmtText(s)}, c, &st, own)
	switch {
	case known && n != 0:
		return st, st.with(never)
	case known:
		return st.with(never), st
	}
	return st, st
}
