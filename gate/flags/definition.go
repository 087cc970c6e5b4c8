package flags

import (
	"slices"
	"strings"
	"unicode"
)

// A definition is one entry of a list of options: the flag, and where its text is.
type definition struct {
	flag   Flag
	text   string // the description on the same line
	column int    // where that begins, counted from the beginning of the entry; 0 if there is none
	open   bool   // ended with a comma: the next line has another name
	weak   bool   // only single blanks: may be prose that begins with a flag
	last   byte   // how the last value is written: '<', '{', '[', or 'A' for a plain word
	run    int    // how many words from here on are values: --arg name value
	shown  string // what the last value is called
	hidden bool   // a placeholder is missing where one was meant: "--bus , -b"
}

// readDefinition reads an entry: names, values, text.
func readDefinition(entry string) (d definition, ok bool) {
	s := entry
	if inner, rest, ok := framed(s); ok {
		s = inner + " " + rest // [--port -p value] : text
	}
	for {
		names, rest := readName(s)
		if names == nil || len(d.flag.Names) > maxNames {
			return d, len(d.flag.Names) > 0 && names == nil
		}
		names, rest = span(names, rest)
		again := slices.Contains(d.flag.Names, names[0]) && d.flag.Value == Unknown
		for _, name := range names {
			if !slices.Contains(d.flag.Names, name) {
				d.flag.Names = append(d.flag.Names, name)
			}
		}
		had := d.flag.Value == Required
		var one Flag // a value shown with each name is the same value
		rest = glued(&one, rest)
		rest, more := d.values(&one, rest)
		if again && one.Value == Required { // --check, --check=quiet
			one.Value, one.Choices = Optional, nil
		}
		d.take(one, had)
		if !more {
			d.describe(entry, rest)
			return d, true
		}
		s = rest
	}
}

// framed takes an entry apart whose flag stands in brackets: [--port -p value] : text, or [--path=PATH]  # text.
func framed(s string) (inner, rest string, ok bool) {
	if s == "" || s[0] != '[' {
		return "", s, false
	}
	inner, rest, ok = bracket(s)
	mark := strings.TrimLeft(rest, " ")
	return inner, rest, ok && mark != "" && (mark[0] == ':' || mark[0] == '#')
}

// take adds what one of the names says about the value.
func (d *definition) take(one Flag, had bool) {
	f := &d.flag
	f.Repeat = f.Repeat || one.Repeat
	f.Variadic = f.Variadic || one.Variadic
	if one.Value == Unknown || had && one.Value == Required {
		return
	}
	f.Value, f.Next, f.Uncertain = one.Value, one.Next, one.Uncertain
	f.Arity = max(f.Arity, one.Arity)
	if one.Choices != nil {
		f.Choices = one.Choices
	}
}

// span reads a range of digits: -0 ... -9.
func span(names []string, rest string) ([]string, string) {
	if len(names) != 1 || len(names[0]) != 2 || !unicode.IsDigit(rune(names[0][1])) {
		return names, rest
	}
	after := strings.TrimLeft(rest, " ")
	for _, dots := range []string{"...", ".."} {
		to, ok := strings.CutPrefix(after, dots)
		to = strings.TrimLeft(to, " ")
		if !ok || len(to) < 2 || to[0] != '-' || !unicode.IsDigit(rune(to[1])) {
			continue
		}
		for c := names[0][1] + 1; c <= to[1]; c++ {
			names = append(names, "-"+string(rune(c)))
		}
		return names, to[2:]
	}
	return names, rest
}

// values reads what follows a name until the text begins, or until another name: then again is true.
func (d *definition) values(f *Flag, s string) (rest string, again bool) {
	for {
		trimmed := strings.TrimLeft(s, " ")
		gap := len(s) - len(trimmed)
		switch {
		case trimmed == "":
			return "", false
		case strings.HasPrefix(s, "..."), strings.HasPrefix(s, "…"):
			s = repeated(f, s)
			continue
		case trimmed[0] == ',' && gap <= 1:
			after := strings.TrimLeft(trimmed[1:], " ")
			if after == "" {
				d.open = true
				return "", false
			}
			if inner, rest, ok := bracket(after); ok && after[0] == '[' && atFlag(inner) { // -p, [--path=PATH]
				return inner + rest, true
			}
			if len(after) > 4 && after[1:3] == ", " && unicode.IsLetter(rune(after[0])) && atFlag(after[3:]) {
				after = after[3:] // -p, p, --pid: ps has names without a dash
			}
			if atFlag(after) {
				if gap == 1 && f.Value == Unknown && trimmed != s {
					d.hidden = true
				}
				return after, true
			}
			if strings.HasPrefix(trimmed, ",  ") {
				return trimmed[1:], false
			}
			return s, false
		case (trimmed[0] == '|' || trimmed[0] == '/') && atFlag(strings.TrimLeft(trimmed[1:], " ")):
			return strings.TrimLeft(trimmed[1:], " "), true
		case strings.HasPrefix(trimmed, "or ") && gap > 0 && gap < 3 && atFlag(strings.TrimLeft(trimmed[3:], " ")):
			return strings.TrimLeft(trimmed[3:], " "), true
		case gap <= 1 && (trimmed[0] == '[' || trimmed[0] == '(') && atFlag(strings.TrimLeft(trimmed[1:], " ")):
			inner, after, ok := bracket(trimmed) // -h [ --help ], -h (--help)
			if !ok || !lone(inner) {
				return s, false
			}
			return strings.TrimSpace(inner) + after, true
		case gap == 1 && strings.HasPrefix(trimmed, "- -") && atFlag(trimmed[2:]):
			return trimmed[2:], true // -a - --all
		case gap == 1 && trimmed[0] == '(' && f.Value == Unknown && strings.Contains(trimmed, "), -"):
			s = trimmed[strings.Index(trimmed, "), -")+1:] // -1 ("one"), --single-transaction
			continue
		case gap > 1 && strings.HasPrefix(trimmed, "....") && atFlag(strings.TrimLeft(trimmed, ". ")):
			return strings.TrimLeft(trimmed, ". "), true // -e  -E  ....  --quit-at-eof
		case gap > 1 && atFlag(trimmed) && d.nextColumn(trimmed):
			return trimmed, true // --append  -A chain   text
		case gap == 1 && f.Value == Unknown && isTypeRemark(trimmed):
			if setValue(f, Required, ""); strings.HasPrefix(trimmed, "(boolean)") {
				f.Value = None
			}
			return trimmed[strings.IndexByte(trimmed, ')')+1:], false
		case gap == 1 && strings.HasPrefix(trimmed, "...") && ends(trimmed[3:]):
			if s = trimmed[3:]; f.Value == Unknown { // git's scripts have --author ... for --author <author>
				f.Value = Required
			} else {
				f.Repeat = true
			}
			continue
		case strings.HasPrefix(trimmed, "(=") && strings.Contains(trimmed, ")"):
			s = trimmed[strings.Index(trimmed, ")")+1:] // the default, as boost prints it
			continue
		case gap == 1 && f.Value == Unknown && strings.HasPrefix(trimmed, "= "): // --name = X
			s = glued(f, "="+strings.TrimLeft(trimmed[1:], " "))
			continue
		case gap > 1 && f.Value == Unknown && isColumn(trimmed):
			var word string
			word, s = readPlaceholder(trimmed)
			setValue(f, Required, word)
			return s, false
		case gap != 1:
			return s, false
		case atFlag(trimmed):
			if otherLength(d.flag.Names, f, trimmed) {
				return trimmed, true // --quiet -q
			}
			return s, false
		}
		word, after := readPlaceholder(trimmed)
		if short, ok := strings.CutSuffix(word, ":"); ok && short != "" {
			word, after = short, " :"+after
		}
		if !d.isValue(f, word, after) {
			return s, false
		}
		d.last, d.shown = 'A', word
		if strings.ContainsRune("<{[", rune(word[0])) {
			d.last = word[0]
		}
		if word[0] == '[' && !partOnly(word) {
			inner := word[1:strings.LastIndexByte(word, ']')]
			if choices, ok := choicesOf(inner); ok && inner[0] != '=' && f.Value == Unknown { // --kind [red|green]
				f.Value, f.Choices = Required, choices
			} else if f.Value == Required {
				f.Variadic = f.Variadic || strings.Contains(inner, "...") || f.Arity <= 1
			} else {
				inner, _, dots := strings.Cut(strings.TrimSpace(inner), "...")
				setValue(f, Optional, strings.TrimSpace(inner))
				f.Next = true
				f.Variadic = f.Variadic || dots
			}
		} else {
			setValue(f, Required, word)
			if len(strings.Fields(word)) == 1 && strings.HasPrefix(after, " RANGE") {
				after = after[len(" RANGE"):] // click has INTEGER RANGE
			}
			if open := strings.Index(word, "[="); open > 0 || strings.HasSuffix(word, "[=]") { // string[="auto"]
				f.Value = Optional
			}
		}
		s = after
		if rest, ok := strings.CutPrefix(s, "..."); ok {
			if parts := strings.Fields(word); len(parts) > 1 && isPlaceholder(word[1:]) { // <FLOAT FLOAT>...
				f.Arity = len(parts)
			} else {
				f.Repeat = true
			}
			s = rest
		}
	}
}

// nextColumn reports whether the flag at the start of s, after a gap, is another name and not the first word of the text.
func (d *definition) nextColumn(s string) bool {
	next, rest := readName(s)
	if strings.HasPrefix(strings.TrimLeft(rest, " "), "....") {
		return true
	}
	if isShort(next[0]) && isShort(d.flag.Names[len(d.flag.Names)-1]) {
		return false
	}
	var f Flag
	rest = glued(&f, rest)
	return rest == "" || strings.HasPrefix(rest, "  ") || rest[0] == ' ' && f.Value == Unknown && startsValue(rest[1:])
}

// isColumn reports whether s begins with a value in a column of its own, before the text.
func isColumn(s string) bool {
	word, after := readPlaceholder(s)
	return isPlaceholder(word) && len(word) > 1 && (word[0] == '<' || unicode.IsUpper(firstRune(word))) && strings.HasPrefix(after, "  ")
}

// lone reports whether a bracket holds one flag and nothing else.
func lone(inner string) bool {
	names, rest := readName(strings.TrimSpace(inner))
	return names != nil && !strings.Contains(strings.TrimSpace(rest), " ")
}

// otherLength reports whether the flag at the start of s is a short name for long ones or the other way round: then two
// names without a comma are one flag.
func otherLength(names []string, f *Flag, s string) bool {
	next, rest := readName(s)
	last := names[len(names)-1]
	if isShort(last) == isShort(next[0]) {
		return strings.HasPrefix(rest, " -") && atFlag(rest[1:]) // -S -d --strip-debug
	}
	if f.Value == Unknown || isShort(last) != isShort(next[0]) && len(names) == 1 {
		// Prose goes on after it; a name is followed by a gap, a value or nothing.
		rest = strings.TrimLeft(rest, "=")
		return rest == "" || rest[0] != ' ' || strings.HasPrefix(rest, "  ") || strings.HasPrefix(rest, " :") ||
			startsValue(rest[1:])
	}
	return false
}

func startsValue(s string) bool {
	word, after := readPlaceholder(s)
	return (isPlaceholder(word) || word != "" && word[0] == '[' || isWord(word)) && ends(after)
}

// isValue reports whether word, one blank after a name or value, is a placeholder and not the text.
func (d *definition) isValue(f *Flag, word, after string) bool {
	switch {
	case word == "":
		return false
	case d.run > 0:
		d.run--
		return true
	case f.Value == Unknown && d.isRun(word, after):
		return true
	case f.Value == Required && word[0] != '[' && word[0] != '<' && word[0] != '{':
		return (isPlaceholder(word) || isLetter(word)) && ends(after)
	case isLetter(word) && len(after) > 1 && isLetter(after[1:2]) && ends(after[2:]):
		return true // --arg a v   text
	case f.Value == Required && word[0] != '[' && d.last == 'A':
		return false
	case word[0] == '[' && partOnly(word):
		return f.Value != Required
	case word[0] == '[':
		closing := strings.LastIndexByte(word, ']')
		return closing > 0 && closing >= len(word)-4 && isBracketValue(word[1:closing])
	case word[0] == '<' || word[0] == '{':
		return true
	case word[0] == '"' || word[0] == '\'':
		return ends(after)
	case word == "A" || word == "I":
		return ends(after) || strings.HasPrefix(after, " ["+word)
	case isPlaceholder(word):
		return true
	}
	if unicode.IsDigit(firstRune(word)) {
		return after == "" // an example: -cpu 1,2,4
	}
	return (isWord(word) || strings.ContainsAny(word, "=|[<")) && ends(after)
}

// isRun reports whether word and those after it, up to four and up to the text, are values: --arg name value, --rgb R G B.
func (d *definition) isRun(word, after string) bool {
	upper := isPlaceholder(word)
	if !upper && (!isWord(word) || len(word) == 1 || isProse(word)) {
		return false
	}
	for n := 1; n < 4 && len(after) > 1 && after[0] == ' ' && after[1] != ' '; n++ {
		word, after = readPlaceholder(after[1:])
		if upper != isPlaceholder(word) || !isWord(word) || len(word) > 12 || !upper && isProse(word) {
			return false
		}
		if text := strings.TrimLeft(after, " "); len(after)-len(text) > 1 && text != "" && !atFlag(text) {
			d.run = n
			return true
		}
	}
	return false
}

// isProse reports whether word stands in sentences and never for a value.
func isProse(word string) bool {
	return slices.Contains([]string{
		"a", "an", "the", "this", "that", "all", "any", "each", "no", "not", "and", "or", "of", "to", "in", "on", "by", "as", "at", "is",
		"be", "for", "from", "with", "if", "it", "only", "use", "do", "show", "print", "set", "read", "write", "run", "list", "enable", "disable",
	}, strings.ToLower(word))
}

// isTypeRemark reports whether s begins with the type of a value as aws writes it.
func isTypeRemark(s string) bool {
	kind, after, ok := strings.Cut(s, ")")
	return ok && after == "" && slices.Contains([]string{
		"(boolean", "(string", "(integer", "(long", "(float", "(double", "(list", "(map", "(structure", "(blob", "(timestamp",
	}, kind)
}

// partOnly reports whether only a part of the word is in brackets: [protocol://]host[:port].
func partOnly(word string) bool {
	_, rest, ok := bracket(word)
	return ok && rest != "" && !strings.HasPrefix(rest, ".")
}

func isLetter(word string) bool { return len(word) == 1 && unicode.IsLower(rune(word[0])) }

// isBracketValue reports whether the inside of a bracket is a placeholder, not a remark about the flag.
func isBracketValue(inner string) bool {
	inner = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "..."))
	if inner == "" || strings.Contains(inner, ":") || strings.HasPrefix(inner, "-") {
		return false
	}
	if strings.Contains(inner, " ") && !strings.ContainsAny(inner[:1], "<{") {
		return false
	}
	return !slices.Contains([]string{
		"deprecated", "required", "optional", "boolean", "experimental", "default", "string", "number", "array", "count", "bool", "int",
	}, strings.ToLower(inner))
}

// ends reports whether the definition is over after a word: the text begins after a gap or a colon, or another name
// comes.
func ends(after string) bool {
	if after == "" || strings.HasPrefix(after, "  ") || after[0] == ',' || after[0] == '|' || strings.HasPrefix(after, "...") {
		return true
	}
	trimmed := strings.TrimLeft(after, " ")
	return strings.HasPrefix(trimmed, ": ") || trimmed == ":" || strings.HasPrefix(trimmed, "[ -") || strings.HasPrefix(trimmed, "- ") ||
		strings.HasPrefix(trimmed, "(=")
}

// describe takes the rest of the entry as its text.
func (d *definition) describe(entry, rest string) {
	text := strings.TrimLeft(rest, " ")
	gap := len(rest) - len(text)
	for _, mark := range []string{":", "#", "--", "-"} {
		if after, ok := strings.CutPrefix(text, mark); ok && (after == "" || after[0] == ' ') {
			text, gap = strings.TrimLeft(after, " "), gap+2
			break
		}
	}
	d.text = text
	if text != "" {
		d.column = len(entry) - len(text)
		d.weak = gap < 2
	}
}
