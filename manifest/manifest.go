// Package manifest says what the live files of a gate are.
//
// The agent's side publishes: Publish scans the live roots through safefs, copies each content once into the export
// as an object named by its SHA-256, and replaces the manifest last. Root's side opens that export as what an enemy
// owns (OpenExport), parses the manifest strictly (parse.go), and reads objects that only count when their hash is the
// one that was claimed. Scan alone is the witness: root's own look at the live files under the same rules. Restore
// puts a generation, the accepted copy, back over the live files; only the agent's user runs it.
//
// An Entry's identity is its path, type, mode and digest or link target; owners and times are evidence, not identity.
// Entries are sorted by path bytes and every path is relative, `<live name>/rel`; the live root itself is the entry
// `<live name>`. Symbolic links are recorded, never followed. What could not be read or named is in Refused and is
// never left out silently.
//
// A Generation is a set of entries with their bytes, in a directory of ours: manifest.json beside files/<path>. The
// vendored copy in git and the accepted copy in the warden's state have this layout. Only regular files have bytes
// there; directories, links and modes stand in manifest.json. Names that git or a file system could take for its own
// are escaped (EscapePath).
//
// manifest knows safefs and durable. It does not know git, notices or what a drift is worth.
package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Schemas of the files that this package writes and reads.
const (
	Schema           = "gatehouse/manifest/v1"
	GenerationSchema = "gatehouse/generation/v1"
)

// A Type is the kind of thing that an entry describes. The zero Type is no valid entry.
type Type string

// The types that a gate's files may have.
const (
	File    Type = "file"
	Dir     Type = "dir"
	Symlink Type = "symlink"
)

// A Mode holds the permission, setuid, setgid and sticky bits as the kernel has them (at most 07777). In JSON it is
// an octal string such as "0644". Links have mode 0777.
type Mode uint32

func (m Mode) String() string {
	return string([]byte{'0' + byte(m>>9&7), '0' + byte(m>>6&7), '0' + byte(m>>3&7), '0' + byte(m&7)})
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It takes four octal digits and nothing else.
func (m *Mode) UnmarshalText(text []byte) error {
	return m.parse(string(text))
}

func (m *Mode) parse(text string) error {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil || len(text) != 4 {
		return fmt.Errorf("mode %q is not four octal digits", text)
	}
	*m = Mode(n)
	return nil
}

// An Entry is one file, directory or symbolic link.
type Entry struct {
	Path   string    `json:"path"`
	Type   Type      `json:"type"`
	Mode   Mode      `json:"mode"`
	UID    uint32    `json:"uid"`
	GID    uint32    `json:"gid"`
	Size   int64     `json:"size"`             // bytes of a file, else 0
	MTime  time.Time `json:"mtime"`            // UTC
	SHA256 string    `json:"sha256,omitempty"` // lower-case hex, files only
	Target string    `json:"target,omitempty"` // links only, as readlink gives it

	// CTime is set by Scan alone. It is what the file system says, and no part of a manifest.
	CTime time.Time `json:"-"`
}

// A Refusal is something below a live root that could not be read, judged or named.
type Refusal struct {
	Path   string `json:"path"`   // escaped where it is no printable UTF-8
	Reason string `json:"reason"` // a phrase that says what it is and what helps
}

// A Manifest is the publisher's claim about one gate.
type Manifest struct {
	Schema      string    `json:"schema"`
	Gate        string    `json:"gate"`
	Host        string    `json:"host"`
	BootID      string    `json:"boot_id"`
	Sequence    uint64    `json:"sequence"` // max(the last one + 1, milliseconds since 1970)
	PublishedAt time.Time `json:"published_at"`
	Tree        string    `json:"tree"`
	Entries     []Entry   `json:"entries"`
	Refused     []Refusal `json:"refused"`
	Log         *Log      `json:"log,omitempty"`
}

// A Log is the head of the gate's decision log at the time of publishing.
type Log struct {
	Head       string    `json:"head"` // SHA-256 of the last record, lower-case hex
	Count      uint64    `json:"count"`
	LastAt     time.Time `json:"last_at"`
	PolicyTree string    `json:"policy_tree"`
}

// Tree is the identity of a set of entries: the lower-case hex SHA-256 of the sorted list of path, type, mode and
// digest or target, each field preceded by its length in bytes as a big-endian uint32.
func Tree(entries []Entry) string {
	sorted := entries
	if !slices.IsSortedFunc(entries, byPath) {
		sorted = slices.Clone(entries)
		slices.SortFunc(sorted, byPath)
	}
	h := sha256.New()
	buf := appendField(nil, "gatehouse/tree/v1")
	for i := range sorted {
		e := &sorted[i]
		buf = appendField(buf, e.Path)
		buf = appendField(buf, string(e.Type))
		buf = appendField(buf, e.Mode.String())
		buf = appendField(buf, e.Digest())
		h.Write(buf)
		buf = buf[:0]
	}
	h.Write(buf)
	return hex.EncodeToString(h.Sum(nil))
}

// Digest is what an entry holds: the SHA-256 of a file, the target of a link, nothing for a directory.
func (e *Entry) Digest() string {
	switch e.Type {
	case File:
		return e.SHA256
	case Symlink:
		return e.Target
	default:
		return ""
	}
}

func byPath(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }

// appendField adds text, preceded by its length, to what is hashed for an identity.
func appendField(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}
