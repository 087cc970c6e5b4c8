package shell

import (
	"strings"
	"unicode/utf8"
)

// ansiC decodes the inside of $'…' as bash does in a UTF-8 locale. A NUL ends the string.
func (w *walker) ansiC(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			out = append(out, '\a')
		case 'b':
			out = append(out, '\b')
		case 'e', 'E':
			out = append(out, 0x1b)
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'v':
			out = append(out, '\v')
		case '\\', '\'', '"', '?':
			out = append(out, c)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, size := number(s[i:], 8, 3)
			i += size - 1
			if byte(n) == 0 {
				return string(out)
			}
			out = append(out, byte(n))
		case 'x':
			at, braced := i+1, false
			if at < len(s) && s[at] == '{' {
				at, braced = at+1, true
			}
			n, size := number(s[at:], 16, 2+16*btoi(braced))
			if size == 0 {
				w.fail(Unsupported, "\\x without a number in $'…' is not followed; write the text out", s)
				return ""
			}
			i = at + size - 1
			if braced && i+1 < len(s) && s[i+1] == '}' {
				i++
			}
			if byte(n) == 0 {
				return string(out)
			}
			out = append(out, byte(n))
		case 'u', 'U':
			n, size := number(s[i+1:], 16, 4+4*btoi(c == 'U'))
			if size == 0 {
				out = append(out, '\\', c)
				continue
			}
			i += size
			if n == 0 {
				return string(out)
			}
			if n > utf8.MaxRune || n >= 0xd800 && n < 0xe000 {
				w.fail(Unsupported, "this is no character; write the text out", s)
				return ""
			}
			out = utf8.AppendRune(out, rune(n))
		case 'c':
			if i+1 == len(s) {
				out = append(out, '\\', 'c')
				continue
			}
			i++
			if s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\' {
				i++
			}
			switch b := s[i]; {
			case b == '?':
				out = append(out, 0x7f)
			case upper(b)&0x1f == 0:
				return string(out)
			default:
				out = append(out, upper(b)&0x1f)
			}
		default:
			out = append(out, '\\', c)
		}
	}
	return string(out)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func upper(b byte) byte {
	if b >= 'a' && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

// number reads up to most digits.
func number(s string, base, most int) (n uint64, size int) {
	for size < len(s) && size < most {
		d := digit(s[size])
		if d >= base {
			break
		}
		n = n*uint64(base) + uint64(d)
		size++
	}
	return n, size
}

func digit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return 99
}
