package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
)

// A FleetDrift is a drift that is open on other hosts, and perhaps on this one as well.
type FleetDrift struct {
	Fleet Fleet
	Group Group
	Own   bool // the hub's own gate has it too
}

// FindFleet returns the drift of other hosts that id stands for: a fingerprint or 8 digits or more of its beginning,
// with or without "d-". An empty id stands for the only one there is. Where there is none, the error is ErrNoDrift.
func (w *Warden) FindFleet(fleets []Fleet, id string) (*FleetDrift, error) {
	prefix := ""
	if id != "" {
		var err error
		if prefix, err = fingerprintPrefix(id); err != nil {
			return nil, err
		}
	}
	var found []FleetDrift
	var open []string
	for _, f := range fleets {
		status, err := w.FleetStatus(f)
		if err != nil {
			return nil, err
		}
		for _, g := range status.Groups {
			if !isDrift(g.Result) {
				continue
			}
			open = append(open, fmt.Sprintf("%s (gate %s on %s)", g.ID, g.Gate, count(len(g.Hosts), "host", "hosts")))
			if !strings.HasPrefix(g.Fingerprint, prefix) {
				continue
			}
			if seen := (&state{Seen: status.seen}); id != "" && seen.shared(g.Fingerprint, prefix) {
				return nil, fmt.Errorf("%w: %s is also the beginning of another drift; the one that is open is %s", ErrNoDrift, id, g.ID)
			}
			found = append(found, FleetDrift{Fleet: f, Group: *g})
		}
	}
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %d are open on other hosts, name one: %s", ErrNoDrift, len(found), strings.Join(open, ", "))
	case len(found) == 0 && len(open) == 0:
		return nil, fmt.Errorf("%w: none is open on other hosts", ErrNoDrift)
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %s is not open; open now on other hosts: %s", ErrNoDrift, id, strings.Join(open, ", "))
	}
	drift := &found[0]
	if own := drift.Fleet.Own; own != nil {
		s, err := w.loadState(own.Name)
		if err != nil {
			return nil, err
		}
		drift.Own = s.Report != nil && s.Report.Fingerprint == drift.Group.Fingerprint
	}
	return drift, nil
}

// AcceptFleet makes a drift of other hosts the accepted state of the gate, once for all hosts that have it: the hub's
// own gate among them, if it has the same drift. What was fetched just now is judged again, and counts; a host that
// moved on since is left out, and one that could not be reached is as well. It returns the commit, the hosts for which
// the drift was accepted, and a pass over all of them.
func (w *Warden) AcceptFleet(ctx context.Context, f Fleet, remotes []Remote, fingerprint string, d Decision) (
	commit string, hosts []string, pass *FleetPass, err error) {
	pass = new(FleetPass)
	err = w.locked(ctx, func() error {
		look, err := w.lookFleet(ctx, f, remotes)
		if err != nil {
			return err
		}
		var have []*Report
		refusals := []error{fmt.Errorf("%w: no host has %s any more; look at \"warden status\"", ErrNotAcceptable, DriftID(fingerprint))}
		for i := range look.reports {
			r := &look.reports[i]
			if r.Fingerprint != fingerprint {
				continue
			}
			if err := acceptable(r, fingerprint, false); err != nil {
				refusals = append(refusals, fmt.Errorf("%s: %w", r.Host, err))
				continue
			}
			have = append(have, r)
			hosts = append(hosts, r.Host)
		}
		if len(have) == 0 {
			if len(refusals) > 1 {
				refusals = refusals[1:min(len(refusals), 4)]
			}
			return errors.Join(errors.Join(refusals...), w.rememberFleet(ctx, look, pass))
		}
		commit, err = w.acceptRemote(ctx, look, have, fingerprint, d)
		if err != nil {
			return err
		}
		if f.Own != nil {
			if err := w.again(ctx, *f.Own, new(Pass)); err != nil {
				return err
			}
		}
		if look, err = w.lookFleet(ctx, f, remotes); err != nil {
			return err
		}
		if err := w.closeDrift(look, fingerprint, fmt.Sprintf("accepted by %s in commit %.12s", d.By, commit)); err != nil {
			return err
		}
		return w.rememberFleet(ctx, look, pass)
	})
	return commit, hosts, pass, err
}

// closeDrift ends the notice about a drift with the reason.
func (w *Warden) closeDrift(look *fleetLook, fingerprint, why string) error {
	i := slices.IndexFunc(look.state.Told, func(t *told) bool { return t.Kind == kindDrift && t.Fingerprint == fingerprint })
	if i < 0 {
		return nil
	}
	t := look.state.Told[i]
	look.state.Told = slices.Delete(look.state.Told, i, i+1)
	return w.Outbox.Clear(t.Kind, look.fleet.Gate, t.subject(), why, look.now)
}

// acceptRemote commits what the hosts have, which is the same, and puts it in force.
func (w *Warden) acceptRemote(ctx context.Context, look *fleetLook, have []*Report, fingerprint string, d Decision) (string, error) {
	gate := look.fleet.OnHub()
	s, err := w.loadState(gate.Name)
	if err != nil {
		return "", err
	}
	changes := have[0].Changes
	if err := w.verifyStaged(fingerprint, changes); err != nil {
		return "", err
	}
	body, err := w.body(look, look.state.Hosts[have[0].Host].Content)
	if err != nil {
		return "", err
	}
	accepted := look.facts.accepted
	next := manifest.NewGeneration(gate.Name, withSizes(body.Entries, entries(accepted)))
	content, closeContent, err := w.acceptedContent(gate, fingerprint, changes)
	if err != nil {
		return "", err
	}
	defer closeContent()
	if err := w.writeGeneration(ctx, gate, next, content); err != nil {
		return "", err
	}
	in := newIntent("accept", gate, d, look.now)
	in.Fingerprint, in.Tree, in.Replaces = fingerprint, next.Tree, tree(accepted)
	for _, r := range have {
		in.Hosts = append(in.Hosts, r.Host)
	}
	if look.fleet.Own != nil && (s.Report == nil || s.Report.Fingerprint != fingerprint) {
		for _, c := range changes { // the hub's own live files do not have them, or not yet
			in.Paths = append(in.Paths, c.Path)
		}
	}
	return w.carryOut(ctx, gate, s, in, vendorgate.Change{
		Gate: gate.Name, Parent: look.facts.at, Generation: next, Content: content, When: look.now,
		Subject: fmt.Sprintf("vendor-gate: accept %s of gate %s on %s", DriftID(fingerprint), gate.Name, count(len(have), "host", "hosts")),
		Body:    commitBody(d.Why, changes),
	})
}

// RejectFleet records that a person saw a drift of other hosts and does not want it on any of them.
func (w *Warden) RejectFleet(ctx context.Context, f Fleet, remotes []Remote, fingerprint string, d Decision) (*FleetPass, error) {
	pass := new(FleetPass)
	err := w.locked(ctx, func() error {
		s, err := w.loadFleet(f.Gate)
		if err != nil {
			return err
		}
		var tree string
		for _, h := range s.Hosts {
			if h.Report == nil || h.Report.Fingerprint != fingerprint {
				continue
			}
			if tree = h.Report.Tree; h.Report.Has(Diverged) {
				return fmt.Errorf("reject %s: gate %s has diverged; run \"warden deploy %s\" first", DriftID(fingerprint), f.Gate, f.Gate)
			}
		}
		if tree == "" {
			return fmt.Errorf("reject %s: no host has it any more; run \"warden status\"", DriftID(fingerprint))
		}
		now := w.Now().UTC()
		if s.Rejected == nil {
			s.Rejected = make(map[string]rejection)
		}
		s.Rejected[fingerprint] = rejection{Why: d.Why, By: d.By, At: now}
		if err := w.saveFleet(s); err != nil {
			return err
		}
		err = w.record(Event{At: now, Gate: f.Gate, Action: "reject", Fingerprint: fingerprint, Tree: tree, By: d.By, Why: d.Why})
		if err != nil {
			return err
		}
		look, err := w.lookFleet(ctx, f, remotes)
		if err != nil {
			return err
		}
		return w.rememberFleet(ctx, look, pass)
	})
	return pass, err
}
