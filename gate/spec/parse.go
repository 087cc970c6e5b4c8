package spec

import (
	"slices"
	"strconv"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// A parser takes the words of one command apart as its spec says. It is used again for the next command: what a call
// keeps is copied out of it.
//
// Nothing is all or nothing: an option that the spec does not know, or a value that is missing, clears matched and goes
// to extra, and whatever else is known is kept.
type parser struct {
	words  []shell.Word
	levels []level
	pack   *pack

	hits  []hit
	heads []int32 // for each option of each level, the last hit of its dest, from 1; 0: none
	ops   []op    // operands of the last level
	extra []int32 // words for extra_args
	pairs []pair  // KEY=VALUE words whose keys are no options

	onlyOperands bool // options have ended
	dashed       bool // … with a --
	expression   bool // find: the paths have ended
	stranger     int  // the word behind an unknown option, which may be its value; 0: none
	matched      bool
	failed       bool // a required word is missing, or a value is not one of the choices: the raw words are wanted too
	lost         bool // the subcommand has no spec
	open         bool // there may be more words than are seen: xargs brings them, or a word can be several
	notes
}

// A level is one command on the way from the executable to the last subcommand.
type level struct {
	n    *node
	base int // of its options in heads
}

// A hit is one occurrence of an option.
type hit struct {
	level  int32
	option int32
	word   int32 // the word that the value is in; 0: set by an alias
	cut    int32 // where in that word the value begins
	prev   int32 // the hit before of the same dest, from 1
	value  string
	has    bool // there is a value
	off    bool // taken back: --no-x, --x=false
}

// A pair is a word with the place of its equals sign.
type pair struct{ word, eq int32 }

// An op is one operand.
type op struct {
	word int32
	dash bool // it stands behind --
}

func (p *parser) reset(words []shell.Word, n *node, pack *pack) {
	p.words, p.pack = words, pack
	p.levels, p.hits, p.heads = p.levels[:0], p.hits[:0], p.heads[:0]
	p.ops, p.extra, p.pairs = p.ops[:0], p.extra[:0], p.pairs[:0]
	p.onlyOperands, p.dashed, p.expression, p.failed, p.lost = false, false, false, false, false
	p.stranger, p.matched, p.open = 0, true, false
	p.enter(n)
}

func (p *parser) enter(n *node) {
	base := len(p.heads)
	p.levels = append(p.levels, level{n, base})
	p.heads = slices.Grow(p.heads, len(n.options))[:base+len(n.options)]
	clear(p.heads[base:])
}

func (p *parser) top() *node { return p.levels[len(p.levels)-1].n }

// parse reads all words behind the first one.
func (p *parser) parse() {
	i := 1
	if n := p.top(); n.oldBundle && len(p.words) > 1 && p.isBundle(p.words[1].Text) {
		p.at = 1
		i = p.bundle(1)
	}
	for i < len(p.words) {
		i = p.word(i)
	}
}

// word reads the word i and those that belong to it, and returns the index behind them.
func (p *parser) word(i int) int {
	p.at = i
	n, text := p.top(), p.words[i].Text
	if p.onlyOperands || len(text) < 2 || text[0] != '-' && text[0] != '+' {
		if n.syntax == findExpr {
			return p.findWord(i)
		}
		return p.operand(i)
	}
	switch n.syntax {
	case noOptions:
		return p.operand(i)
	case findExpr:
		return p.findWord(i)
	case echoLike:
		return p.echoWord(i)
	}
	if text == "--" {
		return p.dashes(i)
	}
	if text[0] == '+' {
		return p.plusWord(i)
	}
	if n.numeric >= 0 && p.number(i) {
		return i + 1
	}
	switch {
	case n.syntax == goflag:
		return p.goWord(i)
	case n.syntax == longOnly || n.syntax == ffmpeg:
		return p.longOnlyWord(i)
	case text[1] == '-':
		return p.long(i)
	}
	if n.wordy && len(text) > 2 {
		if l, o := p.option(text); l >= 0 {
			return p.take(i, l, o, -1)
		}
	}
	return p.cluster(i)
}

// echoWord reads a word that is an option only if all of it is known: echo -n, but not echo -nx; chmod -R, but not
// chmod -x.
func (p *parser) echoWord(i int) int {
	n, text := p.top(), p.words[i].Text
	if strings.HasPrefix(text, "--") {
		if text == "--" && !n.posix {
			return p.dashes(i)
		}
		name, _, _ := strings.Cut(text, "=")
		if l, _ := p.option(name); l >= 0 {
			return p.long(i)
		}
		return p.operand(i)
	}
	if text[0] == '-' && p.known(text) {
		return p.cluster(i)
	}
	return p.operand(i)
}

// known reports whether every letter behind the dash is an option.
func (p *parser) known(text string) bool {
	for i := 1; i < len(text); i++ {
		if l, _ := p.short(text[i]); l < 0 {
			return false
		}
	}
	return true
}

// plusWord reads a word that begins with a plus: an option of that name, a number, or an operand.
func (p *parser) plusWord(i int) int {
	n, text := p.top(), p.words[i].Text
	if l, o := p.option(text); l >= 0 {
		return p.take(i, l, o, -1)
	}
	if n.plus && n.numeric >= 0 && text[1] >= '0' && text[1] <= '9' {
		p.hit(len(p.levels)-1, n.numeric, i, 0, true)
		return i + 1
	}
	if l, o := p.option(text[:2]); l >= 0 {
		return p.take(i, l, o, 2)
	}
	return p.operand(i)
}

// number reads -5, and -TERM of a command that takes signals.
func (p *parser) number(i int) bool {
	n, text := p.top(), p.words[i].Text
	digits, capitals := true, n.signals && len(text) > 2 && text[1] >= 'A'
	for j := 1; j < len(text); j++ {
		c := text[j]
		digits = digits && c >= '0' && c <= '9'
		capitals = capitals && (c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-')
	}
	if digits {
		if l, _ := p.short(text[1]); l >= 0 {
			return false
		}
		if n.signals && p.head(len(p.levels)-1, n.numeric) != 0 {
			p.operand(i) // kill -9 -1: a process group
			return true
		}
	}
	if digits || capitals {
		p.hit(len(p.levels)-1, n.numeric, i, 1, true)
		return true
	}
	return false
}

// operand takes the word i as an operand or as the name of a subcommand.
func (p *parser) operand(i int) int {
	n := p.top()
	if len(n.subs) > 0 && len(p.ops) == 0 && !p.dashed && !p.lost && p.subcommand(i) {
		return i + 1
	}
	if n.keyValue {
		return p.keyValue(i)
	}
	if p.lost && len(p.ops) == 0 {
		p.noteSub(p.words[i].Text, i)
	} else {
		p.note(call.Part{Role: call.Operand, Value: p.words[i].Text}, i)
	}
	p.ops = append(p.ops, op{int32(i), p.dashed})
	if n.posix {
		p.onlyOperands = true
	}
	return i + 1
}

// keyValue reads KEY=VALUE; keys that are options without a dash have their meaning, others only a value.
func (p *parser) keyValue(i int) int {
	n, text := p.top(), p.words[i].Text
	eq := strings.IndexByte(text, '=')
	if eq <= 0 {
		return p.unknown(i)
	}
	if o := n.flagIndex(text[:eq]); o >= 0 {
		return p.take(i, len(p.levels)-1, o, eq+1)
	}
	if slices.Contains(reserved[:], text[:eq]) {
		return p.unknown(i)
	}
	p.pairs = append(p.pairs, pair{int32(i), int32(eq)})
	p.note(call.Part{Role: call.Operand, Value: text}, i)
	p.matched = p.matched && len(n.options) == 0
	return i + 1
}

func (p *parser) subcommand(i int) bool {
	n, text := p.top(), p.words[i].Text
	if p.words[i].State != shell.Exact {
		p.matched = false
		return false
	}
	sub, aliased := n.sub(p.pack, text)
	switch {
	case sub != nil:
		p.enter(sub)
		p.noteSub(p.pack.spelt(sub, aliased, text), i)
		if aliased != 0 {
			p.imply(p.pack.alias(aliased))
		}
		p.onlyOperands = false
		return true
	case i == p.stranger: // git --unknown VALUE status: look further
		p.extra = append(p.extra, int32(i))
		p.note(call.Part{Role: call.Operand, Value: text}, i)
		return true
	case isSubcommand(text) && len(n.operands) == 0:
		p.lost, p.matched = true, false
	}
	return false
}

// isSubcommand reports whether a word has the shape of a subcommand: [a-z][a-z0-9_-]*.
func isSubcommand(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-')) {
			return false
		}
	}
	return s != ""
}

// hit records an occurrence whose value, if it has one, is the text of the word i from cut on.
func (p *parser) hit(level, option, i, cut int, has bool) {
	h := hit{level: int32(level), option: int32(option), word: int32(i), cut: int32(cut), has: has}
	if has {
		h.value = p.words[i].Text[cut:]
	}
	p.record(h)
}

func (p *parser) record(h hit) {
	p.noteHit(&h)
	l := p.levels[h.level]
	o := &l.n.options[h.option]
	slot := l.base + int(l.n.slot[h.option])
	h.prev = p.heads[slot]
	p.hits = append(p.hits, h)
	p.heads[slot] = int32(len(p.hits))
	p.onlyOperands = p.onlyOperands || o.last
	if h.has && p.words[h.word].State == shell.Exact &&
		(len(o.choices) > 0 && !slices.Contains(o.choices, h.value) || o.kind == kindInt && !integer(h.value)) {
		p.failed, p.matched = true, false
	}
}

func integer(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// take records the option of word i. glued is where in the word a value begins, or -1. It returns the index behind the
// words that belong to the option.
func (p *parser) take(i, level, option, glued int) int {
	o := &p.levels[level].n.options[option]
	beyond := p.beyond(level, option)
	if beyond {
		p.extra = append(p.extra, int32(i))
	}
	switch {
	case glued < 0 && o.bare != "":
		p.record(hit{level: int32(level), option: int32(option), value: o.bare, has: true})
		return i + 1
	case glued < 0 && o.number && i+1 < len(p.words) && numeral(p.words[i+1].Text):
		p.hit(level, option, i+1, 0, true)
		if beyond {
			p.extra = append(p.extra, int32(i+1))
		}
		return i + 2
	case glued >= 0 || !o.takesWord():
		p.hit(level, option, i, max(glued, 0), glued >= 0)
		if glued >= 0 && (o.kind == kindBool || o.kind == kindCount) {
			p.failed, p.matched = true, false // it takes no value, but does what it does
		}
		return i + 1
	case i+o.values >= len(p.words) && p.open:
		p.noteMissing(level, option, i+1)
		return len(p.words) // its value comes at run time
	case i+o.values >= len(p.words):
		p.failed, p.matched = true, false
		p.noteMissing(level, option, i+1)
		if !beyond {
			p.extra = append(p.extra, int32(i))
		}
		return len(p.words)
	}
	for j := i + 1; j <= i+o.values; j++ {
		p.hit(level, option, j, 0, true)
		if beyond {
			p.extra = append(p.extra, int32(j))
		}
	}
	return i + 1 + o.values
}

// numeral reports whether s is a number, as 4, -1 or 1.5.
func numeral(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.IndexByte("-+.0123456789", s[0]) >= 0
}

// unknown sets the word i aside.
func (p *parser) unknown(i int) int {
	p.matched = false
	p.noteStranger(i)
	p.extra = append(p.extra, int32(i))
	if !strings.Contains(p.words[i].Text, "=") {
		p.stranger = i + 1
	}
	return i + 1
}

// imply records what the name of a command implies.
func (p *parser) imply(a alias) {
	noting := p.noting
	p.noting = false // no word says it
	defer func() { p.noting = noting }()
	l := len(p.levels) - 1
	n := p.levels[l].n
	for _, set := range a.implied {
		for o := range n.options {
			if n.options[o].dest != set.dest {
				continue
			}
			h := hit{level: int32(l), option: int32(o), value: set.value, has: n.options[o].kind.takesWord()}
			h.off = n.options[o].kind == kindBool && set.value == "false"
			p.record(h)
			break
		}
	}
}
