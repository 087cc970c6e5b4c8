package notify

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// quote returns s as it is if all of it is plain printable text, and otherwise as a Go string literal: line breaks,
// escape sequences, invisible and bidirectional controls and bytes that are no UTF-8 become visible and harmless.
func quote(s string) string {
	quoted := s
	for _, r := range s {
		switch {
		case invisible(r):
			return strconv.QuoteToASCII(s)
		case r == utf8.RuneError || !strconv.IsPrint(r):
			quoted = strconv.Quote(s)
		}
	}
	return quoted
}

// invisible reports whether r counts as printable and shows nothing, such as a variation selector or a filler.
func invisible(r rune) bool {
	const blankPattern = '\u2800' // of Braille
	return r == blankPattern || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
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
