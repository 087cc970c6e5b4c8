package rules

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// globMatch reports whether text matches pattern: * is any text, slashes too, ? one character, [a-z] and [!a-z] one of a
// set, a backslash takes the next character as it is. It takes time in the product of the lengths at most.
func globMatch(pattern, text string) bool {
	p, t := 0, 0
	star, mark := -1, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, t
			p++
			continue
		}
		if size, width := globOne(pattern[p:], text[t:]); size > 0 {
			p, t = p+size, t+width
			continue
		}
		if star < 0 {
			return false
		}
		_, width := utf8.DecodeRuneInString(text[mark:])
		mark += width
		p, t = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// globOne matches the first character of text with what pattern begins with. It returns the lengths of both, 0 where they
// do not match.
func globOne(pattern, text string) (size, width int) {
	if pattern == "" {
		return 0, 0
	}
	r, width := utf8.DecodeRuneInString(text)
	switch pattern[0] {
	case '?':
		return 1, width
	case '[':
		if in, size := globSet(pattern, r); size > 0 {
			if in {
				return size, width
			}
			return 0, 0
		}
	case '\\':
		if len(pattern) > 1 {
			if want, n := utf8.DecodeRuneInString(pattern[1:]); want == r && text[:width] == pattern[1:1+n] {
				return 1 + n, width
			}
			return 0, 0
		}
	}
	if want, n := utf8.DecodeRuneInString(pattern); want == r && text[:width] == pattern[:n] {
		return n, width
	}
	return 0, 0
}

// globSet reports whether r is in the set that pattern begins with, and how long that is; 0 if it is no set.
func globSet(pattern string, r rune) (in bool, size int) {
	i, not := 1, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		not = true
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return in != not, i + 1
		}
		lo, n := utf8.DecodeRuneInString(pattern[i:])
		i += n
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, n = utf8.DecodeRuneInString(pattern[i+1:])
			i += 1 + n
		}
		if lo <= r && r <= hi {
			in = true
		}
	}
	return false, 0
}

// globCheck returns what is wrong with a pattern: a set that is not closed or that nothing is in.
func globCheck(pattern string) error {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			_, size := globSet(pattern[i:], 0)
			if size == 0 {
				return fmt.Errorf(`"[" is not closed; write "[[]" for the character itself`)
			}
			i += size - 1
		}
	}
	return nil
}

// globsMeet reports whether some text may match both patterns. It is right where it says no.
func globsMeet(a, b string) bool {
	type pair struct{ i, j int }
	seen := make(map[pair]bool)
	var meet func(i, j int) bool
	meet = func(i, j int) bool {
		for i < len(a) && j < len(b) && a[i] != '*' && b[j] != '*' {
			if !charsMeet(a[i:], b[j:]) {
				return false
			}
			i, j = i+globWidth(a[i:]), j+globWidth(b[j:])
		}
		switch {
		case i == len(a):
			return strings.Trim(b[j:], "*") == ""
		case j == len(b):
			return strings.Trim(a[i:], "*") == ""
		}
		if seen[pair{i, j}] {
			return false
		}
		seen[pair{i, j}] = true
		if a[i] == '*' {
			return meet(i+1, j) || meet(i, j+globWidth(b[j:]))
		}
		return meet(i, j+1) || meet(i+globWidth(a[i:]), j)
	}
	return meet(0, 0)
}

// globWidth is the length of what pattern begins with.
func globWidth(pattern string) int {
	switch pattern[0] {
	case '*', '?':
		return 1
	case '[':
		if _, size := globSet(pattern, 0); size > 0 {
			return size
		}
	case '\\':
		if len(pattern) > 1 {
			_, n := utf8.DecodeRuneInString(pattern[1:])
			return 1 + n
		}
	}
	_, n := utf8.DecodeRuneInString(pattern)
	return n
}

// charsMeet reports whether one character may match what both patterns begin with, neither of which is *.
func charsMeet(a, b string) bool {
	one, ok := globChar(a)
	if ok {
		size, _ := globOne(b, one)
		return size > 0
	}
	if one, ok = globChar(b); ok {
		size, _ := globOne(a, one)
		return size > 0
	}
	return true
}

// globChar returns the character that pattern begins with, if it is one.
func globChar(pattern string) (string, bool) {
	n := globWidth(pattern)
	switch {
	case pattern[0] == '?' || pattern[0] == '[' && n > 1:
		return "", false
	case pattern[0] == '\\' && n > 1:
		return pattern[1:n], true
	default:
		return pattern[:n], true
	}
}

// isGlob reports whether a name of a tool is a pattern.
func isGlob(name string) bool { return strings.Contains(name, "*") }

// toolGlob makes a pattern of the name of a tool, in which only * is special.
func toolGlob(name string) string {
	if !strings.ContainsAny(name, `\[?`) {
		return name
	}
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `?`, `\?`).Replace(name)
}
