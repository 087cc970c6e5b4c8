package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A fleetView is the other hosts: how many stand how, and what is the matter, each matter once.
type fleetView struct {
	Hosts int
	Bar   []segment
	Open  []*card
	More  string
	Calm  []calmRow
	Rest  string
}

// A segment is the share of hosts whose worst result is of one level. X and Width are of a thousand.
type segment struct {
	Level, Text string
	X, Width    int
}

// A hostsView names hosts: some at once, more when it is unfolded.
type hostsView struct {
	Total    string
	First    []string
	More     []string
	MoreText string
	Left     string
}

// A group is hosts that have the same to say about a gate.
type group struct {
	gate  Gate // of the first of them; where one has a diff, it is that one's
	hosts []string
	since time.Time // the earliest
}

func (m *maker) fleet(gates []Gate, t *tally) *fleetView {
	if len(gates) == 0 {
		return nil
	}
	v := &fleetView{}
	v.Hosts, v.Bar = shares(gates)
	more, rest := 0, 0
	for _, g := range groups(gates) {
		_, w := rank(results, g.gate.Result)
		t.add(w.level)
		g.gate.Since = g.since
		switch {
		case w.level != good && len(v.Open) == maxGates:
			more++
		case w.level != good:
			card := m.card(&g.gate, fmt.Sprintf("fleet-%d", len(v.Open)+1))
			card.Hosts = m.hostsOf(g.hosts)
			v.Open = append(v.Open, card)
		case len(v.Calm) == maxCalm:
			rest++
		default:
			row := m.calm(&Gate{Name: g.gate.Name, Tree: g.gate.Tree, Since: g.since, Unwitnessed: g.gate.Unwitnessed})
			row.Hosts = m.hostsOf(g.hosts)
			v.Calm = append(v.Calm, row)
		}
	}
	if more > 0 {
		v.More = many(more, "more group of hosts is", "more groups of hosts are") + " not in sync: warden status"
	}
	if rest > 0 {
		v.Rest = many(rest, "more group", "more groups") + " of hosts in sync"
	}
	return v
}

// groups joins what is the same on several hosts. The worst come first, and of those the widest spread.
func groups(gates []Gate) []*group {
	byKey := make(map[string]*group)
	var list []*group
	for i := range gates {
		g := &gates[i]
		key := sameness(g)
		of := byKey[key]
		if of == nil {
			of = &group{gate: *g, since: g.Since}
			byKey[key] = of
			list = append(list, of)
		}
		if len(of.gate.Diffs) == 0 && len(g.Diffs) > 0 {
			of.gate = *g
		}
		if g.Since.Before(of.since) {
			of.since = g.Since
		}
		of.hosts = append(of.hosts, g.Host)
	}
	for _, g := range list {
		slices.SortFunc(g.hosts, natural)
		g.hosts = slices.Compact(g.hosts)
	}
	slices.SortStableFunc(list, func(a, b *group) int {
		return cmp.Or(bySeverity(&a.gate, &b.gate), -cmp.Compare(len(a.hosts), len(b.hosts)),
			cmp.Compare(a.gate.Name, b.gate.Name), cmp.Compare(a.gate.ID, b.gate.ID))
	})
	return list
}

// sameness is equal for gates about which the same is to be said.
func sameness(g *Gate) string {
	parts := []string{g.Name, g.Result, g.ID, fmt.Sprint(g.Unwitnessed, g.Unseen)}
	var others []string
	for _, f := range g.Findings {
		others = append(others, f.Result)
	}
	slices.Sort(others)
	return fmt.Sprintf("%q", append(parts, slices.Compact(others)...))
}

// shares counts hosts by the worst that any of their gates has.
func shares(gates []Gate) (hosts int, bar []segment) {
	worst := make(map[string]level)
	for i := range gates {
		_, w := rank(results, gates[i].Result)
		if was, seen := worst[gates[i].Host]; !seen || w.level.order() < was.order() {
			worst[gates[i].Host] = w.level
		}
	}
	counts := make(map[level]int)
	for _, l := range worst {
		counts[l]++
	}
	hosts = len(worst)
	const whole = 1000
	x := 0
	for _, l := range []level{found, unsure, good} {
		n := counts[l]
		if n == 0 {
			continue
		}
		width := max(n*whole/hosts, 6) // one of ten thousand can still be seen
		text := map[level]string{found: " with findings", unsure: " could not be told", good: " in sync"}[l]
		bar = append(bar, segment{l.name(), many(n, "host", "hosts") + text, x, width})
		x += width
	}
	if len(bar) > 0 {
		bar[len(bar)-1].Width = max(whole-bar[len(bar)-1].X, 1)
	}
	return hosts, bar
}

func (m *maker) hostsOf(hosts []string) *hostsView {
	v := &hostsView{Total: many(len(hosts), "host", "hosts")}
	first := take(&m.hosts, min(len(hosts), maxHosts))
	for _, h := range hosts[:first] {
		v.First = append(v.First, m.named(h, maxName))
	}
	rest := hosts[first:]
	more := take(&m.hosts, min(len(rest), maxMoreHosts))
	for _, h := range rest[:more] {
		v.More = append(v.More, m.named(h, maxName))
	}
	v.MoreText = "and " + count(len(rest)) + " more"
	if n := len(rest) - more; n > 0 {
		v.Left = many(n, "more host", "more hosts") + ", not listed here"
	}
	return v
}

// natural orders names as people do: agent-2 before agent-10.
func natural(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		m, n := leadingDigits(a), leadingDigits(b)
		if m == 0 || n == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if by := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); by != 0 {
			return by
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func leadingDigits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// A peersView is the hosts that this one watches.
type peersView struct {
	Total, Well         int
	TotalText, WellText string
	Rows                []peerRow
	More                string
}

// A peerRow is a finding about one host, or about several of which the same is to be said.
type peerRow struct {
	Verdict     verdict
	Hosts       *hostsView
	Reason      string
	Since, Seen stamp
	Next        string
}

func (m *maker) peers(peers []Peer, t *tally) *peersView {
	if len(peers) == 0 {
		return nil
	}
	byKey := make(map[string][]*Peer)
	var keys []string
	v := &peersView{}
	v.Total, v.Well = heard(peers)
	for i := range peers {
		p := &peers[i]
		if p.Finding == "" {
			continue
		}
		key := fmt.Sprintf("%q", []string{p.Finding, p.Next, strings.ReplaceAll(p.Reason, p.Host, "")})
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], p)
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		i, wa := rank(peerFindings, byKey[a][0].Finding)
		j, wb := rank(peerFindings, byKey[b][0].Finding)
		return cmp.Or(cmp.Compare(wa.level.order(), wb.level.order()), cmp.Compare(i, j), -cmp.Compare(len(byKey[a]), len(byKey[b])))
	})
	v.TotalText, v.WellText = count(v.Total), count(v.Well)
	for _, key := range keys {
		of := byKey[key]
		_, w := rank(peerFindings, of[0].Finding)
		t.add(w.level)
		if len(v.Rows) < maxRows {
			v.Rows = append(v.Rows, m.peerRow(of, w))
		}
	}
	if n := len(keys) - maxRows; n > 0 {
		v.More = many(n, "more finding", "more findings") + ": warden peers"
	}
	return v
}

// heard counts hosts, and those of which nothing is the matter.
func heard(peers []Peer) (total, well int) {
	ill := make(map[string]bool)
	for _, p := range peers {
		ill[p.Host] = ill[p.Host] || p.Finding != ""
	}
	delete(ill, "")
	for _, is := range ill {
		if !is {
			well++
		}
	}
	return len(ill), well
}

func (m *maker) peerRow(of []*Peer, w word) peerRow {
	var hosts []string
	since, seen := of[0].Since, of[0].Seen
	for _, p := range of {
		if p.Host != "" {
			hosts = append(hosts, p.Host)
		}
		if p.Since.Before(since) {
			since = p.Since
		}
		if p.Seen.Before(seen) {
			seen = p.Seen
		}
	}
	slices.SortFunc(hosts, natural)
	row := peerRow{
		Verdict: verdict{w.level.name(), m.plain(w.text, maxName)}, Reason: m.plain(of[0].Reason, maxText),
		Since: m.stamp(since), Seen: m.stamp(seen), Next: m.plain(of[0].Next, maxText),
	}
	if len(hosts) > 0 {
		row.Hosts = m.hostsOf(hosts)
	}
	return row
}
