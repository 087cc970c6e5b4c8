package spec

import (
	"strings"

	"gatehouse/gate/shell"
)

// long reads --name and --name=value as getopt_long, or pflag, does.
func (p *parser) long(i int) int {
	text := p.words[i].Text
	name, glued := text, -1
	if eq := strings.IndexByte(text, '='); eq >= 0 {
		name, glued = text[:eq], eq+1
	}
	if l, o := p.option(name); l >= 0 {
		return p.longOption(i, l, o, glued)
	}
	if rest, ok := strings.CutPrefix(name, "--no-"); ok && glued < 0 {
		if l, o := p.negatable(rest); l >= 0 {
			p.negated(i, l, o)
			return i + 1
		}
	}
	if p.top().syntax == getopt {
		if l, o := p.abbreviated(name); l >= 0 { // what it means is kept, but it is not exact
			p.matched, p.cut = false, true
			next := p.take(i, l, o, glued)
			p.cut = false
			p.setAside(i)
			return next
		}
	}
	return p.unknown(i)
}

func (p *parser) longOption(i, l, o, glued int) int {
	if glued >= 0 && p.top().syntax == pflag && p.goBool(i, l, o, glued) {
		return i + 1
	}
	return p.take(i, l, o, glued)
}

// goBool reads --name=true and the like.
func (p *parser) goBool(i, l, o, glued int) bool {
	option := &p.levels[l].n.options[o]
	if option.kind != kindBool && option.kind != kindOptional {
		return false
	}
	h := hit{level: int32(l), option: int32(o), word: int32(i)}
	switch p.words[i].Text[glued:] {
	case "1", "t", "T", "true", "TRUE", "True":
	case "0", "f", "F", "false", "FALSE", "False":
		h.off = true
	default:
		return false
	}
	p.record(h)
	if p.beyond(l, o) {
		p.setAside(i)
	}
	return true
}

func (p *parser) negatable(name string) (level, option int) {
	for l := len(p.levels) - 1; l >= 0; l-- {
		n := p.levels[l].n
		for o := range n.options {
			option := &n.options[o]
			if !option.negate || l < len(p.levels)-1 && !option.global {
				continue
			}
			for _, flag := range option.flags {
				if len(flag) > 2 && flag[:2] == "--" && flag[2:] == name {
					return l, o
				}
			}
		}
	}
	return -1, 0
}

func (p *parser) negated(i, l, o int) {
	p.record(hit{level: int32(l), option: int32(o), word: int32(i), off: true})
	if p.beyond(l, o) {
		p.setAside(i)
	}
}

// beyond reports whether an option counts as beyond the spec, of a command that does not as a whole.
func (p *parser) beyond(l, o int) bool {
	return p.levels[l].n.options[o].beyond && !p.levels[l].n.beyond
}

// setAside puts the word i into extra_args, once.
func (p *parser) setAside(i int) {
	if n := len(p.extra); n == 0 || p.extra[n-1] != int32(i) {
		p.extra = append(p.extra, int32(i))
	}
}

// abbreviated returns the one long option that begins with name.
func (p *parser) abbreviated(name string) (level, option int) {
	level = -1
	if len(name) < 3 {
		return level, 0
	}
	for l := len(p.levels) - 1; l >= 0; l-- {
		n := p.levels[l].n
		for _, f := range n.flags {
			if !strings.HasPrefix(f.text, name) || l < len(p.levels)-1 && !n.options[f.option].global {
				continue
			}
			if level >= 0 && (level != l || option != f.option) {
				return -1, 0
			}
			level, option = l, f.option
		}
	}
	return level, option
}

// cluster reads -abc, -ovalue and -abo value. A letter that is not known is passed over, since what stands behind it may
// be a letter that matters.
func (p *parser) cluster(i int) int {
	word := &p.words[i]
	text := word.Text
	for j := 1; j < len(text); j++ {
		if n := p.top(); n.signals && j == 1 && p.number(i) {
			return i + 1
		}
		l, o := -1, 0
		if j+2 <= len(text) && p.top().pairs {
			l, o = p.pair(text[j : j+2])
		}
		if l >= 0 {
			j++
		} else {
			l, o = p.short(text[j])
		}
		if l < 0 {
			if end := p.digits(text, j); end > j {
				n := p.top()
				p.record(hit{
					level: int32(len(p.levels) - 1), option: int32(n.numeric), word: int32(i), cut: int32(j),
					value: text[j:end], has: true,
				})
				j = end - 1
				continue
			}
			p.matched = false
			p.setAside(i)
			p.noteLetter(i, text[j])
			p.stranger = i + 1
			if word.State != shell.Exact {
				return i + 1
			}
			continue
		}
		option := &p.levels[l].n.options[o]
		rest := j + 1
		switch {
		case option.kind == kindBool || option.kind == kindCount:
			if rest < len(text) && text[rest] == '=' && p.top().syntax == pflag {
				if !p.goBool(i, l, o, rest+1) {
					p.hit(l, o, i, 0, false)
					p.matched = false
				}
				return i + 1
			}
			p.hit(l, o, i, 0, false)
			if p.beyond(l, o) {
				p.setAside(i)
			}
		case rest < len(text):
			if text[rest] == '=' && p.top().syntax == pflag {
				rest++
			}
			if (option.kind == kindOptional || option.bare != "") && p.top().syntax == pflag && text[rest-1] != '=' {
				p.take(i, l, o, -1) // pflag: a value of -x that may be absent needs the "="
				continue
			}
			p.hit(l, o, i, rest, true)
			if p.beyond(l, o) {
				p.setAside(i)
			}
			return i + 1
		default:
			before := len(p.extra)
			next := p.take(i, l, o, -1)
			if n := len(p.extra); n > before && before > 0 && p.extra[before] == p.extra[before-1] {
				p.extra = append(p.extra[:before], p.extra[before+1:]...) // another letter has set the word aside
			}
			return next
		}
	}
	return i + 1
}

// digits returns the end of the number that begins at j, if the command takes -NUMBER.
func (p *parser) digits(text string, j int) int {
	if p.top().numeric < 0 {
		return j
	}
	for j < len(text) && text[j] >= '0' && text[j] <= '9' {
		j++
	}
	return j
}

// isBundle reports whether a first word without a dash is a bundle of letters, as of tar and ps.
func (p *parser) isBundle(text string) bool {
	for i := range len(text) {
		if l, _ := p.short(text[i]); l < 0 && !(text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z') {
			return false
		}
	}
	return text != "" && text[0] != '-'
}

// bundle reads such a word; the values of its letters are the words behind it, in order.
func (p *parser) bundle(i int) int {
	next := i + 1
	for j := range len(p.words[i].Text) {
		l, o := p.short(p.words[i].Text[j])
		switch {
		case l < 0:
			p.matched = false
			p.noteLetter(i, p.words[i].Text[j])
			p.setAside(i)
		case !p.levels[l].n.options[o].takesWord():
			p.hit(l, o, i, 0, false)
		case next < len(p.words):
			p.hit(l, o, next, 0, true)
			next++
		default:
			p.failed, p.matched = true, false
			p.noteMissing(l, o, next)
		}
	}
	return next
}

// goWord reads -name, --name and either with =value, as Go's flag package does.
func (p *parser) goWord(i int) int {
	text := p.words[i].Text
	name, glued := text, -1
	if eq := strings.IndexByte(text, '='); eq >= 0 {
		name, glued = text[:eq], eq+1
	}
	l, o := p.option(name)
	if l < 0 && len(name) > 2 && name[:2] == "--" {
		l, o = p.option(name[1:])
	} else if l < 0 {
		l, o = p.option("-" + name)
	}
	if l < 0 {
		return p.unknown(i)
	}
	if glued >= 0 && p.goBool(i, l, o, glued) {
		return i + 1
	}
	return p.take(i, l, o, glued)
}

// longOnlyWord reads a word option: whole, with =value, or with the value glued on.
func (p *parser) longOnlyWord(i int) int {
	text := p.words[i].Text
	if l, o := p.option(text); l >= 0 {
		return p.take(i, l, o, -1)
	}
	if eq := strings.IndexByte(text, '='); eq > 0 {
		if l, o := p.option(text[:eq]); l >= 0 {
			if p.goBool(i, l, o, eq+1) {
				return i + 1
			}
			return p.take(i, l, o, eq+1)
		}
	}
	if colon := strings.IndexByte(text, ':'); colon > 1 && p.top().syntax == ffmpeg {
		if l, o := p.option(text[:colon]); l >= 0 {
			return p.take(i, l, o, -1)
		}
	}
	for end := len(text) - 1; end >= 2; end-- {
		l, o := p.option(text[:end])
		if l < 0 {
			continue
		}
		switch k := p.levels[l].n.options[o].kind; {
		case k == kindAttached, end == 2 && (k == kindOptional || k.takesWord()):
			return p.take(i, l, o, end)
		}
	}
	return p.unknown(i)
}

// findWord reads find's own language: paths, then an expression.
func (p *parser) findWord(i int) int {
	text := p.words[i].Text
	switch text {
	case "(", ")", "!", ",", "-a", "-and", "-o", "-or", "-not":
		p.expression = true
		return i + 1
	}
	if len(text) < 2 || text[0] != '-' {
		if !p.expression {
			return p.operand(i)
		}
		return p.unknown(i)
	}
	l, o := p.option(text)
	if l < 0 {
		p.expression = true
		next := p.unknown(i)
		if next < len(p.words) && !strings.HasPrefix(p.words[next].Text, "-") && p.words[next].Text != ")" {
			next = p.unknown(next)
		}
		return next
	}
	option := &p.levels[l].n.options[o]
	if len(p.ops) > 0 || len(text) > 2 {
		p.expression = true
	}
	if option.effects&maskRun == 0 {
		return p.take(i, l, o, -1)
	}
	end := i + 1
	for end < len(p.words) && p.words[end].Text != ";" && !(p.words[end].Text == "+" && p.words[end-1].Text == "{}") {
		end++
	}
	if end == len(p.words) {
		p.failed, p.matched = true, false
		p.noteMissing(l, o, len(p.words)) // an entry of a policy may end so
		p.setAside(i)
		return end
	}
	h := hit{level: int32(l), option: int32(o), word: int32(i + 1), has: true}
	var b strings.Builder
	for j := i + 1; j <= end; j++ {
		if j > i+1 {
			b.WriteByte(' ')
		}
		b.WriteString(p.words[j].Text)
	}
	h.value = b.String()
	p.record(h)
	return end + 1
}
