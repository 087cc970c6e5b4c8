package shell

// lookup is what is known of a variable.
func (w *walker) lookup(st *state, name string) binding {
	if volatile(name) {
		return binding{name: name, val: Word{Text: "$" + name}}
	}
	if b := st.find(w, name); b != nil {
		return *b
	}
	out := binding{name: name, unset: perhaps, export: yes, val: Word{Text: "$" + name}}
	switch name {
	case "PWD":
		out.unset = no
		if st.dir.dir.Exact() {
			out.val = Word{Text: st.dir.dir.Path, State: Exact}
		}
		return out
	case "OLDPWD", "OPTARG", "OPTIND", "REPLY", "BASH_REMATCH", "MAPFILE":
		return out
	case "HOME":
		if w.o.Home != "" && st.flags&envUnknown == 0 {
			out.unset, out.val = no, Word{Text: w.o.Home, State: Exact}
			return out
		}
	}
	if w.o.Env != nil && st.flags&envUnknown == 0 {
		if v, known := w.o.Env(name); known {
			out.unset, out.val = no, Word{Text: v, State: Exact}
		}
	}
	return out
}

// volatile reports whether bash itself gives the variable its value.
func volatile(name string) bool {
	switch name {
	case "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID", "BASH_COMMAND", "FUNCNAME",
		"GROUPS", "DIRSTACK", "PIPESTATUS", "UID", "EUID", "PPID", "BASH_SUBSHELL", "BASH_ARGV", "BASH_ARGC", "BASH_SOURCE",
		"BASH_LINENO", "BASH_ARGV0", "HISTCMD", "COMP_LINE", "SHELLOPTS", "BASHOPTS", "_":
		return true
	}
	return false
}

// value is the variable as a word: the empty one where it is unset.
func (b *binding) value() Word {
	empty := Word{State: Exact}
	switch b.unset {
	case yes:
		return empty
	case perhaps:
		if b.val.State != Unknown {
			return mergeWords(b.val, empty, b.val.Text)
		}
	}
	return b.val
}
