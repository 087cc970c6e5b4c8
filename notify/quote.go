package notify

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"gatehouse/internal/glyph"
)

// quote returns s as it is if all of it is plain printable text, and otherwise as a Go string literal: line breaks,
// escape sequences, invisible and bidirectional controls and bytes that are no UTF-8 become visible and harmless.
func quote(s string) string {
	quoted := s
	for _, r := range s {
		switch {
		case glyph.Shows(r):
		case strconv.IsPrint(r) && r != utf8.RuneError: // Quote would leave it
			return strconv.QuoteToASCII(s)
		default:
			quoted = strconv.Quote(s)
		}
	}
	return quoted
}

// cut shortens s to about most bytes and shows that it did.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// count writes "1 change" or "2 changes".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// more stands for n things that are left out of a list.
func more(n int, what string) string { return fmt.Sprintf("… and %d more %ss", n, what) }
