package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"gatehouse/config"
	"gatehouse/exchange"
	"gatehouse/fleet"
	"gatehouse/internal/durable"
	"gatehouse/peer"
	"gatehouse/reconcile"
)

// fleetsOf are the gates of other hosts that this host, a hub, reconciles.
func (s *site) fleetsOf(c *config.Config) []reconcile.Fleet {
	var fleets []reconcile.Fleet
	for _, f := range c.Fleet {
		of := reconcile.Fleet{Gate: f.Gate, Hosts: f.Hosts, Interval: f.Interval, Limits: f.Limits}
		if i := slices.IndexFunc(s.gates, func(g reconcile.Gate) bool { return g.Name == f.Gate }); i >= 0 {
			of.Own = &s.gates[i]
		}
		fleets = append(fleets, of)
	}
	return fleets
}

// chosen returns the gates of this host and those of others that are named, all of them for no name.
func (s *site) chosen(names []string) (gates []reconcile.Gate, fleets []reconcile.Fleet, err error) {
	if len(names) == 0 {
		return s.gates, s.fleets, nil
	}
	for _, name := range names {
		far := s.fleetsNamed(name)
		fleets = append(fleets, far...)
		near, err := s.selected([]string{name})
		if err != nil && len(far) == 0 {
			return nil, nil, err
		}
		gates = append(gates, near...)
	}
	return gates, fleets, nil
}

func (s *site) fleetsNamed(name string) []reconcile.Fleet {
	i := slices.IndexFunc(s.fleets, func(f reconcile.Fleet) bool { return f.Gate == name })
	if i < 0 {
		return nil
	}
	return s.fleets[i : i+1]
}

func namesOf(fleets []reconcile.Fleet) []string {
	names := []string{}
	for _, f := range fleets {
		names = append(names, f.Gate)
	}
	return names
}

// openSigned returns what another host signed, by the key that the configuration has for it. This host's own key
// need not stand there.
func (s *site) openSigned(domain, host string, envelope []byte) ([]byte, error) {
	text, known := s.keys[host]
	if !known && host == s.config.Host {
		key, err := s.hostKey()
		if err != nil {
			return nil, err
		}
		return peer.Open(envelope, domain, key.Public().(ed25519.PublicKey))
	}
	if !known {
		return nil, fmt.Errorf("no key of host %q is known; add it to peers.hosts", host)
	}
	key, err := peer.ParseKey(text)
	if err != nil {
		return nil, err
	}
	return peer.Open(envelope, domain, key)
}

// exchangeExports is what a beat does about gates: it sends this host's exports, and what is accepted here, and fetches
// what this host wants to know of others. It judges nothing and changes nothing that is in force; that is for the pass,
// which has no network. Each part is tried whatever became of the others.
func (g *globals) exchangeExports(ctx context.Context, s *site, ex exchange.Exchange) error {
	if err := s.makeState(); err != nil {
		return err
	}
	return errors.Join(s.sendExports(ctx, ex), s.announceAccepted(ctx, ex), s.fetchFollowed(ctx, ex), s.fetchFleets(ctx, ex, s.fleets))
}

func (s *site) exporter(ex exchange.Exchange) *fleet.Exporter {
	return &fleet.Exporter{
		Exchange: ex, Host: s.config.Host, Open: s.openSigned, Dir: filepath.Join(s.config.State, "sent"), Disk: s.warden.Disk,
		Seal: func(domain string, payload []byte) ([]byte, error) {
			key, err := s.hostKey()
			if err != nil {
				return nil, err
			}
			return peer.Seal(key, domain, payload)
		},
	}
}

// sendExports puts the export of each gate of this host into the exchange.
func (s *site) sendExports(ctx context.Context, ex exchange.Exchange) error {
	var errs []error
	for _, g := range s.gates {
		if g.Problem != nil {
			continue // the pass says so
		}
		_, err := s.exporter(ex).Export(ctx, fleet.Source{Gate: g.Name, Export: g.Export, Owner: g.Source.Owner, Limits: g.Source.Limits}, time.Now())
		if !errors.Is(err, fs.ErrNotExist) { // nothing is published yet
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// announceAccepted puts what is in force here into the exchange, for hosts that follow this one. A host that follows
// another has nothing of its own to say.
func (s *site) announceAccepted(ctx context.Context, ex exchange.Exchange) error {
	if s.config.Peers.Follow != "" {
		return nil
	}
	gates := slices.Clone(s.gates)
	for _, f := range s.fleets {
		if f.Own == nil {
			gates = append(gates, f.OnHub())
		}
	}
	var errs []error
	for _, g := range gates {
		errs = append(errs, s.announce(ctx, ex, g))
	}
	return errors.Join(errs...)
}

func (s *site) announce(ctx context.Context, ex exchange.Exchange, g reconcile.Gate) error {
	a, err := s.warden.InForce(g)
	if err != nil || a == nil {
		return err
	}
	defer a.Close()
	if a.Commit == "" {
		return nil // put in force before the history began
	}
	_, err = s.exporter(ex).Announce(ctx, fleet.Accepted{Generation: a.Generation, Open: a.Open, Commit: a.Commit, By: a.By, At: a.At}, time.Now())
	return err
}

func (s *site) hub(ex exchange.Exchange) *fleet.Hub {
	return &fleet.Hub{Exchange: ex, Open: s.openSigned, Objects: reconcile.RemoteObjects(s.config.State),
		Dir: filepath.Join(s.config.State, "fetched"), Disk: s.warden.Disk}
}

// fetchFleets fetches what hosts published of these gates, in one sweep.
func (s *site) fetchFleets(ctx context.Context, ex exchange.Exchange, fleets []reconcile.Fleet) error {
	if len(fleets) == 0 {
		return nil
	}
	if err := s.makeState(); err != nil {
		return err
	}
	// One fetch at a time: what an earlier sweep found must not take the place of what a later one did. The passes do not
	// wait for this.
	wait, cancel := context.WithTimeout(ctx, s.warden.LockFor)
	defer cancel()
	lock, err := durable.AcquireLock(wait, filepath.Join(s.config.State, "fetch.lock"))
	if err != nil {
		return fmt.Errorf("fetch from the exchange: %w", err)
	}
	hub := s.hub(ex)
	statements := hub.Sweep(ctx, namesOf(fleets)...)
	errs := []error{statements.Err()}
	for _, f := range fleets {
		known, wants, err := s.warden.FleetWants(f)
		if err == nil {
			_, err = hub.Fetch(ctx, statements, fleet.Wish{Gate: f.Gate, Hosts: f.Hosts, Limits: f.Limits, Known: known, Wants: wants}, time.Now())
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, lock.Unlock())...)
}

// reconcileFleets judges what was fetched last of these gates.
func (s *site) reconcileFleets(ctx context.Context, fleets []reconcile.Fleet) (*reconcile.FleetPass, error) {
	all := new(reconcile.FleetPass)
	for _, f := range fleets {
		fetched, err := s.hub(nil).Load(f.Gate)
		if err != nil {
			return nil, err
		}
		pass, err := s.warden.ReconcileFleet(ctx, f, fetched.Remotes)
		if err != nil {
			return nil, err
		}
		all.Reports = append(all.Reports, pass.Reports...)
		all.Delivery.Sinks = append(all.Delivery.Sinks, pass.Delivery.Sinks...)
		all.Delivery.Warnings = append(all.Delivery.Warnings, pass.Delivery.Warnings...)
	}
	return all, nil
}

// withExchange opens the exchange of the configuration for do.
func (s *site) withExchange(ctx context.Context, do func(exchange.Exchange) error) error {
	if s.config.Peers == nil {
		return errors.New("there is no exchange in the configuration; see peers: in docs/fleet.md")
	}
	ex, closeExchange, err := s.exchange(ctx)
	if err != nil {
		return err
	}
	defer closeExchange()
	return do(ex)
}

// fleetStatuses are how the gates of other hosts that are named stood at the last pass. It reads the state and nothing
// else.
func (s *site) fleetStatuses(names []string) ([]*reconcile.FleetStatus, error) {
	var list []*reconcile.FleetStatus
	for _, name := range names {
		for _, f := range s.fleetsNamed(name) {
			status, err := s.warden.FleetStatus(f)
			if err != nil {
				return nil, err
			}
			list = append(list, status)
		}
	}
	return list, nil
}

// reconcileAll makes one pass: it takes over what was fetched of a hub, looks at this host's gates, and judges what was
// fetched of other hosts. With fetch it first fetches that, and leaves this host's own gates to the pass that has no
// network.
func (g *globals) reconcileAll(ctx context.Context, s *site, gates []reconcile.Gate, fleets []reconcile.Fleet, fetch bool) (*reconcile.Pass, error) {
	pass := new(reconcile.Pass)
	if fetch {
		err := s.withExchange(ctx, func(ex exchange.Exchange) error { return s.fetchFleets(ctx, ex, fleets) })
		if err != nil {
			g.complain(err) // what is known of each host is still judged
		}
	} else {
		if _, err := s.adoptFollowed(ctx, gates); err != nil {
			g.complain(err) // the gate has a finding about it
		}
		var err error
		if pass, err = s.warden.Reconcile(ctx, gates); err != nil {
			return nil, err
		}
	}
	far, err := s.reconcileFleets(ctx, fleets)
	if err != nil {
		return nil, err
	}
	pass.Reports = append(pass.Reports, far.Reports...)
	pass.Delivery.Sinks = append(pass.Delivery.Sinks, far.Delivery.Sinks...)
	pass.Delivery.Warnings = append(pass.Delivery.Warnings, far.Delivery.Warnings...)
	return pass, nil
}
