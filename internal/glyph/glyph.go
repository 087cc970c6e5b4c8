// Package glyph knows which characters show something, so that foreign text on a terminal, on a page or in a message hides
// nothing from the person who judges it.
//
// It is one question, asked by all who print such text; how they escape what does not show is theirs.
package glyph

import (
	"unicode"
	"unicode/utf8"
)

// Shows reports whether r shows something of its own in its own place. Control characters do not, nor bidirectional ones,
// nor what Unicode counts as printable and draws as nothing: variation selectors, fillers, the blank pattern of Braille.
// The replacement character does not either: it stands for bytes that are no text.
func Shows(r rune) bool {
	const blankPattern = '\u2800'
	return r != utf8.RuneError && unicode.IsPrint(r) && r != blankPattern &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
