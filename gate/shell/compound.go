package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) ifClause(i *syntax.IfClause, c ctx, st state) (yes, no state) {
	if w.o.Strict {
		w.fail(StrictIf, "strict mode allows no if; write the one branch that is meant", w.nodeText(i))
		return st, st
	}
	if !w.enter() { // an elif is nested in its if
		return st, st
	}
	defer w.leave()
	y, n := w.stmts(i.Cond, c, st)
	c.op, c.cond = ";", true
	yes, no = w.stmts(i.Then, c, y)
	switch {
	case i.Else == nil: // an if whose condition fails succeeds
		return w.join(yes, n), no
	case len(i.Else.Cond) == 0:
		y2, n2 := w.stmts(i.Else.Then, c, n)
		return w.join(yes, y2), w.join(no, n2)
	}
	y2, n2 := w.ifClause(i.Else, c, n)
	return w.join(yes, y2), w.join(no, n2)
}

func (w *walker) caseClause(cc *syntax.CaseClause, c ctx, st state) (yes, no state) {
	if w.o.Strict {
		w.fail(StrictCase, "strict mode allows no case; write the one branch that is meant", w.nodeText(cc))
		return st, st
	}
	w.one(cc.Word, &c, &st)
	c.cond = true
	after := st // no pattern fits
	out := st.with(never)
	var through state
	falls := false
	for _, item := range cc.Items {
		all := false
		for _, p := range item.Patterns {
			all = all || p.Lit() == "*"
			e := expander{w: w, c: &c, st: &after, state: Exact, splitting: true}
			e.word(p.Parts)
		}
		from := after
		if all {
			after = after.with(never)
		}
		if falls {
			from = w.join(from, through)
		}
		y, n := w.stmts(item.Stmts, c, from)
		c.op = ";"
		end := w.join(y, n)
		switch item.Op {
		case syntax.Fallthrough:
			through, falls = end, true
		case syntax.Resume:
			after, falls = w.join(after, end), false
		default:
			falls = false
		}
		out = w.join(out, end)
	}
	out = w.join(out, after)
	return out, out
}

func (w *walker) funcDecl(s *syntax.Stmt, f *syntax.FuncDecl, st state) (yes, no state) {
	if f.Name == nil || f.Body == nil || len(f.Names) > 0 {
		w.fail(Unsupported, "this kind of function is not followed; write name() { …; }", w.nodeText(f))
		return st, st
	}
	name := f.Name.Value
	if strings.ContainsAny(name, "$`\\'\"*?[") {
		w.fail(Unsupported, "the name of a function should be a plain word", w.nodeText(f))
		return st, st
	}
	w.work -= 4
	body := f.Body
	if len(s.Redirs) > 0 { // they are made at each call
		w.fail(Unsupported, "a redirection of a whole function is not followed; write it at the calls", w.nodeText(f))
	}
	st.funcs = &function{name: name, body: body, text: w.text1, dialect: w.dialect, next: st.funcs}
	return st, st.with(never)
}
