package flags

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// readName reads the name of a flag at the start of s. One spelling may be several names: --[no-]x. It returns no names
// where s does not begin with a flag.
func readName(s string) (names []string, rest string) {
	dashes := 0
	for dashes < len(s) && s[dashes] == '-' {
		dashes++
	}
	if dashes == 0 || dashes > 2 {
		return nil, s
	}
	dash, body := s[:dashes], s[dashes:]
	for _, no := range []string{"[no]", "(no-)", "{no-}", "[un]"} {
		if after, ok := strings.CutPrefix(body, no); ok {
			if word, rest := readWord(after); word != "" {
				return []string{dash + word, dash + strings.Trim(no, "[](){}") + word}, rest
			}
		}
	}
	if prefix, after, ok := strings.Cut(body, "-]"); ok && len(prefix) > 1 && prefix[0] == '[' && strings.TrimFunc(prefix[1:], isNameRune) == "" {
		if word, rest := readWord(after); word != "" { // --[section-]headers
			return []string{dash + word, dash + prefix[1:] + "-" + word}, rest
		}
	}
	if dashes == 1 {
		for _, any := range []string{"NUMBER", "NUM", "DIGIT", "<number>", "<num>", "<n>", "<N>", "<NUM>", "<lines>"} {
			if after, ok := strings.CutPrefix(body, any); ok && (after == "" || !isNameRune(firstRune(after))) {
				return []string{"-" + any}, after
			}
		}
		if rest := strings.TrimLeft(body, "#"); len(body)-len(rest) > 1 { // -###
			return []string{dash + body[:len(body)-len(rest)]}, rest
		}
		if r, n := utf8.DecodeRuneInString(body); n > 0 && isSingle(r, body[n:]) {
			return []string{dash + body[:n]}, body[n:]
		}
	}
	word, rest := readWord(body)
	if word == "" {
		return nil, s
	}
	if dashes == 1 && len(word) > 2 && isPlaceholder(word[1:]) && stands(word[1:]) {
		return []string{dash + word[:1]}, word[1:] + rest // -fFILE
	}
	if len(word) > 1 && len(rest) > 1 && (rest[0] == ',' || rest[0] == ':') && rest[1] == '<' {
		word, rest = word+rest[:1], rest[1:] // -Wl,<options> -agentlib:<library>
	}
	return []string{dash + word}, rest
}

func readWord(s string) (word, rest string) {
	if r := firstRune(s); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return "", s
	}
	for i, r := range s {
		if isNameRune(r) {
			continue
		}
		// A dot or a sign belongs to the name inside of it only.
		if (r == '.' || r == '+') && (r == '+' || isNameRune(firstRune(s[i+1:]))) {
			continue
		}
		word = strings.TrimRight(s[:i], "-")
		return word, s[len(word):]
	}
	word = strings.TrimRight(s, "-")
	return word, s[len(word):]
}

func isNameRune(r rune) bool {
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isSingle reports whether the punctuation r, with rest after it, is a flag of one character: -? -# -@ -0.
func isSingle(r rune, rest string) bool {
	if r == '<' || r == '>' {
		return strings.HasPrefix(rest, ", -") // -<, --less-than
	}
	if !strings.ContainsRune("?#@!$%&+^~:.*_", r) {
		return false
	}
	return rest == "" || strings.ContainsRune(" ,|])=/", firstRune(rest))
}

// isNumeric reports whether name stands for a number, as -NUM does.
func isNumeric(name string) bool {
	body := strings.Trim(name[1:], "<>")
	switch body {
	case "NUMBER", "NUM", "DIGIT":
		return true
	case "number", "num", "n", "N", "lines":
		return len(body) != len(name)-1 // only in angle brackets
	}
	return false
}

// isShort reports whether name is one dash and one character.
func isShort(name string) bool {
	return len(name) > 1 && name[0] == '-' && name[1] != '-' && utf8.RuneCountInString(name) == 2
}

func isLong(name string) bool { return strings.HasPrefix(name, "--") }

// atFlag reports whether s begins with a flag.
func atFlag(s string) bool {
	if len(s) < 2 || s[0] != '-' {
		return false
	}
	names, _ := readName(s)
	return names != nil
}

// startsFlag reports whether s begins with a flag, or with a bracket and then one.
func startsFlag(s string) bool { return atFlag(strings.TrimLeft(s, "[({ ")) }

// isNumber reports whether name is a dash and a number.
func isNumber(name string) bool {
	return len(name) > 1 && strings.Trim(name[1:], "0123456789") == ""
}
