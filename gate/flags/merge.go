package flags

import (
	"slices"
	"strings"
	"unicode"
)

// finished returns the flags of the lists, with what their texts say about values.
func (p *parser) finished() (flags []Flag) {
	hidden := slices.ContainsFunc(p.defs, func(e entry) bool { return e.hidden })
	for _, e := range p.defs {
		f := e.flag
		if letter, word, ok := gluedWord(f.Names[0]); ok && len(f.Names) == 1 && f.Value == Unknown && isPlaceholderName(word) {
			f.Names = []string{letter}
			setValue(&f, Required, word)
		}
		if e.shown == "count" && slices.ContainsFunc(f.Names, isLevel) { // cobra's counters: -v, --verbose count
			f.Value, f.Repeat = Optional, true
		}
		prose := strings.Join(e.prose, "\n")
		readProse(&f, prose, hidden)
		if e.hidden && f.Value == Unknown {
			f.Value, f.Uncertain = Required, true
		}
		for _, name := range alsoNamed(prose) {
			if !p.defines(name) {
				f.Names = append(f.Names, name)
			}
		}
		flags = add(flags, f)
		for _, name := range f.Names {
			if isShort(name) && unicode.IsLetter(rune(name[1])) && mentions(prose, name+name[1:]) {
				owner := find(flags, name)
				owner.Repeat = true
				flags = add(flags, Flag{Names: []string{name + name[1:]}, Value: None})
			}
		}
	}
	return flags
}

// isLevel reports whether name is one of those that are given again to say more, or less.
func isLevel(name string) bool {
	return slices.Contains([]string{"--verbose", "--verbosity", "--quiet", "--debug"}, name)
}

// isPlaceholderName reports whether word, glued to a capital letter, is the name of that flag's value: -Olevel. Most such
// words are a part of the name: -Wall.
func isPlaceholderName(word string) bool {
	return slices.Contains([]string{"level", "file", "path", "type", "mode", "size", "num", "number", "count", "format"}, word)
}

// alsoNamed returns the other names that the text of a flag gives it: print this help (also -? or --help).
func alsoNamed(prose string) (names []string) {
	_, after, _ := strings.Cut(strings.Join(strings.Fields(prose), " "), "(also ")
	list, _, closed := strings.Cut(after, ")")
	if !closed {
		return nil
	}
	for word := range strings.FieldsSeq(strings.NewReplacer(" or ", " ", " and ", " ", ",", " ").Replace(list)) {
		name, rest := readName(word)
		if len(name) != 1 || rest != "" {
			return nil
		}
		names = append(names, name[0])
	}
	return names
}

func find(flags []Flag, name string) *Flag {
	h := Help{Flags: flags}
	return h.Find(name)
}

// add appends f, or what of it is new. A name that is listed twice keeps its first meaning; if the second is another
// one, that is not certain.
func add(flags []Flag, f Flag) []Flag {
	var fresh []string
	var old *Flag
	for _, name := range f.Names {
		if known := find(flags, name); known != nil {
			old = known
		} else {
			fresh = append(fresh, name)
		}
	}
	if old != nil {
		old.Variadic = old.Variadic || f.Variadic
		switch {
		case f.Value == Unknown || f.Value == old.Value || f.Value == None && old.Value == Unknown:
		default:
			old.Uncertain = true
		}
	}
	if len(fresh) == 0 {
		return flags
	}
	if old != nil && f.Value == Required && !slices.ContainsFunc(fresh, isLong) && slices.ContainsFunc(f.Names, isLong) {
		f.Value, f.Choices, f.Uncertain = None, nil, true // -p, --indicator-style=slash: short for one value of it
	}
	f.Names = fresh
	return append(flags, f)
}

// mentions reports whether the word stands in s, not as a part of a longer one.
func mentions(s, word string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !isNameRune(rune(s[i-1]))) && (end == len(s) || !isNameRune(rune(s[end]))) {
			return true
		}
		from = end
	}
}

// readProse takes from the text of a flag what the conventions of argument parsers put there. hidden says that the
// program leaves placeholders out.
func readProse(f *Flag, prose string, hidden bool) {
	flat := strings.Join(strings.Fields(prose), " ")
	for _, begin := range []string{"[possible values: ", "(possible values: ", "[choices: ", "(choices: ", "[values: ", "<options: "} {
		if _, after, ok := strings.Cut(flat, begin); ok {
			if list, _, ok := strings.Cut(after, closing(begin)); ok {
				f.Choices = commas(strings.ReplaceAll(list, "|", ","))
			}
		}
	}
	if at := strings.Index(prose, "Possible values:\n"); at >= 0 {
		for line := range strings.SplitSeq(prose[at+len("Possible values:\n"):], "\n") {
			item, ok := strings.CutPrefix(line, "- ")
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(item, ":")
			if !strings.Contains(name, " ") {
				f.Choices = append(f.Choices, name)
			}
		}
	}
	if f.Choices != nil && f.Value == Unknown {
		f.Value = Required
	}
	if f.Value == Unknown {
		for _, kind := range []string{"[string]", "[number]", "[array]"} {
			if strings.Contains(flat, kind) {
				f.Value = Required
			}
		}
	}
	if f.Value == Unknown && hidden {
		if _, after, ok := strings.Cut(flat, "(default: "); ok {
			value, _, _ := strings.Cut(after, ")")
			if !slices.Contains([]string{"False", "True", "None", "false", "true"}, value) {
				f.Value, f.Uncertain = Required, true
			}
		}
	}
	lower := strings.ToLower(flat)
	f.EndsOptions = f.EndsOptions || strings.Contains(lower, "ends option list") || strings.Contains(lower, "terminates option list")
}

func closing(begin string) string {
	return string(closerOf(begin[0]))
}

func commas(list string) (items []string) {
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.Trim(strings.TrimSpace(item), `"'`); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// merge adds what the usage and the rules say to what the lists say.
func (p *parser) merge(help *Help, usage []string, rules map[string]string) {
	hidden := slices.ContainsFunc(p.defs, func(e entry) bool { return e.hidden })
	u := synopsis{known: func(name string) bool { return help.Find(name) != nil }}
	for _, line := range usage {
		u.line(line)
	}
	for _, f := range u.flags {
		for _, name := range f.Names {
			old := help.Find(name)
			if old == nil {
				continue
			}
			switch {
			case old.Value == Unknown && f.Value != Unknown && !f.Uncertain:
				old.Value, old.Choices, old.Next = f.Value, f.Choices, f.Next
			case old.Uncertain && f.Value == Unknown && old.Value == Required && !hidden:
				old.Value = None
			}
		}
		if len(f.Names) == 2 && help.Find(f.Names[0]) == nil && help.Find(f.Names[1]) != nil {
			old := help.Find(f.Names[1])
			old.Names = append([]string{f.Names[0]}, old.Names...)
			continue
		}
		help.Flags = add(help.Flags, f)
	}
	for _, group := range u.groups {
		if slices.ContainsFunc(group, func(name string) bool { f := help.Find(name); return f != nil && f.EndsOptions }) {
			for _, name := range group {
				if f := help.Find(name); f != nil {
					f.EndsOptions = true
				}
			}
		}
	}
	for _, name := range append(splitCommands(u.words), positional(usage)...) {
		if !slices.Contains(help.Subcommands, name) {
			help.Subcommands = append(help.Subcommands, name)
		}
	}
	for name, rule := range rules {
		switch {
		case strings.Contains(name, "OPTION") || strings.Contains(name, "FLAG"):
			r := synopsis{brief: true, known: u.known}
			r.sequence(rule, 0)
			for _, f := range r.flags {
				if old := find(help.Flags, f.Names[len(f.Names)-1]); old != nil && len(f.Names) == 2 && help.Find(f.Names[0]) == nil {
					old.Names = append([]string{f.Names[0]}, old.Names...)
				}
				help.Flags = add(help.Flags, f)
			}
		case name == "OBJECT" || name == "COMMAND":
			for word := range strings.FieldsFuncSeq(rule, func(r rune) bool { return strings.ContainsRune("{}| ", r) }) {
				if word != "help" && strings.TrimFunc(word, isNameRune) == "" && unicode.IsLower(firstRune(word)) {
					help.Subcommands = append(help.Subcommands, word)
				}
			}
		}
	}
}

// alternatives returns the names in the first operand of a usage line, if that is a choice of names between bars.
func alternatives(line string) (names []string) {
	_, rest, _ := strings.Cut(line, " ")
	for rest = strings.TrimLeft(rest, " "); rest != "" && (rest[0] == '['); rest = strings.TrimLeft(rest, " ") {
		_, after, ok := bracket(rest)
		if !ok {
			return nil
		}
		rest = strings.TrimLeft(after, ".")
	}
	word, _ := readPlaceholder(rest)
	if bars := strings.Count(word, "|"); bars == 0 || word[0] != '{' && bars < 2 || strings.ContainsAny(word, "[<(") {
		return nil
	}
	for part := range strings.SplitSeq(strings.Trim(word, "{}"), "|") {
		name, left := commandName(strings.TrimSpace(part))
		if name == "" || left != "" || stands(name) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// splitCommands returns the words by which alternatives of the usage differ.
func splitCommands(lines [][]string) (names []string) {
	if len(lines) < 2 {
		return nil
	}
	common := lines[0]
	for _, words := range lines[1:] {
		n := 0
		for n < len(common) && n < len(words) && common[n] == words[n] {
			n++
		}
		common = common[:n]
	}
	if len(common) == 0 {
		return nil
	}
	for _, words := range lines {
		if len(words) <= len(common) {
			continue
		}
		if name, rest := commandName(words[len(common)]); rest == "" && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// positional returns the subcommands that stand in the place of an operand: argparse has {init,run} ..., scripts have
// {start|stop} or start|stop.
func positional(usage []string) (names []string) {
	for _, line := range usage {
		names = append(names, alternatives(line)...)
		_, after, ok := strings.Cut(line, "] {")
		if !ok {
			_, after, ok = strings.Cut(line, " {")
		}
		list, rest, closed := strings.Cut(after, "}")
		if !ok || !closed || !strings.HasPrefix(strings.TrimLeft(rest, " "), "...") {
			continue
		}
		for _, item := range commas(list) {
			if name, left := commandName(item); left == "" && name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
