package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// forget makes every variable unknown.
func (w *walker) forget(st *state) {
	for _, name := range newer(w, st.vars, nil) {
		b := *st.find(w, name)
		b.opaque()
		st.bind(w, b)
	}
	st.flags |= envUnknown
	st.ifs = ifsUnknown
}

// setUnknown gives the variable that a word names a value that nobody knows.
func (w *walker) setUnknown(name Word, array bool, st *state) {
	w.checkEvaluated(name.Text)
	text := name.Text
	if i := strings.IndexByte(text, '['); i > 0 {
		text, array = text[:i], true
	}
	if name.State != Exact || name.Splits {
		w.forget(st)
		return
	}
	if !syntax.ValidName(text) {
		return
	}
	if array {
		b := w.current(st, text)
		b.opaque()
		st.bind(w, b)
		return
	}
	w.assign(st, text, Word{Text: "$" + text})
}

// letterOptions splits args after the options; withValue are the letters that take the next word.
func letterOptions(args []Word, withValue string) (letters string, values map[byte]Word, rest []Word, ok bool) {
	var seen [256]bool
	add := func(c byte) {
		if !seen[c] {
			seen[c] = true
			letters += string(rune(c))
		}
	}
	for len(args) > 0 {
		a := args[0]
		if a.State != Exact || a.Splits {
			return letters, values, args, a.Text != "" && a.Text[0] != '-' && !a.Splits && a.State >= Several
		}
		if len(a.Text) < 2 || a.Text[0] != '-' {
			break
		}
		args = args[1:]
		if a.Text == "--" {
			break
		}
		for i := 1; i < len(a.Text); i++ {
			add(a.Text[i])
			if strings.IndexByte(withValue, a.Text[i]) < 0 {
				continue
			}
			v := exact(a.Text[i+1:])
			if v.Text == "" && len(args) > 0 {
				v, args = args[0], args[1:]
			}
			if values == nil {
				values = make(map[byte]Word, 1)
			}
			values[a.Text[i]] = v
			break
		}
	}
	return letters, values, args, true
}

func (w *walker) unset(args []Word, st *state) {
	letters, _, names, ok := letterOptions(args, "")
	if !ok {
		w.forget(st)
	}
	for _, name := range names {
		w.checkEvaluated(name.Text)
		if name.State != Exact || name.Splits {
			w.forget(st)
			w.maybeNoFunctions(st)
			continue
		}
		if i := strings.IndexByte(name.Text, '['); i > 0 {
			w.setUnknown(name, true, st)
			continue
		}
		if !strings.Contains(letters, "f") && syntax.ValidName(name.Text) {
			st.bind(w, binding{name: name.Text, val: exact(""), unset: yes})
		}
		if !strings.Contains(letters, "v") && st.funcs != nil {
			st.funcs = &function{name: name.Text, maybe: !strings.Contains(letters, "f"), next: st.funcs}
		}
	}
}

func (w *walker) maybeNoFunctions(st *state) {
	for f := st.funcs; f != nil; f = f.next {
		st.funcs = &function{name: f.name, maybe: true, next: st.funcs}
		if w.work -= 10; w.work < 0 {
			return
		}
	}
}

func (w *walker) read(args []Word, st *state) {
	letters, values, names, ok := letterOptions(args, "adinNptu")
	if !ok {
		w.forget(st)
	}
	if a, isArray := values['a']; isArray {
		w.setUnknown(a, true, st)
		return
	}
	if len(names) == 0 {
		names = []Word{exact("REPLY")}
	}
	for _, name := range names {
		w.setUnknown(name, strings.Contains(letters, "a"), st)
	}
}

func (w *walker) mapfile(args []Word, source string, st *state) {
	letters, _, names, ok := letterOptions(args, "dnOsuCc")
	if !ok {
		w.forget(st)
	}
	if strings.Contains(letters, "C") {
		w.fail(Unsupported, "the callback of mapfile is not followed; use a loop", source)
	}
	if len(names) == 0 {
		names = []Word{exact("MAPFILE")}
	}
	w.setUnknown(names[0], true, st)
}

func (w *walker) printf(args []Word, st *state) {
	if len(args) == 0 || args[0].State == Exact && !strings.HasPrefix(args[0].Text, "-v") {
		return
	}
	_, values, rest, ok := letterOptions(args, "v")
	if !ok {
		if noDash(args[0].Text) {
			return // a format that begins with known text
		}
		w.forget(st)
		return
	}
	name, has := values['v']
	if !has {
		return
	}
	w.setUnknown(name, false, st)
	if text, known := printfText(rest); known && name.State == Exact && syntax.ValidName(name.Text) {
		w.assign(st, name.Text, exact(text))
	}
}

func (w *walker) getopts(args []Word, st *state) {
	if len(args) > 1 {
		w.setUnknown(args[1], false, st)
	}
	w.setUnknown(exact("OPTARG"), false, st)
	w.setUnknown(exact("OPTIND"), false, st)
}
