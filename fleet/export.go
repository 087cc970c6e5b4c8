package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// An Exporter puts what this host has to say about its gates into the exchange.
type Exporter struct {
	Exchange exchange.Exchange
	Host     string
	Seal     Seal
	Open     Open   // of this host's own statements
	Dir      string // root's own: what was sent, so that it is not sent again
	Disk     durable.Disk
}

// A Source is where the publisher of a gate leaves its export.
type Source struct {
	Gate   string
	Export string
	Owner  uint32
	Limits manifest.Limits
}

// renewAfter is when objects are put once more though nothing changed: an exchange keeps them for a month.
const renewAfter = 24 * time.Hour

// sent is what is remembered of what was put into the exchange.
type sent struct {
	Schema   string    `json:"schema"`
	Sequence uint64    `json:"sequence"`
	Content  string    `json:"content"`
	Payload  string    `json:"payload"`  // SHA-256 of the statement
	Envelope string    `json:"envelope"` // and of the same, signed
	At       time.Time `json:"at"`       // when all objects were put
}

const sentSchema = "gatehouse/sent/v1"

// Export puts the export of a gate into the exchange as it is now, objects first. It reports whether anything had to be
// sent.
func (e *Exporter) Export(ctx context.Context, src Source, now time.Time) (bool, error) {
	did, err := e.export(ctx, src, now)
	if err != nil {
		return did, fmt.Errorf("send the export of gate %s: %w", src.Gate, err)
	}
	return did, nil
}

func (e *Exporter) export(ctx context.Context, src Source, now time.Time) (bool, error) {
	export, err := manifest.OpenExport(src.Export, src.Owner, src.Limits)
	if err != nil {
		return false, err
	}
	defer export.Close()
	m, err := export.Manifest(ctx)
	if err != nil {
		return false, err
	}
	if m.Gate != src.Gate {
		return false, fmt.Errorf("the manifest in %s is of gate %q", src.Export, m.Gate)
	}
	list := manifest.NewGeneration(src.Gate, m.Entries)
	document, err := list.Marshal()
	if err != nil {
		return false, err
	}
	s := newStatement(e.Host, m, digestOf(document))
	key := exchange.Key{Kind: exchange.Exports, Host: e.Host, Rest: src.Gate}
	return e.put(ctx, key, exportDomain, src.Gate+".export", s, s.Content, s.Sequence, now, document, list,
		func(entry *manifest.Entry, to io.Writer) error {
			return export.ReadObject(ctx, entry.SHA256, entry.Size, to)
		})
}

// put stores the objects that a statement names, where they may be missing, and then the statement.
func (e *Exporter) put(ctx context.Context, key exchange.Key, domain, name string, statement any, content string, sequence uint64,
	now time.Time, document []byte, list *manifest.Generation, read func(*manifest.Entry, io.Writer) error) (bool, error) {
	payload, err := encode(statement)
	if err != nil {
		return false, err
	}
	last, err := e.last(name)
	if err != nil {
		return false, err
	}
	there, err := request(ctx, requestTimeout, func(ctx context.Context) (exchange.Entry, error) { return e.Exchange.Get(ctx, key) })
	gone := errors.Is(err, exchange.ErrNotFound)
	if err != nil && !gone && !errors.Is(err, exchange.ErrCorrupt) && !errors.Is(err, exchange.ErrTooLarge) {
		return false, err
	}
	if sequence < last.Sequence {
		return false, fmt.Errorf("its number is %d, and %d was sent before: %w", sequence, last.Sequence, ErrOlder)
	}
	age := now.Sub(last.At)
	renew := gone || err != nil || last.Content != content || age > renewAfter || age < 0
	if !renew && last.Payload == digestOf(payload) && last.Envelope == digestOf(there.Value) {
		return false, nil
	}
	if renew {
		if err := e.putObjects(ctx, document, list, read); err != nil {
			return false, err
		}
		last.At, last.Content = now, content
	}
	envelope, err := e.Seal(domain, payload)
	if err != nil {
		return false, err
	}
	if err := e.store(ctx, key, envelope); err != nil {
		return false, err
	}
	last.Sequence, last.Payload, last.Envelope = sequence, digestOf(payload), digestOf(envelope)
	return true, e.remember(name, last)
}

func (e *Exporter) putObjects(ctx context.Context, document []byte, list *manifest.Generation, read func(*manifest.Entry, io.Writer) error) error {
	done := make(map[string]bool)
	for i := range list.Entries {
		entry := &list.Entries[i]
		if entry.Type != manifest.File || done[entry.SHA256] {
			continue
		}
		done[entry.SHA256] = true
		var b bytes.Buffer
		if err := read(entry, &b); err != nil {
			return err
		}
		if digestOf(b.Bytes()) != entry.SHA256 {
			return fmt.Errorf("%q: %w", entry.Path, manifest.ErrMismatch)
		}
		if err := e.store(ctx, exchange.Object(e.Host, b.Bytes()), b.Bytes()); err != nil {
			return fmt.Errorf("%q: %w", entry.Path, err)
		}
	}
	return e.store(ctx, exchange.Object(e.Host, document), document)
}

func (e *Exporter) store(ctx context.Context, key exchange.Key, value []byte) error {
	_, err := request(ctx, requestTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.Exchange.Put(ctx, key, value)
	})
	return err
}

// An Accepted is a generation that is in force on this host, and where it came from.
type Accepted struct {
	Generation *manifest.Generation
	Open       func(path string) (io.ReadCloser, error)
	Commit     string
	By         string
	At         time.Time
}

// Announce puts what is accepted here into the exchange, for hosts that follow. What is accepted later gets a higher
// number, also where it was accepted before.
func (e *Exporter) Announce(ctx context.Context, a Accepted, now time.Time) (bool, error) {
	did, err := e.announce(ctx, a, now)
	if err != nil {
		return did, fmt.Errorf("announce what is accepted of gate %s: %w", a.Generation.Gate, err)
	}
	return did, nil
}

func (e *Exporter) announce(ctx context.Context, a Accepted, now time.Time) (bool, error) {
	gate := a.Generation.Gate
	key := exchange.Key{Kind: exchange.Accepted, Host: e.Host, Rest: gate}
	document, err := a.Generation.Marshal()
	if err != nil {
		return false, err
	}
	name := gate + ".accepted"
	last, err := e.last(name)
	if err != nil {
		return false, err
	}
	st := acceptance{Schema: acceptedDomain, Host: e.Host, Gate: gate, Sequence: last.Sequence, Tree: a.Generation.Tree,
		Content: digestOf(document), Commit: a.Commit, By: a.By, At: a.At.Round(0).UTC()}
	if payload, err := encode(st); err != nil || last.Payload != digestOf(payload) {
		// Of a state that was lost, the exchange may know how far the numbers had come.
		top := last.Sequence
		entry, err := request(ctx, requestTimeout, func(ctx context.Context) (exchange.Entry, error) { return e.Exchange.Get(ctx, key) })
		switch {
		case err == nil:
			if old, err := openAcceptance(e.Open, e.Host, gate, entry.Value); err == nil {
				top = max(top, old.Sequence)
			}
		case errors.Is(err, exchange.ErrUnavailable):
			return false, err
		}
		st.Sequence = max(top+1, uint64(max(now.UnixMilli(), 1)))
	}
	return e.put(ctx, key, acceptedDomain, name, st, st.Content, st.Sequence, now, document, a.Generation, func(entry *manifest.Entry, to io.Writer) error {
		from, err := a.Open(entry.Path)
		if err != nil {
			return err
		}
		defer from.Close()
		_, err = io.Copy(to, io.LimitReader(from, entry.Size+1))
		return err
	})
}

func (e *Exporter) last(name string) (sent, error) {
	data, err := durable.ReadSealed(filepath.Join(e.Dir, name+".json"))
	var s sent
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, durable.ErrCorrupt):
		return sent{Schema: sentSchema}, nil // it is sent again
	case err != nil:
		return s, err
	}
	if json.Unmarshal(data, &s) != nil || s.Schema != sentSchema {
		return sent{Schema: sentSchema}, nil
	}
	return s, nil
}

func (e *Exporter) remember(name string, s sent) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := e.Disk.MkdirAll(e.Dir, 0o700); err != nil {
		return err
	}
	return e.Disk.WriteSealed(filepath.Join(e.Dir, name+".json"), append(data, '\n'), 0o600)
}

// short makes a multi-line error one line.
func short(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
