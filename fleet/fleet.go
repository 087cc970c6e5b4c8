// Package fleet carries the gates of hosts through an exchange, so that one warden, the hub, can reconcile many hosts,
// and so that hosts can take over what was accepted there.
//
// A gate on its way is a small signed statement and the objects that it names by their SHA-256:
//
//   - Exporter.Export, on a host after its pass: read the publisher's export as root reads it, check every hash, put
//     what the exchange does not have yet, then the statement;
//   - Hub.Fetch, on the hub: one sweep over all statements, each held to its host's key; then the lists of entries that
//     are new, and the contents that a comparison will need. Thousands of hosts with the same files cost one list;
//   - Exporter.Announce, on the hub: the same for what is accepted there, under a number that only grows;
//   - Follower.Fetch and Follower.Load, on a host that follows a hub.
//
// The list of entries is a manifest.Generation: it has no owners, times or sequence in it, so it has the same bytes on
// all hosts with the same files, and stays the same when a publisher runs again. What changes with each publication
// stands in the statement.
//
// Fetching is kept apart from judging. What is fetched lies in root's own directories and is written down (Hub.Save), so
// that the process which has the network writes nothing but that, and the one which commits to git has none.
// Nothing that was fetched is believed for lying there: it is hashed by whoever uses it.
//
// A host that is slow, silent or hostile takes its own time and nobody else's: each request has a deadline, which holds
// even where the exchange does not heed it, and what was learned of the others counts.
//
// fleet knows exchange, manifest, durable and what reconcile wants to know of another host (reconcile.Remote). It does
// not know where keys come from.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// The domains that statements are signed for: one that was made for one purpose counts for no other.
const (
	exportDomain   = "gatehouse/export/v1"
	acceptedDomain = "gatehouse/accepted/v1"
)

// Seal signs a payload with this host's key.
type Seal func(domain string, payload []byte) (envelope []byte, err error)

// Open returns the payload of an envelope that the named host has signed.
type Open func(domain, host string, envelope []byte) (payload []byte, err error)

var (
	// ErrForged means that a statement is not signed by the host that it is under, or does not say what it should.
	ErrForged = errors.New("it is not what the host signed")
	// ErrOlder means that a statement is older than one that was seen before.
	ErrOlder = errors.New("it is older than what was seen before")
	// ErrIncomplete means that a statement names what is not there.
	ErrIncomplete = errors.New("what it names is not in the exchange")
)

// requestTimeout bounds one request to the exchange.
const requestTimeout = 20 * time.Second

// request runs do under a deadline that holds even where do does not heed it.
func request[T any](ctx context.Context, limit time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do(ctx)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%w: no answer within %v", exchange.ErrUnavailable, limit)
	}
}

// objects are contents in a directory of root's, each under its SHA-256.
type objects struct {
	dir  string
	disk durable.Disk
}

func (o *objects) has(digest string, size int64) bool {
	info, err := os.Lstat(filepath.Join(o.dir, digest))
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// keep stores bytes that have the digest. They are not flushed: whoever reads them hashes them, and what a crash tore
// is fetched again.
func (o *objects) keep(digest string, data []byte) error {
	if digestOf(data) != digest {
		return manifest.ErrMismatch
	}
	return o.disk.Put(filepath.Join(o.dir, digest), data, 0o600)
}

// read returns the bytes of an object, fs.ErrNotExist where they are not there or not what the name says.
func (o *objects) read(digest string) ([]byte, error) {
	name := filepath.Join(o.dir, digest)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if digestOf(data) != digest {
		return nil, errors.Join(fmt.Errorf("object %.12s…: %w", digest, fs.ErrNotExist), o.disk.Remove(name))
	}
	return data, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// get fetches an object of host and checks it. limit bounds its size.
func get(ctx context.Context, ex exchange.Exchange, host, digest string, limit int64) ([]byte, error) {
	entry, err := request(ctx, requestTimeout, func(ctx context.Context) (exchange.Entry, error) {
		return ex.Get(ctx, exchange.Key{Kind: exchange.Objects, Host: host, Rest: digest})
	})
	switch {
	case err != nil:
		return nil, err
	case int64(len(entry.Value)) > limit:
		return nil, fmt.Errorf("object %.12s… has %d bytes: %w", digest, len(entry.Value), exchange.ErrTooLarge)
	case digestOf(entry.Value) != digest:
		return nil, fmt.Errorf("object %.12s…: %w", digest, exchange.ErrCorrupt)
	}
	return entry.Value, nil
}

// documentLimit bounds a list of entries; the parser holds it to the gate's own limits.
func documentLimit(limits manifest.Limits) int64 {
	return 1<<20 + 1<<10*int64(limits.Entries)
}
