package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declare follows export, declare, readonly, local and typeset, whose arguments are assignments and not split.
func (w *walker) declare(s *syntax.Stmt, d *syntax.DeclClause, c ctx, st state) (yes, no state) {
	name := d.Variant.Value
	words := make([]Word, 1, len(d.Args)+1)
	words[0] = exact(name)
	bindings := make([]*binding, 1, len(d.Args)+1) // of the words that are assignments to arrays
	for _, a := range d.Args {
		if !a.Naked {
			w.named([]*syntax.Assign{a})
		}
		var b *binding
		switch {
		case a.Naked && a.Value != nil:
			words = append(words, w.expand([]*syntax.Word{a.Value}, &c, &st)...)
		case a.Naked:
			words = append(words, exact(w.nodeText(a)))
			if a.Index != nil {
				w.subscript(a.Index, true, &c, &st)
			}
		case a.Array != nil || a.Index != nil:
			made := w.assigned(a, &c, &st)
			if strings.ContainsAny(declFlags(words[1:]), "iA") {
				made.opaque()
			}
			b = &made
			words = append(words, Word{Text: w.nodeText(a), State: wordsState(made.array, made.isList)})
		default:
			if a.Value != nil && hasBrace(a.Value) {
				if _, changed := w.braces(a.Value); changed {
					w.fail(Unsupported, "braces here make several assignments; write them out", w.nodeText(a))
				}
			}
			v := w.one(a.Value, &c, &st)
			op := "="
			if a.Append {
				op = "+="
			}
			text := a.Name.Value + op
			word := concat(exact(text), v, text+v.Text)
			words = append(words, word)
		}
		for len(bindings) < len(words) {
			bindings = append(bindings, b)
		}
	}
	var own []Redirect
	if len(s.Redirs) > 0 {
		own = w.redirects(s.Redirs, &c, &st)
	}
	if st.funcs != nil {
		for f := st.funcs; f != nil; f = f.next {
			if f.name == name {
				w.fail(Unsupported, "a function called "+name+" would be run instead of the builtin; give it another name", w.stmtText(s))
			}
		}
	}
	w.emit(Command{Words: words, Source: w.stmtText(s)}, c, &st, own)
	w.declareWords(name, words[1:], bindings[1:], &st)
	return st, st
}

func wordsState(list []Word, known bool) State {
	state := Exact
	for _, word := range list {
		state = min(state, word.State)
	}
	if !known || state != Exact {
		return Unknown
	}
	return state
}

// declFlags are the letters of the options.
func declFlags(words []Word) string {
	var letters strings.Builder
	for _, word := range words {
		if len(word.Text) > 1 && (word.Text[0] == '-' || word.Text[0] == '+') {
			if word.Text[0] == '-' {
				letters.WriteString(word.Text[1:])
			}
			continue
		}
		break
	}
	return letters.String()
}

// declareWords binds what the words of a declaration say. bindings are those of the words that assign arrays; nil: none.
func (w *walker) declareWords(name string, words []Word, bindings []*binding, st *state) {
	letters := declFlags(words)
	has := func(l string) bool { return strings.Contains(letters, l) }
	if has("n") && name != "export" {
		w.fail(Unsupported, "a name that stands for another variable is not followed; use the variable itself", joinTexts(words))
		return
	}
	if has("f") || has("F") {
		w.declareFunctions(words, has("x") || name == "export", st)
		return
	}
	if name == "local" && !slices.ContainsFunc(w.frames, func(f frame) bool { return f.isFunc }) {
		w.fail(Unsupported, "local assigns nothing outside of a function; leave the word local out", joinTexts(words))
		return
	}
	local := name == "local" || (name == "declare" || name == "typeset") && !has("g")
	for i, word := range words {
		if len(word.Text) > 0 && (word.Text[0] == '-' || word.Text[0] == '+') && word.State == Exact {
			continue
		}
		text := word.Text
		key, _, assigns := strings.Cut(text, "=")
		plus := strings.HasSuffix(key, "+") && assigns
		key = strings.TrimSuffix(key, "+")
		sub := strings.IndexByte(key, '[')
		if sub > 0 {
			w.checkEvaluated(key)
			key = key[:sub]
		}
		if !syntax.ValidName(key) || word.Splits {
			if word.State != Exact || word.Splits {
				w.forget(st)
			}
			continue
		}
		if local {
			w.hide(key, st)
			if !assigns {
				st.bind(w, binding{name: key, val: exact(""), unset: yes})
			}
		}
		b := w.current(st, key)
		if has("i") || has("u") || has("l") || has("c") {
			b.frozen = true
		}
		if has("A") {
			b.opaque()
		} else if has("a") && !assigns && !b.isList {
			b.opaque()
		}
		switch {
		case name == "export" && has("n"):
			b.export = no
		case name == "export", has("x"):
			b.export = yes
		}
		switch {
		case bindings != nil && bindings[i] != nil:
			made := *bindings[i]
			made.export, made.frozen = b.export, b.frozen
			if b.kind == opaqueArray && has("A") {
				made.opaque()
			}
			b = made
		case sub > 0 || plus:
			if b.frozen || has("i") {
				w.checkEvaluated(text)
			}
			if plus && sub < 0 && b.kind == scalar && word.State == Exact {
				w.give(&b, concat(b.value(), exact(text[len(key)+2:]), "$"+key))
			} else {
				b.opaque()
			}
		case assigns:
			w.give(&b, tail(word, len(key)+1, "$"+key))
		}
		st.bind(w, b)
	}
}

// tail is the word without its first n bytes, which are known.
func tail(word Word, n int, text string) Word {
	switch word.State {
	case Exact:
		return exact(word.Text[n:])
	case Several, Maybe:
		out := Word{Text: text, State: word.State}
		for _, v := range word.Values {
			if len(v) < n {
				return Word{Text: text}
			}
			out.addValue(v[n:])
		}
		return out
	}
	return Word{Text: text}
}

// hide notes what a local variable hides until its function returns.
func (w *walker) hide(name string, st *state) {
	for i := len(w.frames) - 1; i >= 0; i-- {
		f := &w.frames[i]
		if !f.isFunc {
			continue
		}
		for _, b := range f.locals {
			if b.name == name {
				return
			}
		}
		f.locals = append(f.locals, w.lookup(st, name))
		return
	}
}

// declareFunctions marks functions that go to child shells.
func (w *walker) declareFunctions(words []Word, exported bool, st *state) {
	if !exported {
		return
	}
	for _, word := range words {
		for f := st.funcs; f != nil; f = f.next {
			if f.name == word.Text || word.State != Exact {
				g := *f
				g.exported, g.next = true, st.funcs
				g.maybe = g.maybe || word.State != Exact
				st.funcs = &g
				break
			}
		}
	}
}
