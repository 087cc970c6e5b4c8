package spec

import (
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// A placer knows which directory a relative path of the current call starts from.
type placer struct {
	start  dirs
	now    dirs   // after the call's own options such as git -C
	moves  []move // those options, in order, where only what stands behind one of them starts from there
	remote bool
}

// dirs are the directories that a path can start from; none: unknown.
type dirs struct {
	first  string
	others []string
	unsure bool // there may be yet others
}

type move struct {
	word int32
	to   dirs
}

// locate finds the directories of the call that was parsed.
func (t *translator) locate() {
	d := &t.c.Dir
	t.places = placer{start: dirs{d.Path, d.Others, d.Unsure || d.Path == ""}, moves: t.places.moves[:0], remote: t.c.Remote}
	t.places.now = t.places.start
	p := &t.p
	ordered := p.derives(deriveOrderedChdir)
	for i := range p.hits {
		h := &p.hits[i]
		o := p.optionOf(h)
		if !h.has || p.effectsOf(&o.place)&maskChdir == 0 {
			continue
		}
		t.places.now = t.join(t.places.now, h)
		if ordered {
			t.places.moves = append(t.places.moves, move{h.word, t.places.now})
		}
	}
}

func (t *translator) join(from dirs, h *hit) dirs {
	if w := &t.c.Words[h.word]; h.word > 0 && (w.State != shell.Exact || w.Splits) {
		return dirs{unsure: true}
	}
	to := dirs{unsure: from.unsure}
	if strings.HasPrefix(h.value, "/") {
		return dirs{first: path.Clean(h.value)}
	}
	if from.first != "" {
		to.first = join(from.first, h.value)
	}
	for _, dir := range from.others {
		to.others = append(to.others, join(dir, h.value))
	}
	return to
}

// from returns the directories that a value of the word starts from.
func (t *translator) from(word int32, pl *place) *dirs {
	if pl.fromCwd || pl.effects&maskChdir != 0 {
		return &t.places.start
	}
	if pl.in != "" {
		into := t.into(pl.in)
		return &into
	}
	if len(t.places.moves) > 0 {
		at := &t.places.start
		for i := range t.places.moves {
			if t.places.moves[i].word < word {
				at = &t.places.moves[i].to
			}
		}
		return at
	}
	return &t.places.now
}

// join is path.Join of two parts of which the first is absolute and clean; a clean second part costs one allocation.
func join(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		return path.Clean(name)
	}
	if !clean(name) {
		return path.Clean(dir + "/" + name)
	}
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// clean reports whether a relative path has no empty part and no part of dots.
func clean(name string) bool {
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if part := name[start:i]; part == "" || part == "." || part == ".." {
			return false
		}
		start = i + 1
	}
	return true
}

// runTime reports whether the value of a word is not known, or not known exactly, before the line runs.
func (t *translator) runTime(word int32) bool {
	if word == 0 {
		return false
	}
	w := &t.c.Words[word]
	return w.State != shell.Exact || w.Splits || t.filled(w.Text)
}

// certainty is how sure an effect is that the value of a word names as it stands.
func (t *translator) certainty(word int32) call.Certainty {
	if t.runTime(word) {
		return call.Unknown
	}
	return call.Sure
}

// filled reports whether a wrapper such as find or xargs puts something else into a word.
func (t *translator) filled(text string) bool {
	return t.c.Wrapper != "" && strings.Contains(text, "{}")
}

// shown returns the value as an argument shows it: under effects a path is absolute. A path that is not known puts the
// argument on the list of unknown_paths.
func (t *translator) shown(value string, word int32, pl *place, arg string) string {
	if !t.o.Effects || !pl.path || pl.maybe || value == "" || value == "-" || t.places.remote {
		return value
	}
	if pl.form == formNode {
		if file, names, ok := strings.Cut(value, "::"); ok {
			plain := *pl
			plain.form = formPlain
			return t.shown(file, word, &plain, arg) + "::" + names
		}
	} else if pl.form != formPlain && (pl.form != formRemote || isRemote(value)) {
		return value
	}
	if t.runTime(word) {
		t.vague(arg)
		if w := &t.c.Words[word]; w.State == shell.Unknown || w.Splits || t.filled(w.Text) {
			return value
		}
	}
	if value[0] == '/' {
		return path.Clean(value)
	}
	at := t.from(word, pl)
	if at.first == "" || at.unsure {
		t.vague(arg)
	}
	if at.first == "" {
		return value
	}
	return join(at.first, value)
}

// vague puts an argument on the list of unknown_paths.
func (t *translator) vague(arg string) {
	if !slices.Contains(t.unknown, arg) {
		t.unknown = append(t.unknown, arg)
	}
}

// isRemote reports whether a value names something on another machine: SCHEME://…, or HOST:… with no slash before the
// colon.
func isRemote(value string) bool {
	colon := strings.IndexByte(value, ':')
	return colon > 0 && strings.IndexByte(value[:colon], '/') < 0
}

// effectsOf are the effects of a place beside the options that were given.
func (p *parser) effectsOf(pl *place) mask {
	for i := range pl.when {
		if p.given(pl.when[i].dest) {
			return pl.when[i].effects
		}
	}
	return pl.effects
}

func (p *parser) treeOf(pl *place) bool { return pl.tree || p.givenAny(pl.treeIf) }

// derives reports whether a rule of derive.go holds for the command. Those of the commands above it are theirs alone.
func (p *parser) derives(rule derivation) bool {
	for i := range p.top().derive {
		if d := &p.top().derive[i]; d.rule == rule && p.holds(d) {
			return true
		}
	}
	return false
}

func (p *parser) holds(d *derived) bool {
	return (len(d.given) == 0 || p.givenAny(d.given)) && !p.givenAny(d.unless)
}

// file lists the effects of kinds on the path value of a word.
func (t *translator) file(kinds mask, value string, word int32, pl *place, arg string, tree bool) {
	if value == "" || value == "-" {
		return
	}
	if t.places.remote {
		t.each(kinds, call.Effect{Path: value, Arg: arg, Sure: call.Maybe, Tree: tree, Remote: true})
		return
	}
	at := t.from(word, pl)
	sure := call.Sure
	if pl.maybe {
		sure = call.Maybe
	}
	if word == 0 {
		t.at(kinds, value, at, call.Effect{Arg: arg, Sure: sure, Tree: tree})
		return
	}
	w := &t.c.Words[word]
	cut := len(w.Text) - len(value)
	switch {
	case t.filled(w.Text):
		t.each(kinds, call.Effect{Path: value, Arg: arg, Tree: tree})
		return
	case w.State == shell.Exact && !w.Splits:
		t.at(kinds, value, at, call.Effect{Arg: arg, Sure: sure, Tree: tree})
		return
	case w.State == shell.Pattern && len(w.Values) > 0 && strings.HasSuffix(w.Text, value):
		pattern := w.Values[0]
		if cut > 0 { // --file=*.c: the flag has no special characters
			pattern = pattern[min(len(pattern), cut):]
		}
		t.at(kinds, pattern, at, call.Effect{Arg: arg, Sure: call.Maybe, Tree: tree, Pattern: true})
		return
	}
	if w.State == shell.Several || w.State == shell.Maybe {
		for _, v := range w.Values {
			if cut >= 0 && cut <= len(v) && v[:cut] == w.Text[:cut] && v[cut:] != "" {
				t.at(kinds, v[cut:], at, call.Effect{Arg: arg, Sure: call.Maybe, Tree: tree})
			}
		}
	}
	if w.State != shell.Several || w.Splits {
		t.each(kinds, call.Effect{Path: value, Arg: arg, Tree: tree})
	}
}

// at lists the effect for each directory that the path can start from.
func (t *translator) at(kinds mask, value string, from *dirs, e call.Effect) {
	if value[0] == '/' {
		e.Path = path.Clean(value)
		t.each(kinds, e)
		return
	}
	if from.first != "" {
		e.Path = below(from.first, value, e.Pattern)
		if len(from.others) > 0 || from.unsure {
			e.Sure = call.Maybe
		}
		t.each(kinds, e)
		for _, dir := range from.others {
			e.Path = below(dir, value, e.Pattern)
			t.each(kinds, e)
		}
	}
	if from.unsure || from.first == "" {
		e.Path, e.Sure = value, call.Unknown
		t.each(kinds, e)
	}
}

// below joins a value with the directory that it starts from, whose own characters are not special in a pattern.
func below(dir, value string, pattern bool) string {
	if pattern && strings.ContainsAny(dir, `*?[]\{}()!@+|`) {
		var b strings.Builder
		for i := range len(dir) {
			if dir[i] != '/' && dir[i] < 128 {
				b.WriteByte('\\')
			}
			b.WriteByte(dir[i])
		}
		return b.String() + "/" + value
	}
	return join(dir, value)
}

// each lists one effect for each kind in the set; without one it is not known what is done.
func (t *translator) each(kinds mask, e call.Effect) {
	if kinds == 0 {
		e.Kind = call.Any
		t.effects = append(t.effects, e)
		return
	}
	for i, kind := range effectKinds {
		if kinds>>i&1 == 1 {
			e.Kind = kind
			t.effects = append(t.effects, e)
		}
	}
}
