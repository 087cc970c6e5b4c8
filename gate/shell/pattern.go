package shell

import (
	"strings"
	"unicode/utf8"
)

// escapePattern appends s to pattern, with a backslash before what would be special.
func escapePattern(pattern []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[', ']', '\\', '-', '!', '^', ':', '(', ')', '|', '@', '+':
			pattern = append(pattern, '\\')
		}
		pattern = append(pattern, s[i])
	}
	return pattern
}

// plainPattern reports whether a pattern has only * ? and escapes, which is all that match knows.
func plainPattern(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			return false
		case '(':
			return false
		}
	}
	return true
}

// match reports whether s as a whole is of the plain pattern.
func match(pattern, s string) bool {
	star, back := -1, 0
	i, j := 0, 0
	for j < len(s) {
		if i < len(pattern) {
			switch pattern[i] {
			case '*':
				star, back = i, j
				i++
				continue
			case '?':
				_, size := utf8.DecodeRuneInString(s[j:])
				i, j = i+1, j+size
				continue
			}
			lit, at := pattern[i], i
			if lit == '\\' && i+1 < len(pattern) {
				at++
				lit = pattern[at]
			}
			if lit == s[j] {
				i, j = at+1, j+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[back:])
		back += size
		i, j = star+1, back
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// cut takes the shortest or longest prefix or suffix of the pattern away from s.
func cut(s, pattern string, suffix, longest bool) string {
	n := len(s)
	for k := 0; k <= n; k++ {
		size := k
		if longest {
			size = n - k
		}
		if suffix {
			if runeStart(s, n-size) && match(pattern, s[n-size:]) {
				return s[:n-size]
			}
		} else if runeStart(s, size) && match(pattern, s[:size]) {
			return s[size:]
		}
	}
	return s
}

func runeStart(s string, i int) bool { return i >= len(s) || utf8.RuneStart(s[i]) }

// replace replaces the longest match of the pattern, or all of them one after the other.
func replace(s, pattern, with string, all bool, anchor byte) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		end := -1
		for j := len(s); j >= i && end < 0; j-- {
			if runeStart(s, j) && (anchor != '%' || j == len(s)) && match(pattern, s[i:j]) {
				end = j
			}
		}
		if end > i {
			out.WriteString(with)
			i = end
			if !all {
				out.WriteString(s[i:])
				return out.String()
			}
			continue
		}
		if anchor == '#' {
			break
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		out.WriteString(s[i : i+size])
		i += size
	}
	if anchor == '#' {
		return s
	}
	return out.String()
}
