package shell

import (
	"strconv"
	"strings"
)

// jump follows break, continue and return.
func (w *walker) jump(name string, args []Word, st state) (yes, no state) {
	levels := 1
	if name != "return" && len(args) > 0 {
		n, err := strconv.Atoi(args[0].Text)
		if args[0].State != Exact || err != nil || n < 1 {
			n = len(w.frames)
		}
		levels = n
	}
	last := -1
	for i := len(w.frames) - 1; i >= 0 && levels > 0; i-- {
		if w.frames[i].isFunc != (name == "return") {
			if w.frames[i].isFunc {
				break // break does not leave a function
			}
			w.frames[i].further = true
			continue
		}
		if last >= 0 {
			w.frames[last].further = true
		}
		last = i
		levels--
	}
	if last < 0 {
		if name == "return" { // of a script that is sourced; elsewhere it is an error
			return st.with(maybeLeft), st.with(maybeLeft)
		}
		return st, st
	}
	f := &w.frames[last]
	if name == "continue" {
		f.next = w.join(f.next, st)
	} else {
		f.out = w.join(f.out, st)
	}
	return st.with(left), st.with(left)
}

// eval follows text that is put together from the words.
func (w *walker) eval(args []Word, source string, env []Assign, own []Redirect, c ctx, st *state) {
	var text strings.Builder
	for i, a := range args {
		if a.State != Exact || a.Splits {
			w.fail(Eval, "the text that eval runs is known only at run time; write the command out", source)
			return
		}
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(a.Text)
	}
	w.evalText(text.String(), "eval", env, own, c, st)
}

func (w *walker) evalText(text, wrapper string, env []Assign, own []Redirect, c ctx, st *state) {
	c.op, c.wrapper = "wrap", wrapper
	c.depth++
	c.stdin = stdinOf(own, c.stdin)
	c.redirs = inherit(own, c.redirs)
	c.env, c.xargs, c.single, c.noFunc = nil, false, false, false
	old := w.pushEnv(env, st)
	w.script(text, w.dialect, c, st)
	w.restore(old, st)
}

// An exitTrap is text that runs when the shell exits.
type exitTrap struct {
	text string
	c    ctx
}

func (w *walker) trap(args []Word, source string, c ctx, st *state) {
	for _, a := range args {
		if a.Splits {
			w.fail(DynamicScript, "what this trap runs is known only at run time; write it out", source)
			return
		}
	}
	if len(args) > 0 && args[0].State == Exact && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		if args[0].Text != "--" {
			return // -l and -p only print
		}
		args = args[1:]
	}
	if len(args) < 2 {
		w.exits = nil
		return
	}
	action, signals := args[0], args[1:]
	if action.State != Exact {
		w.fail(DynamicScript, "what this trap runs is known only at run time; write it out", source)
		return
	}
	onExit, other := false, false
	for _, s := range signals {
		switch name := strings.ToUpper(s.Text); {
		case s.State != Exact:
			onExit, other = true, true
		case name == "EXIT" || name == "0" || name == "SIGEXIT":
			onExit = true
		default:
			other = true
		}
	}
	c.cond = c.cond || st.conditional()
	if onExit {
		if !c.cond {
			w.exits = nil
		}
		if action.Text != "" && action.Text != "-" {
			w.exits = append(w.exits, exitTrap{action.Text, c})
		}
	}
	if other && action.Text != "" && action.Text != "-" {
		c.cond, c.rep = true, true
		c.stdin = Stdin{}
		after := *st
		w.evalText(action.Text, "trap", nil, nil, c, &after)
		*st = w.join(*st, after)
	}
}

// runExits follows what the shell runs at its end.
func (w *walker) runExits(c ctx, st state) {
	exits := w.exits
	w.exits = nil
	st.flags &^= dead | maybeGone | maybeLeft
	for _, t := range exits {
		t.c.redirs, t.c.pipe, t.c.bg = c.redirs, c.pipe, c.bg
		t.c.stdin = Stdin{}
		w.evalText(t.text, "trap", nil, nil, t.c, &st)
	}
}
