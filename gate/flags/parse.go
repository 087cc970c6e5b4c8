package flags

import (
	"slices"
	"strings"
	"unicode"
)

// Parse reads a help text, on whichever stream and with whichever status it came, or a rendered manual page. What is not
// help has no flags.
//
// First the usage lines and the rules (X := …) are set aside; then lists of options are read, by the columns in which
// their entries and texts begin; then the usage, which adds flags that no list has and values that the list leaves out.
func Parse(text string) Help {
	help, _ := parse(text)
	return help
}

// parse is Parse, and says whether the text has a list of options beside its usage.
func parse(text string) (help Help, listed bool) {
	p := &parser{lines: clean(text), goStyle: isGoStyle(text)}
	p.used = make([]bool, len(p.lines))
	usage := p.usageLines()
	p.program = firstWord(append(usage, p.lines[0])[0])
	rules := p.ruleLines()
	p.splitColumns()
	p.body()
	if len(p.defs) == 0 {
		p.dosStyle()
	}
	help = Help{Flags: p.finished(), Subcommands: p.subcommands}
	p.merge(&help, usage, rules)
	for i := range help.Flags {
		settle(&help.Flags[i], p.goStyle)
	}
	return help, len(p.defs) > 0
}

// What nobody wrote for people to read is left out: a text may come from an enemy, and the work on a line or on the usage
// grows faster than their length.
const (
	maxLine     = 4 << 10
	maxUsage    = 32 << 10 // of all its lines
	maxDepth    = 32       // of brackets
	maxNames    = 16       // of one flag
	maxFlags    = 8 << 10
	maxCommands = 8 << 10
)

type parser struct {
	lines       []string
	used        []bool // lines of the usage
	program     string // its name, as the usage or else the first line has it
	goStyle     bool
	defs        []entry
	subcommands []string
	indents     map[int]bool // where entries begin, in this text
	longs       map[int]bool // where long names after short ones begin
}

// An entry is a definition with all of its text.
type entry struct {
	definition
	prose []string
}

// isGoStyle recognises Go's flag package, in whose texts one dash and two are the same.
func isGoStyle(text string) bool {
	previous, lists := "", 0
	for line := range strings.SplitSeq(text, "\n") {
		if len(previous) > 3 && strings.HasPrefix(previous, "  -") && previous[3] != '-' && strings.HasPrefix(line, "    \t") ||
			len(line) > 5 && strings.HasPrefix(line, "  -") && line[4] == '\t' && line[3] != '-' {
			lists++
		}
		if strings.HasPrefix(line, "  --") || strings.HasPrefix(line, "      --") {
			return false
		}
		previous = line
	}
	return lists > 0 && (strings.Contains(text, "Usage of ") || strings.Contains(text, "    \t"))
}

// settle fills in what the conventions say where a text says nothing.
func settle(f *Flag, goStyle bool) {
	f.Digits = isNumeric(f.Names[0])
	if f.Digits {
		f.Value = Required
	}
	if goStyle && !isLong(f.Names[0]) {
		f.Uncertain = false
		for _, name := range slices.Clone(f.Names) {
			f.Names = append(f.Names, "-"+name)
		}
		if f.Value == None || f.Value == Unknown {
			f.Value = Optional // a switch also takes =true and =false
		}
	}
	if f.Value == Unknown {
		f.Value = None
	}
}

// body reads the lists of options and of subcommands.
func (p *parser) body() {
	p.indents, p.longs = map[int]bool{}, map[int]bool{}
	s := scan{parser: p, prose: -1}
	for i, line := range p.lines {
		if p.used[i] {
			s.reset()
			continue
		}
		s.line(line)
	}
}

// A scan is where the reading of the body stands.
type scan struct {
	*parser
	in        section
	inIndent  int    // the indentation of the section's heading
	exampleAt int    // that of the first example, 0 before
	current   bool   // an entry is open
	at        int    // its indentation
	column    int    // where its text begins; 0 if not known yet
	prose     int    // the indentation of the previous line if that was prose, else -1
	heading   bool   // the previous line that was not blank ends in a colon
	symbol    string // the first column of a row about something else than flags: N-M, then -M may be one as well
	patch     bool   // in a patch
	patchAt   int
	defaults  bool // in a paragraph that says which flags are given anyway
	inline    bool // in a paragraph of flags, several a line
	operators bool // and those stand between operands
	commands  commandList
}

func (s *scan) reset() {
	s.current, s.column, s.prose, s.heading, s.inline = false, 0, -1, false, false
}

func (s *scan) line(line string) {
	text := strings.TrimLeft(line, " ")
	at := len(line) - len(text)
	if text == "" {
		s.prose, s.inline, s.defaults = -1, false, false
		return
	}
	if s.defaults {
		return
	}
	for _, bullet := range []string{"* ", "- ", "• ", "o ", "[!] ", "! "} {
		if after, ok := strings.CutPrefix(text, bullet); ok && strings.HasPrefix(after, "-") && atFlag(after) {
			text, at = after, at+len(bullet)
		}
	}
	if s.patch && at >= s.patchAt {
		return
	}
	if s.patch = isPatch(text); s.patch {
		s.patchAt = at
		return
	}
	switch {
	case s.in == examples && at > s.inIndent && (s.exampleAt == 0 || at >= s.exampleAt):
		if s.exampleAt == 0 {
			s.exampleAt = at
		}
		return
	case atFlag(text) || text[0] == '[' && atFlag(text[1:]):
		if s.entry(text, at) {
			return
		}
	case text[0] == '(' && atFlag(strings.TrimLeft(text[1:], " ")) && !s.current && s.flagList(text):
		return
	case s.inlineList(text):
		return
	}
	s.text(text, at)
}

// entry reads a line that begins with a flag. It reports false if the line is prose.
func (s *scan) entry(text string, at int) bool {
	if s.current && s.column > 0 && at >= s.column && s.prose >= 0 && !s.inlineParagraph(text) {
		if d, ok := readDefinition(text); !ok || d.weak || d.text == "" || at > 8 {
			return false
		}
	}
	if s.inlineList(text) {
		return true
	}
	if _, _, ok := framed(text); text[0] == '[' && !ok {
		if s.current && s.column > 0 && at >= s.column {
			return false
		}
		return s.flagList(text)
	}
	d, ok := readDefinition(text)
	if !ok || !s.accepts(&d, at) || len(s.defs) >= maxFlags {
		return false
	}
	if last := len(s.defs) - 1; s.current && last >= 0 && (s.defs[last].open || s.at == at && s.column == 0 && alsoShort(&s.defs[last], &d)) {
		s.join(&s.defs[last], d)
	} else {
		s.define(d)
	}
	s.in, s.commands, s.symbol = options, commandList{}, ""
	s.current, s.at, s.column, s.prose, s.heading = true, at, 0, at, false
	if d.text != "" {
		s.defs[len(s.defs)-1].prose = append(s.defs[len(s.defs)-1].prose, d.text)
		if !d.weak {
			s.column = at + d.column
		}
	}
	s.indents[at] = true
	if i := strings.Index(text, "--"); i > 0 && i < 7 {
		s.longs[at+i] = true
	}
	return true
}

func (s *scan) define(d definition) {
	if len(s.defs) < maxFlags {
		s.defs = append(s.defs, entry{definition: d})
	}
}

// alsoShort reports whether d, on the line after e, is the long name of e's short one: -o FILE, then --output FILE.
func alsoShort(e *entry, d *definition) bool {
	a, b := e.flag.Names, d.flag.Names
	return len(a) == 1 && len(b) == 1 && isShort(a[0]) && isLong(b[0]) && strings.HasPrefix(b[0][2:], a[0][1:]) &&
		e.flag.Value == d.flag.Value && e.last == d.last && e.shown == d.shown
}

// join adds the next line of an entry whose first line ended with a comma, or was another name of the same.
func (s *scan) join(e *entry, d definition) {
	had := e.flag.Value == Required
	e.take(d.flag, had)
	for _, name := range d.flag.Names {
		if len(e.flag.Names) < maxNames && !slices.Contains(e.flag.Names, name) {
			e.flag.Names = append(e.flag.Names, name)
		}
	}
	e.open, e.text, e.weak = d.open, d.text, d.weak
}

// accepts reports whether an entry may begin here, so that the line is not prose that happens to begin with a flag.
func (s *scan) accepts(d *definition, at int) bool {
	if s.in == notes && d.weak || isOutput(d) || strings.HasPrefix(d.text, ",") || len(d.flag.Names) > 4 && (d.open || d.text == "") {
		return false
	}
	if len(d.flag.Names) > 2 && (d.weak && strings.HasPrefix(d.text, "and ") || d.text == "") && len(d.flag.Names[0]) > 2 && !slices.ContainsFunc(d.flag.Names, isShort) && !isLong(d.flag.Names[0]) {
		return false // an enumeration in prose
	}
	if n := d.flag.Names[0]; len(d.flag.Names) == 1 && isShort(n) && !s.current && s.symbol != "" && (len(s.symbol) < 4 || strings.Contains(s.symbol, n[1:])) && mentions(d.text, n[1:]) {
		return false // a row of another table: the ranges of cut, the numbers of find
	}
	strong := !d.weak && d.text != "" || len(d.flag.Names) > 1 || d.open
	if s.current && len(s.defs) > 0 && s.defs[len(s.defs)-1].open {
		return true
	}
	if !s.current {
		// After a line of prose at the same place it is the rest of that prose.
		return strong || s.heading || s.prose != at || s.indents[at]
	}
	switch {
	case at == s.at:
		return true
	case s.column > 0 && at >= s.column:
		return strong && at <= 8 && d.text != "" || strong && s.longs[at]
	case at < s.at:
		return strong || s.prose != at
	case s.column > 0:
		return strong || s.indents[at] || s.longs[at] || s.prose != at
	default: // the entry before has no text yet: this may be it
		return strong && at <= 12 || s.longs[at] || d.text == "" && at-s.at == 4 || s.indents[at]
	}
}

// isOutput reports whether d is no flag but what a program printed of its work: the mode of a file, numbers.
func isOutput(d *definition) bool {
	name := d.flag.Names[0]
	return len(name) > 7 && strings.Trim(name, "rwxsStT-") == "" ||
		unicode.IsDigit(rune(name[1])) && (strings.Contains(name, ".") || len(name) > 2 && strings.Trim(d.text, "-0123456789. ") == "" && d.text != "")
}

// text reads a line that is no entry: the text of one, a heading, a subcommand, or prose.
func (s *scan) text(text string, at int) {
	s.defaults = strings.HasSuffix(text, " defaults to:")
	if s.current && at > s.at {
		if s.column == 0 {
			s.column = at
		}
		if last := &s.defs[len(s.defs)-1]; len(last.prose) < 60 {
			last.prose = append(last.prose, text)
		}
		s.prose, s.heading = at, false
		return
	}
	if in, ok := headingOf(text, at); ok {
		s.in, s.inIndent, s.exampleAt = in, at, 0
		s.commands = commandList{program: s.program}
		s.current, s.column, s.prose, s.heading = false, 0, -1, true
		return
	}
	if s.in == commands && at >= s.inIndent {
		for _, name := range s.commands.names(text, at) {
			if len(s.subcommands) < maxCommands && !slices.Contains(s.subcommands, name) {
				s.subcommands = append(s.subcommands, name)
			}
		}
	}
	if at <= s.at {
		s.current, s.column = false, 0
	}
	s.prose, s.heading = at, strings.HasSuffix(text, ":")
	if symbol := rowSymbol(text); symbol != "" {
		s.symbol = symbol
	}
}

// isPatch reports whether a patch begins with text.
func isPatch(text string) bool {
	return strings.HasPrefix(text, "diff --") || strings.HasPrefix(text, "@@ -") || strings.HasPrefix(text, "@@@ -")
}

// rowSymbol returns the first column of a row of a table about something else than flags: a symbol, a gap, a text. It
// is "" if text is no such row.
func rowSymbol(text string) string {
	symbol, _, ok := strings.Cut(text, "   ")
	if !ok || len(symbol) > 4 && strings.ToUpper(symbol) != symbol || strings.Contains(symbol, " ") {
		return ""
	}
	return symbol
}

// dosStyle reads flags that begin with a slash or backslash, where a text has no others.
func (p *parser) dosStyle() {
	announced := false
	for i, line := range p.lines {
		text := strings.TrimLeft(line, " ")
		lower := strings.ToLower(text)
		if strings.Contains(lower, "argument") || strings.Contains(lower, "option") || strings.Contains(lower, "switch") {
			announced = announced || strings.HasSuffix(text, ":")
		}
		if p.used[i] || !announced || text == line || len(text) < 3 || text[0] != '/' && text[0] != '\\' {
			continue
		}
		word, rest := readWord(text[1:])
		if text[1] == '?' {
			word, rest = "?", text[2:]
		}
		if word == "" || len(word) > 10 || rest != "" && rest[0] != ' ' && rest[0] != ':' {
			continue
		}
		d := definition{flag: Flag{Names: []string{text[:1] + word}}}
		if len(rest) > 1 && rest[0] == ':' && rest[1] != ' ' { // /B:size
			var value string
			if value, rest = readPlaceholder(rest[1:]); value != "" {
				setValue(&d.flag, Required, value)
			}
		}
		rest, _ = d.values(&d.flag, rest)
		d.describe(text, rest)
		if d.text != "" && !d.weak {
			p.defs = append(p.defs, entry{definition: d, prose: []string{d.text}})
		}
	}
}

// isUpperHeading reports whether text is a heading in capitals, as in manual pages.
func isUpperHeading(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLower(r) || strings.ContainsRune("<>[]{}=|", r) {
			return false
		}
		if unicode.IsUpper(r) {
			letters++
		}
	}
	return letters > 2
}
