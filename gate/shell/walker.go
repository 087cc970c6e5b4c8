package shell

import "mvdan.cc/sh/v3/syntax"

// A walker follows one line. Once err is set, whatever it does has no effect.
type walker struct {
	parser *syntax.Parser
	source *source

	o     Options
	out   []Command
	err   *Error
	pipes int // pipelines so far

	text1   string  // the script that is being read: positions are offsets into it
	dialect dialect // how it is read
	globs   bool    // extglob was switched on by an earlier line of it
	nesting int
	frames  []frame        // loops and functions around, the innermost last
	active  []*syntax.Stmt // bodies of the functions around
	exits   []exitTrap

	buffer []Word     // room for the words of commands
	words  []Word     // the part of it that is free
	redirs []Redirect // and for their redirections
	stack  []Word     // words of commands that are being expanded
	cells  *cell      // room for what expansions point to, not in use
	exps   *expander  // likewise
	start  places     // where the shell is at the beginning
	places []places   // room for others
	some   []places   // likewise, to begin with
	at     [1]place

	input, text, passes, work int // what is left of the limits
	wordCount                 int
}

// A ctx is where a statement stands. Unlike a state it does not change from one statement to the next.
type ctx struct {
	op      string // operator of the first command
	pipe    int
	depth   int
	wrapper string
	cond    bool
	rep     bool
	bg      bool
	remote  bool
	stdin   Stdin
	redirs  []Redirect // made around the statement
	env     []Assign   // made by a wrapper, for the command itself
	xargs   bool       // operands arrive at run time, for the command itself
	single  bool       // the command is a program: no function, and no builtin that acts on this shell
	noFunc  bool       // a function of the name is passed over
}

// A cell holds the place and state of a statement while something points to them, without a trip to the heap for each.
type cell struct {
	c    ctx
	st   state
	next *cell
}

func (w *walker) cell(c ctx, st state) *cell {
	x := w.cells
	if x == nil {
		x = new(cell)
	} else {
		w.cells = x.next
	}
	x.c, x.st = c, st
	return x
}

// free takes x back and gives what it held.
func (w *walker) free(x *cell) (ctx, state) {
	c, st := x.c, x.st
	*x = cell{next: w.cells}
	w.cells = x
	return c, st
}

// A frame is a loop or function that break, continue or return can leave.
type frame struct {
	isFunc  bool
	out     state     // joined states from which it was left
	next    state     // joined states from which the next pass was begun
	further bool      // a loop further out was left, or begun anew, from inside
	locals  []binding // what the function's local variables hide
}

// reset makes w ready for a line. Of the last one it keeps room, with what is left in it.
func (w *walker) reset(o Options) {
	if cap(w.stack) > 256 || cap(w.out) > 256 || len(w.buffer) > 1024 { // one long line is no reason to keep that much
		w.stack, w.out, w.buffer = nil, nil, nil
	}
	if w.buffer == nil {
		w.buffer = make([]Word, 128)
	}
	if w.some == nil {
		w.some = make([]places, 8)
	}
	*w = walker{
		parser: w.parser, source: w.source, o: o, input: o.Limits.Input, text: o.Limits.Text, passes: o.Limits.Passes, work: maxWork,
		out: w.out[:0], stack: w.stack[:0], frames: w.frames[:0], active: w.active[:0], cells: w.cells, exps: w.exps,
		buffer: w.buffer, words: w.buffer, some: w.some, places: w.some,
	}
}

// result is the commands in memory of their own, since the walker's is used again.
func (w *walker) result() []Command {
	total := 0
	for i := range w.out {
		total += len(w.out[i].Words)
	}
	out, words := make([]Command, len(w.out)), make([]Word, total)
	copy(out, w.out)
	for i := range out {
		n := copy(words, out[i].Words)
		out[i].Words, words = words[:n:n], words[n:]
	}
	return out
}

func (w *walker) startDir(dir string) *places {
	w.at[0] = place{dir: dir}
	w.start = places{at: w.at[:], dir: Dir{Path: dir}}
	return &w.start
}

func (w *walker) fail(kind ErrorKind, message, source string) {
	if w.err == nil {
		w.err = &Error{Kind: kind, Message: message, Source: source}
	}
}

func (w *walker) limit(what string) {
	w.fail(Limit, "the line "+what+"; split it, or put it into a script file", "")
}

// enter counts nesting; the caller must call leave if it reports true.
func (w *walker) enter() bool {
	if w.nesting++; w.nesting > w.o.Limits.Depth {
		w.limit("is nested too deeply")
	}
	return w.err == nil
}

func (w *walker) leave() { w.nesting-- }

// emit adds a command to the result. env is nil but for what stands before the command itself.
func (w *walker) emit(cmd Command, c ctx, st *state, own []Redirect) {
	if w.err != nil {
		return
	}
	if len(w.out) >= w.o.Limits.Commands {
		w.limit("runs too many commands")
		return
	}
	if w.wordCount += len(cmd.Words); w.wordCount > w.o.Limits.Words {
		w.limit("has too many words")
		return
	}
	cmd.Operator, cmd.Pipeline, cmd.Depth, cmd.Wrapper = c.op, c.pipe, c.depth, c.wrapper
	cmd.Conditional = c.cond || st.conditional()
	cmd.Repeated, cmd.Background, cmd.Remote, cmd.XArgs = c.rep, c.bg, c.remote, c.xargs
	cmd.Sourced = st.flags&sourced != 0
	cmd.Dir = st.dir.dir
	cmd.Stdin = stdinOf(own, c.stdin)
	if len(c.env) > 0 {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], c.env...)
	}
	cmd.Redirects = own
	if len(c.redirs) > 0 {
		cmd.Redirects = append(cmd.Redirects[:len(cmd.Redirects):len(cmd.Redirects)], c.redirs...)
	}
	if len(st.execs) > 0 {
		cmd.Redirects = append(cmd.Redirects[:len(cmd.Redirects):len(cmd.Redirects)], st.execs...)
	}
	w.out = append(w.out, cmd)
}

// room is a slice of n words, to be set by the caller, to whom it belongs until the line is done.
func (w *walker) room(n int) []Word {
	if len(w.words) < n {
		w.buffer = make([]Word, max(n, 2*len(w.buffer)))
		w.words = w.buffer
	}
	out := w.words[:n:n]
	w.words = w.words[n:]
	return out
}
