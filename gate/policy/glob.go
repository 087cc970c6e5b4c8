package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// matchPart reports whether a name without slashes matches one part of a pattern: * ? [a-z] [!a-z] and backslashes. A
// star and a question mark match dots too.
func matchPart(pattern, name string) bool {
	again, from := -1, 0 // behind the last star, and where in the name it was tried
	p, n := 0, 0
	for p < len(pattern) || n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				p++
				again, from = p, n
				continue
			}
			if n < len(name) {
				if size, width := matchOne(pattern[p:], name[n:]); size > 0 {
					p, n = p+size, n+width
					continue
				}
			}
		}
		if again < 0 || from >= len(name) {
			return false
		}
		_, width := utf8.DecodeRuneInString(name[from:])
		from += width
		p, n = again, from
	}
	return true
}

// matchOne compares one character. It returns how long the pattern for it is, 0 if it does not match, and how long it is.
func matchOne(pattern, name string) (size, width int) {
	r, width := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, width
	case '[':
		size, in := class(pattern, r)
		if size == 0 {
			return 0, 0
		}
		if !in {
			return 0, 0
		}
		return size, width
	case '\\':
		if len(pattern) > 1 && pattern[1] == name[0] {
			return 2, 1
		}
		return 0, 0
	}
	if pattern[0] == name[0] {
		return 1, 1 // a character of several bytes is compared byte by byte
	}
	return 0, 0
}

// class reads [a-z] and reports whether r is in it. The size is 0 if there is no closing bracket.
func class(pattern string, r rune) (size int, in bool) {
	at, not := 1, false
	if at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^') {
		at, not = at+1, true
	}
	for first := true; at < len(pattern); first = false {
		if pattern[at] == ']' && !first {
			return at + 1, in != not
		}
		lo, next := classRune(pattern, at)
		hi := lo
		if next+1 < len(pattern) && pattern[next] == '-' && pattern[next+1] != ']' {
			hi, next = classRune(pattern, next+1)
		}
		in = in || lo <= r && r <= hi
		at = next
	}
	return 0, false
}

func classRune(pattern string, at int) (rune, int) {
	if pattern[at] == '\\' && at+1 < len(pattern) {
		at++
	}
	r, width := utf8.DecodeRuneInString(pattern[at:])
	return r, at + width
}

// wellFormed reports whether one part of a pattern can be read to its end.
func wellFormed(part string) bool {
	for at := 0; at < len(part); {
		switch part[at] {
		case '\\':
			if at+1 == len(part) {
				return false
			}
			at += 2
		case '[':
			size, _ := class(part[at:], 'a')
			if size == 0 {
				return false
			}
			at += size
		default:
			at++
		}
	}
	return true
}

// overlaps reports whether a path can match both the absolute shell glob, or lie below what it matches, and the pattern
// body below base. It may say yes where none can.
func overlaps(glob, base, body string) bool {
	pattern := body
	switch {
	case base == "":
		pattern = "**/" + body
	case base != "/":
		pattern = strings.TrimSuffix(escape(base)[1:]+"/"+body, "/")
	}
	steps := 1000
	return partsOverlap(pattern, strings.TrimPrefix(glob, "/"), &steps)
}

// partsOverlap compares part by part; a pattern at its end matches all that is below.
func partsOverlap(pattern, glob string, steps *int) bool {
	if *steps--; *steps < 0 {
		return true
	}
	if pattern == "" {
		return true
	}
	part, rest := cut(pattern)
	if part == "**" {
		for more := glob; ; _, more = cut(more) {
			if rest == "" && more != "" || rest != "" && partsOverlap(rest, more, steps) {
				return true
			}
			if more == "" {
				return false
			}
		}
	}
	if glob == "" {
		return false
	}
	have, behind := cut(glob)
	return partOverlaps(part, have, steps) && partsOverlap(rest, behind, steps)
}

// mayHold reports whether the class at the beginning of a glob can hold a character, in whichever case and language.
func mayHold(glob string, r rune) bool {
	size, in := class(glob, r)
	if size == 0 || in || r >= utf8.RuneSelf || strings.ContainsAny(glob[1:size-1], "[\\") {
		return true
	}
	_, lower := class(glob, unicode.ToLower(r))
	_, upper := class(glob, unicode.ToUpper(r))
	return lower || upper
}

// partOverlaps reports whether one name can match both; what two classes have in common is not looked at.
func partOverlaps(a, b string, steps *int) bool {
	if *steps--; *steps < 0 {
		return true
	}
	switch {
	case a == "" && b == "":
		return true
	case a != "" && a[0] == '*':
		return partOverlaps(a[1:], b, steps) || b != "" && partOverlaps(a, after(b), steps)
	case b != "" && b[0] == '*':
		return partOverlaps(a, b[1:], steps) || a != "" && partOverlaps(after(a), b, steps)
	case a == "" || b == "":
		return false
	}
	x, y := a, b
	switch inX, inY := x[0] == '[', y[0] == '['; {
	case x[0] == '?' || y[0] == '?' || inX && inY:
	case inX && !mayHold(x, literal(y)), inY && !mayHold(y, literal(x)):
		return false
	case !inX && !inY && literal(x) != literal(y):
		return false
	}
	return partOverlaps(after(a), after(b), steps)
}

// after is a glob without its first character.
func after(s string) string {
	switch {
	case s[0] == '[':
		if size, _ := class(s, 'a'); size > 0 {
			return s[size:]
		}
	case s[0] == '\\' && len(s) > 1:
		s = s[1:]
	}
	_, width := utf8.DecodeRuneInString(s)
	return s[width:]
}

// literal is the first character of a glob that is none of its signs.
func literal(s string) rune {
	if s[0] == '\\' && len(s) > 1 {
		s = s[1:]
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// escape puts a backslash before what is special in a glob.
func escape(s string) string {
	if !strings.ContainsAny(s, `*?[\`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`*?[\`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
