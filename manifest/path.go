package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a path may be. Part and path are measured in their escaped form (EscapePath), which is what stands in a file
// system of ours: a name that fits where it lives must also fit where it is kept. maxPath leaves room for the name of
// the directory that the path is kept in.
const (
	maxPart  = 255
	maxPath  = 3584
	maxDepth = 64
	maxName  = 64 // of a gate or of a live root
	maxHost  = 253
)

// ValidPath reports why path cannot be the path of an entry: it is `<live name>/rel` or `<live name>`, relative and
// clean, and printable UTF-8 but for what Unicode calls formatting.
func ValidPath(path string) error {
	name, _, _ := strings.Cut(path, "/")
	if err := validLiveName(name); err != nil {
		return err
	}
	return validParts(path)
}

// ValidGate reports why name cannot be the name of a gate. It is used as the name of directories.
func ValidGate(name string) error {
	if !isName(name) {
		return fmt.Errorf("%q is no name for a gate: it takes a-z, 0-9, _ and -, begins with a letter or digit and has "+
			"at most %d bytes", name, maxName)
	}
	return nil
}

// ValidHost reports why name cannot be the name of a host.
func ValidHost(name string) error {
	if name == "" || len(name) > maxHost || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%q is no name for a host: it takes 1 to %d printable ASCII characters", name, maxHost)
	}
	return nil
}

func validLiveName(name string) error {
	if !isName(name) {
		return fmt.Errorf("%q is no name for live files: it takes a-z, 0-9, _ and -, begins with a letter or digit and "+
			"has at most %d bytes", name, maxName)
	}
	return nil
}

func isName(name string) bool {
	if name == "" || len(name) > maxName || name[0] == '_' || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// validParts holds path to the rules that count for each of its parts, and for their number.
func validParts(path string) error {
	if !isText(path) {
		return errors.New("it is not UTF-8 without control characters")
	}
	escaped := EscapePath(path)
	if len(escaped) > maxPath {
		return fmt.Errorf("it is longer than %d bytes", maxPath)
	}
	if strings.Count(path, "/") >= maxDepth {
		return fmt.Errorf("it has more than %d parts", maxDepth)
	}
	for part := range strings.SplitSeq(escaped, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return fmt.Errorf("it has the part %q", part)
		case len(part) > maxPart:
			return fmt.Errorf("a part of it is longer than %d bytes", maxPart)
		}
	}
	return nil
}

// isText reports whether s is valid UTF-8 without control characters: what JSON, a terminal and a line of a log can
// hold without a second meaning. Bidirectional formatting passes; who displays a name quotes it.
func isText(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || unicode.Is(unicode.Cc, r) {
			return false
		}
		i += n
	}
	return true
}

// printable returns s with everything that is no text in the escapes of Go.
func printable(s string) string {
	if isText(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
