package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gatehouse/manifest"
)

// A statement is what a host signs about one of its gates, apart from the entries.
type statement struct {
	Schema      string    `json:"schema"`
	Host        string    `json:"host"`
	Gate        string    `json:"gate"`
	BootID      string    `json:"boot_id"`
	Sequence    uint64    `json:"sequence"`
	PublishedAt time.Time `json:"published_at"`
	Tree        string    `json:"tree"`
	Content     string    `json:"content"` // SHA-256 of the list of entries
	// Refused holds the first refusals; More is how many there are beside them.
	Refused []manifest.Refusal `json:"refused"`
	More    int                `json:"more"`
	Log     *manifest.Log      `json:"log"`
}

// acceptance is what a hub signs about a gate that was accepted there.
type acceptance struct {
	Schema   string    `json:"schema"`
	Host     string    `json:"host"`
	Gate     string    `json:"gate"`
	Sequence uint64    `json:"sequence"` // max(the last one + 1, milliseconds since 1970)
	Tree     string    `json:"tree"`
	Content  string    `json:"content"`
	Commit   string    `json:"commit"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
}

const (
	maxRefused  = 50   // refusals in a statement
	maxRefusing = 200  // bytes of the path and of the reason of one
	maxBy       = 256  // bytes of a name
	maxPayload  = 60e3 // bytes; an exchange takes a little more
)

// newStatement makes the statement about m.
func newStatement(host string, m *manifest.Manifest, content string) *statement {
	s := &statement{Schema: exportDomain, Host: host, Gate: m.Gate, BootID: m.BootID, Sequence: m.Sequence,
		PublishedAt: m.PublishedAt, Tree: m.Tree, Content: content, Refused: []manifest.Refusal{}, Log: m.Log}
	for _, r := range m.Refused {
		if len(s.Refused) == maxRefused || len(r.Path) > maxRefusing {
			s.More++
			continue
		}
		r.Reason = strings.ToValidUTF8(r.Reason[:min(len(r.Reason), maxRefusing)], "")
		s.Refused = append(s.Refused, r)
	}
	return s
}

// claim is the statement as a manifest without entries.
func (s *statement) claim() *manifest.Manifest {
	return &manifest.Manifest{Schema: manifest.Schema, Gate: s.Gate, Host: s.Host, BootID: s.BootID, Sequence: s.Sequence,
		PublishedAt: s.PublishedAt, Tree: s.Tree, Refused: s.Refused, Log: s.Log}
}

func (s *statement) check(host, gate string) error {
	problem := errors.Join(named(s.Schema, exportDomain, s.Host, host, s.Gate, gate), digest("tree", s.Tree), digest("content", s.Content))
	switch {
	case problem != nil:
		return problem
	case s.Sequence == 0, s.More < 0, len(s.Refused) > maxRefused, len(s.BootID) > 64, !text(s.BootID), s.PublishedAt.IsZero():
		return errors.New("a value is out of its bounds")
	}
	for _, r := range s.Refused {
		if r.Path == "" || r.Reason == "" || len(r.Path) > maxRefusing || len(r.Reason) > maxRefusing || !text(r.Path) || !text(r.Reason) {
			return errors.New("a refusal is out of its bounds")
		}
	}
	if s.Log != nil {
		return errors.Join(digest("log.head", s.Log.Head), digest("log.policy_tree", s.Log.PolicyTree))
	}
	return nil
}

func (a *acceptance) check(host, gate string) error {
	problem := errors.Join(named(a.Schema, acceptedDomain, a.Host, host, a.Gate, gate), digest("tree", a.Tree), digest("content", a.Content))
	switch {
	case problem != nil:
		return problem
	case a.Sequence == 0, a.By == "", len(a.By) > maxBy, !text(a.By), strings.Trim(a.Commit, "0123456789abcdef") != "", len(a.Commit) != 40:
		return errors.New("a value is out of its bounds")
	}
	return nil
}

// named reports that a statement is of another kind, host or gate than the place where it was found.
func named(schema, wantSchema, host, wantHost, gate, wantGate string) error {
	switch {
	case schema != wantSchema:
		return fmt.Errorf("its schema is %q, not %q: another version of Gatehouse wrote it", schema, wantSchema)
	case host != wantHost:
		return fmt.Errorf("it is about host %q", host)
	case gate != wantGate:
		return fmt.Errorf("it is about gate %q", gate)
	}
	return nil
}

func digest(key, s string) error {
	if len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return fmt.Errorf("%s is no SHA-256", key)
	}
	return nil
}

// text reports whether s is UTF-8 without control characters.
func text(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// decode reads what encode writes, and nothing else: unknown and repeated keys, other orders and spaces are refused.
func decode(payload []byte, to any) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("%d bytes are too many", len(payload))
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	again, err := encode(to)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, payload) {
		return errors.New("it is not in the form in which a host writes it")
	}
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// openStatement verifies an envelope and returns the statement in it. Any failure is ErrForged.
func openStatement(open Open, host, gate string, envelope []byte) (*statement, error) {
	s := new(statement)
	payload, err := open(exportDomain, host, envelope)
	if err == nil {
		err = decode(payload, s)
	}
	if err == nil {
		err = s.check(host, gate)
	}
	if err != nil {
		return nil, fmt.Errorf("the export of %s: %w: %w", host, ErrForged, err)
	}
	return s, nil
}

// openAcceptance does the same for what a hub accepted.
func openAcceptance(open Open, hub, gate string, envelope []byte) (*acceptance, error) {
	a := new(acceptance)
	payload, err := open(acceptedDomain, hub, envelope)
	if err == nil {
		err = decode(payload, a)
	}
	if err == nil {
		err = a.check(hub, gate)
	}
	if err != nil {
		return nil, fmt.Errorf("what %s accepted: %w: %w", hub, ErrForged, err)
	}
	return a, nil
}
