package spec

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"

	"gatehouse/gate/call"
)

// A node is a compiled spec, ready to parse words. It is never changed once it is decoded.
type node struct {
	name    string
	tool    string
	path    string // the words that lead here: "git remote add"
	below   string // those of them after the first command beyond the known ones
	summary string

	syntax                                            syntax
	posix, keyValue, beyond, plus, oldBundle, signals bool

	effects  mask
	derive   []derived
	options  []option
	usual    []usual     // for each option, what it makes where it was not given
	ready    call.Args   // the arguments of all options that make one where they were not given
	slot     []uint16    // for each option, the first one with the same dest
	flags    []flag      // sorted
	wordy    bool        // some flag has one dash and several letters
	pairs    bool        // … two letters
	short    [128]uint16 // for each letter, the option of that flag, from 1
	always   int         // arguments that are there in every call
	global   bool        // some option is accepted below this command too
	operands []operand
	dashdash int  // index of the operand that gets the words after --, or -1
	onlyDash bool // that operand, the last one, gets no others
	numeric  int  // index of the option that -NUMBER sets, or -1
	subs     []sub
}

// A usual is the argument of an option that was not given. It is apart from the option, since each call looks at all.
type usual struct {
	dest     string
	presence presence
	ready    int // how many of the node's ready arguments stand before it
}

// A presence says what an option that was not given makes.
type presence uint8

const (
	absent  presence = iota
	isFalse          // its argument is false
	isZero           // its argument is 0
	another          // an option before it sets the same argument
)

type flag struct {
	text   string
	option int
}

// A sub is a name of a subcommand; its node is decoded when it is first asked for.
type sub struct {
	name        string
	node, alias int
	decoded     *atomic.Pointer[node]
}

// flagIndex returns the option that text is a flag of, or -1.
func (n *node) flagIndex(text string) int {
	lo, hi := 0, len(n.flags)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.flags[mid].text < text {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(n.flags) && n.flags[lo].text == text {
		return n.flags[lo].option
	}
	return -1
}

// sub returns the subcommand of that name, and what its alias says.
func (n *node) sub(p *pack, name string) (*node, int) {
	lo, hi := 0, len(n.subs)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.subs[mid].name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(n.subs) || n.subs[lo].name != name {
		return nil, 0
	}
	return n.subs[lo].get(p), n.subs[lo].alias
}

func (s *sub) get(p *pack) *node {
	if got := s.decoded.Load(); got != nil {
		return got
	}
	got := p.decode(s.node)
	s.decoded.Store(got)
	return got
}

// A decoder reads a node. After a fault it returns zero values, and broken says so.
type decoder struct {
	data   string
	at     int
	broken bool
}

func (d *decoder) num() int {
	n, shift := uint64(0), 0
	for d.at < len(d.data) && shift < 35 {
		b := d.data[d.at]
		d.at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int(n)
		}
		shift += 7
	}
	d.broken = true
	return 0
}

// count is a number of things that take at least one byte each.
func (d *decoder) count() int {
	n := d.num()
	if n > len(d.data)-d.at {
		d.broken = true
		return 0
	}
	return n
}

func (d *decoder) text() string {
	n := d.count()
	d.at += n
	return d.data[d.at-n : d.at]
}

func (d *decoder) texts() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = d.text()
	}
	return list
}

func (d *decoder) bits(to ...*bool) {
	n := d.num()
	for i, b := range to {
		*b = n>>i&1 == 1
	}
}

// apart reads what stands elsewhere, since several nodes share it.
func (d *decoder) apart(read func(d *decoder)) {
	other := &decoder{data: d.data, at: d.num()}
	if other.at >= len(d.data) {
		d.broken = true
		return
	}
	read(other)
	d.broken = d.broken || other.broken
}

func (d *decoder) node() *node {
	n := &node{name: d.text(), tool: d.text(), path: d.text(), below: d.text(), summary: d.text(), dashdash: -1, numeric: -1}
	n.syntax = syntax(d.num())
	var dashdash bool
	d.bits(&n.posix, &n.keyValue, &n.beyond, &n.plus, &n.oldBundle, &n.signals, &dashdash)
	n.effects = mask(d.num())
	if count := d.count(); count > 0 {
		n.derive = make([]derived, count)
		for i := range n.derive {
			n.derive[i] = derived{derivation(d.num()), d.texts(), d.texts()}
		}
	}
	numeric := d.text()
	n.options = make([]option, d.count())
	flags := 0
	for i := range n.options {
		d.apart(func(d *decoder) { d.option(&n.options[i]) })
		flags += len(n.options[i].flags)
		n.global = n.global || n.options[i].global
	}
	operands := d.count()
	n.operands = make([]operand, operands, operands+1)
	for i := range n.operands {
		d.apart(func(d *decoder) { d.operand(&n.operands[i]) })
	}
	if dashdash {
		var o operand
		d.operand(&o)
		n.dashdash = slices.IndexFunc(n.operands, func(have operand) bool { return have.name == o.name })
		if n.dashdash < 0 {
			n.dashdash, n.onlyDash = len(n.operands), true
			n.operands = append(n.operands, o)
		}
	}
	if count := d.count(); count > 0 {
		n.subs = make([]sub, count)
		decoded := make([]atomic.Pointer[node], count)
		for i := range n.subs {
			n.subs[i] = sub{d.text(), d.num(), d.num(), &decoded[i]}
		}
	}
	n.index(flags, numeric)
	return n
}

// index makes the tables that parsing looks into.
func (n *node) index(flags int, numeric string) {
	n.flags = make([]flag, 0, flags)
	n.slot = make([]uint16, len(n.options))
	n.usual = make([]usual, len(n.options))
	for i := range n.options {
		o := &n.options[i]
		if o.dest == numeric && n.numeric < 0 && numeric != "" {
			n.numeric = i
		}
		for _, text := range o.flags {
			n.flags = append(n.flags, flag{text, i})
			if len(text) > 2 && text[0] == '-' && text[1] != '-' {
				n.wordy, n.pairs = true, n.pairs || len(text) == 3
			}
			if len(text) == 2 && text[0] == '-' && text[1] < 128 {
				n.short[text[1]] = uint16(i) + 1
			}
		}
		n.slot[i] = uint16(i)
		for j := range i {
			if n.options[j].dest == o.dest {
				n.slot[i] = uint16(j)
				break
			}
		}
	}
	for i := range n.options {
		if o := &n.options[i]; !o.kind.takesWord() && !o.beyond && !n.beyond {
			n.always++
			n.usual[i].presence = isFalse
			if o.kind == kindCount {
				n.usual[i].presence = isZero
			}
		}
		if int(n.slot[i]) != i {
			n.usual[i].presence = another
		}
		n.usual[i].dest, n.usual[i].ready = n.options[i].dest, len(n.ready)
		switch n.usual[i].presence {
		case isFalse:
			n.ready = append(n.ready, call.Arg{Name: n.options[i].dest, Value: false})
		case isZero:
			n.ready = append(n.ready, call.Arg{Name: n.options[i].dest, Value: 0})
		}
	}
	n.always += len(n.operands)
	slices.SortFunc(n.flags, func(a, b flag) int { return strings.Compare(a.text, b.text) })
}

func (d *decoder) option(o *option) {
	o.flags = d.texts()
	o.kind = kind(d.num())
	o.dest = d.text()
	o.help = d.text()
	o.choices = d.texts()
	d.bits(&o.global, &o.negate, &o.beyond, &o.repeat, &o.last, &o.number)
	o.values = d.num()
	o.bare = d.text()
	d.place(&o.place)
}

func (d *decoder) operand(o *operand) {
	o.name = d.text()
	o.nargs = byte(d.num())
	o.help = d.text()
	o.choices = d.texts()
	o.unless = d.texts()
	o.absent = d.text()
	o.ifGiven = d.texts()
	d.place(&o.place)
}

func (d *decoder) place(p *place) {
	p.effects = mask(d.num())
	d.bits(&p.path, &p.tree, &p.maybe, &p.fromCwd)
	p.pathSaid = true
	p.form = form(d.num())
	p.in = d.text()
	p.treeIf = d.texts()
	n := d.count()
	if n == 0 {
		return
	}
	p.when = make([]when, n)
	for i := range p.when {
		p.when[i] = when{d.text(), mask(d.num())}
	}
}

// aliasOf reads what an alias says.
func (d *decoder) aliasOf() (a alias) {
	a.tool = d.text()
	for range d.count() {
		a.implied = append(a.implied, implied{d.text(), d.text()})
	}
	return a
}

func u32(s string, at int) int { return int(binary.LittleEndian.Uint32([]byte(s[at : at+4]))) }
