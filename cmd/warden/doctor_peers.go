package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gatehouse/config"
	"gatehouse/internal/durable"
	"gatehouse/peer"
	"gatehouse/reconcile"
	"gatehouse/systemd"
)

// examinePeers looks at what this host needs to speak to others, whether the exchange lets it in, and whether it knows of
// the gates of other hosts that it is to judge. handed says that systemd hands the secrets to the unit that speaks.
func (g *globals) examinePeers(ctx context.Context, e *examination, c *config.Config, handed bool) {
	s, err := newSite(c, g.program(), g.streams, durable.Disk{})
	if err != nil {
		return // which was said of what is wrong
	}
	if handed {
		var h systemd.Host
		peersOfHost(c, &h)
		whole := true
		for _, secret := range h.PeerCredentials {
			whole = e.credential(secret.Path) && whole
		}
		if !whole {
			return
		}
	}
	if c.Ping != "" {
		_, err := c.Ping.URL()
		e.add("ping", err, "")
	}
	if c.Peers == nil {
		return
	}
	g.examineExchange(ctx, e, s)
	for _, f := range s.fleets {
		if err := s.knowsFleet(f); !errors.Is(err, fs.ErrPermission) {
			e.add("gate "+f.Gate+" of other hosts", err, g.program()+" reconcile --from exchange")
		}
	}
}

func (g *globals) examineExchange(ctx context.Context, e *examination, s *site) {
	key, err := s.hostKey()
	if errors.Is(err, fs.ErrPermission) {
		e.note("key of this host", "only root can read it, and use the exchange")
		return
	}
	fix := ""
	if errors.Is(err, fs.ErrNotExist) {
		fix = g.program() + " peers key"
	}
	if err == nil {
		err = s.checkListed(peer.FormatKey(publicKey(key)))
	}
	e.add("key of this host", err, fix)
	where := s.config.Peers.Exchange.Directory
	if nats := s.config.Peers.Exchange.NATS; nats != nil {
		where = strings.Join(nats.Servers, ", ")
	}
	_, done, err := s.exchange(ctx)
	if e.add("exchange at "+where, err, "") {
		done()
	}
}

// knowsFleet reports why nothing is known of a gate of some other host.
func (s *site) knowsFleet(f reconcile.Fleet) error {
	status, err := s.warden.FleetStatus(f)
	if err != nil {
		return err
	}
	if status.CheckedAt.IsZero() {
		return errors.New("no pass was made yet")
	}
	unfetched := 0
	for _, r := range status.Reports {
		if r.Result == reconcile.Unfetched {
			unfetched++
		}
	}
	if unfetched > 0 {
		return fmt.Errorf("what %d of %s have could not be fetched", unfetched, count(len(status.Reports), "host"))
	}
	return nil
}
