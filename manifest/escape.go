package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// EscapePath returns path as it is stored in git and in directories of ours, where some names would mean something:
// git takes .git and its relatives in any case, as NTFS shortens them (git~1) and as HFS+ folds them (with code points
// that it ignores), for its own. Such bytes become %xx, and so does the percent sign. The rest stays as it is.
func EscapePath(path string) string {
	if !needsEscape(path) {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		n := 1
		switch c := path[i]; {
		case c == '%' || c == '\\', c == '.' && isDotGit(path, i), c == '~' && i+1 < len(path) && isDigit(path[i+1]):
			escape(&b, path[i:i+1])
		case c < utf8.RuneSelf:
			b.WriteByte(c)
		default:
			var r rune
			if r, n = utf8.DecodeRuneInString(path[i:]); ignoredByHFS(r) {
				escape(&b, path[i:i+n])
			} else {
				b.WriteString(path[i : i+n])
			}
		}
		i += n
	}
	return b.String()
}

// UnescapePath is the inverse of EscapePath. It refuses what EscapePath does not return for any path of an entry, so
// that one path has one stored name.
func UnescapePath(stored string) (string, error) {
	path := stored
	if strings.Contains(stored, "%") {
		var b strings.Builder
		for i := 0; i < len(stored); i++ {
			c := stored[i]
			if c == '%' {
				if i+2 >= len(stored) || !isHex(stored[i+1]) || !isHex(stored[i+2]) {
					return "", fmt.Errorf("stored path %q: a %% without two lower-case hex digits", stored)
				}
				c = unhex(stored[i+1])<<4 | unhex(stored[i+2])
				i += 2
			}
			b.WriteByte(c)
		}
		path = b.String()
	}
	if EscapePath(path) != stored {
		return "", fmt.Errorf("stored path %q: not escaped as Gatehouse does it", stored)
	}
	if err := validParts(path); err != nil {
		return "", fmt.Errorf("stored path %q: %w", stored, err)
	}
	return path, nil
}

// needsEscape is the quick look that almost every path ends with. It may say yes too often.
func needsEscape(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c == '%', c == '\\', c == '~', c >= utf8.RuneSelf, c == '.' && isDotGit(path, i):
			return true
		}
	}
	return false
}

// isDotGit reports whether the part that begins at i begins with .git in any case.
func isDotGit(path string, i int) bool {
	return (i == 0 || path[i-1] == '/') && len(path) >= i+4 && strings.EqualFold(path[i:i+4], ".git")
}

func ignoredByHFS(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

func escape(b *strings.Builder, bytes string) {
	const hex = "0123456789abcdef"
	for i := range len(bytes) {
		b.WriteByte('%')
		b.WriteByte(hex[bytes[i]>>4])
		b.WriteByte(hex[bytes[i]&15])
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' }

func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c - 'a' + 10
}
