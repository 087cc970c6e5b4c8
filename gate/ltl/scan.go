package ltl

import (
	"fmt"
	"strings"
)

type kind uint8

const (
	end kind = iota
	word
	numeral
	text     // a string; value holds it
	variable // $x; value holds x
	sign
)

// A scanner stands on one token of its text.
type scanner struct {
	text  string
	kind  kind
	token string // as written
	value string
	start int // of the token
	pos   int // behind it
}

var signs = [...]string{"->", "==", ">=", "<=", "!", "&", "|", "(", ")", "[", "]", "{", "}", ",", ":", "=", ">", "<", "@", "~"}

// next goes to the next token.
func (s *scanner) next() error {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
	s.start, s.value = s.pos, ""
	if s.pos == len(s.text) {
		s.kind, s.token = end, ""
		return nil
	}
	switch c := s.text[s.pos]; {
	case wordStart(c):
		s.kind = word
		s.skip(func(c byte) bool { return wordStart(c) || '0' <= c && c <= '9' })
	case c == '$':
		s.kind = variable
		s.pos++
		s.skip(func(c byte) bool { return wordStart(c) || '0' <= c && c <= '9' })
		s.value = s.text[s.start+1 : s.pos]
		if !isWord(s.value) {
			return s.fail("a variable is $ and a name", "such as $path")
		}
	case '0' <= c && c <= '9', c == '-' && s.pos+1 < len(s.text) && '0' <= s.text[s.pos+1] && s.text[s.pos+1] <= '9':
		s.kind = numeral
		last := c
		s.pos++
		s.skip(func(c byte) bool {
			ok := '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || (c == '+' || c == '-') && (last == 'e' || last == 'E')
			last = c
			return ok
		})
	case c == '"' || c == '\'':
		return s.quoted()
	default:
		s.kind = sign
		for _, sign := range signs {
			if strings.HasPrefix(s.text[s.pos:], sign) {
				s.pos += len(sign)
				s.token = sign
				return nil
			}
		}
		s.token = s.text[s.pos : s.pos+1]
		return s.fail(fmt.Sprintf("%q has no place in a formula", []rune(s.text[s.pos:])[0]), "")
	}
	s.token = s.text[s.start:s.pos]
	return nil
}

func (s *scanner) skip(ok func(byte) bool) {
	for s.pos < len(s.text) && ok(s.text[s.pos]) {
		s.pos++
	}
}

// quoted reads a string, or several that stand side by side without anything between them.
func (s *scanner) quoted() error {
	s.kind = text
	var b strings.Builder
	for s.pos < len(s.text) && (s.text[s.pos] == '"' || s.text[s.pos] == '\'') {
		inside := s.text[s.pos+1:]
		n := strings.IndexByte(inside, s.text[s.pos])
		if n < 0 {
			return s.fail("the quote is not closed", "")
		}
		b.WriteString(inside[:n])
		s.pos += n + 2
	}
	s.token, s.value = s.text[s.start:s.pos], b.String()
	return nil
}

func (s *scanner) is(sign_ string) bool { return s.kind == sign && s.token == sign_ }

// found names the token in messages.
func (s *scanner) found() string {
	switch s.kind {
	case end:
		return "the end"
	case text:
		return s.token
	default:
		return fmt.Sprintf("%q", s.token)
	}
}

func (s *scanner) fail(message, hint string) error { return &SyntaxError{s.start, message, hint} }

// expect goes past one sign.
func (s *scanner) expect(want string) error {
	if !s.is(want) {
		return s.fail(fmt.Sprintf("expected %q, found %s", want, s.found()), "")
	}
	return s.next()
}

// str goes past a string and returns it.
func (s *scanner) str(what string) (string, error) {
	if s.kind != text {
		hint := ""
		if s.kind == word {
			hint = fmt.Sprintf("write %q", s.token)
		}
		return "", s.fail("expected "+what+" in quotes, found "+s.found(), hint)
	}
	v := s.value
	return v, s.next()
}

// suggest names the atom that was perhaps meant.
func (s *scanner) suggest(name string) string {
	switch name {
	case "not":
		return "write !"
	case "globally":
		return "write G"
	case "finally":
		return "write F"
	case "next":
		return "write X"
	}
	best, distance := "", 3
	for w := range strings.FieldsSeq(words) {
		if d := edits(name, w, distance); d < distance {
			best, distance = w, d
		}
	}
	if best == "" {
		return "atoms are " + strings.Join(strings.Fields(words), ", ")
	}
	return "did you mean " + best + "?"
}

// edits is the number of letters to change, add or take away to make b of a, or limit where it is not below that.
func edits(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
