package shell

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// optionTable is the options of a program, as its getopt has it.
type optionTable struct {
	// short is getopt's own notation: "u:" takes a value, "i::" may have one glued to it; a leading "+" ends the options
	// at the first operand, otherwise options and operands may be mixed.
	short string
	// long holds the long names between spaces: "user:" takes a value, "unset::" may have one after "=".
	long string
	// none holds the names, between spaces, of the options with which the program runs nothing.
	none  string
	style style
}

// A style is a family of option parsers.
type style uint8

const (
	getoptStyle  style = iota // GNU getopt_long
	pflagStyle                // Go's pflag: --flag=false for switches, -e=A is -e A
	oneDashStyle              // long names with one dash or two, no clusters: gdb
)

// takes says whether an option takes a value.
type takes uint8

const (
	unknownOption takes = iota
	noValue
	needsValue
	mayHaveValue // glued or after "=" only
)

// An option is one option of a command line. Its name is a single letter, or the long name.
type option struct {
	name  string
	value Word
	set   bool // a value was given
}

// A scanner reads the options of a command. Where a word that is known only at run time could be an option, or several
// words, it refuses: what follows could then mean anything.
type scanner struct {
	invocation
	optionTable
	next     int    // index of the next word to look at
	cluster  string // what is left of a cluster of short options
	from     Word   // the word that cluster is from
	operands []Word // those that stood between the options
	nothing  bool   // an option of the table's none was there
	err      *Error // why the options cannot be told
}

// scan begins before the first option.
func (in invocation) scan(o optionTable) *scanner {
	return &scanner{invocation: in, optionTable: o, next: 1}
}

// options are the options that are left, up to one that cannot be told or with which the program runs nothing; rest
// says so after them.
func (s *scanner) options() iter.Seq[option] {
	return func(yield func(option) bool) {
		for {
			opt, ok, err := s.option()
			s.err, s.nothing = err, ok && hasField(s.none, opt.name)
			if !ok || s.nothing || !yield(opt) {
				return
			}
		}
	}
}

// rest gives the operands; with a table that ends the options at the first operand, they are a part of argv. It reports
// false if nothing runs, or if it cannot be told what does; then err says why.
func (s *scanner) rest() ([]Word, bool) {
	if s.nothing || s.err != nil {
		return nil, false
	}
	tail := s.argv[min(s.next, len(s.argv)):]
	if len(s.operands) == 0 {
		return tail, true
	}
	return append(s.operands, tail...), true
}

// skip is rest for a program whose options do not matter.
func (s *scanner) skip() ([]Word, bool) {
	for range s.options() {
		continue
	}
	return s.rest()
}

// verb gives the word of a subcommand, which stands behind the options. It reports false where there is none, or where
// the options cannot be told, so that any of the words may be it.
func (s *scanner) verb() (Word, bool) {
	rest, ok := s.skip()
	if !ok || len(rest) == 0 {
		return Word{}, false
	}
	return rest[0], true
}

// finds reports whether the subcommand is one of names.
func (s *scanner) finds(names ...string) bool {
	verb, ok := s.verb()
	return ok && verb.State == Exact && slices.Contains(names, verb.Text)
}

// subcommand is the invocation of what stands at s, under the name shown.
func (s *scanner) subcommand(name string) invocation {
	return invocation{name: name, argv: s.argv[s.next:], stdin: s.stdin}
}

// option gives the next option; ok is false after the last one.
func (s *scanner) option() (opt option, ok bool, err *Error) {
	if s.cluster != "" {
		return s.letter()
	}
	for s.next < len(s.argv) {
		w := s.argv[s.next]
		dashed, err := s.dashed(w)
		if err != nil {
			return option{}, false, err
		}
		if !dashed {
			if s.posix() {
				return option{}, false, nil
			}
			s.operands = append(s.operands, w)
			s.next++
			continue
		}
		s.next++
		if w.Text == "--" {
			return option{}, false, nil
		}
		if strings.HasPrefix(w.Text, "--") {
			return s.longOption(w, w.Text[2:])
		}
		if s.style == oneDashStyle {
			return s.longOption(w, w.Text[1:])
		}
		s.cluster, s.from = w.Text[1:], w
		return s.letter()
	}
	return option{}, false, nil
}

func (s *scanner) posix() bool { return strings.HasPrefix(s.short, "+") }

// dashed reports whether w is an option, or "--".
func (s *scanner) dashed(w Word) (bool, *Error) {
	if w.State == Exact && !w.Splits {
		return len(w.Text) > 1 && w.Text[0] == '-', nil
	}
	text := knownPrefix(w)
	operand := text != "" && text[0] != '-'
	if manyWords(w) {
		if operand && s.posix() { // the first of the words ends the options
			return false, nil
		}
		return false, s.dynamic(w, severalWords(w))
	}
	switch {
	case w.State == Several && !anyDashed(w.Values), operand, strings.HasPrefix(w.Text, "<("):
		return false, nil
	case strings.HasPrefix(text, "--") && strings.Contains(text, "="):
		return true, nil
	case len(text) > 1 && text[1] != '-' && s.endsInValue(text[1:]):
		return true, nil
	}
	return false, s.dynamic(w, `it may be an option; write "--" before it, or spell it out`)
}

// endsInValue reports whether the cluster reaches a letter that takes the rest of the word as its value.
func (s *scanner) endsInValue(cluster string) bool {
	if s.style == oneDashStyle {
		return strings.Contains(cluster, "=")
	}
	for i := range len(cluster) {
		switch s.shortKind(cluster[i]) {
		case needsValue: // "-n$N" with an empty N takes the next word
			return i+1 < len(cluster)
		case mayHaveValue:
			return true
		case unknownOption:
			return false
		}
	}
	return false
}

// letter takes the next option off the cluster.
func (s *scanner) letter() (option, bool, *Error) {
	name, rest := s.cluster[:1], s.cluster[1:]
	s.cluster = ""
	switch s.shortKind(name[0]) {
	case noValue:
		if s.style == pflagStyle && strings.HasPrefix(rest, "=") {
			return option{name: name, value: s.part(rest[1:]), set: true}, true, nil
		}
		s.cluster = rest
		return option{name: name}, true, nil
	case mayHaveValue:
		return option{name: name, value: s.part(rest), set: rest != ""}, true, nil
	case needsValue:
		if rest == "" {
			return s.separate(name, "-"+name)
		}
		if s.style == pflagStyle {
			rest = strings.TrimPrefix(rest, "=")
		}
		return option{name: name, value: s.part(rest), set: true}, true, nil
	}
	return option{}, false, s.unknown("-" + name)
}

// longOption reads the long option that is the word w without its dashes.
func (s *scanner) longOption(w Word, text string) (option, bool, *Error) {
	name, value, glued := strings.Cut(text, "=")
	s.from = w
	switch s.longKind(name) {
	case noValue:
		if glued && s.style != pflagStyle {
			return option{}, false, s.unknown("--" + text)
		}
		return option{name: name, value: s.part(value), set: glued}, true, nil
	case mayHaveValue:
		return option{name: name, value: s.part(value), set: glued}, true, nil
	case needsValue:
		if glued {
			return option{name: name, value: s.part(value), set: true}, true, nil
		}
		return s.separate(name, "--"+name)
	}
	if full := s.completions(name); full != "" && s.style != pflagStyle {
		return option{}, false, s.refuse("the option " + strconv.Quote("--"+name) + " of " + s.name +
			" is abbreviated; write it in full: --" + full)
	}
	return option{}, false, s.unknown(w.Text[:len(w.Text)-len(text)] + name)
}

// separate takes the next word as the value of an option.
func (s *scanner) separate(name, shown string) (option, bool, *Error) {
	if s.next >= len(s.argv) {
		return option{}, false, s.refuse("the option " + shown + " of " + s.name + " has no value; give it one")
	}
	w := s.argv[s.next]
	if manyWords(w) && !oneWord(w) {
		return option{}, false, s.dynamic(w, severalWords(w))
	}
	s.next++
	return option{name: name, value: w, set: true}, true, nil
}

// part is a word that is the last part of the present one.
func (s *scanner) part(text string) Word {
	if s.from.State == Exact {
		return Word{Text: text, State: Exact}
	}
	return Word{Text: text}
}

func (s *scanner) shortKind(letter byte) takes {
	if letter == ':' || letter == '+' && s.short != "" && s.short[0] == '+' {
		return unknownOption
	}
	i := strings.IndexByte(s.short, letter)
	if i < 0 {
		return unknownOption
	}
	return colons(s.short[i+1:])
}

func (s *scanner) longKind(name string) takes {
	if after, ok := field(s.long, name); ok {
		return colons(after)
	}
	return unknownOption
}

// field looks for name among the names of list, which stand between spaces; after begins with the colons of the name.
func field(list, name string) (after string, ok bool) {
	for at := 0; name != ""; at++ {
		i := strings.Index(list[at:], name)
		if i < 0 {
			return "", false
		}
		at += i
		end := at + len(name)
		if (at == 0 || list[at-1] == ' ') && (end == len(list) || list[end] == ' ' || list[end] == ':') {
			return list[end:], true
		}
	}
	return "", false
}

func hasField(list, name string) bool {
	_, ok := field(list, name)
	return ok
}

// completions gives the first long name that starts with prefix.
func (s *scanner) completions(prefix string) string {
	for name := range strings.FieldsSeq(s.long) {
		if prefix != "" && strings.HasPrefix(name, prefix) {
			return strings.TrimRight(name, ":")
		}
	}
	return ""
}

func colons(after string) takes {
	switch {
	case strings.HasPrefix(after, "::"):
		return mayHaveValue
	case strings.HasPrefix(after, ":"):
		return needsValue
	}
	return noValue
}
