package shell

import (
	"path"
	"slices"
	"strings"
)

// cd follows cd, for which the states after success and failure differ in the directory.
func (w *walker) cd(args []Word, env []Assign, st state) (yes, no state) {
	physical := false
	for len(args) > 0 && args[0].State == Exact && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		opt := args[0].Text
		args = args[1:]
		if opt == "--" {
			break
		}
		physical = strings.Contains(opt, "P") || physical && !strings.Contains(opt, "L")
		if strings.Trim(opt[1:], "LPe@") != "" {
			return st.with(never), st
		}
	}
	target := Word{Text: "~"}
	switch {
	case len(args) == 0:
		if home, ok := w.home(&st); ok {
			target = exact(home)
		}
	case args[0].Splits:
		target = Word{Text: args[0].Text}
	case len(args) > 1:
		if !args[1].Splits {
			return st.with(never), st // too many arguments
		}
		target = Word{Text: args[0].Text}
	default:
		target = args[0]
	}
	if len(args) > 0 && target.State == Exact && target.Text != "-" && w.searched(target.Text, env, &st) {
		target = Word{Text: target.Text}
	}
	if physical && strings.Contains(target.Text, "..") {
		target = Word{Text: target.Text}
	}
	yes = st
	yes.dir = w.moved(st.dir, target)
	for _, name := range [...]string{"PWD", "OLDPWD"} {
		if yes.vars != nil && yes.find(w, name) != nil {
			yes.bind(w, binding{name: name, val: Word{Text: "$" + name}, export: perhaps})
		}
	}
	if len(args) > 0 && target.State == Exact && target.Text == "" {
		return yes, yes
	}
	return yes, st
}

// searched reports whether CDPATH may say what a relative directory is relative to.
func (w *walker) searched(dir string, env []Assign, st *state) bool {
	if strings.HasPrefix(dir, "/") || dir == "." || dir == ".." || strings.HasPrefix(dir, "./") || strings.HasPrefix(dir, "../") {
		return false
	}
	for _, a := range env {
		if a.Name == "CDPATH" {
			return a.Value.State != Exact || a.Value.Text != ""
		}
	}
	if b := w.lookup(st, "CDPATH"); b.val.State != Unknown || st.vars != nil && st.find(w, "CDPATH") != nil {
		return b.unset == perhaps || b.unset == no && (b.val.State != Exact || b.val.Text != "")
	}
	return false // nobody exports it
}

// moved are the places where the shell is after it went to target.
func (w *walker) moved(from *places, target Word) *places {
	one := [1]string{target.Text}
	names := one[:]
	switch target.State {
	case Several:
		names = target.Values
	case Exact:
	default:
		one[0] = "\x00"
	}
	unsure := from.unsure && slices.ContainsFunc(names, func(name string) bool { return !path.IsAbs(name) })
	var room [2]place
	at := room[:0]
	for _, p := range from.at {
		for _, name := range names {
			q := p
			if q.old = p.dir; from.unsure && !unsure {
				q.old = ""
			}
			switch {
			case name == "\x00":
				q.dir = ""
			case name == "-":
				q.dir = p.old
			case name == "":
				q.dir = p.dir
			case path.IsAbs(name):
				q.dir = path.Clean(name)
			case p.dir == "":
			default:
				q.dir = path.Join(p.dir, name)
			}
			at = append(at, q)
		}
	}
	for _, p := range at {
		w.spendText(len(p.dir))
	}
	return w.newPlaces(dedupe(at), unsure)
}

func dedupe(at []place) []place {
	out := at[:0]
	for _, p := range at {
		seen := false
		for _, q := range out {
			seen = seen || samePlace(p, q)
		}
		if !seen {
			out = append(out, p)
		}
	}
	return out
}

func (w *walker) pushd(name string, args []Word, st state) (yes, no state) {
	known := len(args) <= 1
	target := Word{Text: "+"}
	if len(args) == 1 {
		target = args[0]
		known = target.State == Exact && !target.Splits && target.Text != "" && target.Text[0] != '+' && target.Text[0] != '-'
	}
	yes = st
	var at []place
	for _, p := range st.dir.at {
		q := p
		q.old = p.dir
		switch {
		case !known, name == "popd" && len(args) > 0:
			q.dir, q.stack, q.lost = "", nil, true
		case p.lost && len(p.stack) == 0 && len(args) == 0:
			q.dir = ""
		case name == "popd":
			n := len(p.stack)
			if n == 0 { // the shell is taken to be a new one, with nothing on its stack: this fails
				continue
			}
			q.dir, q.stack = p.stack[n-1], p.stack[:n-1:n-1]
		case len(args) == 0:
			n := len(p.stack)
			if n == 0 {
				continue
			}
			q.dir, q.stack = p.stack[n-1], append(p.stack[:n-1:n-1], p.dir)
		default:
			q.stack = append(p.stack[:len(p.stack):len(p.stack)], p.dir)
			if len(q.stack) > 100 {
				w.limit("uses pushd too often")
			}
			q.dir = w.moved(w.newPlaces([]place{p}, false), target).at[0].dir
			if w.searched(target.Text, nil, &st) {
				q.dir = ""
			}
		}
		at = append(at, q)
	}
	if len(at) == 0 {
		return st.with(never), st
	}
	yes.dir = w.newPlaces(dedupe(at), st.dir.unsure)
	return yes, st
}
