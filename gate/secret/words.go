package secret

import "strings"

// A token is one word of a command, without the quotes around it.
type token struct {
	text   string
	at     int
	quoted bool
}

// line feeds the words of a text that may be a shell line, a script or anything else. at is where it stands in the whole
// text. A word in quotes that holds several is a line of its own (sh -c "…"), and so on, three deep.
func (w *words) line(text string, at, depth int) {
	noQuote := [2]int{} // up to here, on its line, a quote of this kind has no partner
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\t', '\r':
			i++
		case '\n', ';', '(', ')', '`':
			w.end(false)
			i++
		case '&':
			w.end(false)
			i++
		case '|':
			w.end(i+1 >= len(text) || text[i+1] != '|')
			i++
			if i < len(text) && text[i] == '|' {
				i++
			}
		default:
			start := i
			i = wordEnd(text, i, &noQuote)
			word := token{text: text[start:i], at: at + start}
			word.unquote()
			if word.quoted && depth < 3 && strings.ContainsAny(word.text, " \t") {
				inner := words{found: w.found}
				inner.line(word.text, word.at, depth+1)
			}
			w.word(word)
		}
	}
	w.end(false)
}

// wordEnd returns the end of the word at i. A quote without its partner on the same line is a plain character, as in don't.
func wordEnd(text string, i int, noQuote *[2]int) int {
	for start := i; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\n', '\r', ';', '|', '&', '`', ')':
			return i
		case '(':
			if i > start {
				return i
			}
		case '\\':
			i++
		case '"', '\'':
			kind := 0
			if c == '\'' {
				kind = 1
			}
			if i < noQuote[kind] {
				continue
			}
			if end := closing(text, i+1, c); end > 0 {
				i = end
			} else {
				noQuote[kind] = -end
			}
		}
	}
	return min(i, len(text))
}

// closing returns the place of the partner of the quote before i, or minus the end of the line if there is none.
func closing(text string, i int, quote byte) int {
	for ; i < len(text) && text[i] != '\n'; i++ {
		switch {
		case text[i] == quote:
			return i
		case text[i] == '\\' && quote == '"':
			i++
		}
	}
	return -min(i, len(text))
}

// unquote takes the quotes off a word that stands in them as a whole.
func (t *token) unquote() {
	v := t.text
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] && strings.IndexByte(v[1:len(v)-1], v[0]) < 0 {
		t.text, t.at, t.quoted = v[1:len(v)-1], t.at+1, true
	}
}
