package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Compile turns files of specs into the form that a program loads without reading YAML (node.go reads it). It returns an
// error that lists everything wrong with the files, each with file and line. base are the specs that extend and like
// may name beside those in the files; nil: none.
func Compile(files []File, base *Packs) ([]byte, error) {
	l := &linker{base: base, specs: make(map[string]*command), file: make(map[string]string)}
	for _, f := range files {
		specs, err := readYAML(f)
		if err == nil {
			err = check(f.Name, specs)
		}
		if err != nil {
			l.errs = append(l.errs, err)
			continue
		}
		for _, spec := range specs {
			l.add(f.Name, spec)
		}
	}
	if err := errors.Join(l.errs...); err != nil {
		return nil, err
	}
	l.link()
	if err := errors.Join(l.errs...); err != nil {
		return nil, err
	}
	return encode(l.order), nil
}

// A linker joins specs: it resolves extend and like, and refuses names that come twice.
type linker struct {
	base  *Packs
	specs map[string]*command
	order []*command
	file  map[string]string // where an executable or alias comes from, with the line
	errs  []error
}

func (l *linker) bad(format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf(format, args...))
}

func (l *linker) add(file string, spec *command) {
	at := fmt.Sprintf("%s:%d", file, spec.line)
	for _, name := range append([]string{spec.name}, aliasNames(spec)...) {
		if other, twice := l.file[name]; twice {
			l.bad("%s: %s has a spec at %s", at, name, other)
			continue
		}
		l.file[name] = at
	}
	l.specs[spec.name] = spec
	l.order = append(l.order, spec)
}

func (l *linker) link() {
	for i, spec := range l.order {
		if !spec.extend {
			continue
		}
		old := l.base.command(spec.name)
		if old == nil {
			l.bad("%s: %s extends a spec that is not there", l.file[spec.name], spec.name)
			continue
		}
		merged := extend(old, spec)
		l.order[i], l.specs[spec.name] = merged, merged
	}
	for _, spec := range l.order {
		l.like(spec, spec.name, nil)
	}
	for _, spec := range l.order {
		if spec.like == "" && !spec.extend {
			continue
		}
		again := *spec // what was joined is checked again, as a whole
		again.like, again.extend = "", false
		if err := check(l.file[spec.name], []*command{&again}); err != nil {
			l.errs = append(l.errs, err)
		}
	}
}

// like gives spec, and all below it, what the spec that it is like has.
func (l *linker) like(spec *command, path string, below []string) {
	if spec.like != "" {
		if slices.Contains(below, spec.like) || len(below) > 10 {
			l.bad("%s: %s is like itself", l.file[strings.Fields(path)[0]], path)
			return
		}
		model := l.lookup(spec.like)
		if model == nil {
			l.bad("%s: %s is like %q, which has no spec", l.file[strings.Fields(path)[0]], path, spec.like)
			return
		}
		l.like(model, spec.like, append(below, spec.like))
		own := *spec
		own.extend = false
		merged := extend(model, &own)
		merged.name, merged.tool, merged.aliases = spec.name, spec.tool, spec.aliases
		if spec.summary != "" {
			merged.summary = spec.summary
		}
		merged.beyond = spec.beyond
		merged.like = ""
		*spec = *merged
	}
	for _, sub := range spec.subs {
		l.like(sub, path+" "+sub.name, below)
	}
}

func (l *linker) lookup(path string) *command {
	words := strings.Fields(path)
	if len(words) == 0 {
		return nil
	}
	c := l.specs[words[0]]
	if c == nil {
		c = l.base.command(words[0])
	}
	for _, word := range words[1:] {
		if c == nil {
			return nil
		}
		i := slices.IndexFunc(c.subs, func(sub *command) bool { return sub.name == word })
		if i < 0 {
			return nil
		}
		c = c.subs[i]
	}
	return c
}

// extend returns old with what more says: an option replaces every old one that it shares a flag with, subcommands are
// extended in turn, and every other key that is given replaces the old one.
func extend(old, more *command) *command {
	c := *old
	c.line = more.line
	c.options = slices.Clone(old.options)
	for _, o := range more.options {
		c.options = slices.DeleteFunc(c.options, func(was option) bool {
			return slices.ContainsFunc(was.flags, func(flag string) bool { return slices.Contains(o.flags, flag) })
		})
		c.options = append(c.options, o)
	}
	c.subs = slices.Clone(old.subs)
	for _, sub := range more.subs {
		i := slices.IndexFunc(c.subs, func(was *command) bool { return was.name == sub.name })
		switch {
		case i < 0:
			fresh := *sub
			fresh.extend = false
			c.subs = append(c.subs, &fresh)
		case sub.extend || more.extend:
			c.subs[i] = extend(c.subs[i], sub)
		default:
			c.subs[i] = sub
		}
	}
	if more.operands != nil {
		c.operands = more.operands
	}
	if more.aliases != nil {
		c.aliases = more.aliases
	}
	if more.dashdash != nil {
		c.dashdash = more.dashdash
	}
	if more.derive != nil {
		c.derive = more.derive
	}
	if more.effects != 0 {
		c.effects = more.effects
	}
	if more.syntax != getopt {
		c.syntax = more.syntax
	}
	for _, s := range []struct{ was, is *string }{
		{&c.tool, &more.tool}, {&c.summary, &more.summary}, {&c.like, &more.like}, {&c.numeric, &more.numeric},
	} {
		if *s.is != "" {
			*s.was = *s.is
		}
	}
	for _, b := range []struct{ was, is *bool }{
		{&c.posix, &more.posix}, {&c.keyValue, &more.keyValue}, {&c.plus, &more.plus}, {&c.oldBundle, &more.oldBundle},
		{&c.signals, &more.signals}, {&c.beyond, &more.beyond},
	} {
		*b.was = *b.was || *b.is
	}
	c.extend = false
	return &c
}
