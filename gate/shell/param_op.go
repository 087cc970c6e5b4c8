package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// operation is the function of ${x%y}, ${x^^} and the like; nil with a word that is unknown.
func (e *expander) operation(x *syntax.Expansion, q *parameter, source string) func(string) (string, bool) {
	switch x.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		pattern, ok := e.patternOf(x.Word)
		suffix := x.Op == syntax.RemSmallSuffix || x.Op == syntax.RemLargeSuffix
		longest := x.Op == syntax.RemLargeSuffix || x.Op == syntax.RemLargePrefix
		return func(s string) (string, bool) {
			if !ok || !e.affordable(len(s)*len(s)) {
				return "", false
			}
			return cut(s, pattern, suffix, longest), true
		}
	case syntax.UpperAll, syntax.LowerAll, syntax.UpperFirst, syntax.LowerFirst:
		if x.Word != nil {
			e.patternOf(x.Word)
			return func(string) (string, bool) { return "", false }
		}
		return func(s string) (string, bool) { return changeCase(s, x.Op) }
	case syntax.OtherParamOps:
		kind := ""
		if x.Word != nil {
			kind = x.Word.Lit()
		}
		v := q.value()
		if kind == "P" && (v.State != Exact || strings.ContainsAny(v.Text, "$`\\")) {
			e.w.fail(Unsupported, "${…@P} runs what the value holds; write the text out", source)
		}
		return func(s string) (string, bool) { return s, kind == "P" }
	}
	e.w.fail(Unsupported, "this expansion is not followed; write the value out", source)
	return nil
}

func changeCase(s string, op syntax.ParExpOperator) (string, bool) {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return "", false
		}
	}
	change := strings.ToLower
	if op == syntax.UpperAll || op == syntax.UpperFirst {
		change = strings.ToUpper
	}
	if op == syntax.UpperAll || op == syntax.LowerAll || s == "" {
		return change(s), true
	}
	return change(s[:1]) + s[1:], true
}

// patternOf is the pattern that word is, if it is known and plain.
func (e *expander) patternOf(word *syntax.Word) (string, bool) {
	if word == nil {
		return "", true
	}
	in := expander{w: e.w, c: e.c, st: e.st, state: Exact, inPattern: true}
	in.word(word.Parts)
	v := in.single()
	switch v.State {
	case Exact:
		return string(escapePattern(nil, v.Text)), true
	case Pattern:
		if len(v.Values) == 1 && in.alts == nil && plainPattern(v.Values[0]) {
			return v.Values[0], true
		}
	}
	return "", false
}

func (e *expander) replacement(r *syntax.Replace) func(string) (string, bool) {
	var anchor byte
	orig := r.Orig
	if orig == nil {
		return func(s string) (string, bool) { return s, true }
	}
	if lit, ok := first[*syntax.Lit](orig.Parts); ok && lit.Value != "" && (lit.Value[0] == '#' || lit.Value[0] == '%') && !r.All {
		anchor = lit.Value[0]
		rest := *lit
		rest.Value = rest.Value[1:]
		orig = &syntax.Word{Parts: append([]syntax.WordPart{&rest}, orig.Parts[1:]...)}
	}
	pattern, ok := e.patternOf(orig)
	with := exact("")
	if r.With != nil {
		in := expander{w: e.w, c: e.c, st: e.st, state: Exact}
		in.word(r.With.Parts)
		with = in.single()
	}
	// An unquoted & in the replacement stands for the match.
	ok = ok && with.State == Exact && !strings.ContainsAny(with.Text, "&\\") && pattern != ""
	return func(s string) (string, bool) {
		if !ok || !e.affordable(len(s)*len(s)*4) {
			return "", false
		}
		out := replace(s, pattern, with.Text, r.All, anchor)
		e.w.spendText(len(out))
		return out, true
	}
}

// affordable reports whether a computation of n steps may still be made.
func (e *expander) affordable(n int) bool {
	e.w.work -= n / 16
	return n < 1<<20
}

func (e *expander) slice(s *syntax.Slice) func(string) (string, bool) {
	from, ok := e.w.arithm(s.Offset, e.c, e.st)
	size, sized := int64(0), s.Length != nil
	if sized {
		n, known := e.w.arithm(s.Length, e.c, e.st)
		size, ok = n, ok && known
	}
	return func(text string) (string, bool) {
		if !ok {
			return "", false
		}
		runes := []rune(text)
		from, to, ok := bounds(from, size, sized, int64(len(runes)))
		return string(runes[from:to]), ok && utf8.ValidString(text)
	}
}

// bounds turns ${x:from:size} into indexes.
func bounds(from, size int64, sized bool, n int64) (int64, int64, bool) {
	if from < 0 {
		from += n
	}
	if from < 0 || from > n {
		return 0, 0, true
	}
	to := n
	if sized {
		if size < 0 {
			to = n + size
			if to < from {
				return 0, 0, false
			}
		} else if size < n-from {
			to = from + size
		}
	}
	return from, to, true
}

func (e *expander) sliceList(q *parameter, s *syntax.Slice) {
	from, ok := e.w.arithm(s.Offset, e.c, e.st)
	size, sized := int64(0), s.Length != nil
	if sized {
		n, known := e.w.arithm(s.Length, e.c, e.st)
		size, ok = n, ok && known && n >= 0
	}
	list := q.list
	if q.name == "@" || q.name == "*" { // counted from $0
		if e.st.args == nil {
			ok = false
		} else {
			list = append([]Word{e.st.args.zero}, list...)
			if from < 0 && -from > int64(len(list)) {
				list = nil
			}
		}
	}
	if !ok || q.open {
		q.list, q.open = nil, true
		return
	}
	a, b, _ := bounds(from, size, sized, int64(len(list)))
	q.list = list[a:b]
}
