package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Kind says what a value is.
type Kind string

// The kinds. All but objects are statements: small, signed by the host in their key, the newest replacing the one before.
const (
	Beats    Kind = "beats"    // beats/HOST: the host's last heartbeat
	Exports  Kind = "exports"  // exports/HOST/GATE: what the host's live files are; names its manifest by SHA-256
	Accepted Kind = "accepted" // accepted/HOST/GATE: what a hub's operator accepted; names commit and manifest
	Told     Kind = "told"     // told/HOST/ALERT: the host has told this alert; expires after StatementAge
	Objects  Kind = "objects"  // objects/HOST/SHA256: a manifest or a file, immutable; expires after ObjectAge
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Beats, Exports, Accepted, Told, Objects} }

// The limits of values, in bytes.
const (
	MaxStatement = 64 << 10
	MaxObject    = 64 << 20
)

// Limit is how many bytes a value of this kind may have; 0 for what is no kind.
func (k Kind) Limit() int {
	switch k {
	case Beats, Exports, Accepted, Told:
		return MaxStatement
	case Objects:
		return MaxObject
	default:
		return 0
	}
}

// rest reports whether keys of this kind have a Rest.
func (k Kind) rest() bool { return k != Beats }

// The limits of names.
const (
	maxHost = 253
	maxRest = 128
)

// A Key names one value: KIND/HOST/REST. As an argument of List, a Key without Host or Rest means all hosts, or
// all that a host has. One with a Rest and no Host means that one value of each host: a host that leaves a million others
// keeps nobody busy with them.
type Key struct {
	Kind Kind
	Host string // the host that writes it
	Rest string // GATE, ALERT or SHA256, as the kind says
}

// Object is the key under which host stores content.
func Object(host string, content []byte) Key {
	sum := sha256.Sum256(content)
	return Key{Objects, host, hex.EncodeToString(sum[:])}
}

// ParseKey reads what String writes, of a whole key.
func ParseKey(s string) (Key, error) {
	kind, after, _ := strings.Cut(s, "/")
	host, rest, more := strings.Cut(after, "/")
	k := Key{Kind(kind), host, rest}
	if more && rest == "" {
		return Key{}, fmt.Errorf("key %q ends in a slash", s)
	}
	if err := k.Check(); err != nil {
		return Key{}, err
	}
	return k, nil
}

func (k Key) String() string {
	if k.Host == "" && k.Rest != "" {
		k.Host = "*" // what List takes: of all hosts
	}
	return strings.TrimRight(string(k.Kind)+"/"+k.Host+"/"+k.Rest, "/")
}

// Check reports why k is not the key of a value.
func (k Key) Check() error {
	switch {
	case k.Kind.Limit() == 0:
		return fmt.Errorf("key %q: %q is no kind", k, k.Kind)
	case CheckHost(k.Host) != nil:
		return fmt.Errorf("key %q: %w", k, CheckHost(k.Host))
	case k.Kind.rest() != (k.Rest != ""):
		return fmt.Errorf("key %q: it has too many parts, or too few", k)
	case k.Rest != "" && !isName(k.Rest, maxRest):
		return fmt.Errorf("key %q: %q takes a-z, 0-9, -, _ and dots, begins with a letter or digit and has at most %d bytes",
			k, k.Rest, maxRest)
	case k.Kind == Objects && !isDigest(k.Rest):
		return fmt.Errorf("key %q: an object is named by its SHA-256, 64 hex digits", k)
	}
	return nil
}

// CheckUnder reports why k cannot be listed.
func (k Key) CheckUnder() error {
	switch {
	case k.Kind.Limit() == 0:
		return fmt.Errorf("list %q: %q is no kind", k, k.Kind)
	case k.Kind == Objects:
		return fmt.Errorf("list %q: objects have no list; statements name them", k)
	case k.Host == "" && k.Rest == "":
		return nil
	case k.Rest == "":
		return CheckHost(k.Host)
	case k.Host == "":
		return Key{k.Kind, "all", k.Rest}.Check()
	default:
		return k.Check()
	}
}

// Has reports whether key is at or below k.
func (k Key) Has(key Key) bool {
	return k.Kind == key.Kind && (k.Host == "" || k.Host == key.Host) && (k.Rest == "" || k.Rest == key.Rest)
}

// CheckHost reports why name cannot be the name of a host here. These are the names that warden.yaml takes.
func CheckHost(name string) error {
	if !isName(name, maxHost) {
		return fmt.Errorf("%q is no name for a host: it takes a-z, 0-9, -, _ and dots, begins with a letter or digit and has at most "+
			"%d bytes", name, maxHost)
	}
	return nil
}

// CheckID reports why id cannot be the id of an alert.
func CheckID(id string) error {
	if !isName(id, maxRest) {
		return fmt.Errorf("%q is no id for an alert: it takes a-z, 0-9, -, _ and dots, begins with a letter or digit and has at most "+
			"%d bytes", id, maxRest)
	}
	return nil
}

// isName accepts what is safe as a file name, as a token of a subject and on a terminal.
func isName(s string, max int) bool {
	if s == "" || len(s) > max {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}

func isDigest(s string) bool {
	return len(s) == hex.EncodedLen(sha256.Size) && strings.Trim(s, "0123456789abcdef") == ""
}
