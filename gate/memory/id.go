package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// An ID names one memory. The zero ID names none.
type ID struct {
	kind string // sessions or projects
	key  string // the name of its directory
	name string // as it was given
}

// Session is the memory of one session of a client; id may be any bytes but none at all.
func Session(id string) ID {
	if id == "" {
		return ID{}
	}
	return ID{"sessions", safe(id), id}
}

// Project is the memory that all sessions in the directory dir share; dir is absolute.
func Project(dir string) ID {
	if !filepath.IsAbs(dir) {
		return ID{}
	}
	dir = filepath.Clean(dir)
	return ID{"projects", digest(dir), dir}
}

// String returns the name for messages.
func (id ID) String() string {
	switch id.kind {
	case "sessions":
		return fmt.Sprintf("session %q", id.name)
	case "projects":
		return fmt.Sprintf("project %q", id.name)
	default:
		return "no session or project"
	}
}

// longestKey is how long the name of a directory may be that is made of the id itself.
const longestKey = 100

// safe returns a file name for id: the same for the same bytes only, not hidden, and id itself where that will do. What
// has other characters, or begins with the mark, is replaced by the mark and a digest.
func safe(id string) string {
	plain := len(id) <= longestKey && strings.IndexFunc(id, func(c rune) bool { return !plainInName(c) }) < 0
	if plain && id[0] != '.' && id[0] != mark {
		return id
	}
	return string(mark) + digest(id)
}

const mark = '='

func plainInName(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.:@=", c)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}
