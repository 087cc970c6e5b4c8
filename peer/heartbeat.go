package peer

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"gatehouse/exchange"
	"gatehouse/manifest"
)

// The kind of statement that a heartbeat is, and its schema.
const heartbeatDomain = "gatehouse/heartbeat/v1"

// A Heartbeat is what a host says of itself after a completed pass. All times in it are the host's own: they are shown
// to people, and nothing is judged by them.
type Heartbeat struct {
	Schema      string       `json:"schema"`
	Host        string       `json:"host"`
	BootID      string       `json:"boot_id"`
	Sequence    uint64       `json:"sequence"` // from 1; it never falls, also across boots
	At          int64        `json:"at"`       // Unix seconds
	Interval    int64        `json:"interval"` // seconds between its passes
	Version     string       `json:"version"`  // of warden
	Gates       []Gate       `json:"gates"`
	Pending     Pending      `json:"pending"`
	Maintenance *Maintenance `json:"maintenance,omitempty"`
}

// A Gate is how one gate of the host stood at the end of the pass.
type Gate struct {
	Name        string `json:"name"`
	Result      string `json:"result"`
	Tree        string `json:"tree,omitempty"`        // live
	Fingerprint string `json:"fingerprint,omitempty"` // of the open drift
	Accepted    string `json:"accepted,omitempty"`    // the tree in force
	Commit      string `json:"commit,omitempty"`      // that it was accepted with
}

// Pending counts the notices that the host could not deliver.
type Pending struct {
	Count  int   `json:"count"`
	Oldest int64 `json:"oldest"` // seconds that the oldest is pending
	Since  int64 `json:"since"`  // Unix seconds; the same as long as the oldest is
}

// Maintenance announces that the host may be silent for a while.
type Maintenance struct {
	Left int64  `json:"left"` // seconds, from this heartbeat on
	Why  string `json:"why"`
}

// Limits of a heartbeat.
const (
	maxGates = 128
	maxWhy   = 200
	maxWord  = 64
	maxSpan  = 10 * 365 * 24 * 3600 // seconds; of a duration
	maxTime  = 1 << 40              // of a time in Unix seconds
)

// Sign returns the heartbeat as it is put into the exchange. A clock that was far off when something began keeps no host
// from speaking.
func (h Heartbeat) Sign(key ed25519.PrivateKey) ([]byte, error) {
	h.Schema = heartbeatDomain
	h.At = min(max(h.At, 0), maxTime)
	h.Pending.Oldest = min(max(h.Pending.Oldest, 0), maxSpan)
	h.Pending.Since = min(max(h.Pending.Since, 0), maxTime)
	if h.Gates == nil {
		h.Gates = []Gate{}
	}
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	payload, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	return Seal(key, heartbeatDomain, payload)
}

// ParseHeartbeat reads what lies under the name of a host, signed with its key.
func ParseHeartbeat(host string, key ed25519.PublicKey, value []byte) (Heartbeat, error) {
	payload, err := Open(value, heartbeatDomain, key)
	if err != nil {
		return Heartbeat{}, err
	}
	var h Heartbeat
	if err := decodeCanonical(payload, &h); err != nil {
		return Heartbeat{}, fmt.Errorf("heartbeat: %w", err)
	}
	if err := h.check(); err != nil {
		return Heartbeat{}, fmt.Errorf("heartbeat: %w", err)
	}
	if h.Host != host {
		return Heartbeat{}, fmt.Errorf("it is the heartbeat of %q", h.Host)
	}
	return h, nil
}

// decodeCanonical reads JSON that is, byte for byte, what encoding it again gives: so it has no key that is unknown,
// there twice, in another case or order, no spaces, and nothing after its end.
func decodeCanonical[T any](data []byte, to *T) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return err
	}
	again, err := json.Marshal(to)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return errors.New("it is not in canonical form: a key is there twice or out of its place, or something follows it")
	}
	return nil
}

func (h Heartbeat) check() error {
	switch {
	case h.Schema != heartbeatDomain:
		return fmt.Errorf("schema: %.64q is not %s", h.Schema, heartbeatDomain)
	case exchange.CheckHost(h.Host) != nil:
		return fmt.Errorf("host: %w", exchange.CheckHost(h.Host))
	case h.BootID == "" || len(h.BootID) > maxWord || strings.Trim(h.BootID, "0123456789abcdef-") != "":
		return fmt.Errorf("boot_id: %.64q is none", h.BootID)
	case h.Sequence < 1 || h.Sequence > 1<<53:
		return fmt.Errorf("sequence: %d is out of range", h.Sequence)
	case h.At < 0 || h.At > maxTime:
		return fmt.Errorf("at: %d is out of range", h.At)
	case h.Interval < 1 || h.Interval > maxSpan:
		return fmt.Errorf("interval: %d is out of range", h.Interval)
	case !printable(h.Version, maxWhy):
		return errors.New("version: is not short printable text")
	case h.Gates == nil || len(h.Gates) > maxGates:
		return fmt.Errorf("gates: is missing, or has more than %d", maxGates)
	case h.Pending.Count < 0 || h.Pending.Count > 1<<30 || h.Pending.Oldest < 0 || h.Pending.Oldest > maxSpan ||
		h.Pending.Since < 0 || h.Pending.Since > maxTime:
		return errors.New("pending: a number is out of range")
	case h.Maintenance != nil && (h.Maintenance.Left < 0 || h.Maintenance.Left > maxSpan || !printable(h.Maintenance.Why, maxWhy)):
		return errors.New("maintenance: is out of range, or why is not short printable text")
	}
	seen := make(map[string]bool)
	for i, g := range h.Gates {
		if err := g.check(); err != nil {
			return fmt.Errorf("gates[%d].%w", i, err)
		}
		if seen[g.Name] {
			return fmt.Errorf("gates[%d].name: %q is there twice", i, g.Name)
		}
		seen[g.Name] = true
	}
	return nil
}

func (g Gate) check() error {
	switch {
	case manifest.ValidGate(g.Name) != nil:
		return fmt.Errorf("name: %w", manifest.ValidGate(g.Name))
	case g.Result == "" || len(g.Result) > maxWord || strings.Trim(g.Result, "abcdefghijklmnopqrstuvwxyz-") != "":
		return fmt.Errorf("result: %.64q is none", g.Result)
	case !hexOrNone(g.Tree, 64) || !hexOrNone(g.Fingerprint, 64) || !hexOrNone(g.Accepted, 64):
		return errors.New("tree, fingerprint or accepted: is no SHA-256")
	case !hexOrNone(g.Commit, 40) && !hexOrNone(g.Commit, 64):
		return errors.New("commit: is none")
	}
	return nil
}

func hexOrNone(s string, size int) bool {
	return s == "" || len(s) == size && strings.Trim(s, "0123456789abcdef") == ""
}

func printable(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) })
}

// LastPass is when the host says that its pass ended.
func (h Heartbeat) LastPass() time.Time { return time.Unix(h.At, 0).UTC() }
