package flags

import (
	"strings"
	"unicode/utf8"
)

// clean makes plain lines of what a terminal would show: no colours, no overstrike, no carriage returns, tabs as at
// least two blanks, and no lines of tables.
func clean(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if len(line) > maxLine {
			line = ""
		}
		line = overstrike(uncoloured(line))
		if cr := strings.LastIndexByte(line, '\r'); cr >= 0 {
			line = line[cr+1:]
		}
		lines[i] = strings.TrimRight(untabled(untabbed(line)), " ")
	}
	return lines
}

// uncoloured removes escape sequences: CSI, OSC, and the short ones.
func uncoloured(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != 0x1b {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i >= len(s) {
			break
		}
		switch s[i] {
		case '[':
			for i++; i < len(s) && (s[i] < 0x40 || s[i] > 0x7e); i++ {
			}
		case ']':
			for i++; i < len(s) && s[i] != 0x07; i++ {
				if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
					i++
					break
				}
			}
		case '(', ')':
			i++
		}
	}
	return b.String()
}

// overstrike undoes bold (X, backspace, X) and underline (_, backspace, X): a backspace takes the character before it.
func overstrike(s string) string {
	if strings.IndexByte(s, '\b') < 0 {
		return s
	}
	var out []rune
	for _, r := range s {
		if r != '\b' {
			out = append(out, r)
		} else if len(out) > 0 {
			out = out[:len(out)-1]
		}
	}
	return string(out)
}

func untabbed(s string) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		if r != '\t' {
			b.WriteRune(r)
			column++
			continue
		}
		n := 8 - column%8
		if n < 2 {
			n += 8
		}
		b.WriteString(strings.Repeat(" ", n))
		column += n
	}
	return b.String()
}

// indent returns the number of blanks before the text of a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// firstRune returns the first character of s, zero if there is none.
func firstRune(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
