package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// tildes adds a literal that begins a word and has tildes that may stand for directories.
func (e *expander) tildes(s string, whole bool) {
	prefix := 0 // s[:prefix] is NAME= if the word looks like an assignment
	if i := strings.IndexByte(s, '='); i > 0 && syntax.ValidName(s[:i]) && e.w.dialect == bash && !e.braced {
		prefix = i + 1
	}
	for from := 0; from < len(s); {
		end := len(s)
		assigned := e.assigned || prefix > 0 && from >= prefix
		if from < prefix {
			end = prefix
		} else if i := strings.IndexByte(s[from:], ':'); i >= 0 && assigned {
			end = from + i + 1
		}
		part := s[from:end]
		from = end
		if part[0] != '~' || !(len(e.text) == 0 || assigned) {
			e.lit(part)
			continue
		}
		name := part[1:]
		if i := strings.IndexAny(name, "/:"); i >= 0 && (name[i] == '/' || assigned) {
			name = name[:i]
		} else if !whole && end == len(s) { // ~"x", ~$x: the name goes on in quotes, so there is none
			e.lit(part)
			continue
		}
		e.tilde(name)
		e.lit(part[1+len(name):])
	}
}

func (e *expander) tilde(name string) {
	e.begun = true
	dir, ok := "", false
	switch name {
	case "":
		dir, ok = e.w.home(e.st)
	case "+":
		dir = e.st.dir.dir.Path
		ok = e.st.dir.dir.Exact()
	case "-":
		dir = e.st.dir.at[0].old
		ok = dir != "" && len(e.st.dir.at) == 1 && !e.st.dir.unsure
	}
	if !ok {
		e.unknown("~"+name, false)
		return
	}
	e.add(dir)
}

// home is what ~ stands for.
func (w *walker) home(st *state) (string, bool) {
	if b := st.find(w, "HOME"); b != nil {
		return b.val.Text, b.kind == scalar && b.unset == no && b.val.State == Exact
	}
	return w.o.Home, w.o.Home != "" && st.flags&envUnknown == 0
}
