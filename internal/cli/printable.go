package cli

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"gatehouse/internal/glyph"
)

// Printable returns name as it is if every character of it is plain printable text, else quoted with Go's escapes:
// control characters, bidirectional controls, bytes that are no UTF-8, and names that quotes or spaces would blur.
func Printable(name string) string {
	if name == "" || strings.ContainsAny(name, "\"'` \\") {
		return strconv.Quote(name)
	}
	if !strings.ContainsFunc(name, hidden) {
		return name
	}
	quoted := strconv.Quote(name)
	if strings.ContainsFunc(quoted, hidden) { // what counts as printable and shows nothing
		quoted = strconv.QuoteToASCII(name)
	}
	return quoted
}

// Line returns one line of foreign text with everything but tabs and printable characters escaped, so that it stays
// one line and shows what it holds.
func Line(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r != '\t' && hidden(r) }) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\t' || glyph.Shows(r):
			b.WriteString(text[i : i+n])
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i])|0x100, 16)[1:])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

func hidden(r rune) bool { return !glyph.Shows(r) }
