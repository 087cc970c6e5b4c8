package spec

import (
	"encoding/binary"
	"slices"
	"strings"
)

// The compiled form: a magic line, the number of names, for each name in ascending order a fixed entry of four 32-bit
// numbers (offset and length of the name, offset of its node, offset of its alias or 0), and behind that the nodes.
const (
	magic     = "gatehouse/spec/v4\n"
	entrySize = 16
)

func encode(specs []*command) []byte {
	type entry struct {
		name        string
		node, alias uint32
	}
	var entries []entry
	w := &writer{have: make(map[string]uint32)}
	names := 0
	for _, spec := range specs {
		names += 1 + len(spec.aliases)
	}
	w.b = make([]byte, len(magic)+4+names*entrySize)
	for _, spec := range specs {
		at := w.node(spec, "", "", "", false)
		entries = append(entries, entry{spec.name, at, 0})
		for _, a := range byName(spec.aliases) {
			entries = append(entries, entry{a.name, at, w.alias(a)})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	head := append([]byte(magic), binary.LittleEndian.AppendUint32(nil, uint32(len(entries)))...)
	for _, e := range entries {
		name := uint32(len(w.b))
		w.b = append(w.b, e.name...)
		for _, n := range []uint32{name, uint32(len(e.name)), e.node, e.alias} {
			head = binary.LittleEndian.AppendUint32(head, n)
		}
	}
	copy(w.b, head)
	return w.b
}

func byName(list []alias) []alias {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b alias) int { return strings.Compare(a.name, b.name) })
	return list
}

// A writer makes the compiled form. An option or operand that is the same in several commands is written once.
type writer struct {
	b    []byte
	have map[string]uint32 // what is written, and where
}

// once writes what write does apart from the node, unless the same is there already, and returns where it begins.
func (w *writer) once(write func(w *writer)) uint32 {
	part := &writer{}
	write(part)
	at, ok := w.have[string(part.b)]
	if !ok {
		at = uint32(len(w.b))
		w.b = append(w.b, part.b...)
		w.have[string(part.b)] = at
	}
	return at
}

func (w *writer) num(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

func (w *writer) nums(list []uint32) {
	w.num(len(list))
	for _, n := range list {
		w.num(int(n))
	}
}

func (w *writer) text(s string) {
	w.num(len(s))
	w.b = append(w.b, s...)
}

func (w *writer) texts(list []string) {
	w.num(len(list))
	for _, s := range list {
		w.text(s)
	}
}

func (w *writer) bits(bits ...bool) {
	n := 0
	for i, b := range bits {
		if b {
			n |= 1 << i
		}
	}
	w.num(n)
}

func (w *writer) alias(a alias) uint32 {
	at := uint32(len(w.b))
	w.text(a.tool)
	w.num(len(a.implied))
	for _, set := range a.implied {
		w.text(set.dest)
		w.text(set.value)
	}
	return at
}

// node writes the subcommands of c, then c itself, and returns where it begins. path are the words that lead to it, and
// below are those after the first command beyond the known ones.
func (w *writer) node(c *command, parent, path, below string, beyond bool) uint32 {
	own := c.tool
	switch {
	case beyond:
		own = parent
		below = strings.TrimPrefix(below+" "+c.name, " ")
	case own == "" && parent != "":
		own = parent + "_" + toolName(c.name)
	case own == "":
		own = toolName(c.name)
	}
	beyond = beyond || c.beyond
	path = strings.TrimPrefix(path+" "+c.name, " ")
	type entry struct {
		name        string
		node, alias uint32
	}
	var subs []entry
	ordered := slices.Clone(c.subs)
	slices.SortFunc(ordered, func(a, b *command) int { return strings.Compare(a.name, b.name) })
	for _, sub := range ordered {
		at := w.node(sub, own, path, below, beyond)
		subs = append(subs, entry{sub.name, at, 0})
		for _, a := range byName(sub.aliases) {
			subs = append(subs, entry{a.name, at, w.alias(a)})
		}
	}
	slices.SortFunc(subs, func(a, b entry) int { return strings.Compare(a.name, b.name) })

	var options, operands []uint32
	for i := range c.options {
		options = append(options, w.once(func(w *writer) { w.option(&c.options[i]) }))
	}
	for i := range c.operands {
		operands = append(operands, w.once(func(w *writer) { w.operand(&c.operands[i]) }))
	}
	at := uint32(len(w.b))
	w.text(c.name)
	w.text(own)
	w.text(path)
	w.text(below)
	w.text(c.summary)
	w.num(int(c.syntax))
	w.bits(c.posix, c.keyValue, beyond, c.plus, c.oldBundle, c.signals, c.dashdash != nil)
	w.num(int(c.effects))
	w.num(len(c.derive))
	for _, d := range c.derive {
		w.num(int(d.rule))
		w.texts(d.given)
		w.texts(d.unless)
	}
	w.text(c.numeric)
	w.nums(options)
	w.nums(operands)
	if rest := c.dashdash; rest != nil {
		if i := slices.IndexFunc(c.operands, func(o operand) bool { return o.name == rest.name }); i >= 0 {
			rest = &c.operands[i] // its own words count too
		}
		w.operand(rest)
	}
	w.num(len(subs))
	for _, sub := range subs {
		w.text(sub.name)
		w.num(int(sub.node))
		w.num(int(sub.alias))
	}
	return at
}

func (w *writer) option(o *option) {
	w.texts(o.flags)
	w.num(int(o.kind))
	w.text(o.dest)
	w.text(o.help)
	w.texts(o.choices)
	w.bits(o.global, o.negate, o.beyond, o.repeat, o.last, o.number)
	w.num(o.values)
	w.text(o.bare)
	w.place(&o.place)
}

func (w *writer) operand(o *operand) {
	w.text(o.name)
	w.num(int(o.nargs))
	w.text(o.help)
	w.texts(o.choices)
	w.texts(o.unless)
	w.text(o.absent)
	w.texts(o.ifGiven)
	w.place(&o.place)
}

func (w *writer) place(p *place) {
	w.num(int(p.effects))
	w.bits(p.path, p.tree, p.maybe, p.fromCwd)
	w.num(int(p.form))
	w.text(p.in)
	w.texts(p.treeIf)
	w.num(len(p.when))
	for _, c := range p.when {
		w.text(c.dest)
		w.num(int(c.effects))
	}
}
