package shell

import (
	"slices"
	"strings"
)

// is reports whether w is surely text.
func (w Word) is(text string) bool { return w.State == Exact && w.Text == text }

// manyWords reports whether w can become no word or several.
func manyWords(w Word) bool { return w.Splits || w.State == Pattern }

// oneWord reports whether w, a glob, is what a variable holds and stands in quotes, so that the shell does not expand it.
func oneWord(w Word) bool {
	return w.State == Pattern && !w.Splits && !strings.ContainsAny(w.Text, "*?[(")
}

// severalWords says what to do about a word of which manyWords is true.
func severalWords(w Word) string {
	if w.State == Pattern {
		return `it may become several words, or an option; write the name out, or "./" before it`
	}
	return "it may become several words; quote it"
}

// knownPrefix is the text that w starts with, whatever its value at run time.
func knownPrefix(w Word) string {
	if w.State == Exact {
		return w.Text
	}
	text := w.Text
	if w.State == Pattern && !w.Splits && len(w.Values) == 1 {
		text = w.Values[0] // of a variable that is one of the files that a pattern matches
	}
	for i := range len(text) {
		switch text[i] {
		case '$', '`', '*', '?', '[', '{', '\\':
			return text[:i]
		case '<', '>':
			if i+1 < len(text) && text[i+1] == '(' {
				return text[:i]
			}
		}
	}
	return ""
}

// anyDashed reports whether one of values may be an option; without any it cannot be told.
func anyDashed(values []string) bool {
	return len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "-") })
}
