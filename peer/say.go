package peer

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
)

// A Speaker is this host as it is watched by others.
type Speaker struct {
	Host     string
	Key      ed25519.PrivateKey
	Exchange exchange.Exchange
	Dir      string // its own directory; only root can read it
	Disk     durable.Disk
}

const spokenSchema = "gatehouse/spoken/v1"

// spoken is the last heartbeat of this host. It is on the disk before it is in the exchange, so that no number is used
// twice.
type spoken struct {
	Schema string    `json:"schema"`
	Of     string    `json:"of"` // what it was made of
	Beat   Heartbeat `json:"beat"`
	Value  []byte    `json:"value"`
}

func spokenFile(dir string) string { return filepath.Join(dir, "heartbeat.json") }

// Last returns the last heartbeat that this host made, nil for none.
func Last(dir string) (*Heartbeat, error) {
	last, err := readSpoken(dir)
	if last == nil {
		return nil, err
	}
	return &last.Beat, nil
}

func readSpoken(dir string) (*spoken, error) {
	data, err := durable.ReadSealed(spokenFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(spoken)
	if err := json.Unmarshal(data, s); err != nil || s.Schema != spokenSchema {
		return nil, fmt.Errorf("read %s: %w", spokenFile(dir), durable.ErrCorrupt)
	}
	return s, nil
}

// Say makes a heartbeat, unless the last one was made of the same, and sees to it that the newest lies in the exchange.
// of names what it is made of, such as the pass before it. It returns the newest heartbeat also where the exchange could
// not be reached; nil where there is none yet.
func (s *Speaker) Say(ctx context.Context, of string, make func() (Heartbeat, error)) (*Heartbeat, error) {
	if err := s.Disk.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	last, err := readSpoken(s.Dir)
	if err != nil && !errors.Is(err, durable.ErrCorrupt) {
		return nil, err
	}
	ctx, cancel := half(ctx)
	defer cancel()
	lies, there, err := s.lies(ctx)
	if err != nil && last == nil {
		return nil, err // which number comes next only the exchange knows
	}
	unreached := err
	if of != "" && (last == nil || last.Of != of) {
		beat, err := make()
		if err != nil {
			return nil, err
		}
		beat.Host, beat.Schema, beat.Sequence = s.Host, heartbeatDomain, lies.Sequence+1
		if last != nil {
			beat.Sequence = max(beat.Sequence, last.Beat.Sequence+1)
		}
		if last, err = s.keep(of, beat); err != nil {
			return nil, err
		}
	}
	switch {
	case last == nil:
		return nil, nil
	case unreached != nil:
		return &last.Beat, unreached
	case bytes.Equal(there, last.Value):
		return &last.Beat, nil
	}
	err = s.Exchange.Put(ctx, exchange.Key{Kind: exchange.Beats, Host: s.Host}, last.Value)
	if err == nil && lies.Sequence > last.Beat.Sequence {
		err = fmt.Errorf("the exchange had heartbeat %d of this host, and the last that it made is %d: another machine uses its name "+
			"and key, or its state was put back; the next pass is numbered after both", lies.Sequence, last.Beat.Sequence)
	}
	return &last.Beat, err
}

// lies returns what lies in the exchange under the name of this host, and which heartbeat of its own that is.
func (s *Speaker) lies(ctx context.Context) (Heartbeat, []byte, error) {
	entry, err := s.Exchange.Get(ctx, exchange.Key{Kind: exchange.Beats, Host: s.Host})
	if errors.Is(err, exchange.ErrNotFound) {
		return Heartbeat{}, nil, nil
	}
	if errors.Is(err, exchange.ErrUnavailable) || ctx.Err() != nil {
		return Heartbeat{}, nil, err
	}
	if err != nil {
		return Heartbeat{}, nil, nil // it is there and cannot be read: it is replaced
	}
	beat, err := ParseHeartbeat(s.Host, publicOf(s.Key), entry.Value)
	if err != nil {
		return Heartbeat{}, entry.Value, nil // not ours: it is replaced
	}
	return beat, entry.Value, nil
}

// keep signs a heartbeat and puts it on the disk.
func (s *Speaker) keep(of string, beat Heartbeat) (*spoken, error) {
	value, err := beat.Sign(s.Key)
	if err != nil {
		return nil, err
	}
	next := &spoken{Schema: spokenSchema, Of: of, Beat: beat, Value: value}
	data, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	return next, s.Disk.WriteSealed(spokenFile(s.Dir), append(data, '\n'), 0o600)
}
