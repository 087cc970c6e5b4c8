package spec

import (
	"slices"
	"strconv"

	"gatehouse/gate/call"
)

// args makes the named arguments of the command that was parsed: those of the options, from the executable to the last
// subcommand, then those of the operands, then what every call can have.
func (t *translator) args() call.Args {
	p := &t.p
	n := p.top()
	size := 4 + len(p.hits) + len(n.operands)
	for _, l := range p.levels {
		size += l.n.always
	}
	args := t.room(size)
	if n.beyond || p.failed || p.lost {
		args = append(args, call.Arg{Name: "argv", Value: t.argv[1:]})
	}
	if n.beyond && (n.below != "" || p.lost) {
		args = append(args, call.Arg{Name: "subcommand", Value: t.below()})
	}
	for i := range p.levels {
		args = t.options(args, i)
	}
	if !p.lost {
		args = t.operands(args)
	}
	for _, kv := range p.pairs {
		text := p.words[kv.word].Text
		args = put(args, len(args), text[:kv.eq], text[kv.eq+1:])
	}
	if len(p.extra) > 0 && !p.lost {
		list := make([]string, len(p.extra))
		for i, w := range p.extra {
			list[i] = p.words[w].Text
		}
		args = append(args, call.Arg{Name: "extra_args", Value: list})
	}
	return args
}

// below are the words of the subcommand after the first command beyond the known ones.
func (t *translator) below() string {
	n := t.p.top()
	if !t.p.lost {
		return n.below
	}
	word := t.p.words[t.p.ops[0].word].Text
	if n.below == "" {
		return word
	}
	return n.below + " " + word
}

// options appends the arguments that the options of one level make.
func (t *translator) options(args call.Args, level int) call.Args {
	p := &t.p
	l := p.levels[level]
	if level == 0 {
		return t.firstOptions(args)
	}
	upper := len(args)
	heads := p.heads[l.base : l.base+len(l.n.options)]
	for i := range l.n.usual {
		u := &l.n.usual[i]
		switch last := heads[i]; {
		case u.presence == another:
		case last != 0:
			args = t.option(args, upper, &l.n.options[i], last)
		case u.presence == isFalse:
			args = put(args, upper, u.dest, false)
		case u.presence == isZero:
			args = put(args, upper, u.dest, 0)
		}
	}
	return args
}

// firstOptions is options for the executable itself, whose arguments can meet no others: between the options that were
// given, what the others make is copied as it stands.
func (t *translator) firstOptions(args call.Args) call.Args {
	p := &t.p
	l := p.levels[0]
	given := t.given[:0]
	for i := range p.hits {
		if h := &p.hits[i]; h.level == 0 {
			slot := l.n.slot[h.option]
			at := len(given)
			for at > 0 && given[at-1] > slot {
				at--
			}
			if at == 0 || given[at-1] != slot {
				given = slices.Insert(given, at, slot)
			}
		}
	}
	t.given = given
	from := 0
	for _, slot := range given {
		args = append(args, l.n.ready[from:l.n.usual[slot].ready]...)
		args = t.option(args, 0, &l.n.options[slot], p.heads[l.base+int(slot)])
		from = l.n.usual[slot].ready
		if u := l.n.usual[slot].presence; u == isFalse || u == isZero {
			from++
		}
	}
	return append(args, l.n.ready[from:]...)
}

// option appends what an option that was given makes; last is its last hit, from 1.
func (t *translator) option(args call.Args, upper int, o *option, last int32) call.Args {
	h := &t.p.hits[last-1]
	switch o.kind {
	case kindBool, kindAttached, kindOptional:
		args = put(args, upper, o.dest, !h.off)
		for ; last != 0 && !h.off; last = t.p.hits[last-1].prev {
			h := &t.p.hits[last-1]
			if own := t.p.optionOf(h); h.has && h.value != "" && own.kind != kindBool {
				return put(args, upper, o.dest+suffixOf(own.kind), t.shown(h.value, h.word, &own.place, o.dest))
			}
		}
		return args
	case kindCount:
		count := 0
		for ; last != 0; last = t.p.hits[last-1].prev {
			count++
		}
		return put(args, upper, o.dest, count)
	case kindInt:
		if v, err := strconv.Atoi(h.value); err == nil {
			return put(args, upper, o.dest, v)
		}
		return put(args, upper, o.dest, h.value)
	case kindStr:
		if h.off {
			return args
		}
		if !o.repeat || h.prev == 0 {
			return put(args, upper, o.dest, t.shown(h.value, h.word, &o.place, o.dest))
		}
	}
	var list []string
	for ; last != 0; last = t.p.hits[last-1].prev {
		if h := &t.p.hits[last-1]; h.has {
			list = append(list, t.shown(h.value, h.word, &o.place, o.dest))
		}
	}
	slices.Reverse(list)
	return put(args, upper, o.dest, list)
}

func suffixOf(k kind) string {
	if k == kindAttached {
		return "_suffix"
	}
	return "_value"
}

// put appends an argument, or joins it with the one of that name that a command above has: lists are put together, a
// bool is true if either is, counts are added, and of other values the later one counts.
func put(args call.Args, upper int, name string, value any) call.Args {
	for i := range args[:upper] {
		if args[i].Name != name {
			continue
		}
		switch v := value.(type) {
		case bool:
			if v {
				args[i].Value = v
			}
		case int:
			if before, ok := args[i].Value.(int); ok {
				v += before
			}
			args[i].Value = v
		case []string:
			if before, ok := args[i].Value.([]string); ok {
				v = append(slices.Clone(before), v...)
			}
			args[i].Value = v
		default:
			args[i].Value = v
		}
		return args
	}
	return append(args, call.Arg{Name: name, Value: value})
}

// operands appends the positional arguments of the last command.
func (t *translator) operands(args call.Args) call.Args {
	p := &t.p
	n := p.top()
	b := 0
	for i := range n.operands {
		o := &n.operands[i]
		if o.nargs == 0 || o.nargs == '?' {
			if b < len(t.bounds) && t.bounds[b].operand == i {
				word := p.ops[t.bounds[b].from].word
				args = put(args, len(args), o.name, t.shown(p.words[word].Text, word, &o.place, o.name))
				b++
			}
			continue
		}
		var list []string
		for j := range t.bounds {
			if t.bounds[j].operand == i {
				list = t.list(list, o, t.bounds[j])
				b = max(b, j+1)
			}
		}
		switch {
		case list != nil:
			args = put(args, len(args), o.name, list)
		case i == n.dashdash && p.dashed, p.active(i) && o.nargs == '*' && !n.beyond:
			if _, there := args.Get(o.name); !there { // an option can have the name too
				args = append(args, call.Arg{Name: o.name, Value: []string{}})
			}
		}
	}
	return args
}

// list appends the operands of b. Where they are shown as they stand, they are a part of the argv.
func (t *translator) list(list []string, o *operand, b bound) []string {
	p := &t.p
	first, last := int(p.ops[b.from].word), int(p.ops[b.to-1].word)
	if list == nil && last-first == b.to-b.from-1 && !(t.o.Effects && o.path) {
		return t.argv[first : last+1 : last+1]
	}
	if list == nil {
		list = make([]string, 0, len(p.ops)-b.from)
	}
	for _, op := range p.ops[b.from:b.to] {
		list = append(list, t.shown(p.words[op.word].Text, op.word, &o.place, o.name))
	}
	return list
}
