package manifest

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads one JSON document whose shape is known, in the one way in which it can be read. It refuses what
// encoding/json lets pass: unknown keys, keys in another case, keys that come twice or are written with escapes, bytes
// and escapes that are no Unicode, numbers that are no plain integers, and whatever follows the document. Nothing is
// skipped and nothing nests deeper than the caller reads, so depth needs no limit of its own.
//
// The first error sticks: after it, loops over members and elements end and every method returns a zero value.
type scanner struct {
	data string // strings without escapes are parts of it
	pos  int
	key  string // whose value is being read
	err  error
}

// A shape lists the keys that an object has. The first ones must be there.
type shape struct {
	keys     []string
	required int
}

// newScanner takes a document of at most limit bytes.
func newScanner(data string, limit int64) *scanner {
	s := new(scanner)
	if int64(len(data)) > limit {
		s.err = fmt.Errorf("%d bytes are more than its limit of %d", len(data), limit)
		return s
	}
	s.data = data
	if !utf8.ValidString(s.data) {
		s.failAt(invalidAt(s.data), "not UTF-8")
	}
	return s
}

// end returns the first error. What follows the document is one.
func (s *scanner) end() error {
	s.key = ""
	if s.next(); s.pos < len(s.data) {
		s.failAt(s.pos, "more after the end of the document")
	}
	return s.err
}

// object reads an object and yields each key when its value is to be read.
func (s *scanner) object(of *shape) iter.Seq[string] {
	return func(yield func(string) bool) {
		outer, seen, likely := s.key, uint64(0), 0
		start := s.pos
		s.expect('{')
		for first := true; s.more('}', first); first = false {
			i := s.member(of, likely)
			if i < 0 {
				return
			}
			if seen&(1<<i) != 0 {
				s.failAt(s.pos, "the key is there twice")
				return
			}
			seen, likely = seen|1<<i, i+1
			if !yield(of.keys[i]) || s.err != nil {
				return
			}
			s.key = outer
		}
		for i, key := range of.keys[:of.required] {
			if seen&(1<<i) == 0 {
				s.key = key
				s.failAt(start, "the key is missing")
			}
		}
		s.key = outer
	}
}

// member reads a key and its colon and returns the key's place in of, or -1. It looks at the likely place first.
func (s *scanner) member(of *shape, likely int) int {
	s.key = ""
	start := s.pos
	s.expect('"')
	length := strings.IndexByte(s.data[s.pos:], '"')
	if s.err != nil || length < 0 {
		s.failAt(start, "a key does not end")
		return -1
	}
	key := s.data[s.pos : s.pos+length]
	s.pos += length + 1
	for i := range of.keys {
		if i := (i + likely) % len(of.keys); of.keys[i] == key {
			s.key = of.keys[i]
			s.expect(':')
			return i
		}
	}
	s.key = key[:min(len(key), maxName)]
	for _, known := range of.keys {
		if strings.EqualFold(known, key) {
			s.failAt(start, "the key is written %q", known)
		}
	}
	s.failAt(start, "the key is not known")
	return -1
}

// array reads a list and yields the number of each element when it is to be read.
func (s *scanner) array() iter.Seq[int] {
	return func(yield func(int) bool) {
		s.expect('[')
		for i := 0; s.more(']', i == 0); i++ {
			if !yield(i) || s.err != nil {
				return
			}
		}
	}
}

// text reads a string of at most limit bytes.
func (s *scanner) text(limit int) string {
	s.expect('"')
	if s.err != nil {
		return ""
	}
	start := s.pos
	rest := s.data[start:]
	length := strings.IndexByte(rest, '"')
	if length < 0 {
		length = len(rest)
	}
	for i := range length {
		if rest[i] == '\\' {
			s.pos += i
			return s.escaped(start, limit)
		}
		if rest[i] < ' ' {
			s.failAt(start+i, "a control character in a string")
			return ""
		}
	}
	switch {
	case length == len(rest):
		s.failAt(start, "a string without an end")
	case length > limit:
		s.failAt(start, "longer than %d bytes", limit)
	default:
		s.pos += length + 1
		return rest[:length]
	}
	return ""
}

// escaped goes on with the string that began at start and has its first escape at s.pos.
func (s *scanner) escaped(start, limit int) string {
	text := []byte(s.data[start:s.pos])
	for s.err == nil {
		c := s.at(s.pos)
		s.pos++
		switch {
		case len(text) > limit:
			s.failAt(start, "longer than %d bytes", limit)
		case c == '"':
			return string(text)
		case c == '\\':
			text = utf8.AppendRune(text, s.escape())
		case c < ' ':
			s.failAt(s.pos-1, "a control character, or the end, in a string")
		default:
			text = append(text, c)
		}
	}
	return ""
}

// escape reads what follows a backslash.
func (s *scanner) escape() rune {
	c := s.at(s.pos)
	s.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		r := s.hex4()
		if !utf16.IsSurrogate(r) {
			return r
		}
		if s.at(s.pos) == '\\' && s.at(s.pos+1) == 'u' {
			s.pos += 2
			if r = utf16.DecodeRune(r, s.hex4()); r != utf8.RuneError {
				return r
			}
		}
		s.failAt(s.pos, "half a surrogate pair")
	default:
		s.failAt(s.pos-1, "an unknown escape")
	}
	return 0
}

func (s *scanner) hex4() rune {
	end := min(s.pos+4, len(s.data))
	n, err := strconv.ParseUint(s.data[s.pos:end], 16, 16)
	if err != nil || end-s.pos != 4 {
		s.failAt(s.pos, "not four hex digits")
	}
	s.pos = end
	return rune(n)
}

// uint reads an integer from 0 to limit, written in digits alone.
func (s *scanner) uint(limit uint64) uint64 {
	s.next()
	start, n := s.pos, uint64(0)
	for isDigit(s.at(s.pos)) {
		digit := uint64(s.data[s.pos] - '0')
		if n > (math.MaxUint64-digit)/10 {
			s.failAt(start, "more than %d", limit)
			return 0
		}
		n = n*10 + digit
		s.pos++
	}
	switch c := s.at(s.pos); {
	case s.pos == start, c == '.', c == 'e', c == 'E', s.data[start] == '0' && s.pos > start+1:
		s.failAt(start, "not an integer of plain digits")
	case n > limit:
		s.failAt(start, "more than %d", limit)
	default:
		return n
	}
	return 0
}

// time reads a time in UTC as this package writes it.
func (s *scanner) time() time.Time {
	s.next()
	start := s.pos
	text := s.text(len(time.RFC3339Nano))
	t, err := time.Parse(time.RFC3339Nano, text)
	var canonical [len(time.RFC3339Nano)]byte
	if err != nil || string(t.AppendFormat(canonical[:0], time.RFC3339Nano)) != text || !strings.HasSuffix(text, "Z") {
		s.failAt(start, "%q is no time in UTC such as 2006-01-02T15:04:05.7Z", text)
		return time.Time{}
	}
	return t
}

// more reports whether an element of the list or object that ends with closing is next.
func (s *scanner) more(closing byte, first bool) bool {
	if s.err != nil {
		return false
	}
	switch c := s.next(); {
	case c == closing:
		s.pos++
		return false
	case first:
		return true
	case c == ',':
		s.pos++
		s.next()
		return true
	default:
		s.failAt(s.pos, "no %q or %q here", ',', closing)
		return false
	}
}

func (s *scanner) expect(c byte) {
	if s.next() != c {
		s.failAt(s.pos, "no %q here", c)
		return
	}
	s.pos++
}

// next skips blanks and returns the byte that follows, or 0 at the end.
func (s *scanner) next() byte {
	for {
		switch c := s.at(s.pos); c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
}

// at is 0 beyond the end, and after an error.
func (s *scanner) at(pos int) byte {
	if pos >= len(s.data) || s.err != nil {
		return 0
	}
	return s.data[pos]
}

func (s *scanner) failAt(pos int, format string, args ...any) {
	if s.err != nil {
		return
	}
	what := fmt.Sprintf(format, args...)
	if s.key != "" {
		what = fmt.Sprintf("%q: %s", s.key, what)
	}
	before := s.data[:min(pos, len(s.data))]
	column := len(before) - strings.LastIndexByte(before, '\n')
	s.err = fmt.Errorf("line %d, column %d: %s", strings.Count(before, "\n")+1, column, what)
}

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}
