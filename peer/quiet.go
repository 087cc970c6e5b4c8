package peer

import (
	"context"
	"crypto/ed25519"
	"slices"
	"time"

	"gatehouse/notify"
)

// quietly puts before each receiver what holds back the notices that another host has sent already.
func (c *council) quietly(o notify.Outbox) *notify.Outbox {
	sinks := make([]notify.Sink, len(o.Sinks))
	for i, sink := range o.Sinks {
		if finder, ok := sink.(notify.Finder); ok {
			sinks[i] = quietFinder{quiet{sink, c.memory.Drop}, finder}
		} else {
			sinks[i] = quiet{sink, c.memory.Drop}
		}
	}
	o.Sinks = sinks
	return &o
}

// quiet is a receiver that is not sent the notices of some records.
type quiet struct {
	notify.Sink
	drop []string
}

func (q quiet) Send(ctx context.Context, m notify.Message) error {
	m.Notices = slices.DeleteFunc(slices.Clone(m.Notices), func(n notify.Notice) bool { return slices.Contains(q.drop, n.Record) })
	if len(m.Notices) == 0 {
		return nil
	}
	return q.Sink.Send(ctx, m)
}

type quietFinder struct {
	quiet
	finder notify.Finder
}

func (q quietFinder) Find(ctx context.Context, id string, since time.Time) (bool, error) {
	return q.finder.Find(ctx, id, since)
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey {
	public, _ := key.Public().(ed25519.PublicKey)
	return public
}
