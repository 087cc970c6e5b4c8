package config

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	globs "github.com/gobwas/glob"

	"gatehouse/manifest"
)

// The functions here say what is wrong with a value, as the end of a sentence, or nothing.

func slug(s string) string {
	if !validName(s) {
		return fmt.Sprintf("%q must be a-z, 0-9, - and _, beginning with a letter or digit, at most 64 bytes", s)
	}
	return ""
}

// validName accepts the names of gates and of live roots, which are alike.
func validName(s string) bool { return manifest.ValidGate(s) == nil }

func hostName(s string) string {
	if s == "" || len(s) > 253 || !only(s, "-_.") || strings.ContainsRune("-_.", rune(s[0])) {
		return fmt.Sprintf("%q must be a-z, 0-9, -, _ and dots, beginning with a letter or digit", s)
	}
	return ""
}

// only reports whether s is made of a-z, 0-9 and the bytes of more.
func only(s, more string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}

// userName accepts what the system may know as a user; whether it does is for UID to say.
func userName(s string) string {
	switch {
	case numeric(s):
		if n, err := strconv.ParseUint(s, 10, 32); err != nil || n == 1<<32-1 || strconv.FormatUint(n, 10) != s {
			return fmt.Sprintf("%q is no uid", s)
		}
	case len(s) > 256 || strings.ContainsAny(s, ":/ ,") || strings.ContainsRune("-+~.", rune(s[0])):
		return fmt.Sprintf("%q is no user name", s)
	}
	return ""
}

func numeric(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func absolute(s string) string {
	switch {
	case !path.IsAbs(s):
		return fmt.Sprintf("%q must be an absolute path", s)
	case path.Clean(s) != s:
		return fmt.Sprintf("%q must be written as %q", s, path.Clean(s))
	case s == "/":
		return `"/" is too much`
	default:
		return ""
	}
}

// relative accepts where in a repository the vendored copy may be.
func relative(s string) string {
	if path.IsAbs(s) || s == "." || s == ".." || strings.HasPrefix(path.Clean(s), "../") {
		return fmt.Sprintf("%q must be a path below the top of the repository", s)
	}
	if path.Clean(s) != s {
		return fmt.Sprintf("%q must be written as %q", s, path.Clean(s))
	}
	for part := range strings.SplitSeq(strings.ToLower(s), "/") {
		if strings.HasPrefix(part, ".git") {
			return fmt.Sprintf("%q must have no part that begins with .git", s)
		}
	}
	return ""
}

// glob accepts a pattern over paths that begin and end with a name. It is read as manifest reads it.
func glob(s string) string {
	if strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasSuffix(s, "/") {
		return fmt.Sprintf("%q must not begin with / or ./ or end with /; patterns are relative", s)
	}
	as := globs.Compiler{Separators: []rune{'/'}, Globstar: true}
	if _, err := as.Compile(strings.TrimSuffix(s, "/**")); err != nil {
		return fmt.Sprintf("%q is no pattern: %s", s, strings.TrimPrefix(err.Error(), "glob: "))
	}
	return ""
}

// serviceName accepts the name of a unit that has a main process.
func serviceName(s string) string {
	base, ok := strings.CutSuffix(s, ".service")
	if !ok || base == "" || len(s) > 255 || base[0] == '-' || !only(strings.ToLower(base), `:-_.\@`) {
		return fmt.Sprintf("%q must be the name of a service, such as agent.service", s)
	}
	return ""
}
