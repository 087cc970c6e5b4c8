package spec

import "slices"

// option returns the level and index of the option with this spelling: of the last command, or a global one of those
// above it. The level is -1 if there is none.
func (p *parser) option(text string) (level, option int) {
	for l := len(p.levels) - 1; l >= 0; l-- {
		n := p.levels[l].n
		if l < len(p.levels)-1 && !n.global {
			continue
		}
		if o := n.flagIndex(text); o >= 0 && (l == len(p.levels)-1 || n.options[o].global) {
			return l, o
		}
	}
	return -1, 0
}

// short is option for one letter.
func (p *parser) short(letter byte) (level, option int) {
	if letter >= 128 {
		return -1, 0
	}
	for l := len(p.levels) - 1; l >= 0; l-- {
		n := p.levels[l].n
		if l < len(p.levels)-1 && !n.global {
			continue
		}
		if o := int(n.short[letter]) - 1; o >= 0 && (l == len(p.levels)-1 || n.options[o].global) {
			return l, o
		}
	}
	return -1, 0
}

// pair is option for two letters behind one dash.
func (p *parser) pair(text string) (level, option int) {
	for l := len(p.levels) - 1; l >= 0; l-- {
		n := p.levels[l].n
		if !n.pairs {
			continue
		}
		for i := range n.flags {
			if f := &n.flags[i]; len(f.text) == 3 && f.text[0] == '-' && f.text[1:] == text &&
				(l == len(p.levels)-1 || n.options[f.option].global) {
				return l, f.option
			}
		}
	}
	return -1, 0
}

// optionOf is the option that was hit.
func (p *parser) optionOf(h *hit) *option { return &p.levels[h.level].n.options[h.option] }

func (p *parser) head(level, option int) int32 {
	l := p.levels[level]
	return p.heads[l.base+int(l.n.slot[option])]
}

// given reports whether an option with this dest was given.
func (p *parser) given(dest string) bool {
	for i := range p.hits {
		h := &p.hits[i]
		if !h.off && p.optionOf(h).dest == dest {
			return true
		}
	}
	return false
}

// givenAny reports whether an option with one of these dests was given.
func (p *parser) givenAny(dests []string) bool { return slices.ContainsFunc(dests, p.given) }
