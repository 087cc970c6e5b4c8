package manifest

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// ErrInvalid means that a manifest or a generation file is not what this package writes.
var ErrInvalid = errors.New("not valid")

// parse reads a manifest and believes nothing: whatever a publisher of ours would not have written is an error that
// names the key and the place. What it returns is safe to act on, as far as names, sizes and structure go.
func parse(data string, limits Limits) (*Manifest, error) {
	s := newScanner(data, limits.document())
	m := s.manifest(limits)
	if err := s.end(); err != nil {
		return nil, fmt.Errorf("manifest is %w: %w", ErrInvalid, err)
	}
	return m, nil
}

// ParseGeneration reads the manifest.json of a generation as strictly as an export is read.
func ParseGeneration(data []byte, limits Limits) (*Generation, error) {
	s := newScanner(string(data), limits.document())
	g := s.generation(limits)
	if err := s.end(); err != nil {
		return nil, fmt.Errorf("generation is %w: %w", ErrInvalid, err)
	}
	return g, nil
}

// Lengths of what is no path, and of the paths that are refused, which may be long and are escaped.
const (
	maxBootID      = 64
	maxRefusedPath = 20_000
	maxReason      = 1_000
)

var (
	manifestShape = shape{keys: []string{
		"schema", "gate", "host", "boot_id", "sequence", "published_at", "tree", "entries", "refused", "log",
	}, required: 9}
	entryShape = shape{keys: []string{
		"path", "type", "mode", "uid", "gid", "size", "mtime", "sha256", "target",
	}, required: 7}
	refusalShape    = shape{keys: []string{"path", "reason"}, required: 2}
	logShape        = shape{keys: []string{"head", "count", "last_at", "policy_tree"}, required: 4}
	generationShape = shape{keys: []string{"schema", "gate", "tree", "entries"}, required: 4}
	// Entries of a generation have no evidence, and no size where it is 0.
	storedEntryShape = shape{keys: []string{"path", "type", "mode", "size", "sha256", "target"}, required: 3}
)

func (s *scanner) manifest(limits Limits) *Manifest {
	m := new(Manifest)
	for key := range s.object(&manifestShape) {
		switch key {
		case "schema":
			m.Schema = s.schema(Schema)
		case "gate":
			m.Gate = checked(s, maxName, ValidGate)
		case "host":
			m.Host = checked(s, maxHost, ValidHost)
		case "boot_id":
			m.BootID = checked(s, maxBootID, validBootID)
		case "sequence":
			if m.Sequence = s.uint(math.MaxUint64); m.Sequence == 0 {
				s.failAt(s.pos, "a sequence begins with 1")
			}
		case "published_at":
			m.PublishedAt = s.time()
		case "tree":
			m.Tree = checked(s, 64, validDigest)
		case "entries":
			m.Entries = s.entries(&entryShape, limits)
		case "refused":
			m.Refused = s.refusals(limits)
		case "log":
			m.Log = s.log()
		}
	}
	s.tree(m.Tree, m.Entries)
	return m
}

func (s *scanner) generation(limits Limits) *Generation {
	g := new(Generation)
	for key := range s.object(&generationShape) {
		switch key {
		case "schema":
			g.Schema = s.schema(GenerationSchema)
		case "gate":
			g.Gate = checked(s, maxName, ValidGate)
		case "tree":
			g.Tree = checked(s, 64, validDigest)
		case "entries":
			g.Entries = s.entries(&storedEntryShape, limits)
		}
	}
	s.tree(g.Tree, g.Entries)
	return g
}

func (s *scanner) schema(want string) string {
	return checked(s, 2*len(want), func(got string) error {
		if got != want {
			return fmt.Errorf("%q is not %q: another version of Gatehouse wrote this", got, want)
		}
		return nil
	})
}

func (s *scanner) tree(claimed string, entries []Entry) {
	if s.err == nil && Tree(entries) != claimed {
		s.key = "tree"
		s.failAt(s.pos, "%s is not what the entries make", claimed)
	}
}

func (s *scanner) refusals(limits Limits) []Refusal {
	refused := []Refusal{}
	for i := range s.array() {
		if i > limits.Entries+maxLive {
			s.failAt(s.pos, "more than %d", limits.Entries+maxLive)
			break
		}
		var r Refusal
		for key := range s.object(&refusalShape) {
			switch key {
			case "path":
				r.Path = checked(s, maxRefusedPath, validText)
			case "reason":
				r.Reason = checked(s, maxReason, validText)
			}
		}
		refused = append(refused, r)
	}
	return refused
}

func (s *scanner) log() *Log {
	l := new(Log)
	for key := range s.object(&logShape) {
		switch key {
		case "head":
			l.Head = checked(s, 64, validDigest)
		case "count":
			l.Count = s.uint(math.MaxUint64)
		case "last_at":
			l.LastAt = s.time()
		case "policy_tree":
			l.PolicyTree = checked(s, 64, validDigest)
		}
	}
	return l
}

// checked reads a string that passes check.
func checked(s *scanner, limit int, check func(string) error) string {
	s.next()
	start := s.pos
	text := s.text(limit)
	if s.err == nil {
		if err := check(text); err != nil {
			s.failAt(start, "%v", err)
			return ""
		}
	}
	return text
}

func validBootID(id string) error {
	if id == "" || strings.Trim(id, "0123456789abcdef-") != "" {
		return fmt.Errorf("%q is no boot id", id)
	}
	return nil
}

func validDigest(digest string) error {
	if len(digest) != 64 {
		return errors.New("not 64 lower-case hex digits")
	}
	for i := range len(digest) {
		if !isHex(digest[i]) {
			return errors.New("not 64 lower-case hex digits")
		}
	}
	return nil
}

func validText(text string) error {
	if text == "" || !isText(text) {
		return errors.New("not text without control characters")
	}
	return nil
}
