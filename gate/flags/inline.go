package flags

import (
	"slices"
	"strings"
	"unicode"
)

// inlineList reads a line that names several flags with their values and nothing else, perhaps after a label:
//
//	Tests (N can be +N): -amin N -newer FILE -empty
//
// It reports whether the line is one.
func (s *scan) inlineList(text string) bool {
	colon := 0
	for i := 0; i+3 < len(text); i++ {
		if text[i] == ':' && text[i+1] == ' ' && startsFlag(strings.TrimLeft(text[i+1:], " ")) && !atFlag(text) && text[0] != '[' {
			colon = i
		}
	}
	list, label := text, ""
	if colon > 0 {
		label, list = strings.ToLower(text[:colon]), strings.TrimLeft(text[colon+1:], " ")
	}
	count := flagsIn(list)
	switch {
	case count == 0:
		return false
	case label != "":
		announced := slices.ContainsFunc([]string{"option", "flag", "test", "action", "switch", "predicate", "operator"}, func(w string) bool {
			return strings.Contains(label, w)
		})
		configured := slices.ContainsFunc([]string{"configur", "compil", "built", "build"}, func(w string) bool { return strings.Contains(label, w) })
		if !announced && (count < 2 || configured) || strings.Contains(label, "e.g") || strings.Contains(label, "example") {
			return false
		}
	case s.inline:
	case count < 2:
		return false
	case count == 2 && atFlag(text):
		first, rest := readName(text)
		if i := strings.Index(rest, " -"); i < 0 || strings.Contains(rest, "  ") {
			return false
		} else if second, _ := readName(rest[i+1:]); second == nil || isShort(first[0]) != isShort(second[0]) {
			return false // two spellings of one flag
		} else if s.takesValue(first[0]) && !s.defines(second[0]) && !strings.Contains(rest, "=") {
			return false // -perm mode, then -perm -mode
		}
	}
	s.operators = strings.HasPrefix(label, "operator") || s.operators && s.inline && label == ""
	u := synopsis{list: true, known: func(string) bool { return false }}
	u.sequence(list, 0)
	for _, f := range u.flags {
		if s.operators { // EXPR1 -a EXPR2
			f.Value = None
		}
		s.define(definition{flag: f})
	}
	s.reset()
	s.inline = true
	return true
}

func (s *scan) inlineParagraph(text string) bool { return s.inline && flagsIn(text) > 0 }

// flagsIn counts the flags of a line that consists of flags and placeholders; 0 if it has anything else.
func flagsIn(list string) (count int) {
	for word := range strings.FieldsSeq(list) {
		switch {
		case strings.HasSuffix(word, ",") || strings.HasSuffix(word, ":") || strings.HasSuffix(word, ".") && !strings.HasSuffix(word, "..."):
			if word != "," {
				return 0
			}
		case atFlag(word):
			if names, rest := readName(word); rest != "" && rest[0] == ',' && isNumber(names[0]) {
				return 0 // the line numbers of a patch: @@ -1,2 +1,3 @@
			}
			count++
		case strings.ContainsAny(word[:1], "<{[("):
			if strings.Contains(word, "-") && startsFlag(word) {
				count++
			}
		default:
			inside := 0
			for _, r := range word {
				switch {
				case r == '[':
					inside++
				case r == ']':
					inside--
				case unicode.IsLower(r) && inside == 0:
					return 0
				}
			}
			if word == "|" || strings.Contains(word, "=") {
				return 0
			}
		}
	}
	return count
}

// flagList reads a line of flags in brackets, as npm prints them: [-g|--global] [--omit <dev|peer>].
func (s *scan) flagList(text string) bool {
	depth := 0
	for _, r := range text {
		switch {
		case r == '[' || r == '(':
			depth++
		case r == ']' || r == ')':
			depth--
		case depth == 0 && r != ' ' && r != '.' && r != '|':
			return false
		}
	}
	if depth != 0 {
		return false
	}
	u := synopsis{known: s.defines}
	u.sequence(text, 0)
	for _, f := range u.flags {
		s.define(definition{flag: f})
	}
	s.reset()
	return len(u.flags) > 0
}

// takesValue reports whether an entry says that the flag of this name needs a value.
func (p *parser) takesValue(name string) bool {
	return p.defines(name) && slices.ContainsFunc(p.defs, func(e entry) bool {
		return e.flag.Value == Required && slices.Contains(e.flag.Names, name)
	})
}

// defines reports whether an entry has this name.
func (p *parser) defines(name string) bool {
	for i := range p.defs {
		if slices.Contains(p.defs[i].flag.Names, name) {
			return true
		}
	}
	return false
}
