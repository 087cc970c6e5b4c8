package spec

// command returns the spec of an executable as Compile read it, but for what it was like; nil if there is none.
func (p *Packs) command(name string) *command {
	if p == nil {
		return nil
	}
	for i := len(p.packs) - 1; i >= 0; i-- {
		if n, alias := p.packs[i].find(name); n != nil && alias == 0 {
			c := p.packs[i].command(n, "")
			own := p.packs[i].at(name)
			for j := range p.packs[i].names {
				if other, at, alias := p.packs[i].entry(j); alias != 0 && at == own {
					a := p.packs[i].alias(alias)
					a.name = other
					c.aliases = append(c.aliases, a)
				}
			}
			return c
		}
	}
	return nil
}

// at returns the offset of the node of an executable.
func (p *pack) at(name string) int {
	for i := range p.names {
		if have, at, _ := p.entry(i); have == name {
			return at
		}
	}
	return -1
}

func (p *pack) command(n *node, parent string) *command {
	c := &command{
		name: n.name, summary: n.summary, options: n.options, posix: n.posix, keyValue: n.keyValue, beyond: n.beyond,
		syntax: n.syntax, plus: n.plus, oldBundle: n.oldBundle, signals: n.signals, effects: n.effects, derive: n.derive,
		operands: n.operands,
	}
	usual := toolName(n.name)
	if parent != "" {
		usual = parent + "_" + usual
	}
	if n.tool != usual && !(n.beyond && n.tool == parent) {
		c.tool = n.tool
	}
	if n.numeric >= 0 {
		c.numeric = n.options[n.numeric].dest
	}
	if n.dashdash >= 0 {
		c.dashdash = &n.operands[n.dashdash]
		if n.onlyDash {
			c.operands = n.operands[:n.dashdash:n.dashdash]
		}
	}
	for i := range n.subs {
		s := &n.subs[i]
		if s.alias != 0 {
			continue
		}
		sub := p.command(s.get(p), n.tool)
		for j := range n.subs {
			if other := &n.subs[j]; other.alias != 0 && other.node == s.node {
				a := p.alias(other.alias)
				a.name = other.name
				sub.aliases = append(sub.aliases, a)
			}
		}
		c.subs = append(c.subs, sub)
	}
	return c
}
