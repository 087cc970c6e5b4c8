// Package peer is how hosts watch each other.
//
// After each completed pass a host leaves a signed heartbeat in the exchange. Every host looks there every few minutes,
// in three steps:
//
//   - judge: what was seen, the inventory and the reader's own clock in, findings out; a pure function (judge);
//   - plan: which of the watchers says what, and when; a pure function as well (alert.go);
//   - tell: the journal of this host always; the receivers that all hosts share once, by whoever claims it (Watcher).
//
// Time is the reader's own monotonic clock and nothing else: no clock of another host, of the exchange or on a wall
// counts. What counts is the time for which the reader really looked, from one look that reached the exchange to the
// next: a reader that was down, suspended or cut off is no reason to call others silent. A new boot of the reader begins
// with fresh grace. A host that is silent stays so until a heartbeat comes that is newer than its last.
//
// A heartbeat is believed when it is signed by the key that the inventory has for the host under whose name it lies,
// says that very name, and has a higher number than the one before. What is not believed is a finding and changes
// nothing else: a host of which only forgeries come grows silent.
//
// One alert among many watchers. A finding that all watchers see has one id, made of the host, the kind and the number
// of the last heartbeat that was believed. The watchers wait for their turn by the order of their names, claim the id in
// the exchange, send, and then say in a signed document of their own that they told it. A claim only delays: a
// watcher that dies with it is overtaken when its lease ends. That somebody says "told" is believed for a day (two days of
// the next who says so, then four, …), once of each host, and not from a host that is itself in question or that the alert
// is about, so a watcher that lies can delay an alert and not prevent it (heard.go).
// When the finding is over, whoever told it last sends one closing line; if that host is gone, the next one does. In a
// partition an alert may come twice; it never fails to come.
//
// Decisions where the design is silent:
//
//   - A host in announced maintenance is not silent for as long as it said, at most MaxMaintenance in all.
//   - "split" needs to last for as long as silence does: hosts that follow an acceptance take it over one by one.
//   - What the exchange withholds is told by each host for itself, once it has lasted for the grace time.
//   - A host whose key is changed in the inventory is a new host.
//
// peer knows exchange, notify, manifest and durable. It does not know what a gate is, beyond the words that a pass found
// for it, nor where keys and heartbeats come from.
package peer

import (
	"crypto/ed25519"
	"time"
)

// MaxMaintenance is the longest maintenance that others take into account.
const MaxMaintenance = 24 * time.Hour

// A Kind says what a finding is about.
type Kind string

// The kinds, worst first.
const (
	BadSignature Kind = "bad-signature" // what lies under a host's name is not from that host
	Replayed     Kind = "replayed"      // an older heartbeat than one that was seen, or two with one number
	Silent       Kind = "silent"        // two heartbeats did not come
	Unseen       Kind = "unseen"        // in the inventory, and nothing ever came
	Split        Kind = "split"         // hosts have other accepted trees of the same gate
	Undelivered  Kind = "undelivered"   // a host cannot get rid of its notices
	Unavailable  Kind = "unavailable"   // the exchange, or what lies there of a host, cannot be reached: nothing is known
)

// Kinds are all kinds, worst first.
func Kinds() []Kind {
	return []Kind{BadSignature, Replayed, Silent, Unseen, Split, Undelivered, Unavailable}
}

// Severity orders findings among each other and beside those of a pass; higher is worse.
func (k Kind) Severity() int {
	switch k {
	case BadSignature, Replayed:
		return 12
	case Silent, Unseen:
		return 10
	case Split:
		return 9
	case Undelivered, Unavailable:
		return 8
	default:
		return 0
	}
}

// Code is the exit code that stands for a finding: 1, and 2 where it means that nothing is known.
func (k Kind) Code() int {
	if k == Unavailable || k == Unseen {
		return 2
	}
	return 1
}

// A Host is one that is watched.
type Host struct {
	Name     string
	Key      ed25519.PublicKey
	Interval time.Duration // the longest time between two of its passes
	Grace    time.Duration // what timers, a slow pass and the network may add
}

// deadline is how long nothing may come. A beat that is late by a moment, or one that is lost, is no silence.
func (h Host) deadline() time.Duration { return 2*h.Interval + h.Grace }

// A Finding is one thing that is not as it should be.
type Finding struct {
	Kind   Kind          `json:"kind"`
	Host   string        `json:"host,omitempty"` // whom it is about; empty for the exchange
	Gate   string        `json:"gate,omitempty"` // of a split
	Alert  string        `json:"alert"`          // the same on all hosts that see it
	For    time.Duration `json:"for"`            // since when this host sees it, by its own clock
	Reason string        `json:"reason"`         // a sentence for a person
	Next   string        `json:"next,omitempty"` // what a person does first
}

// Subject is what the finding is about, as a name: one finding of a kind is open on it at a time.
func (f Finding) Subject() string {
	switch {
	case f.Gate != "":
		return f.Gate
	case f.Host != "":
		return f.Host
	default:
		return "exchange"
	}
}
