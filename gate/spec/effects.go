package spec

import (
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// finish lists the effects of the call, in the order in which they happen: its redirections, its options and operands
// as they stand, what no table can say, and what the command does as a whole. It adds the arguments that name them.
func (t *translator) finish(to *call.Call) {
	if need := 2 + len(t.c.Redirects) + len(t.p.hits) + len(t.p.ops); cap(t.allEffects)-len(t.allEffects) < need {
		t.allEffects = make([]call.Effect, 0, max(need, 8))
	}
	from := len(t.allEffects)
	t.effects = t.allEffects[from:]
	to.Args = t.redirects(to.Args)
	anyPath := false
	if t.bare {
		if !t.wraps {
			t.strangers()
		}
	} else {
		t.byOptions()
		t.byOperands()
		to.Args, anyPath = t.derived(to.Args)
		t.asWhole()
		if !t.p.matched {
			t.strangers()
		}
	}
	arriving := t.c.XArgs && t.c.Wrapper != "find" && t.mayTakePaths()
	if anyPath || arriving {
		to.Args = append(to.Args, call.Arg{Name: "unknown_paths", Value: true})
	} else if len(t.unknown) > 0 {
		to.Args = append(to.Args, call.Arg{Name: "unknown_paths", Value: t.unknown})
	}
	if arriving {
		t.arriving()
	}
	if t.o.Root != "" {
		t.mark()
	}
	if n := len(t.effects); n > 0 && n <= cap(t.allEffects)-from && &t.effects[0] == &t.allEffects[:from+1][from] {
		t.allEffects = t.allEffects[:from+n]
	} else {
		t.allEffects = t.effects
	}
	to.Effects = t.effects[:len(t.effects):len(t.effects)]
	t.changed.note(t.effects)
}

// mark marks the effects on paths that may be outside of the root.
func (t *translator) mark() {
	for i := range t.effects {
		e := &t.effects[i]
		if e.Remote || e.Text != "" || e.Path == "" && e.Kind != call.Any {
			continue
		}
		e.Outside = e.Sure == call.Unknown || e.Path != t.o.Root && !under(e.Path, t.o.Root) && !device(e.Path)
	}
}

// under reports whether an absolute path is below a directory.
func under(path, dir string) bool {
	return dir == "/" || len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

func (t *translator) byOptions() {
	p := &t.p
	for i := range p.hits {
		h := &p.hits[i]
		o := p.optionOf(h)
		if h.off {
			continue
		}
		kinds := p.effectsOf(&o.place)
		switch {
		case h.has:
			t.value(kinds, h.value, h.word, &o.place, o.dest)
		case kinds&^maskFile != 0: // an option without a value that says what the call does
			t.each(kinds&^maskFile, call.Effect{Arg: o.dest, Sure: call.Sure})
		}
	}
}

func (t *translator) byOperands() {
	p := &t.p
	n := p.top()
	inOut := t.inOut()
	for _, b := range t.bounds {
		o := &n.operands[b.operand]
		kinds := p.effectsOf(&o.place)
		if kinds == 0 && !o.path || o.maybe && p.dashed && n.dashdash >= 0 && b.operand != n.dashdash {
			continue // git checkout REV -- PATH: what stands before the dashes is no path
		}
		if program := kinds & (maskRun | maskCode); program != 0 && !o.path {
			t.program(program, o, b)
			kinds &^= program
		}
		if kinds == 0 && !o.path {
			continue
		}
		for i, op := range p.ops[b.from:b.to] {
			if inOut && i == 1 {
				kinds = maskWrite
			}
			t.value(kinds, p.words[op.word].Text, op.word, &o.place, o.name)
		}
	}
	for i := range n.operands {
		if n.operands[i].absent != "" {
			t.byDefault(i)
		}
	}
}

// byDefault lists the effects on what a command works on where no operand says it, or where one may come to nothing.
func (t *translator) byDefault(operand int) {
	p := &t.p
	o := &p.top().operands[operand]
	if len(o.ifGiven) > 0 && !p.givenAny(o.ifGiven) || !p.active(operand) ||
		t.c.XArgs && t.c.Wrapper != "find" {
		return
	}
	sure := call.Sure
	for _, b := range t.bounds {
		if b.operand != operand {
			continue
		}
		sure = call.Maybe
		for _, op := range p.ops[b.from:b.to] {
			if !p.words[op.word].Splits {
				return
			}
		}
	}
	if p.derives(derivePiped) && t.piped() {
		return
	}
	t.made(p.effectsOf(&o.place), t.places.now, o.absent, call.Effect{Arg: o.name, Sure: sure, Tree: p.treeOf(&o.place)})
}

// piped reports whether the line gives the command something on its standard input.
func (t *translator) piped() bool {
	for i := range t.c.Redirects {
		if r := &t.c.Redirects[i]; strings.HasPrefix(r.Op, "<") && r.FD <= 0 {
			return true
		}
	}
	return t.c.Operator == "|" || t.c.Stdin.Known
}

// program lists what words that are one command together run.
func (t *translator) program(kinds mask, o *operand, b bound) {
	var text strings.Builder
	sure := call.Sure
	for i, op := range t.p.ops[b.from:b.to] {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(t.p.words[op.word].Text)
		if t.runTime(op.word) {
			sure = call.Unknown
		}
	}
	t.each(kinds, call.Effect{Text: text.String(), Arg: o.name, Sure: sure, Remote: t.places.remote})
}

// value lists the effects of one value of an option or operand.
func (t *translator) value(kinds mask, value string, word int32, pl *place, arg string) {
	if kinds == maskNone {
		return
	}
	if other := kinds & (maskNet | maskProcess | maskRoot | maskSystem); other != 0 {
		t.each(other, call.Effect{Text: value, Arg: arg, Sure: t.certainty(word)})
		kinds &^= other
		if kinds == 0 && !pl.path {
			return
		}
	}
	if !pl.path && kinds == 0 {
		return
	}
	if !pl.path && kinds&maskFile == 0 {
		sure := t.certainty(word)
		if pl.form == formSetting {
			if kind, file := settingPath(value); file != "" && sure == call.Sure {
				t.part(kind, file, word, &place{maybe: true, path: true}, arg, kind == maskWrite && strings.HasSuffix(value, file))
				return
			}
			program, is := settingProgram(value)
			if !is && sure == call.Sure {
				return
			}
			value = program
		}
		t.each(kinds, call.Effect{Text: value, Arg: arg, Sure: sure, Remote: t.places.remote})
		return
	}
	tree := t.p.treeOf(pl)
	switch pl.form {
	case formPlain:
		t.file(kinds, value, word, pl, arg, tree)
	case formNames:
		if value != "-" && !isRemote(value) {
			t.file(kinds&maskFile, value, word, pl, arg, tree)
		}
		t.each(kinds&maskFile, call.Effect{Arg: arg})
	case formWriteOut:
		t.writeOut(kinds, value, word, pl, arg)
	case formComma, formColon:
		sep := ","
		if pl.form == formColon {
			sep = ":"
		}
		if t.runTime(word) {
			t.file(kinds, value, word, pl, arg, tree)
			return
		}
		for part := range strings.SplitSeq(value, sep) {
			t.part(kinds, part, word, pl, arg, tree)
		}
	default:
		file, is := local(pl.form, value)
		if !is {
			if t.runTime(word) && !(pl.form == formAt && begins(value)) { // it may be a file yet
				t.each(kinds, call.Effect{Path: value, Arg: arg})
			} else if pl.form == formRemote {
				t.each(kinds&maskFile, call.Effect{Path: value, Arg: arg, Sure: call.Sure, Tree: tree, Remote: true})
				t.each(maskNet, call.Effect{Text: value, Arg: arg, Sure: call.Sure})
			}
			return
		}
		if strings.HasSuffix(value, file) {
			t.file(kinds, file, word, pl, arg, tree)
		} else {
			t.part(kinds, file, word, pl, arg, tree)
		}
	}
}

// begins reports whether the first character of a value is known before the line runs, though not all of it is.
func begins(value string) bool {
	return value != "" && !strings.ContainsRune("$`*?[]{}\\<>()~", rune(value[0]))
}

// writeOut is curl --write-out: the text comes from a file, or sends output into some.
func (t *translator) writeOut(kinds mask, value string, word int32, pl *place, arg string) {
	if file, is := strings.CutPrefix(value, "@"); is {
		t.file(kinds&maskRead, file, word, pl, arg, false)
		return
	}
	for rest, found := value, true; ; {
		if _, rest, found = strings.Cut(rest, "%output{"); !found {
			return
		}
		file, _, _ := strings.Cut(rest, "}")
		t.part(kinds&maskWrite, strings.TrimPrefix(file, ">>"), word, pl, arg, false)
	}
}

// part lists the effects on a path that is in the middle of a value.
func (t *translator) part(kinds mask, path string, word int32, pl *place, arg string, tree bool) {
	if path == "" || path == "-" {
		return
	}
	e := call.Effect{Path: path, Arg: arg, Sure: call.Sure, Tree: tree, Remote: t.places.remote}
	switch {
	case pl.form == formNode && t.wholeFile(word, path):
		e.Sure = call.Maybe
		t.at(kinds, path, t.from(word, pl), e)
	case t.runTime(word):
		e.Sure = call.Unknown
		t.each(kinds, e)
	case t.places.remote:
		e.Sure = call.Maybe
		t.each(kinds, e)
	default:
		if pl.maybe {
			e.Sure = call.Maybe
		}
		t.at(kinds, path, t.from(word, pl), e)
	}
}

// wholeFile reports whether the file is known though its word is not: of FILE::test[1] the brackets may be a pattern, and
// what that can match begins in the same way.
func (t *translator) wholeFile(word int32, path string) bool {
	if word == 0 || t.filled(t.c.Words[word].Text) {
		return false
	}
	w := &t.c.Words[word]
	return w.State == shell.Pattern && !w.Splits && !strings.ContainsAny(path, "$`*?[]{}\\<>()!+@|~")
}

// asWhole lists what the command does whatever its words are.
func (t *translator) asWhole() {
	n := t.p.top()
	kinds := n.effects
	for i := range t.p.levels {
		kinds |= t.p.levels[i].n.effects &^ maskFile
	}
	if slices.ContainsFunc(n.derive, func(d derived) bool { return d.rule == deriveCwdTree }) {
		kinds &^= maskFile
	}
	if file := kinds & maskFile; file != 0 {
		t.each(file, call.Effect{Remote: t.places.remote})
	}
	if other := kinds &^ maskFile; other != 0 {
		t.each(other, call.Effect{Sure: call.Sure, Remote: t.places.remote})
	}
}

// strangers lists the words that no spec explains: each may be a path, and nobody knows what is done with it.
func (t *translator) strangers() {
	p := &t.p
	if t.bare || p.lost {
		for i := 1; i < len(t.c.Words); i++ {
			t.strange(int32(i))
		}
		t.effects = append(t.effects, call.Effect{Kind: call.Any, Remote: t.places.remote})
		return
	}
	for _, kv := range p.pairs {
		t.file(0, p.words[kv.word].Text[kv.eq+1:], kv.word, &place{maybe: true}, p.words[kv.word].Text[:kv.eq], false)
	}
	for _, i := range p.extra {
		if !p.explained(i) {
			t.strange(i)
		}
	}
}

// explained reports whether the value of some option is in the word i.
func (p *parser) explained(i int32) bool {
	return slices.ContainsFunc(p.hits, func(h hit) bool { return h.word == i })
}

func (t *translator) strange(i int32) {
	text := t.c.Words[i].Text
	if strings.HasPrefix(text, "-") {
		eq := strings.IndexByte(text, '=')
		if eq < 0 {
			return
		}
		text = text[eq+1:]
	}
	if text == "" {
		return
	}
	t.file(0, text, i, &place{maybe: true}, "extra_args", false)
}

// mayTakePaths reports whether words that nobody has seen can mean a file to the command: not to echo, which has neither
// an option nor an operand that does.
func (t *translator) mayTakePaths() bool {
	if t.bare || t.p.lost {
		return true
	}
	touches := func(pl *place) bool { return pl.path || pl.effects != 0 || len(pl.when) > 0 }
	for i := range t.p.levels {
		for j := range t.p.levels[i].n.options {
			if touches(&t.p.levels[i].n.options[j].place) {
				return true
			}
		}
	}
	n := t.p.top()
	if len(n.subs) > 0 || len(n.derive) > 0 || n.effects != 0 {
		return true
	}
	for i := range n.operands {
		if touches(&n.operands[i].place) {
			return true
		}
	}
	return false
}

// arriving says that operands that nobody has seen get the effects of the last operand.
func (t *translator) arriving() {
	kinds := mask(0)
	if !t.bare && !t.p.lost {
		operands := t.p.top().operands
		for i := len(operands) - 1; i >= 0; i-- {
			if t.p.active(i) {
				kinds = t.p.effectsOf(&operands[i].place)
				if kinds != 0 || operands[i].path {
					break
				}
			}
		}
	}
	t.each(kinds, call.Effect{})
}
