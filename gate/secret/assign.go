package secret

import "strings"

// assigned looks whether the = or : at i gives a credential to a name: NAME=value, "name": "value", name = 'value',
// Header: value.
func (s *scanner) assigned(i int) {
	t := s.text
	sep := t[i]
	if i == 0 || i+1 == len(t) || i < s.taken {
		return
	}
	switch next := t[i+1]; {
	case sep == ':' && strings.HasPrefix(t[i:], "://"):
		s.url(i)
		return
	case next == '=' || next == '~' || sep == ':' && strings.IndexByte(":-?+", next) >= 0:
		return // a comparison, := or ${NAME:-…}
	case strings.IndexByte("!<>=+", t[i-1]) >= 0:
		return
	}
	end, spaced, quotedName := nameEnd(t, i)
	start := end
	for start > 0 && end-start < 64 && (isWord(t[start-1]) || t[start-1] == '-' || t[start-1] == '.') {
		start--
	}
	if start == end {
		return
	}
	kind, env := classify(t[start:end])
	if kind == "" {
		if !strings.EqualFold(t[start:end], "pwd") || start == 0 || t[start-1] != ';' {
			return
		}
		kind = password // Server=…;Uid=…;Pwd=…
	}
	from := i + 1
	for from < len(t) && from < i+9 && (t[from] == ' ' || t[from] == '\t') {
		from++
	}
	if sep == '=' && !spaced && from > i+1 {
		return // in a shell, nothing was assigned
	}
	switch kind {
	case authorization, cookie:
		if sep == ':' || quotedName {
			s.header(kind, from)
		}
		return
	case signature:
		if v := s.value(from); sep == '=' && (t[max(start-1, 0)] == '&' || t[max(start-1, 0)] == '?') && v.end-v.start >= 40 {
			s.add(kind, v.start, v.end)
		}
		return
	}
	v := s.value(from)
	if v.quote != 0 && sep == '=' && !spaced && (v.end == v.start || t[v.start] == ' ' || t[start-min(start, 1)] == v.quote || t[start-min(start, 2)] == v.quote) {
		return // grep '^PASSWORD=' file: the quote ends what began before the name
	}
	g := given{
		env: env, quoted: v.quote != 0, single: v.quote == '\'', loose: sep == ':' || spaced, equals: sep == '=', next: at(t, v.end),
		line: v.quote == 0 && lineBegins(t, start),
	}
	if isSecret(kind, t[v.start:v.end], g) {
		s.add(kind, v.start, v.end)
		s.taken = v.end
	}
}

// nameEnd steps back from the sign at i over spaces and the quote that ends a name.
func nameEnd(t string, i int) (end int, spaced, quoted bool) {
	end = i
	for end > 0 && i-end < 8 && (t[end-1] == ' ' || t[end-1] == '\t') {
		end--
	}
	spaced = end < i
	if end > 0 && (t[end-1] == '"' || t[end-1] == '\'') {
		end--
		quoted = true
		if end > 0 && t[end-1] == '\\' {
			end--
		}
	}
	return end, spaced, quoted
}

// lineBegins reports whether nothing but spaces and the - of a list stands before start on its line.
func lineBegins(t string, start int) bool {
	for start > 0 {
		switch t[start-1] {
		case ' ', '\t', '-':
			start--
		case '\n':
			return true
		default:
			return false
		}
	}
	return true
}

// header takes what an Authorization or Cookie header holds.
func (s *scanner) header(kind string, from int) {
	t := s.text
	if from < len(t) && (t[from] == '"' || t[from] == '\'') {
		from++
	}
	end := max(from, s.quiet) // up to there, nothing ends a header
	for end < len(t) && strings.IndexByte("\"'\n\r`", t[end]) < 0 && !strings.HasPrefix(t[end:], `\n`) {
		end++
	}
	s.quiet = end
	if end-from > 16<<10 {
		return
	}
	end = from + len(strings.TrimRight(t[from:end], ` \,;)}]`))
	start := from
	if kind == authorization {
		scheme, rest, ok := strings.Cut(t[from:end], " ")
		switch {
		case ok && len(scheme) <= 24 && !strings.ContainsAny(scheme, "$<{"):
			start = end - len(strings.TrimLeft(rest, " "))
		case !ok && len(scheme) < 8:
			return // the name of a scheme alone
		}
	}
	if v := t[start:end]; len(v) >= 6 && !refers(v) && !strings.Contains(v, "$") && !capitalWords(v) && strings.ContainsAny(v, "0123456789=") {
		s.add(kind, start, end)
	}
}

// A quotedValue is where a value stands, without its quotes.
type quotedValue struct {
	start, end int
	quote      byte // 0: none
}

// value takes the value that begins at i as a shell, JSON or a configuration file would.
func (s *scanner) value(i int) quotedValue {
	t := s.text
	limit := min(len(t), i+1024)
	escaped := strings.HasPrefix(t[i:], `\"`) || strings.HasPrefix(t[i:], `\'`)
	at := i
	if escaped || strings.HasPrefix(t[i:], "$'") {
		at++
	}
	if at >= limit || t[at] != '"' && t[at] != '\'' {
		return quotedValue{start: i, end: unquotedEnd(t, i, limit)}
	}
	quote := t[at]
	start := at + 1
	for end := start; end < limit; end++ {
		switch {
		case escaped && t[end] == '\\' && end+1 < limit && t[end+1] == quote:
			return quotedValue{start, end, quote}
		case t[end] == '\\' && (quote == '"' || at > i):
			end++
		case t[end] == quote:
			return quotedValue{start, end, quote}
		}
	}
	end := unquotedEnd(t, start, limit)
	return quotedValue{start, end, quote}
}

func unquotedEnd(t string, i, limit int) int {
	for ; i < limit; i++ {
		switch c := t[i]; c {
		case '\\':
			if i+1 < limit && strings.IndexByte(`nrt"'`, t[i+1]) >= 0 {
				return i
			}
			i++
		case ',':
			if endsList(t[i+1 : limit]) {
				return i
			}
		default:
			if c <= ' ' || strings.IndexByte("\"'`;|&()<>{}[]", c) >= 0 && !strings.HasPrefix(t[i:], "«") {
				return i
			}
		}
	}
	return min(i, limit)
}

// endsList reports whether what follows a comma is no part of the value before it: nothing, or the next name=value.
func endsList(rest string) bool {
	for i := range min(len(rest), 64) {
		switch c := rest[i]; {
		case c == '=' || c == ':':
			return true
		case i == 0 && (c <= ' ' || c == '"' || c == '\'' || c == ')'):
			return true
		case !isWord(c) && c != '-' && c != '.':
			return false
		}
	}
	return rest == ""
}

func at(t string, i int) byte {
	if i < len(t) {
		return t[i]
	}
	return 0
}
