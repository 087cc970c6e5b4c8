package shell

import (
	"strconv"
	"strings"
)

// builtin does to the state what a builtin command does to the shell. It reports false for a command that leaves the
// shell as it is, or that is a program.
func (w *walker) builtin(words []Word, source string, env []Assign, own []Redirect, c ctx, st state) (yes, no state, ok bool) {
	name, args := words[0].Text, words[1:]
	if c.single {
		switch name {
		case "eval", "source", ".":
		default:
			return st, st, false
		}
	}
	switch name {
	case ":", "true":
		return st, st.with(never), true
	case "false":
		return st.with(never), st, true
	case "cd":
		yes, no = w.cd(args, env, st)
		return yes, no, true
	case "pushd", "popd":
		yes, no = w.pushd(name, args, st)
		return yes, no, true
	case "exit", "logout":
		return st.with(gone), st.with(gone), true
	case "return", "break", "continue":
		yes, no = w.jump(name, args, st)
		return yes, no, true
	case "eval":
		w.eval(args, source, env, own, c, &st)
	case "source", ".":
		if c.single {
			w.fail(Source, "the commands stand in a file; run it as a program, or write them out", source)
		}
		w.sourceFile(args, source, &st)
	case "exec":
		if len(args) == 0 {
			st.execs = inherit(own, st.execs)
			return st, st, true
		}
		return st, st, false
	case "trap":
		w.trap(args, source, c, &st)
	case "export", "readonly", "declare", "typeset", "local":
		w.declareWords(name, args, nil, &st)
	case "unset":
		w.unset(args, &st)
	case "wait":
		if _, values, _, _ := letterOptions(args, "p"); values['p'].Text != "" {
			w.setUnknown(values['p'], false, &st)
		}
	case "set":
		w.set(args, source, &st)
		return st, st.with(never), true
	case "shift":
		w.shift(args, &st)
	case "read":
		w.read(args, &st)
	case "mapfile", "readarray":
		w.mapfile(args, source, &st)
	case "printf":
		w.printf(args, &st)
	case "getopts":
		w.getopts(args, &st)
	case "let":
		for _, a := range args {
			w.checkEvaluated(a.Text)
		}
		w.forget(&st)
	case "test":
		w.checkTest(args)
	case "shopt":
		w.shopt(args, source, &st)
	case "alias":
		if st.flags&posixMode != 0 || w.dialect != bash {
			w.fail(Unsupported, "an alias changes what later commands are; write a function", source)
		}
	case "hash", "enable", "compgen", "fc", "jobs":
		w.refuseOptions(name, args, source)
	default:
		return st, st, false
	}
	return st, st, true
}

// refuseOptions refuses the options of builtins that make a name stand for something else, or run text.
func (w *walker) refuseOptions(name string, args []Word, source string) {
	bad := ""
	switch name {
	case "hash":
		bad = "p"
	case "enable":
		bad = "fdn"
	case "compgen":
		bad = "CFW"
	case "fc":
		bad = "se"
	case "jobs":
		bad = "x"
	}
	for _, a := range args {
		if a.State != Exact && !noDash(a.Text) || strings.HasPrefix(a.Text, "-") && strings.ContainsAny(a.Text, bad) {
			w.fail(Unsupported, "this form of "+name+" changes or runs commands unseen; run the command itself", source)
		}
	}
}

// noDash reports whether a word that is not known surely does not begin with a dash.
func noDash(text string) bool {
	return text != "" && text[0] != '$' && text[0] != '-' && text[0] != '`'
}

func (w *walker) set(args []Word, source string, st *state) {
	for len(args) > 0 {
		a := args[0]
		if a.State != Exact || a.Splits {
			break
		}
		text := a.Text
		if text == "--" || text == "-" {
			st.args = newParams(w.zero(st), args[1:])
			return
		}
		if len(text) < 2 || text[0] != '-' && text[0] != '+' {
			break
		}
		args = args[1:]
		for _, letter := range []byte(text[1:]) {
			name := ""
			if letter == 'o' && len(args) > 0 {
				name = args[0].Text
				if args[0].State != Exact {
					w.fail(Unsupported, "an option of the shell is known only at run time; write it out", source)
				}
				args = args[1:]
			}
			switch {
			case letter == 'e' || name == "errexit":
				st.set(errexit, text[0] == '-')
			case letter == 'a' || name == "allexport":
				st.set(allExport, text[0] == '-')
			case name == "posix":
				st.set(posixMode, text[0] == '-')
			case letter == 'k' || name == "keyword" || name == "history" || name == "histexpand" && text[0] == '-':
				w.fail(Unsupported, "this option changes how later commands are read; leave it out", source)
			}
		}
	}
	if len(args) > 0 {
		st.args = newParams(w.zero(st), args)
		if args[0].State != Exact || args[0].Splits { // it may be options
			st.args = nil
			st.flags |= errexit
		}
	}
}

func (s *state) set(f flags, on bool) {
	s.flags &^= f
	if on {
		s.flags |= f
	}
}

func (w *walker) zero(st *state) Word {
	if st.args != nil {
		return st.args.zero
	}
	return Word{Text: "$0"}
}

func (w *walker) shift(args []Word, st *state) {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0].Text); err != nil || args[0].State != Exact || n < 0 {
			st.args = nil
			return
		}
	}
	if st.args == nil || n > len(st.args.list) && st.args.open {
		st.args = nil
		return
	}
	if n <= len(st.args.list) {
		st.args = &params{zero: st.args.zero, list: st.args.list[n:], open: st.args.open}
	}
}

// checkTest refuses test -v and -R on text that they would evaluate.
func (w *walker) checkTest(args []Word) {
	for i, a := range args {
		if i > 0 && (args[i-1].Text == "-v" || args[i-1].Text == "-R") {
			w.checkEvaluated(a.Text)
		}
	}
}

func (w *walker) shopt(args []Word, source string, st *state) {
	on := false
	for _, a := range args {
		if a.State != Exact {
			w.fail(Unsupported, "an option of the shell is known only at run time; write it out", source)
			return
		}
		switch a.Text {
		case "-s":
			on = true
		case "-u", "-p", "-q":
		case "extglob":
			st.set(extGlob, on)
		case "expand_aliases", "lastpipe", "localvar_inherit", "assoc_expand_once", "varredir_close", "compat31", "compat32",
			"compat40", "compat41", "compat42", "compat43", "compat44":
			if on {
				w.fail(Unsupported, "this option changes what later commands are or do; leave it out", source)
			}
		case "-o":
			w.fail(Unsupported, "use set -o for this option", source)
		default:
			if strings.HasPrefix(a.Text, "-") && strings.Contains(a.Text, "s") {
				on = true
			}
		}
	}
}
