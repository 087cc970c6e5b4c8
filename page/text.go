package page

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gatehouse/internal/glyph"
)

// plain makes a foreign text harmless and bounded: it stays one line of at most most characters, shows what it holds, and
// cannot hide, reorder or pile up what stands around it. Escapes are Go's. What is cut off is counted.
func plain(text string, most int) string {
	var b strings.Builder
	shown, marks := 0, 0
	for i := 0; i < len(text); {
		if shown >= most {
			left := utf8.RuneCountInString(text[i:])
			fmt.Fprintf(&b, "… (%s more)", count(left))
			break
		}
		if c := text[i]; ' ' <= c && c < utf8.RuneSelf-1 { // nearly all there is
			b.WriteByte(c)
			shown, marks, i = shown+1, 0, i+1
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\t':
			b.WriteByte('\t')
		case glyph.Shows(r) && marks <= maxMarks:
			b.WriteString(text[i : i+n])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		shown++
		i += n
	}
	return b.String()
}

// maxMarks is how many marks may stand on one letter. More are no writing; they cover the lines above and below.
const maxMarks = 2

// count writes a number with thin groups of three digits, which do not break.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// many is a number of things in words.
func many(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + several
}
