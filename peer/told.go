package peer

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/exchange"
)

// What a watcher says of the alerts that it told: one small document, signed, and replaced as a whole.
const (
	toldDomain = "gatehouse/told/v1"
	toldName   = "alerts"
	maxTold    = 200
)

type toldDocument struct {
	Schema string      `json:"schema"`
	Host   string      `json:"host"`
	Alerts []statement `json:"alerts"`
}

// A statement says that a watcher told an alert, or that it is over.
type statement struct {
	Alert   string `json:"alert"`
	Kind    Kind   `json:"kind"`
	Subject string `json:"subject"`
	Round   int    `json:"round"` // 1 for the first to tell it
	Over    bool   `json:"over"`
}

// said is what a watcher keeps of its own statements.
type said struct {
	statement
	Age time.Duration `json:"age"` // since it is over
}

func toldKey(host string) exchange.Key {
	return exchange.Key{Kind: exchange.Told, Host: host, Rest: toldName}
}

// sealTold makes the document of a watcher.
func sealTold(host string, key ed25519.PrivateKey, mine map[string]said) ([]byte, error) {
	doc := toldDocument{Schema: toldDomain, Host: host, Alerts: []statement{}}
	for _, s := range mine {
		doc.Alerts = append(doc.Alerts, s.statement)
	}
	slices.SortFunc(doc.Alerts, func(a, b statement) int { return strings.Compare(a.Alert, b.Alert) })
	payload, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return Seal(key, toldDomain, payload)
}

// parseTold reads the document of a watcher.
func parseTold(host string, key ed25519.PublicKey, value []byte) ([]statement, error) {
	payload, err := Open(value, toldDomain, key)
	if err != nil {
		return nil, err
	}
	var doc toldDocument
	if err := decodeCanonical(payload, &doc); err != nil {
		return nil, err
	}
	if doc.Schema != toldDomain || doc.Host != host || len(doc.Alerts) > maxTold {
		return nil, fmt.Errorf("it is no list of alerts that %s told", host)
	}
	for _, s := range doc.Alerts {
		if exchange.CheckID(s.Alert) != nil || !slices.Contains(Kinds(), s.Kind) || exchange.CheckHost(s.Subject) != nil ||
			s.Round < 1 || s.Round > 1<<20 {
			return nil, fmt.Errorf("it is no list of alerts that %s told", host)
		}
	}
	return doc.Alerts, nil
}

// A word is what a host that can be trusted for it said of an alert.
type word struct {
	host string
	statement
}

// A standing is how an alert stands by what was said: the highest round counts.
type standing struct {
	round  int    // 0: nobody said anything
	over   bool   // somebody sent the closing line
	holder string // who told it last
	// tellers is how many hosts spoke, whatever rounds they say.
	tellers int
}

func standingOf(words []word) (s standing) {
	for _, w := range words {
		switch {
		case w.Round > s.round:
			s.round, s.over, s.holder = w.Round, w.Over, w.host
		case w.Round == s.round:
			s.over = s.over || w.Over
			s.holder = min(s.holder, w.host)
		}
	}
	s.tellers = len(words)
	return s
}
