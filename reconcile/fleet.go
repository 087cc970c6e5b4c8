package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gatehouse/manifest"
	"gatehouse/notify"
)

// A Fleet is one gate as other hosts have it: their live files are held against what this host, the hub, has accepted
// under the gate's name. The hub cannot look at those files itself, so every report about them is unwitnessed: the
// host's own warden witnesses, and signs what it sends.
//
// One pass over a fleet takes what was fetched (Remote) and does no more than read this host's disk, so that no slow
// host keeps a lock. Each host has its own high-water mark, verdict and exit code. What is the same on many hosts is
// computed, staged, announced and accepted once: a live side is known by the digest of its list of entries (Content),
// and a drift by its fingerprint, in which no host stands.
type Fleet struct {
	Gate     string
	Hosts    []string // the inventory: a host that is not heard of is a result of that host
	Interval time.Duration
	Limits   manifest.Limits
	Own      *Gate // the gate of this name on the hub itself, if there is one: one acceptance is for it as well
}

// A Remote is what another host's warden signed about one of its gates, or why there is nothing to go by. It was read in
// one process, which has the network, and is judged in another, which has not.
type Remote struct {
	Host    string             `json:"host"`
	Claim   *manifest.Manifest `json:"claim,omitempty"`   // without entries; those are in the object Content
	Content string             `json:"content,omitempty"` // SHA-256 of the generation that lists the entries
	More    int                `json:"more,omitempty"`    // how many refusals there are beside those in Claim
	Bad     []Item             `json:"bad,omitempty"`     // objects that are not there, or do not hash to their names
	// Problem is why there is no claim: Missing, Forged, Unfetched or Error; and Reason says it to a person.
	Problem Result `json:"problem,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// RemoteObjects is the directory in which what was fetched of other hosts lies, each object by its SHA-256. Nothing in
// it is believed: whoever reads an object hashes it.
func RemoteObjects(state string) string { return filepath.Join(state, "remote", "objects") }

// A FleetPass is the outcome of looking at fleets once.
type FleetPass struct {
	Reports  []Report // one for each host and gate
	Delivery notify.Delivery
}

// Worst is the worst result of all hosts.
func (p *FleetPass) Worst() Result { return Worst(p.Reports) }

// ReconcileFleet makes one pass over a gate of other hosts, from what was fetched of them. Its reports are sorted by
// host. What is wrong with one host is in its report; the error is for what concerns all.
func (w *Warden) ReconcileFleet(ctx context.Context, f Fleet, remotes []Remote) (*FleetPass, error) {
	pass := new(FleetPass)
	err := w.locked(ctx, func() error {
		look, err := w.lookFleet(ctx, f, remotes)
		if err != nil {
			return err
		}
		return w.rememberFleet(ctx, look, pass)
	})
	return pass, err
}

// A fleetLook is one look at a fleet, before it is remembered.
type fleetLook struct {
	fleet   Fleet
	state   *fleetState
	now     time.Time
	facts   facts // what the hub itself has: accepted and head
	reports []Report
	known   map[string]judgement // by content: what a live side comes to

	acceptedContent string // the digest of the accepted list of entries, which is never fetched
}

// lookFleet settles what was cut short, judges every host and stages what is new.
func (w *Warden) lookFleet(ctx context.Context, f Fleet, remotes []Remote) (*fleetLook, error) {
	if err := w.prepareFleet(); err != nil {
		return nil, err
	}
	own, err := w.loadState(f.Gate)
	if err != nil {
		return nil, err
	}
	gate := f.OnHub()
	if _, err := w.settle(ctx, gate, own); err != nil {
		return nil, err
	}
	broken, err := w.recompile(gate)
	if err != nil {
		return nil, err
	}
	s, err := w.loadFleet(f.Gate)
	if err != nil {
		return nil, err
	}
	look := &fleetLook{fleet: f, state: s, now: w.Now().UTC(), facts: facts{export: "the exchange", broken: broken},
		known: make(map[string]judgement)}
	accepted, err := w.accepted(gate)
	if err != nil {
		return nil, err
	}
	if accepted != nil {
		look.facts.accepted = accepted.Generation
		accepted.Close()
		if look.acceptedContent, err = contentOf(look.facts.accepted); err != nil {
			return nil, err
		}
	}
	before := own.Vendored
	if look.facts.at, look.facts.head, err = w.head(ctx, gate, own, look.facts.accepted); err != nil {
		return nil, err
	}
	if own.Vendored != before {
		if err := w.saveState(own); err != nil {
			return nil, err
		}
	}
	s.takeOver(tree(look.facts.accepted), look.now)
	byHost := make(map[string]*Remote, len(remotes))
	for i := range remotes {
		byHost[remotes[i].Host] = &remotes[i]
	}
	hosts := slices.Clone(f.Hosts)
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		remote := byHost[host]
		if remote == nil {
			remote = &Remote{Host: host, Problem: Unfetched, Reason: "nothing was fetched of this host yet"}
		}
		report, err := w.judgeRemote(ctx, look, remote)
		if err != nil {
			return nil, err
		}
		look.reports = append(look.reports, *report)
	}
	return look, nil
}

// rememberFleet writes what a look came to, and reports it.
func (w *Warden) rememberFleet(ctx context.Context, look *fleetLook, pass *FleetPass) error {
	s := look.state
	s.remember(look)
	groups := groupReports(look.reports)
	s.Told = s.plan(groups, look)
	if err := w.keepChanges(look); err != nil {
		return err
	}
	if err := w.saveFleet(s); err != nil {
		return err
	}
	if err := w.announceFleet(look, groups); err != nil {
		return err
	}
	pass.Reports = append(pass.Reports, look.reports...)
	of := new(Pass)
	err := w.deliver(ctx, of, []Gate{look.fleet.OnHub()})
	pass.Delivery = of.Delivery
	return errors.Join(err, w.pruneFleet())
}

// OnHub is what the hub's own steps (settle, accept, compile) need to know of the gate.
func (f *Fleet) OnHub() Gate {
	if f.Own != nil {
		return *f.Own
	}
	return Gate{Name: f.Gate, GroupID: -1, Interval: f.Interval, Source: manifest.Source{Limits: f.Limits}}
}

func (w *Warden) prepareFleet() error {
	for _, dir := range []string{"remote", "remote/objects", "remote/changes"} {
		if err := w.Disk.MkdirAll(filepath.Join(w.State, dir), 0o700); err != nil {
			return fmt.Errorf("prepare the state directory: %w", err)
		}
	}
	return nil
}
