package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// between is the text from one place to another.
func (w *walker) between(from, to syntax.Pos) string {
	a, b := int(from.Offset()), int(to.Offset())
	if a > b || b > len(w.text1) {
		return ""
	}
	return w.text1[a:b]
}

func (w *walker) nodeText(n syntax.Node) string { return w.between(n.Pos(), n.End()) }

// script follows a whole text: the line, or what bash -c, eval, trap or a standard input carries.
func (w *walker) script(text string, d dialect, c ctx, st *state) {
	if w.input -= len(text); w.input < 0 {
		w.limit("is too long")
	}
	if !w.enter() {
		return
	}
	defer w.leave()
	if e := guardText(text, d); e != nil {
		w.fail(e.Kind, e.Message, e.Source)
		return
	}
	file, err := w.parse(text, d)
	if err != nil {
		e := syntaxError(err, text)
		w.fail(e.Kind, e.Message, e.Source)
		return
	}
	if strings.Contains(text, "${") && strings.Contains(text, "'") {
		if w.literalQuotes(file, false); w.err != nil {
			return
		}
	}
	if e := guardHeredocs(file, text); e != nil {
		w.fail(e.Kind, e.Message, e.Source)
		return
	}
	outer, outerDialect, outerGlobs := w.text1, w.dialect, w.globs
	w.text1, w.dialect, w.globs = text, d, false
	for i, s := range file.Stmts {
		*st = w.next(w.stmt(s, c, *st))
		c.op = ";"
		if i+1 < len(file.Stmts) && st.flags&extGlob != 0 && file.Stmts[i+1].Pos().Line() > s.End().Line() {
			w.globs = true
		}
	}
	w.text1, w.dialect, w.globs = outer, outerDialect, outerGlobs
}

// stmts follows statements that stand one after the other, and returns the states after the last for success and failure.
func (w *walker) stmts(list []*syntax.Stmt, c ctx, st state) (yes, no state) {
	yes, no = st, st.with(never)
	for i, s := range list {
		if i > 0 {
			st = w.next(yes, no)
			c.op = ";"
		}
		yes, no = w.stmt(s, c, st)
	}
	return yes, no
}

// next is the state after a statement whose end nobody asks for.
func (w *walker) next(yes, no state) state {
	if yes.flags&errexit != 0 && !no.dead() {
		no = no.with(gone)
	}
	return w.join(yes, no)
}

// stmt follows one statement from the state st.
func (w *walker) stmt(s *syntax.Stmt, c ctx, st state) (yes, no state) {
	if w.work--; w.work < 0 {
		w.limit("takes too many steps to follow")
	}
	if w.err != nil {
		return st, st
	}
	if s.Coprocess || s.Disown {
		w.fail(Unsupported, "this kind of background job is not bash; use &", w.nodeText(s))
	}
	if s.Background {
		c.bg = true
		old := w.openShell()
		w.closeShell(old, c, w.join(w.pipe(s, c, st)))
		return st, st.with(never)
	}
	yes, no = w.pipe(s, c, st)
	if s.Negated {
		yes, no = no, yes
	}
	return yes, no
}

// pipe follows a statement but for its ! and &.
func (w *walker) pipe(s *syntax.Stmt, c ctx, st state) (yes, no state) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return w.call(s, call, c, st)
	}
	if !w.enter() {
		return st, st
	}
	defer w.leave()
	switch cmd := s.Cmd.(type) {
	case nil:
		return w.redirectOnly(s, c, st)
	case *syntax.DeclClause:
		return w.declare(s, cmd, c, st)
	case *syntax.TestClause:
		return w.testClause(s, cmd, c, st)
	case *syntax.ArithmCmd:
		return w.arithmCmd(s, cmd, c, st)
	case *syntax.LetClause:
		return w.let(s, cmd, c, st)
	case *syntax.FuncDecl:
		return w.funcDecl(s, cmd, st)
	}
	if len(s.Redirs) > 0 {
		return w.redirected(s, c, st)
	}
	return w.compound(s, c, st)
}

// redirected follows a construct with redirections, which hold for all in it.
func (w *walker) redirected(s *syntax.Stmt, c ctx, st state) (yes, no state) {
	x := w.cell(c, st)
	own := w.redirects(s.Redirs, &x.c, &x.st)
	c, st = w.free(x)
	c.stdin = stdinOf(own, c.stdin)
	c.redirs = inherit(own, c.redirs)
	return w.compound(s, c, st)
}

// compound follows a construct that is made of statements.
func (w *walker) compound(s *syntax.Stmt, c ctx, st state) (yes, no state) {
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return w.binary(cmd, c, st)
	case *syntax.Subshell:
		c.depth++
		return w.subshell(cmd.Stmts, c, st)
	case *syntax.Block:
		c.depth++
		return w.stmts(cmd.Stmts, c, st)
	case *syntax.IfClause:
		return w.ifClause(cmd, c, st)
	case *syntax.WhileClause:
		return w.while(cmd, c, st)
	case *syntax.ForClause:
		return w.forClause(cmd, c, st)
	case *syntax.CaseClause:
		return w.caseClause(cmd, c, st)
	case *syntax.TimeClause:
		return w.time(cmd, c, st)
	case *syntax.CoprocClause:
		return w.coproc(cmd, c, st)
	}
	w.fail(Unsupported, "this construct is not followed; write it with plain commands", w.nodeText(s))
	return st, st
}

// subshell follows statements in a copy of the shell: whatever they change is lost.
func (w *walker) subshell(list []*syntax.Stmt, c ctx, st state) (yes, no state) {
	old := w.openShell()
	yes, no = w.stmts(list, c, st)
	w.closeShell(old, c, w.join(yes, no))
	// Only whether it can succeed and fail comes back; leaving a subshell is like failing or succeeding.
	if yes.flags&never != 0 && st.flags&never == 0 {
		return st.with(never), st
	}
	if no.flags&never != 0 && st.flags&never == 0 {
		return st, st.with(never)
	}
	return st, st
}

func (w *walker) binary(b *syntax.BinaryCmd, c ctx, st state) (yes, no state) {
	switch b.Op {
	case syntax.Pipe, syntax.PipeAll:
		w.pipes++
		c.pipe = w.pipes
		w.stages(b, c, st)
		return st, st
	}
	right := c
	right.cond = true
	switch b.Op {
	case syntax.AndStmt:
		y1, n1 := w.stmt(b.X, c, st)
		right.op = "&&"
		y2, n2 := w.stmt(b.Y, right, y1)
		return y2, w.join(n1, n2)
	case syntax.OrStmt:
		y1, n1 := w.stmt(b.X, c, st)
		right.op = "||"
		y2, n2 := w.stmt(b.Y, right, n1)
		return w.join(y1, y2), n2
	}
	w.fail(Unsupported, "this operator is not followed; use ; && || or |", w.nodeText(b))
	return st, st
}

// stages follows a pipeline; each stage is a subshell of its own. It returns what the last one writes, if that is known.
func (w *walker) stages(b *syntax.BinaryCmd, c ctx, st state) Stdin {
	var input Stdin
	mark := len(w.out)
	if x, ok := b.X.Cmd.(*syntax.BinaryCmd); ok && (x.Op == syntax.Pipe || x.Op == syntax.PipeAll) &&
		len(b.X.Redirs) == 0 && !b.X.Negated {
		if w.enter() {
			input = w.stages(x, c, st)
			w.leave()
		}
	} else {
		w.stage(b.X, c, st)
		input = w.outputOf(b.X, mark, c)
	}
	mark = len(w.out)
	c.op, c.stdin = "|", input
	w.stage(b.Y, c, st)
	return w.outputOf(b.Y, mark, c)
}

func (w *walker) stage(s *syntax.Stmt, c ctx, st state) {
	old := w.openShell()
	w.closeShell(old, c, w.join(w.stmt(s, c, st)))
}

// An outerShell is what a subshell does not see of the shell that it is a copy of.
type outerShell struct {
	frames []frame
	exits  []exitTrap
}

func (w *walker) openShell() outerShell {
	old := outerShell{w.frames, w.exits}
	w.frames, w.exits = nil, nil
	return old
}

// closeShell follows what a subshell runs at its end, and goes back to the shell around it.
func (w *walker) closeShell(old outerShell, c ctx, end state) {
	if len(w.exits) > 0 {
		w.runExits(c, end)
	}
	w.frames, w.exits = old.frames, old.exits
}

// time follows the reserved word, which may stand before any pipeline.
func (w *walker) time(t *syntax.TimeClause, c ctx, st state) (yes, no state) {
	words := []Word{{Text: "time", State: Exact}}
	if t.PosixFormat {
		words = append(words, Word{Text: "-p", State: Exact})
	}
	mark := len(w.out)
	w.emit(Command{Words: words, Source: w.nodeText(t)}, c, &st, nil)
	if t.Stmt == nil {
		return st, st.with(never)
	}
	c.op, c.wrapper = "wrap", "time"
	c.depth++
	yes, no = w.stmt(t.Stmt, c, st)
	w.adoptWords(mark, c)
	return yes, no
}

// adoptWords gives the command at mark the words of the command that it stands before, as a wrapper's own would have them.
func (w *walker) adoptWords(mark int, c ctx) {
	for i := mark + 1; i < len(w.out); i++ {
		if in := &w.out[i]; in.Operator == "wrap" && in.Depth == c.depth && in.Wrapper == c.wrapper {
			w.out[mark].Words = append(w.out[mark].Words, in.Words...)
			return
		}
	}
}

// coproc follows a command or construct that runs beside the shell.
func (w *walker) coproc(t *syntax.CoprocClause, c ctx, st state) (yes, no state) {
	name := "COPROC"
	words := []Word{{Text: "coproc", State: Exact}}
	if t.Name != nil {
		n := w.one(t.Name, &c, &st)
		if n.State != Exact {
			w.fail(Unsupported, "the name of a coprocess is known only at run time; write it out", w.nodeText(t))
		}
		name = n.Text
		words = append(words, n)
	}
	if call, ok := t.Stmt.Cmd.(*syntax.CallExpr); ok { // what is an assignment here, the parser does not see as bash does
		assigns := len(call.Assigns) > 0
		if len(call.Args) > 0 {
			lit, ok := first[*syntax.Lit](call.Args[0].Parts)
			assigns = assigns || ok && strings.IndexByte(lit.Value, '=') > 0
		}
		if assigns {
			w.fail(Unsupported, "an assignment before the command of a coprocess is not followed; write env before it", w.nodeText(t))
		}
	}
	mark := len(w.out)
	w.emit(Command{Words: words, Source: w.nodeText(t)}, c, &st, nil)
	inner := c
	inner.op, inner.wrapper, inner.bg = "wrap", "coproc", true
	inner.depth++
	inner.stdin = Stdin{}
	w.subshell([]*syntax.Stmt{t.Stmt}, inner, st)
	w.adoptWords(mark, inner)
	st.bind(w, binding{name: name, kind: opaqueArray, val: Word{Text: "$" + name}})
	st.bind(w, binding{name: name + "_PID", val: Word{Text: "$" + name + "_PID"}})
	return st, st
}
