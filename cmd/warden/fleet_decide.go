package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gatehouse/exchange"
	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

// findFleet returns the drift of other hosts that id stands for; nil where it stands for one of this host alone.
func (s *site) findFleet(id string) (*reconcile.FleetDrift, error) {
	if len(s.fleets) == 0 {
		return nil, nil
	}
	fleets, prefix := s.fleets, id
	if named := s.fleetsNamed(id); len(named) == 1 {
		fleets, prefix = named, ""
	}
	far, farErr := s.warden.FindFleet(fleets, prefix)
	near, nearErr := s.warden.Find(s.gates, id)
	switch {
	case farErr != nil && nearErr == nil:
		return nil, nil
	case farErr == nil && nearErr == nil && near.Report.Fingerprint != far.Group.Fingerprint:
		return nil, fmt.Errorf("%w: this host has %s and other hosts have %s; name one", reconcile.ErrNoDrift, near.Report.ID, far.Group.ID)
	case farErr == nil:
		return far, nil
	case strings.Trim(strings.TrimPrefix(id, "d-"), "0123456789abcdef") == "" || prefix != id:
		return nil, farErr
	}
	return nil, nil
}

// acceptFleet accepts a drift of other hosts once for all of them.
func (g *globals) acceptFleet(ctx context.Context, s *site, drift *reconcile.FleetDrift, opts acceptOptions) error {
	group := &drift.Group
	if opts.yes && opts.id == drift.Fleet.Gate {
		return fmt.Errorf("--yes needs the id of the drift and not the gate: what is open may have changed since you looked; it is %s now", group.ID)
	}
	if !opts.yes {
		if err := g.confirmFleet(ctx, s, drift); err != nil {
			return err
		}
	}
	var commit string
	var hosts []string
	pass, err := within(ctx, decisionTimeout, func(ctx context.Context) (pass *reconcile.FleetPass, err error) {
		err = s.withExchange(ctx, func(ex exchange.Exchange) error {
			if err := s.fetchFleets(ctx, ex, []reconcile.Fleet{drift.Fleet}); err != nil {
				return fmt.Errorf("look at the hosts again: %w", err)
			}
			fetched, err := s.hub(ex).Load(drift.Fleet.Gate)
			if err != nil {
				return err
			}
			commit, hosts, pass, err = s.warden.AcceptFleet(ctx, drift.Fleet, fetched.Remotes, group.Fingerprint, decided(g.streams.Getenv, opts.why))
			if err != nil {
				return err
			}
			if err := s.announceAccepted(ctx, ex); err != nil {
				fmt.Fprintf(g.streams.Err, "warden: %s; the next beat tries again\n", cli.Line(err.Error()))
			}
			return nil
		})
		return pass, err
	})
	if err != nil {
		return errors.Join(g.refused(err), g.leave(s))
	}
	for _, host := range group.Hosts {
		if !slices.Contains(hosts, host) {
			fmt.Fprintf(g.streams.Err, "warden: %s does not have it as it was shown any more, and was left out\n", host)
		}
	}
	return g.finishFleet(s, drift, fleetOutcome{"accept", commit, hosts, pass}, opts.json,
		fmt.Sprintf("accepted %s of gate %s for %s in commit %.12s", group.ID, drift.Fleet.Gate, who(len(hosts), drift.Own), commit))
}

// who says whom a decision is about: other hosts, and this one where its own gate has the same drift.
func who(hosts int, own bool) string {
	others := count(hosts, "host")
	if own {
		return others + " and this one"
	}
	return others
}

// confirmFleet shows the diff and the hosts, and asks.
func (g *globals) confirmFleet(ctx context.Context, s *site, drift *reconcile.FleetDrift) error {
	group := &drift.Group
	if !g.streams.Interactive() {
		return fmt.Errorf("accept asks on a terminal, and this is none; read the diff (%s diff %s), then: %[1]s accept %[2]s --yes", g.program(), group.ID)
	}
	shown, err := s.fleetDiff(drift.Fleet, group)
	if err != nil {
		return err
	}
	g.printGateDiff(shown)
	fmt.Fprintf(g.streams.Out, "\n%s: %s\n", group.Result, cli.Line(group.Reason))
	for _, host := range group.Hosts {
		fmt.Fprintf(g.streams.Out, "  %s (unwitnessed)\n", host)
	}
	if drift.Own {
		fmt.Fprintf(g.streams.Out, "  %s, this host\n", s.config.Host)
	}
	if g.agreed(ctx, fmt.Sprintf("\nAccept %s of gate %s for %s?", group.ID, group.Gate, who(len(group.Hosts), drift.Own))) {
		return nil
	}
	fmt.Fprintln(g.streams.Out, "not accepted")
	return cli.Exit(cli.No)
}

// rejectFleet records that a drift of other hosts is not wanted on any of them.
func (g *globals) rejectFleet(ctx context.Context, s *site, drift *reconcile.FleetDrift, opts rejectOptions) error {
	by := decided(g.streams.Getenv, opts.why)
	pass, err := within(ctx, decisionTimeout, func(ctx context.Context) (pass *reconcile.FleetPass, err error) {
		if drift.Own {
			if _, err := s.warden.Reject(ctx, *drift.Fleet.Own, drift.Group.Fingerprint, by); err != nil {
				return nil, err
			}
		}
		fetched, err := s.hub(nil).Load(drift.Fleet.Gate)
		if err != nil {
			return nil, err
		}
		return s.warden.RejectFleet(ctx, drift.Fleet, fetched.Remotes, drift.Group.Fingerprint, by)
	})
	if err != nil {
		return g.refused(err)
	}
	return g.finishFleet(s, drift, fleetOutcome{"reject", "", drift.Group.Hosts, pass}, opts.json,
		fmt.Sprintf("rejected %s of gate %s on %s; \"gate restore\", run there as the gate's user, puts the accepted files back",
			drift.Group.ID, drift.Fleet.Gate, who(len(drift.Group.Hosts), drift.Own)))
}

// A fleetOutcome is what a decision about other hosts led to.
type fleetOutcome struct {
	action string
	commit string
	hosts  []string
	pass   *reconcile.FleetPass
}

// finishFleet is finish for a decision about other hosts.
func (g *globals) finishFleet(s *site, drift *reconcile.FleetDrift, o fleetOutcome, asJSON bool, done string) (err error) {
	defer func() { err = errors.Join(err, g.leave(s), g.handOver()) }() // what was done is said in any case
	g.printDelivery(o.pass.Delivery)
	shown, err := s.fleetStatuses([]string{drift.Fleet.Gate})
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema string     `json:"schema"`
			Host   string     `json:"host"`
			Action string     `json:"action"`
			Commit string     `json:"commit,omitempty"`
			Hosts  []string   `json:"hosts"`
			Fleet  []fleetRow `json:"fleet"`
		}{"gatehouse/decision/v1", s.config.Host, o.action, o.commit, o.hosts, fleetRows(shown)})
	}
	fmt.Fprintln(g.streams.Out, done)
	var own []row
	if drift.Own {
		status, err := s.warden.Status(*drift.Fleet.Own)
		if err != nil {
			return err
		}
		own = s.rows([]reconcile.Report{status.Report})
	}
	return g.printAll(s, own, shown, nil, false)
}

// fleetDiffs are the differences of other hosts: those that id names, by drift or by gate, or all.
func (s *site) fleetDiffs(id string) ([]gateDiff, error) {
	all := []gateDiff{}
	if id != "" && len(s.fleetsNamed(id)) == 0 {
		drift, err := s.findFleet(id)
		if err != nil || drift == nil {
			return all, err
		}
		shown, err := s.fleetDiff(drift.Fleet, &drift.Group)
		return append(all, *shown), err
	}
	for _, f := range s.fleets {
		if id != "" && f.Gate != id {
			continue
		}
		status, err := s.warden.FleetStatus(f)
		if err != nil {
			return nil, err
		}
		for _, group := range status.Groups {
			if group.Fingerprint == "" {
				continue
			}
			shown, err := s.fleetDiff(f, group)
			if err != nil {
				return nil, err
			}
			all = append(all, *shown)
		}
	}
	return all, nil
}

func (s *site) fleetDiff(f reconcile.Fleet, group *reconcile.Group) (*gateDiff, error) {
	diffs, err := s.warden.DiffFleet(f, group)
	if err != nil {
		return &gateDiff{}, err
	}
	return &gateDiff{Gate: f.Gate, Hosts: group.Hosts, Result: group.Result, Fingerprint: group.Fingerprint, Diffs: diffs}, nil
}

// onlyFleets reports whether id means nothing of this host's own: a gate that only other hosts have, or a drift of theirs
// that was found.
func (s *site) onlyFleets(id string, found int) bool {
	if id == "" {
		return len(s.gates) == 0
	}
	_, err := s.selected([]string{id})
	return err != nil && (found > 0 || len(s.fleetsNamed(id)) > 0)
}
