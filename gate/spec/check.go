package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// check returns everything that makes no sense in the specs of one file.
func check(file string, specs []*command) error {
	c := &checker{file: file}
	for _, spec := range specs {
		if !plainName(spec.name) {
			c.bad(spec.line, "%q is no name of an executable", spec.name)
		}
		c.command(spec, spec.name, nil)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	file string
	errs []error
}

func (c *checker) bad(line int, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s:%d: %s", c.file, line, fmt.Sprintf(format, args...)))
}

func plainName(s string) bool {
	return s != "" && !strings.ContainsAny(s, "/ \t\n\\'\"$") && !strings.HasPrefix(s, "-")
}

// reserved are the arguments that every call can have.
var reserved = [...]string{"argv", "extra_args", "subcommand", "redirect_to", "overwrite_to", "redirect_from", "unknown_paths"}

// command checks one spec; above are the dests of the commands that it is a subcommand of.
func (c *checker) command(spec *command, path string, above []string) {
	if spec.summary != "" && (strings.Contains(spec.summary, "\n") || strings.HasSuffix(spec.summary, ".")) {
		c.bad(spec.line, "%s: the summary is one phrase without a full stop", path)
	}
	if spec.tool != "" && spec.tool != toolName(spec.tool) {
		c.bad(spec.line, "%s: tool %q is not of lower-case letters, digits and single underscores", path, spec.tool)
	}
	for _, a := range spec.aliases {
		if !plainName(a.name) || a.name == spec.name {
			c.bad(spec.line, "%s: alias %q", path, a.name)
		}
		for _, set := range a.implied {
			if i := slices.IndexFunc(spec.options, func(o option) bool { return o.dest == set.dest }); i < 0 {
				c.bad(spec.line, "%s: alias %s implies %s, which no option sets", path, a.name, set.dest)
			} else if k := spec.options[i].kind; k == kindBool && set.value != "true" && set.value != "false" {
				c.bad(spec.line, "%s: alias %s implies %s: %s for a bool", path, a.name, set.dest, set.value)
			}
		}
	}
	dests := slices.Clone(above)
	kinds := make(map[string]kind)
	flags := make(map[string]int)
	for i := range spec.options {
		o := &spec.options[i]
		c.option(spec, o, path)
		for _, flag := range o.flags {
			if line, twice := flags[flag]; twice {
				c.bad(o.line, "%s: %s is already an option on line %d", path, flag, line)
			}
			flags[flag] = o.line
		}
		if k, ok := kinds[o.dest]; ok && k != o.kind && !(switches(k) && switches(o.kind)) {
			c.bad(o.line, "%s: argument %s has two types", path, o.dest)
		}
		kinds[o.dest] = o.kind
		dests = append(dests, o.dest)
	}
	c.operands(spec, path)
	if spec.like == "" && !spec.extend {
		c.references(spec, path, dests)
	}
	names := make(map[string]bool)
	for _, sub := range spec.subs {
		if !plainName(sub.name) && !strings.HasPrefix(sub.name, "-") {
			c.bad(sub.line, "%s: %q is no name of a subcommand", path, sub.name)
		}
		if sub.extend && !spec.extend {
			c.bad(sub.line, "%s %s: only the subcommand of a spec that extends can extend", path, sub.name)
		}
		for _, name := range append([]string{sub.name}, aliasNames(sub)...) {
			if names[name] {
				c.bad(sub.line, "%s: subcommand %q comes twice", path, name)
			}
			names[name] = true
		}
		c.command(sub, path+" "+sub.name, dests)
	}
}

// switches reports whether the argument of an option is a bool.
func switches(k kind) bool { return k == kindBool || k == kindAttached || k == kindOptional }

func aliasNames(c *command) (names []string) {
	for _, a := range c.aliases {
		names = append(names, a.name)
	}
	return names
}

func (c *checker) option(spec *command, o *option, path string) {
	if len(o.flags) == 0 {
		c.bad(o.line, "%s: an option has flags", path)
	}
	for _, flag := range o.flags {
		dashed := len(flag) > 1 && (flag[0] == '-' || flag[0] == '+') && flag != "--"
		switch {
		case strings.ContainsAny(flag, "= \t\n") || flag == "":
			c.bad(o.line, "%s: flag %q", path, flag)
		case !dashed && !spec.keyValue:
			c.bad(o.line, "%s: flag %q has no dash", path, flag)
		case spec.syntax == getopt && dashed && flag[0] == '-' && flag[1] != '-' && len(flag) > 2 && !hasLong(spec):
			c.bad(o.line, "%s: %s has one dash and more than one letter: is the syntax longonly, goflag or find?", path, flag)
		}
	}
	c.argument(o.line, path, o.dest)
	if o.values > 1 && o.kind != kindList {
		c.bad(o.line, "%s: %s takes %d words, so it is a list", path, o.dest, o.values)
	}
	if len(o.choices) > 0 && o.kind != kindStr && o.kind != kindList && o.kind != kindOptional {
		c.bad(o.line, "%s: %s has choices but no value", path, o.dest)
	}
	if o.bare != "" && o.kind != kindStr && o.kind != kindList {
		c.bad(o.line, "%s: %s: only an option with a text can be bare", path, o.dest)
	}
	if o.number && o.kind != kindOptional {
		c.bad(o.line, "%s: %s: only an option whose value is optional can take a number", path, o.dest)
	}
	if o.repeat && o.kind != kindStr {
		c.bad(o.line, "%s: %s: only an option with one text can be marked to repeat", path, o.dest)
	}
	c.place(o.line, path+": "+o.dest, &o.place)
}

// hasLong reports whether a command has options with two dashes.
func hasLong(spec *command) bool {
	return slices.ContainsFunc(spec.options, func(o option) bool {
		return slices.ContainsFunc(o.flags, func(flag string) bool { return strings.HasPrefix(flag, "--") })
	})
}

func (c *checker) place(line int, what string, p *place) {
	if p.form != formPlain && p.effects == 0 && !p.path && len(p.when) == 0 {
		c.bad(line, "%s has a form of a path, but is none", what)
	}
	if (p.tree || len(p.treeIf) > 0) && p.effects&maskFile == 0 && len(p.when) == 0 {
		c.bad(line, "%s has a tree, but no effect on files", what)
	}
}

func (c *checker) argument(line int, path, name string) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		c.bad(line, "%s: argument %q is not of letters, digits and underscores; give it a dest", path, name)
	}
	if slices.Contains(reserved[:], name) {
		c.bad(line, "%s: argument %s belongs to every call; give it another dest", path, name)
	}
}

func (c *checker) operands(spec *command, path string) {
	list := slices.Clone(spec.operands)
	if spec.dashdash != nil && !slices.ContainsFunc(list, func(o operand) bool { return o.name == spec.dashdash.name }) {
		list = append(list, *spec.dashdash)
	}
	seen := make(map[string]bool)
	for i := range list {
		o := &list[i]
		c.argument(o.line, path, o.name)
		if seen[o.name] {
			c.bad(o.line, "%s: positional %s comes twice", path, o.name)
		}
		seen[o.name] = true
		c.place(o.line, path+": "+o.name, &o.place)
		if o.absent != "" && o.effects == 0 || o.absent == "" && len(o.ifGiven) > 0 {
			c.bad(o.line, "%s: %s: default is a path, and needs an effect; default_if needs a default", path, o.name)
		}
	}
}

// references checks the names of arguments that stand in other keys.
func (c *checker) references(spec *command, path string, dests []string) {
	need := func(line int, key, dest string) {
		if !slices.Contains(dests, dest) {
			c.bad(line, "%s: %s names %q, which no option sets", path, key, dest)
		}
	}
	if spec.numeric != "" {
		need(spec.line, "numeric", spec.numeric)
	} else if spec.plus || spec.signals {
		c.bad(spec.line, "%s: plus and signals need numeric", path)
	}
	for _, d := range spec.derive {
		for _, dest := range append(slices.Clone(d.given), d.unless...) {
			need(spec.line, "derive", dest)
		}
	}
	places := func(line int, p *place) {
		for _, dest := range p.treeIf {
			need(line, "tree", dest)
		}
		for _, w := range p.when {
			need(line, "when", w.dest)
		}
		if p.in != "" {
			need(line, "in", p.in)
		}
	}
	for i := range spec.options {
		places(spec.options[i].line, &spec.options[i].place)
	}
	for i := range spec.operands {
		o := &spec.operands[i]
		places(o.line, &o.place)
		for _, dest := range o.ifGiven {
			need(o.line, "default_if", dest)
		}
		for _, dest := range o.unless {
			need(o.line, "unless", dest)
		}
	}
	if spec.dashdash != nil {
		places(spec.dashdash.line, &spec.dashdash.place)
	}
}

// toolName is the name of a call for a word: lower case, and one underscore for each run of other characters than
// letters and digits. The shell's own names that have no letter get one.
func toolName(word string) string {
	plain, under := true, true
	for i := range len(word) {
		switch b := word[i]; {
		case b >= 'a' && b <= 'z' || b >= '0' && b <= '9':
			under = false
		case b == '_' && !under && i < len(word)-1:
			under = true
		default:
			plain = false
		}
	}
	if plain && word != "" {
		return word
	}
	switch word {
	case "":
		return "command" // of a name that ends in a slash
	case ":":
		return "colon"
	case ".":
		return "source"
	case "[", "[[":
		return "test"
	}
	var b strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteByte(c)
		case c >= 'A' && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case b.Len() > 0 && b.String()[b.Len()-1] != '_':
			b.WriteByte('_')
		}
	}
	if name := strings.TrimRight(b.String(), "_"); name != "" {
		return name
	}
	return fmt.Sprintf("command_%x", word)
}
