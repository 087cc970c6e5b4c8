package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A File is one file of specs.
type File struct {
	Name string
	Data []byte
}

// readYAML reads the specs of one file. It lists everything that is wrong with it, each with its line, or returns specs
// whose keys and types are right; whether they make sense is for check.
func readYAML(f File) ([]*command, error) {
	dec := yaml.NewDecoder(bytes.NewReader(f.Data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", f.Name)
	}
	r := &reader{file: f.Name, sets: make(map[string][]option)}
	var specs []*command
	r.mapping(doc.Content[0], func(key string, k, v *yaml.Node) {
		if key == optionSets {
			r.mapping(v, func(key string, k, v *yaml.Node) { r.sets[key] = r.options(v) })
			return
		}
		specs = append(specs, r.command(key, k.Line, v, getopt))
	})
	return specs, errors.Join(r.errs...)
}

func (r *reader) mask(n *yaml.Node) (set mask) {
	for _, name := range r.texts(n) {
		m, ok := maskOf(name)
		if !ok {
			r.bad(n, "%q is no effect; there are %v and none", name, effectKinds)
		}
		set |= m
	}
	if set&maskNone != 0 && set != maskNone {
		r.bad(n, "none beside other effects")
	}
	return set
}

func named[T any](r *reader, n *yaml.Node, what string, of func(string) (T, bool)) T {
	v, ok := of(r.text(n))
	if !ok {
		r.bad(n, "%q is no %s", n.Value, what)
	}
	return v
}

// command reads a spec. Its subcommands have its syntax, unless they say otherwise.
func (r *reader) command(name string, line int, n *yaml.Node, above syntax) *command {
	c := &command{name: name, line: line, syntax: above}
	if v := member(n, "syntax"); v != nil {
		c.syntax = named(r, v, "syntax", syntaxOf)
	}
	r.mapping(n, func(key string, k, v *yaml.Node) {
		switch key {
		case "tool":
			c.tool = r.text(v)
		case "summary":
			c.summary = r.text(v)
		case "aliases":
			c.aliases = r.aliases(v)
		case "options":
			c.options = r.options(v)
		case "positionals":
			for _, item := range r.items(v) {
				c.operands = append(c.operands, r.operand(item))
			}
		case "subcommands":
			r.mapping(v, func(key string, k, v *yaml.Node) { c.subs = append(c.subs, r.command(key, k.Line, v, c.syntax)) })
		case "posix":
			c.posix = r.truth(v)
		case "after_dashdash":
			c.dashdash = r.dashdash(v)
		case "key_value":
			c.keyValue = r.truth(v)
		case "like":
			c.like = r.text(v)
		case "beyond":
			c.beyond = r.truth(v)
		case "syntax": // read above
		case "numeric":
			c.numeric = r.text(v)
		case "plus":
			c.plus = r.truth(v)
		case "old_bundle":
			c.oldBundle = r.truth(v)
		case "signals":
			c.signals = r.truth(v)
		case "effects":
			c.effects = r.mask(v) &^ maskNone
		case "derive":
			c.derive = r.derive(v)
		case "extend":
			c.extend = r.truth(v)
		default:
			r.unknown(k, "tool", "summary", "aliases", "options", "positionals", "subcommands", "posix", "after_dashdash",
				"key_value", "like", "beyond", "syntax", "numeric", "plus", "old_bundle", "signals", "effects", "derive", "extend")
		}
	})
	return c
}

// derive reads the rules of a command: one name, a list of names, or a map NAME → {if: [DEST…], unless: [DEST…]}.
func (r *reader) derive(n *yaml.Node) (list []derived) {
	rule := func(n *yaml.Node, name string) derivation {
		d, ok := derivationOf(name)
		if !ok {
			r.bad(n, "%q is nothing that can be derived", name)
		}
		return d
	}
	if n = r.resolve(n); n.Kind != yaml.MappingNode {
		for _, name := range r.texts(n) {
			list = append(list, derived{rule: rule(n, name)})
		}
		return list
	}
	r.mapping(n, func(name string, k, v *yaml.Node) {
		d := derived{rule: rule(k, name)}
		r.mapping(v, func(key string, k, v *yaml.Node) {
			switch key {
			case "if":
				d.given = r.texts(v)
			case "unless":
				d.unless = r.texts(v)
			default:
				r.unknown(k, "if", "unless")
			}
		})
		list = append(list, d)
	})
	return list
}

func (r *reader) aliases(n *yaml.Node) (list []alias) {
	if n = r.resolve(n); n.Kind != yaml.MappingNode {
		for _, name := range r.texts(n) {
			list = append(list, alias{name: name})
		}
		return list
	}
	r.mapping(n, func(name string, _, v *yaml.Node) {
		a := alias{name: name}
		r.mapping(v, func(key string, k, v *yaml.Node) {
			switch key {
			case "tool":
				a.tool = r.text(v)
			case "implied":
				r.mapping(v, func(dest string, _, v *yaml.Node) { a.implied = append(a.implied, implied{dest, r.text(v)}) })
			default:
				r.unknown(k, "tool", "implied")
			}
		})
		list = append(list, a)
	})
	return list
}

// optionSets is the key, beside those of executables, that names lists of options which several commands share. It
// stands before its first use.
const optionSets = "option_sets"

// options reads a list of options. An item that is a word stands for the set of that name.
func (r *reader) options(n *yaml.Node) (list []option) {
	for _, item := range r.items(n) {
		if item.Kind != yaml.ScalarNode {
			list = append(list, r.alike(item)...)
			continue
		}
		set, ok := r.sets[item.Value]
		if !ok {
			r.bad(item, "no set of options is named %q; %s stands at the top of the file", item.Value, optionSets)
		}
		list = append(list, set...)
	}
	return list
}

// alike reads one item: an option, or with each: [-a/--all, -b] several that differ in their flags only.
func (r *reader) alike(n *yaml.Node) (list []option) {
	var each []string
	o := r.option(n, &each)
	if each == nil {
		return []option{o}
	}
	if o.flags != nil || o.dest != "" {
		r.bad(n, "options that are alike have their flags in each, and no dest")
	}
	for _, flags := range each {
		one := o
		one.flags = strings.Split(flags, "/")
		one.dest = defaultDest(one.flags, one.kind)
		list = append(list, one)
	}
	return list
}

func (r *reader) option(n *yaml.Node, each *[]string) option {
	o := option{line: n.Line, values: 1}
	r.mapping(n, func(key string, k, v *yaml.Node) {
		switch key {
		case "flags":
			o.flags = r.texts(v)
		case "each":
			*each = r.texts(v)
		case "type":
			o.kind = named(r, v, "type of an option", kindOf)
		case "dest":
			o.dest = r.text(v)
		case "help":
			o.help = r.text(v)
		case "choices":
			o.choices = r.texts(v)
		case "global":
			o.global = r.truth(v)
		case "values":
			o.values = r.number(v)
		case "negatable":
			o.negate = r.truth(v)
		case "beyond":
			o.beyond = r.truth(v)
		case "repeat":
			o.repeat = r.truth(v)
		case "bare":
			o.bare = r.text(v)
		case "last":
			o.last = r.truth(v)
		case "number":
			o.number = r.truth(v)
		default:
			if !r.place(&o.place, key, v) {
				r.unknown(k, append([]string{"flags", "each", "type", "dest", "help", "choices", "global", "values", "negatable", "beyond",
					"repeat", "bare", "last", "number"}, placeKeys[:]...)...)
			}
		}
	})
	if o.dest == "" {
		o.dest = defaultDest(o.flags, o.kind)
	}
	return o
}

// defaultDest names an argument after the first long flag, else after the first flag; an attached one after the last.
func defaultDest(flags []string, k kind) string {
	if len(flags) == 0 {
		return ""
	}
	name := flags[0]
	for _, flag := range flags {
		if strings.HasPrefix(flag, "--") {
			name = flag
			break
		}
	}
	if k == kindAttached {
		name = flags[len(flags)-1]
	}
	return strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
}

func (r *reader) operand(n *yaml.Node) operand {
	o := operand{line: n.Line}
	r.mapping(n, func(key string, k, v *yaml.Node) {
		switch key {
		case "name":
			o.name = r.text(v)
		case "nargs":
			if s := r.text(v); len(s) == 1 && strings.Contains("?*+", s) {
				o.nargs = s[0]
			} else {
				r.bad(v, "nargs is ?, * or +, and absent for exactly one")
			}
		case "help":
			o.help = r.text(v)
		case "choices":
			o.choices = r.texts(v)
		case "unless":
			o.unless = r.texts(v)
		case "default":
			o.absent = r.text(v)
		case "default_if":
			o.ifGiven = r.texts(v)
		default:
			if !r.place(&o.place, key, v) {
				r.unknown(k, append([]string{"name", "nargs", "help", "choices", "unless", "default", "default_if"}, placeKeys[:]...)...)
			}
		}
	})
	return o
}

// dashdash reads the argument that gets the words after --: a name, or an operand without nargs.
func (r *reader) dashdash(n *yaml.Node) *operand {
	if n = r.resolve(n); n.Kind == yaml.ScalarNode {
		return &operand{line: n.Line, name: r.text(n), nargs: '*'}
	}
	o := r.operand(n)
	if o.nargs != 0 && o.nargs != '*' {
		r.bad(n, "all words after -- go to this argument: no other nargs than *")
	}
	o.nargs = '*'
	return &o
}

var placeKeys = [...]string{"effect", "path", "form", "tree", "when", "maybe", "from_cwd", "in"}

// place reads a key that options and operands share, and reports whether it is one.
func (r *reader) place(p *place, key string, v *yaml.Node) bool {
	switch key {
	case "effect":
		p.effects = r.mask(v)
		p.path = p.path || !p.pathSaid && p.effects&maskFile != 0
	case "path":
		p.path, p.pathSaid = r.truth(v), true
	case "form":
		p.form = named(r, v, "form of a path", formOf)
	case "tree":
		if v = r.resolve(v); v.Kind == yaml.ScalarNode && (v.Value == "true" || v.Value == "false") {
			p.tree = v.Value == "true"
		} else {
			p.treeIf = r.texts(v)
		}
	case "when":
		r.mapping(v, func(dest string, _, v *yaml.Node) {
			w := when{dest, r.mask(v)}
			p.when = append(p.when, w)
			p.path = p.path || !p.pathSaid && w.effects&maskFile != 0
		})
	case "maybe":
		p.maybe = r.truth(v)
	case "from_cwd":
		p.fromCwd = r.truth(v)
	case "in":
		p.in = r.text(v)
	default:
		return false
	}
	return true
}
