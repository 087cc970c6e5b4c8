package shell

import "strings"

// childScript follows text in a shell of its own.
func (w *walker) childScript(in *inner, text string, c ctx, st state) {
	child := w.child(st, in)
	old := w.openShell()
	c.env, c.xargs, c.single, c.noFunc = nil, false, false, false
	w.script(text, dialectOf(in.Wrapper), c, &child)
	w.closeShell(old, c, child)
}

// shellOptions looks for options of a shell that change what its script means.
func (w *walker) shellOptions(args []Word, source string) flags {
	f := flags(0)
	value := false // the word is the value of -o or -O
	for _, a := range args {
		option := len(a.Text) > 1 && (a.Text[0] == '-' || a.Text[0] == '+')
		switch {
		case value && (a.Text == "expand_aliases" || a.Text == "lastpipe" || a.Text == "keyword"),
			option && a.Text[1] != '-' && strings.IndexByte(a.Text, 'k') > 0:
			w.fail(Unsupported, "this option changes what the commands of the script are; leave it out", source)
		case value && a.Text == "posix", a.Text == "--posix":
			f = childPosix
		case option && a.Text[1] != '-' && strings.IndexByte(a.Text, 'i') > 0:
			f = childPosix // an interactive shell expands aliases, too
		case !option && !value:
			return f
		}
		value = option && strings.HasSuffix(strings.ToLower(a.Text), "o") && a.Text[1] != '-'
	}
	return f
}

// environment is the state in which a wrapper starts what it runs: what is assigned is exported, and what the wrapper takes
// away is gone.
func (w *walker) environment(st state, env []Assign, in *inner) state {
	for _, a := range env {
		w.export(&st, a)
	}
	other := in.Remote
	switch in.Wrapper {
	case "sudo", "doas", "su", "runuser", "pkexec": // they keep what their configuration says
		other = true
	}
	if other {
		st.flags |= envUnknown
		for _, name := range newer(w, st.vars, nil) {
			b := *st.find(w, name)
			if b.kind == scalar && b.export != no {
				b.unset, b.export = perhaps, perhaps
				b.val = mergeWords(b.val, Word{Text: "$" + name}, "$"+name)
				st.bind(w, b)
			}
		}
	}
	for _, a := range in.Env {
		if a.Name == "*" && a.Unset {
			st.vars, st.funcs, st.ifs = nil, nil, ifsDefault
			st.flags |= envUnknown
			continue
		}
		w.export(&st, a)
	}
	return st
}

func (w *walker) export(st *state, a Assign) {
	b := binding{name: a.Name, val: a.Value, export: yes}
	b.val.Splits = false
	switch {
	case a.Unset:
		b.unset, b.val = yes, exact("")
	case a.Append:
		b.val = Word{Text: "$" + a.Name}
	}
	st.bind(w, b)
}

// child is what a new shell knows: what is exported, and where it is.
func (w *walker) child(st state, in *inner) state {
	out := state{dir: st.dir, execs: st.execs, args: &params{zero: exact(in.Wrapper)}, flags: st.flags & (envUnknown | sourced)}
	if st.flags&childPosix != 0 {
		out.flags |= posixMode
	}
	if len(in.Params) > 0 {
		out.args = newParams(in.Params[0], in.Params[1:])
		out.args.open = out.args.open || in.XArgs
	} else if in.XArgs {
		out.args = nil
	}
	for _, name := range newer(w, st.vars, nil) {
		b := *st.find(w, name)
		switch {
		case b.kind != scalar || b.export == no:
			continue
		case b.export == perhaps:
			b.unset = perhaps
			b.val = mergeWords(b.val, Word{Text: "$" + name}, "$"+name)
		}
		out.bind(w, b)
	}
	out.ifs = ifsDefault // a shell does not take IFS from its environment
	for f := st.funcs; f != nil; f = f.next {
		if f.exported {
			g := *f
			g.maybe, g.next = true, out.funcs
			out.funcs = &g
		}
	}
	return out
}
