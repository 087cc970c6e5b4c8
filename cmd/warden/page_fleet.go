package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gatehouse/page"
	"gatehouse/peer"
	"gatehouse/reconcile"
)

// fleetOnPage adds how gates stand on other hosts, as this host judged what those sent, with one diff for each drift.
func (s *site) fleetOnPage(p *page.Site, fleets []reconcile.Fleet, warn func(string, error)) {
	for _, f := range fleets {
		status, err := s.warden.FleetStatus(f)
		if err != nil {
			warn("gate "+f.Gate+" of other hosts", err)
			continue
		}
		at := make(map[string]int) // index of the first host that has a drift
		for _, r := range status.Reports {
			shown := gateOnPage(&reconcile.Status{Report: r, Pause: status.Pause})
			shown.Host, shown.Unwitnessed = r.Host, r.Unwitnessed
			if _, known := at[r.Fingerprint]; !known && r.Fingerprint != "" {
				at[r.Fingerprint] = len(p.Fleet)
			}
			p.Fleet = append(p.Fleet, shown)
		}
		shown := 0
		for _, group := range status.Groups {
			i, known := at[group.Fingerprint]
			if !known || shown == maxFleetDiffs {
				continue
			}
			shown++
			first := *group
			first.Changes = group.Changes[:min(len(group.Changes), maxPageDiffs)]
			diffs, err := s.warden.DiffFleet(f, &first)
			warn("diff of gate "+f.Gate+" of other hosts", err)
			for _, d := range diffs {
				p.Fleet[i].Diffs = append(p.Fleet[i].Diffs, page.Diff{Lines: d.Lines})
			}
		}
	}
}

// maxFleetDiffs is how many drifts of a fleet are shown with their lines.
const maxFleetDiffs = 40

// peersOnPage adds the hosts that this one watches, and of gates that it does not judge itself what their own wardens say.
func (s *site) peersOnPage(p *page.Site, warn func(string, error)) {
	v, err := s.peersView()
	if errors.Is(err, errAlone) {
		return
	}
	if err != nil {
		warn("other hosts", err)
		return
	}
	if v.Ping != nil && v.Ping.Error != "" {
		warn("ping", errors.New(v.Ping.Error))
	}
	if s.config.Peers == nil {
		return
	}
	if !v.Fresh {
		warn("other hosts", fmt.Errorf("last seen: %s; looking is the business of gatehouse-peers.service", v.LookedAt))
	}
	for _, f := range v.Findings {
		p.Peers = append(p.Peers, peerOnPage("", time.Time{}, f, p.At))
	}
	for i := range v.Peers {
		r := &v.Peers[i]
		var seen time.Time
		if r.Heartbeat > 0 {
			seen = p.At.Add(-r.quiet)
		}
		for _, f := range r.Findings {
			p.Peers = append(p.Peers, peerOnPage(r.Host, seen, f, p.At))
		}
		switch {
		case len(r.Findings) > 0:
		case r.Left > 0:
			left := (time.Duration(r.Left) * time.Second).Round(time.Minute)
			p.Peers = append(p.Peers, page.Peer{Host: r.Host, Finding: "maintenance", Seen: seen, Reason: fmt.Sprintf("%s; %v left", r.Maintenance, inWords(left))})
		case r.Heartbeat == 0:
			p.Peers = append(p.Peers, page.Peer{Host: r.Host, Finding: "awaited", Reason: "it has not been seen yet, and still has time"})
		default:
			p.Peers = append(p.Peers, page.Peer{Host: r.Host, Seen: seen})
		}
		s.saidOnPage(p, r, v.Fresh)
	}
	if n := len(v.Strange); n > 0 {
		p.Peers = append(p.Peers, page.Peer{Finding: "stranger", Next: "warden peers", Reason: fmt.Sprintf("%d hosts that the configuration does not name left heartbeats: %s",
			n, strings.Join(v.Strange[:min(n, 10)], ", "))})
	}
}

func peerOnPage(host string, seen time.Time, f peerFinding, now time.Time) page.Peer {
	return page.Peer{Host: host, Finding: string(f.Kind), Reason: f.Reason, Next: f.Next, Seen: seen, Since: now.Add(-time.Duration(f.For) * time.Second)}
}

// saidOnPage adds what another host's warden says of its gates, unless this host judges them itself. What a host said that
// is not heard of any more, or is not believed, counts for nothing.
func (s *site) saidOnPage(p *page.Site, r *peerRow, fresh bool) {
	for _, g := range r.Gates {
		if s.judges(r.Host, g.Name) {
			continue
		}
		shown := page.Gate{Host: r.Host, Name: g.Name, Result: g.Result, Tree: g.Accepted, CheckedAt: r.PassedAt}
		switch r.Finding {
		case peer.Silent, peer.Unseen, peer.BadSignature, peer.Replayed:
			fresh = false
		}
		switch {
		case !fresh:
			shown.Result = string(reconcile.Overdue)
			shown.Findings = []page.Finding{{Result: shown.Result, Reason: "its last word is too old, or not to be believed", Next: "warden peers"}}
		case g.Result != string(reconcile.InSync):
			if g.Fingerprint != "" {
				shown.ID = reconcile.DriftID(g.Fingerprint)
			}
			shown.Findings = []page.Finding{{Result: g.Result, Reason: "so says the host's own warden; ask it there", Next: "warden status " + g.Name}}
		}
		p.Fleet = append(p.Fleet, shown)
	}
}

// judges reports whether this host judges a gate of another itself.
func (s *site) judges(host, gate string) bool {
	for _, f := range s.fleetsNamed(gate) {
		for _, h := range f.Hosts {
			if h == host {
				return true
			}
		}
	}
	return false
}
