package shell

import "mvdan.cc/sh/v3/syntax"

// call follows a simple command: its words are expanded first, then its assignments, then its redirections, as in bash.
func (w *walker) call(s *syntax.Stmt, call *syntax.CallExpr, c ctx, st state) (yes, no state) {
	w.named(call.Assigns)
	if len(call.Args) == 0 {
		return w.assignments(s, call, c, st)
	}
	w.apart(call)
	if len(call.Assigns) == 0 {
		if words, ok := w.plainWords(call.Args); ok {
			if len(s.Redirs) == 0 {
				return w.run(words, w.between(call.Pos(), call.End()), nil, nil, c, st)
			}
			if own, ok := w.plainRedirects(s.Redirs); ok {
				return w.run(words, w.stmtText(s), nil, own, c, st)
			}
		}
	}
	return w.expandedCall(s, call, c, st)
}

// named refuses assignments to what is no name: the parser takes the command ./a=[b] for one.
func (w *walker) named(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name != nil && !syntax.ValidName(a.Name.Value) {
			w.fail(Unsupported, "this word is read differently by shells; quote it, or leave the = out", w.nodeText(a))
		}
	}
}

// apart refuses words with nothing between them: the parser splits a`b` in backquotes within backquotes, bash does not.
func (w *walker) apart(call *syntax.CallExpr) {
	for i, word := range call.Args {
		var before syntax.Pos
		switch {
		case i > 0:
			before = call.Args[i-1].End()
		case len(call.Assigns) > 0:
			before = call.Assigns[len(call.Assigns)-1].End()
		default:
			continue
		}
		if !word.Pos().After(before) {
			w.fail(Unsupported, "backquotes within backquotes are read differently by shells; use $(…)", w.nodeText(call))
		}
	}
}

// expandedCall follows a simple command in which something is expanded.
func (w *walker) expandedCall(s *syntax.Stmt, call *syntax.CallExpr, c ctx, st state) (yes, no state) {
	x := w.cell(c, st)
	words := w.expand(call.Args, &x.c, &x.st)
	var env []Assign
	if len(call.Assigns) > 0 {
		env = w.prefix(call.Assigns, &x.c, &x.st)
	}
	var own []Redirect
	if len(s.Redirs) > 0 {
		own = w.redirects(s.Redirs, &x.c, &x.st)
	}
	c, st = w.free(x)
	return w.run(words, w.stmtText(s), env, own, c, st)
}

// plainWords are the words of a command in which nothing is expanded.
func (w *walker) plainWords(list []*syntax.Word) ([]Word, bool) {
	for _, word := range list {
		if _, ok := plainText(word); !ok {
			return nil, false
		}
	}
	out := w.room(len(list))
	for i, word := range list {
		text, _ := plainText(word)
		out[i] = exact(text)
	}
	return out, true
}

// stmtText is the text of a statement with its redirections, without here-documents and what ends it.
func (w *walker) stmtText(s *syntax.Stmt) string {
	if s.Cmd == nil {
		return w.between(s.Redirs[0].Pos(), s.Redirs[len(s.Redirs)-1].Word.End())
	}
	from, to := s.Cmd.Pos(), s.Cmd.End()
	for _, r := range s.Redirs {
		if from.After(r.Pos()) {
			from = r.Pos()
		}
		if end := r.Word.End(); end.After(to) {
			to = end
		}
	}
	return w.between(from, to)
}

// run follows a command whose words are expanded, and what it runs in its turn.
func (w *walker) run(words []Word, source string, env []Assign, own []Redirect, c ctx, st state) (yes, no state) {
	if w.err != nil || !w.enter() {
		return st, st
	}
	defer w.leave()
	if len(words) == 0 {
		if len(own) > 0 {
			w.emit(Command{Words: []Word{exact("redirect")}, Source: source, Env: env}, c, &st, own)
		}
		return st, st
	}
	name := &words[0]
	switch {
	case name.State != Exact || name.Splits:
		w.fail(DynamicName, "which command runs is known only at run time; write its name out", source)
		return st, st
	case name.Text == "":
		w.fail(Unsupported, "the name of the command is empty; write it out", source)
		return st, st
	case name.Text == "[":
		if last := words[len(words)-1]; last.State != Exact || last.Text != "]" {
			w.fail(Unsupported, "the ] of this test is not there; close it, or write test", source)
			return st, st
		}
		words = words[:len(words)-1]
		words[0] = exact("test")
		name = &words[0]
	}
	if st.funcs != nil && !c.single && !c.noFunc {
		if yes, no, ok := w.callFunction(words, source, env, own, c, st); ok {
			return yes, no
		}
	}
	if name.Text != "break" && name.Text != "continue" || c.single { // these two only steer
		w.emit(Command{Words: words, Source: source, Env: env}, c, &st, own)
	}
	if w.err != nil {
		return st, st
	}
	if yes, no, ok := w.builtin(words, source, env, own, c, st); ok {
		return yes, no
	}
	inners, err := unwrap(words, stdinOf(own, c.stdin))
	if err != nil {
		w.fail(err.Kind, err.Message, err.Source)
		return st, st
	}
	yes, no = st, st
	for i := range inners {
		if inners[i].Argv == nil && isShell(inners[i].Wrapper) {
			st.flags = st.flags&^childPosix | w.shellOptions(words[1:], source)
		}
		y, n := w.inner(&inners[i], env, own, c, st)
		if inners[i].SameShell {
			yes, no = y, n
		}
	}
	if name.Text == "exec" && !c.single && len(inners) > 0 {
		return st.with(gone), st.with(gone)
	}
	return yes, no
}

// inner follows what a wrapper runs.
func (w *walker) inner(in *inner, env []Assign, own []Redirect, c ctx, st state) (yes, no state) {
	c.op, c.wrapper = "wrap", in.Wrapper
	c.depth++
	c.cond = c.cond || in.Maybe
	c.rep = c.rep || in.Repeated
	c.bg = c.bg || in.Background
	c.remote = c.remote || in.Remote
	c.stdin = stdinOf(own, c.stdin)
	c.redirs = inherit(own, c.redirs)
	c.env = in.Env
	c.xargs = in.XArgs
	c.noFunc = true
	c.single = c.single || !in.SameShell || in.Wrapper == "exec"
	if in.XArgs || in.Background {
		c.stdin = Stdin{}
	}
	if in.Remote || in.UnknownDir {
		st.dir = w.nowhere()
	}
	if in.Dir != nil {
		st.dir = w.moved(st.dir, *in.Dir)
	}
	if in.SameShell && len(in.Argv) > 0 {
		return w.run(in.Argv, w.joined(in.Argv), env, nil, c, st)
	}
	st = w.environment(st, env, in)
	switch {
	case len(in.Argv) > 0:
		return w.run(in.Argv, w.joined(in.Argv), nil, nil, c, st)
	case in.Script != nil:
		if in.Script.State != Exact || in.Script.Splits {
			w.fail(DynamicScript, "the text that "+in.Wrapper+" runs is known only at run time; write it out", in.Script.Text)
			return st, st
		}
		w.childScript(in, in.Script.Text, c, st)
	case in.FromStdin:
		if !c.stdin.Known {
			w.fail(StdinScript, in.Wrapper+" reads its commands from a standard input that is not known; save them, look at them, and run the file",
				w.lastSource())
			return st, st
		}
		text := c.stdin.Text
		c.stdin = Stdin{}
		w.guardStdin(in, text)
		w.childScript(in, text, c, st)
	}
	return st, st
}

// joined is the source of a command that has none but its words.
func (w *walker) joined(argv []Word) string {
	source := joinTexts(argv)
	w.spendText(len(source))
	return source
}

func (w *walker) lastSource() string {
	if len(w.out) == 0 {
		return ""
	}
	return w.out[len(w.out)-1].Source
}

// newParams are the parameters $0 and $1 … as far as it is known which word is which.
func newParams(zero Word, list []Word) *params {
	if manyWords(zero) {
		return &params{zero: Word{Text: "$0"}, open: true}
	}
	for i, word := range list {
		if manyWords(word) {
			return &params{zero: zero, list: list[:i:i], open: true}
		}
	}
	return &params{zero: zero, list: list}
}

// callFunction follows the functions that the first word can name. It reports false if there is none.
func (w *walker) callFunction(words []Word, source string, env []Assign, own []Redirect, c ctx, st state) (yes, no state, ok bool) {
	yes, no = st.with(never), st.with(never)
	for f := st.funcs; f != nil; f = f.next {
		w.work--
		if f.name != words[0].Text {
			continue
		}
		if f.body != nil {
			inner := c
			inner.cond = c.cond || f.maybe || ok
			y, n := w.inline(f, words, env, own, inner, st)
			yes, no, ok = w.join(yes, y), w.join(no, n), true
		}
		if !f.maybe {
			if f.body == nil {
				break
			}
			return yes, no, true
		}
	}
	if ok { // or the program of that name
		c.cond, c.noFunc = true, true
		y, n := w.run(words, source, env, own, c, st)
		yes, no = w.join(yes, y), w.join(no, n)
	}
	return yes, no, ok
}

// inline follows the body of a function with the parameters of one call.
func (w *walker) inline(f *function, words []Word, env []Assign, own []Redirect, c ctx, st state) (yes, no state) {
	for _, a := range w.active {
		if a == f.body {
			w.fail(Limit, "a function that calls itself is not followed; write the steps out", f.name)
			return st, st
		}
	}
	w.active = append(w.active, f.body)
	c.stdin = stdinOf(own, c.stdin)
	c.redirs = inherit(own, c.redirs)
	c.env, c.xargs = nil, false
	zero := Word{Text: "$0"}
	if st.args != nil {
		zero = st.args.zero
	}
	args := st.args
	st.args = newParams(zero, words[1:])
	scope := w.pushEnv(env, &st)
	w.frames = append(w.frames, frame{isFunc: true, out: st.with(never)})
	outer, outerDialect := w.text1, w.dialect
	w.text1, w.dialect = f.text, f.dialect
	yes, no = w.stmt(f.body, c, st)
	w.text1, w.dialect = outer, outerDialect
	fr := w.frames[len(w.frames)-1]
	w.frames = w.frames[:len(w.frames)-1]
	w.active = w.active[:len(w.active)-1]
	scope = append(fr.locals, scope...)
	end := func(s state) state {
		if fr.out.flags&dead == 0 {
			s = w.join(s, fr.out)
		}
		if st.flags&maybeLeft == 0 {
			s.flags &^= maybeLeft
		}
		s.args = args
		w.restore(scope, &s)
		return s
	}
	return end(yes), end(no)
}

// pushEnv makes the assignments before a function or builtin, and returns what to restore after it.
func (w *walker) pushEnv(env []Assign, st *state) []binding {
	var old []binding
	for _, a := range env {
		b := w.lookup(st, a.Name)
		old = append(old, b)
		b.val, b.unset, b.export, b.kind, b.isList, b.array = a.Value, no, yes, scalar, false, nil
		if a.Append {
			b.val = Word{Text: "$" + a.Name}
		}
		st.bind(w, b)
	}
	return old
}

func (w *walker) restore(old []binding, st *state) {
	for i := len(old) - 1; i >= 0; i-- {
		st.bind(w, old[i])
	}
}

// redirectOnly follows redirections without a command, which open and truncate files all the same.
func (w *walker) redirectOnly(s *syntax.Stmt, c ctx, st state) (yes, no state) {
	own := w.redirects(s.Redirs, &c, &st)
	w.emit(Command{Words: []Word{exact("redirect")}, Source: w.stmtText(s)}, c, &st, own)
	return st, st
}
