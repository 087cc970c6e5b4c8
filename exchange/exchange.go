// Package exchange is the place where the hosts of a fleet leave things for each other.
//
// An Exchange has four methods: put what this host has to say, get and list what others said, and claim an alert so that
// one watcher tells it. Nobody is told of changes: all look again every few minutes. What is left there is bytes under a
// Key, KIND/HOST/REST, and HOST is always the host that wrote it.
//
// Nothing that comes out of an exchange is evidence. Statements (beats, exports, accepted, told) are signed by the host
// that made them, and readers check that; an object is named by its SHA-256, and Get checks that. So an exchange can lie
// about nothing but absence and age: it can withhold, delay and show an older value, which signed sequence numbers
// reveal. That an exchange cannot be reached is a result of its own, ErrUnavailable: it clears nothing.
//
// A claim is a courtesy. It keeps two watchers from telling the same thing twice; it never decides whether a thing is
// told. Each host can claim an id once and for at most MaxLease, so a hostile host delays an alert by that much and no
// more. Where claims are lost or forged, an alert comes twice.
//
// This package has the keys, the limits and the implementation over a directory (Directory): for one host, for tests, and
// for a mount that all hosts share. exchange/jetstream is the same over NATS.
//
// exchange knows safefs, through which it reads what others may have put into the directory, and durable.
package exchange

import (
	"context"
	"errors"
	"iter"
	"time"
)

// An Exchange is where the hosts of a fleet leave things for each other. Its methods may be called from several
// goroutines at once. Each ends when its context does; without a deadline in it, each sets one of its own.
type Exchange interface {
	// Put stores value under key, which must be of this host (ErrForbidden); the value that was there is replaced. When it
	// returns nil, the value is stored and stays so through the loss of any one node. After an error it may be stored or
	// not; putting it again is harmless. An object that is there already is not sent again.
	Put(ctx context.Context, key Key, value []byte) error

	// Get returns what is stored under key: ErrNotFound, or ErrUnavailable if that could not be found out.
	Get(ctx context.Context, key Key) (Entry, error)

	// List yields all that is stored at and below under, with values, in no particular order, in one sweep. A Key with an
	// empty Host or Rest means all hosts, or all of that host; see Key. What could not be read of one key is in that entry's Err;
	// an error that stands alone ends the sweep, and what came before it is not all. Objects cannot be listed.
	List(ctx context.Context, under Key) iter.Seq2[Entry, error]

	// Claim says who may tell the alert id, and makes it this host if nobody holds it. A lease that has ended is taken
	// over by the next who claims. Times are the exchange's own. Where Claim fails, the caller tells the alert anyway, in
	// its turn: twice is better than never.
	Claim(ctx context.Context, id string, lease time.Duration) (Claim, error)
}

// An Entry is one value.
type Entry struct {
	Key   Key
	Value []byte
	At    time.Time // when it was stored, by the exchange's clock: for people, never for judging silence
	Err   error     // why there is no Value, in a List: this key is there and cannot be read
}

// A Claim says who may tell an alert.
type Claim struct {
	ID     string
	Holder string // a host
	Mine   bool   // the holder is this host
	Since  time.Time
	Until  time.Time // the end of the lease
}

// How long things count.
const (
	MaxLease     = 10 * time.Minute    // the longest lease; longer ones are cut to it, by who claims and by who reads
	StatementAge = 30 * 24 * time.Hour // of told
	ObjectAge    = 30 * 24 * time.Hour // of objects; putting one again after half of it renews it
)

// The errors of every exchange, to be recognised with errors.Is.
var (
	ErrNotFound    = errors.New("it is not in the exchange")
	ErrUnavailable = errors.New("the exchange cannot be reached") // nothing is known; neither there nor not there
	ErrForbidden   = errors.New("the exchange does not let this host do that")
	ErrTooLarge    = errors.New("it is larger than the exchange takes")
	ErrCorrupt     = errors.New("the exchange returned other bytes than the name says")
)
