package flags

import (
	"slices"
	"strings"
	"unicode"
)

// A synopsis reads usage lines: [-abc] [-f FILE] (-x | --long=N) {a|b} -o[utput] name.
type synopsis struct {
	flags []Flag
	words [][]string // of each line, the words before anything else
	brief bool       // -f[amily] is an abbreviation there
	list  bool       // a list of flags with their values, not a command line
	known func(name string) bool

	groups [][]string // names that stand in one bracket
}

// line reads one alternative of the usage.
func (u *synopsis) line(s string) {
	for i := 2; i < len(s); i++ { // a remark behind it
		if s[i-1] == ' ' && s[i-2] == ' ' && unicode.IsLetter(rune(s[i])) {
			s = s[:i-2]
			break
		}
	}
	u.words = append(u.words, leading(s))
	u.sequence(s, 0)
}

// leading returns the plain words at the beginning of a line.
func leading(s string) (words []string) {
	for word := range strings.FieldsSeq(s) {
		if strings.ContainsAny(word, "<>[]{}()|=.") || word[0] == '-' || strings.ToUpper(word) == word {
			break
		}
		words = append(words, word)
	}
	return words
}

// sequence reads s, depth brackets deep, and returns the indices of the flags in it.
func (u *synopsis) sequence(s string, depth int) (from, to int) {
	from = len(u.flags)
	last := -1        // the flag that a value would belong to
	piped := false    // a bar stands before
	group := [2]int{} // flags of the bracket just closed
	for s != "" {
		trimmed := strings.TrimLeft(s, " ")
		if gap := len(s) - len(trimmed); u.list && gap > 1 {
			last = -1
		}
		s = trimmed
		switch {
		case s == "":
		case s[0] == '|':
			last, piped, s = -1, true, s[1:]
			continue
		case strings.HasPrefix(s, "..."), strings.HasPrefix(s, "…"), s[0] == '*':
			if group[1] > group[0] {
				for i := group[0]; i < group[1]; i++ {
					u.flags[i].Repeat = true
				}
			} else if last >= 0 && u.flags[last].Value != Unknown {
				u.flags[last].Variadic = true
			} else if last >= 0 {
				u.flags[last].Repeat = true
			}
			s = strings.TrimLeft(s, ".…*")
			continue
		case s[0] == '[' || s[0] == '(' || s[0] == '{':
			inner, rest, ok := bracket(s)
			if !ok {
				inner, rest = s[1:], ""
			}
			open := s[0]
			s = rest
			if depth < maxDepth && hasFlag(inner) {
				group[0], group[1] = u.sequence(inner, depth+1)
				u.groups = append(u.groups, names(u.flags[group[0]:group[1]]))
				if open == '(' {
					s = u.shared(group, s)
				}
				last = -1
				continue
			}
			if partial := unicode.IsLetter(firstRune(s)); partial && open == '[' && last >= 0 { // a part of a word: [user@]host
				_, s = readPlaceholder(s)
				setValue(&u.flags[last], Required, "")
				continue
			}
			if last >= 0 && (depth > 0 || u.brief || u.list || open == '{') {
				u.group(last, open, inner)
			}
		case s[0] == ')' || s[0] == ']' || s[0] == '}':
			s = s[1:]
		case s[0] == ';' && last >= 0: // -exec COMMAND ;
			u.flags[last].Variadic, s = true, s[1:]
		case isCollective(s) || goesOn(s):
			_, s = readPlaceholder(s)
			s = strings.TrimLeft(s, " .")
			last = -1
		case atFlag(s) || signs(s) > 0:
			i := len(u.flags)
			s = u.flag(s)
			if alias := piped && i-1 >= from && i+1 == len(u.flags) && u.alias(i-1, i); alias {
				u.flags = u.flags[:i]
				i--
				if u.flags[i].Value == Required && startsValue(strings.TrimLeft(s, " ")) {
					_, s = readPlaceholder(strings.TrimLeft(s, " ")) // -f FILE | --file FILE
				}
			}
			last, piped = i, false
			if len(u.flags) > i+1 || depth == 0 && !u.list && u.flags[i].Value == Required {
				last = -1 // a cluster, or --x=VALUE OPERAND
			}
			group = [2]int{}
			continue
		default:
			word, rest := readPlaceholder(s)
			if word == "" {
				s = s[1:]
				continue
			}
			s = rest
			switch {
			case last < 0:
			case word == ";" || word == "{}" || word == "+":
				u.flags[last].Variadic = u.flags[last].Variadic || word != "{}"
			case !u.list && !isPlaceholder(word) && strings.ContainsAny(word, ":.;"):
				last = -1
			case !u.list && !u.brief && depth == 0 && last > from && u.flags[last].Value == Required:
				last = -1 // [-a] -o OUT FILE: an operand, unless the flag is all that the line is about
			default:
				f := &u.flags[last]
				if f.Value == Required && strings.HasPrefix(s, "...") {
					f.Variadic = true
				}
				if f.Value != Optional {
					setValue(f, Required, word)
					f.Uncertain = f.Uncertain || depth == 0 && !u.list && !u.brief
				}
			}
		}
		piped = false
		group = [2]int{}
	}
	return from, len(u.flags)
}

// group reads a bracket without flags that follows a flag: a choice, or an optional value.
func (u *synopsis) group(last int, open byte, inner string) {
	f := &u.flags[last]
	inner = strings.TrimSpace(inner)
	switch {
	case open == '[' && f.Value == Required:
		f.Variadic = !u.list
	case open == '[' && u.list:
		setValue(f, Required, inner) // -type [bcdpfls]: letters of which one is meant
	case open == '[':
		if isBracketValue(inner) {
			setValue(f, Optional, inner)
			f.Next = true
		}
	default:
		if f.Value == Unknown {
			if !strings.ContainsAny(inner, ",|") && inner != "" {
				inner = " " + inner + " " // one word is no choice: { name }
			}
			setValue(f, Required, "{"+inner+"}")
		}
	}
}

// shared gives every flag of a group the value that follows it: (-c | -C) <commit>.
func (u *synopsis) shared(group [2]int, s string) string {
	word, rest := readPlaceholder(strings.TrimLeft(s, " "))
	if word == "" || word[0] == '[' || !isPlaceholder(word) {
		return s
	}
	for i := group[0]; i < group[1]; i++ {
		if u.flags[i].Value == Unknown {
			setValue(&u.flags[i], Required, word)
		}
	}
	return rest
}

// isCollective reports whether s begins with a word that stands for all options and is none itself: [-options ...].
func isCollective(s string) bool {
	word, rest := readPlaceholder(s)
	rest = strings.TrimLeft(rest, " ")
	return slices.Contains([]string{"option", "options", "opts", "flag", "flags", "switches"}, strings.ToLower(strings.TrimLeft(word, "-"))) &&
		word[0] == '-' && (rest == "" || rest[0] == '.' || rest[0] == ']')
}

// goesOn reports whether s begins with a flag whose name goes on with what no name has: -disable-@files.
func goesOn(s string) bool {
	names, rest := readName(s)
	return names != nil && strings.HasPrefix(rest, "-")
}

// signs returns the length of a cluster at the start of s that has signs among its letters: -h?V. It is 0 if there is none.
func signs(s string) int {
	end := strings.IndexAny(s, " ])|}")
	if end < 0 {
		end = len(s)
	}
	if end < 3 || s[0] != '-' || !strings.ContainsAny(s[1:end], "?#@!") || s[2:end] == "#" {
		return 0
	}
	for _, r := range s[1:end] {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("?#@!", r) {
			return 0
		}
	}
	return end
}

// flag reads one flag, or a cluster of short ones, at the start of s.
func (u *synopsis) flag(s string) (rest string) {
	if end := signs(s); end > 0 {
		for _, r := range s[1:end] {
			u.flags = append(u.flags, Flag{Names: []string{"-" + string(r)}})
		}
		return s[end:]
	}
	names, rest := readName(s)
	names, rest = span(names, rest)
	f := Flag{Names: names}
	if u.brief && rest != "" && rest[0] == '[' {
		if inner, after, ok := bracket(rest); ok && strings.TrimFunc(inner, isNameRune) == "" && inner != "" {
			f.Names = append(f.Names, names[0]+inner)
			u.flags = append(u.flags, f)
			return after
		}
	}
	if letter, word, ok := gluedWord(names[0]); ok && !u.list && !u.brief && !u.known(names[0]) {
		f.Names = []string{letter}
		setValue(&f, Required, word)
		f.Uncertain = true
	}
	before := rest
	rest = glued(&f, rest)
	if len(names) == 1 && !isLong(names[0]) && f.Value == Unknown && !isNumeric(names[0]) && !u.list && !u.brief &&
		u.isCluster(names[0][1:], rest) {
		for _, r := range names[0][1:] {
			u.flags = append(u.flags, Flag{Names: []string{"-" + string(r)}, Repeat: f.Repeat})
		}
		return before
	}
	u.flags = append(u.flags, f)
	return rest
}

// gluedWord takes -Olevel apart: a capital letter and the name of its value.
func gluedWord(name string) (letter, word string, ok bool) {
	if len(name) < 5 || name[0] != '-' || !unicode.IsUpper(rune(name[1])) {
		return "", "", false
	}
	word = name[2:]
	if strings.TrimFunc(word, unicode.IsLower) != "" || strings.HasSuffix(word, "elp") || strings.HasSuffix(word, "ersion") {
		return "", "", false
	}
	return name[:2], word, true
}

// isCluster reports whether letters behind one dash are as many flags, and not one flag of that name. A value after
// them speaks for one flag, an order as in the alphabet for many.
func (u *synopsis) isCluster(letters, rest string) bool {
	runes := []rune(letters)
	if len(runes) < 2 || u.known("-"+letters) || strings.ContainsAny(letters, "-_.") {
		return false
	}
	all, sorted, upper := true, true, 0
	for i, r := range runes {
		if slices.Contains(runes[:i], r) {
			return false
		}
		all = all && u.known("-"+string(r))
		sorted = sorted && (i == 0 || unicode.ToLower(r) >= unicode.ToLower(runes[i-1]))
		if unicode.IsUpper(r) {
			upper++
		}
	}
	after := strings.TrimLeft(rest, " ")
	word, _ := readPlaceholder(after)
	if word != "" && word[0] != '[' && len(after) < len(rest) && !all {
		return len(runes) < 4 && word == strings.ToLower(word) && u.known("-"+string(runes[0]))
	}
	return all || sorted || len(runes) == 2 || upper > 0 && (len(runes) == 3 || len(runes) > 9) || !strings.ContainsAny(letters, "aeiou")
}

// alias joins the flag at j into the one at i if they are a short and a long spelling of one: -h | --help.
func (u *synopsis) alias(i, j int) bool {
	a, b := u.flags[i].Names[0], u.flags[j].Names[0]
	if isLong(a) {
		a, b = b, a
	}
	if !isShort(a) || !isLong(b) || !strings.EqualFold(a[1:], string([]rune(b[2:])[:1])) {
		return false
	}
	f := &u.flags[i]
	if f.Value != Unknown && u.flags[j].Value != Unknown && f.Value != u.flags[j].Value {
		return false
	}
	f.Names = append(f.Names, u.flags[j].Names...)
	if f.Value == Unknown {
		f.Value, f.Choices, f.Next = u.flags[j].Value, u.flags[j].Choices, u.flags[j].Next
	}
	return true
}

func hasFlag(s string) bool {
	for i := range len(s) {
		if s[i] == '-' && (i == 0 || strings.IndexByte(" [({|", s[i-1]) >= 0) && (atFlag(s[i:]) || signs(s[i:]) > 0) {
			return true
		}
	}
	return false
}

func names(flags []Flag) (names []string) {
	for _, f := range flags {
		names = append(names, f.Names...)
	}
	return names
}
