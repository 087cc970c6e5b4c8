package shell

import "slices"

// join is what is known where the paths from a and b meet. Where they differ on the directory, a's comes first.
func (w *walker) join(a, b state) state {
	switch {
	case a.dead() && b.dead():
		a.flags |= b.flags &^ dead
		if b.flags&never == 0 { // a way that was taken explains more than one that was not
			a.flags = a.flags&^dead | b.flags
		}
		return a
	case a.dead():
		return survivor(b, a)
	case b.dead():
		return survivor(a, b)
	}
	out := a
	out.flags |= b.flags
	if a.ifs != b.ifs {
		out.ifs = ifsUnknown
	}
	if a.dir != b.dir {
		out.dir = w.joinPlaces(a.dir, b.dir)
	}
	if a.args != b.args {
		out.args = nil
	}
	if len(a.execs) < len(b.execs) {
		out.execs = b.execs // a redirection that may hold is listed
	}
	if a.funcs != b.funcs {
		out.funcs = joinFuncs(w, a.funcs, b.funcs)
	}
	if a.vars != b.vars {
		out.joinVars(w, a, b)
	}
	return out
}

func survivor(alive, lost state) state {
	if lost.flags&gone != 0 {
		alive.flags |= maybeGone
	}
	if lost.flags&left != 0 {
		alive.flags |= maybeLeft
	}
	return alive
}

func (w *walker) joinPlaces(a, b *places) *places {
	var room [4]place
	at := append(room[:0], a.at...)
	for _, p := range b.at {
		if !slices.ContainsFunc(at, func(q place) bool { return samePlace(p, q) }) {
			at = append(at, p)
		}
	}
	return w.newPlaces(at, a.unsure || b.unsure)
}

func joinFuncs(w *walker, a, b *function) *function {
	common := func(f *function) bool {
		for g := b; g != nil; g = g.next {
			w.work--
			if g == f {
				return true
			}
		}
		return false
	}
	base := a
	for base != nil && !common(base) {
		base = base.next
	}
	out := base
	for _, from := range []*function{b, a} {
		var fresh []*function
		for f := from; f != base; f = f.next {
			fresh = append(fresh, f)
		}
		for _, f := range slices.Backward(fresh) {
			c := *f
			c.maybe, c.next = true, out
			out = &c
		}
	}
	return out
}

// joinVars binds in s what is left of the variables in which a and b differ.
func (s *state) joinVars(w *walker, a, b state) {
	base := a.vars
	for base != nil && !reaches(w, b.vars, base) {
		base = base.next
	}
	names := newer(w, a.vars, base)
	for _, name := range newer(w, b.vars, base) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	s.vars = a.vars
	for _, name := range names {
		x, y := w.lookup(&a, name), w.lookup(&b, name)
		if m := merge(x, y); !sameBinding(x, m) {
			s.bind(w, m)
		}
	}
	if a.ifs != b.ifs {
		s.ifs = ifsUnknown
	}
}

func reaches(w *walker, from, to *binding) bool {
	for ; from != nil; from = from.next {
		w.work--
		if from == to {
			return true
		}
		if from.length < to.length {
			return false
		}
	}
	return false
}

func sameBinding(a, b binding) bool {
	return a.kind == b.kind && a.unset == b.unset && a.export == b.export && a.isList == b.isList && a.frozen == b.frozen &&
		sameWord(a.val, b.val) && slices.EqualFunc(a.array, b.array, sameWord)
}

func sameWord(a, b Word) bool {
	return a.State == b.State && a.Text == b.Text && a.Splits == b.Splits && slices.Equal(a.Values, b.Values)
}

// maxValues bounds the values that are kept for one word.
const maxValues = 64

// merge is a variable that is either x or y.
func merge(x, y binding) binding {
	out := x
	if x.unset != y.unset {
		out.unset = perhaps
	}
	if x.export != y.export {
		out.export = perhaps
	}
	out.frozen = x.frozen || y.frozen
	if x.kind != y.kind || x.isList != y.isList || !slices.EqualFunc(x.array, y.array, sameWord) {
		out.kind, out.array, out.isList = opaqueArray, nil, false
		out.val = Word{Text: "$" + x.name}
		return out
	}
	switch {
	case x.unset == yes:
		out.val = y.val
	case y.unset == yes:
		out.val = x.val
	default:
		out.val = mergeWords(x.val, y.val, "$"+x.name)
	}
	return out
}

// mergeWords is a word that is either a or b; text is its source.
func mergeWords(a, b Word, text string) Word {
	if sameWord(a, b) {
		return a
	}
	out := Word{Text: text, State: Several, Splits: a.Splits || b.Splits}
	for _, word := range [...]Word{a, b} {
		switch word.State {
		case Exact:
			out.addValue(word.Text)
		case Several, Maybe:
			for _, v := range word.Values {
				out.addValue(v)
			}
			out.State = min(out.State, word.State)
		default:
			out.State = Maybe
		}
	}
	return out.settled()
}

func (word *Word) addValue(v string) {
	if !slices.Contains(word.Values, v) {
		word.Values = append(word.Values, v)
	}
}

// settled is the word with too many values dropped, and no state that promises values without any.
func (word Word) settled() Word {
	if len(word.Values) > maxValues {
		word.Values, word.State = word.Values[:maxValues:maxValues], Maybe
	}
	if word.State == Maybe && len(word.Values) == 0 {
		word.State = Unknown
	}
	return word
}
