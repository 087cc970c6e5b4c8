package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A view is a page as the template writes it: sorted, grouped, bounded, and with every foreign text made harmless.
type view struct {
	Host, Version, Title string
	Head                 []part // what the page says first, the worst before
	Level                string
	Sub                  string
	At                   stamp
	Served               bool
	Refresh              int // seconds
	Nav                  []link

	Gates    gatesView
	Fleet    *fleetView
	Peers    *peersView
	Troubles []troubleView // failed runs, and what could not be looked at
	Notices  noticesView
	History  historyView
}

type part struct{ Level, Text string }

type link struct{ To, Text, Count string }

// A stamp is a time: as people read it, as programs do, how long it lasts since, and how long ago it was.
type stamp struct{ Text, ISO, Ago, Past string }

type verdict struct{ Level, Text string }

type gatesView struct {
	Open []*card
	More string // how many of them are left out
	Calm []calmRow
	Rest string // how many of these are left out
	None bool
}

// A calmRow is a gate that is well, or a group of hosts where it is.
type calmRow struct {
	Name  string
	Tree  string
	Since stamp
	Hosts *hostsView
	Notes []string
}

type troubleView struct {
	Level, Text, Next string
	Since             stamp
}

type noticesView struct {
	Rows []noticeRow
	More string
}

type noticeRow struct {
	ID, Sink, Error string
	Later           bool
	Since           stamp
}

type historyView struct {
	Rows []eventRow
	More string
}

type eventRow struct {
	At                           stamp
	Gate, Action, What, By, Text string
}

// viewOf prepares a page.
func viewOf(s *Site) *view {
	m := &maker{now: s.At, lines: pageDiffLines, hosts: pageHosts, text: pageText}
	v := &view{
		Host: m.named(s.Host, maxName), Version: m.plain(s.Version, maxName), At: m.stamp(s.At),
		Served: s.Served, Refresh: int(s.Refresh.Seconds()),
	}
	var t tally
	v.Troubles = m.troubles(s, &t)
	v.Gates = m.gates(s.Gates, &t)
	if v.Gates.None && len(s.Warnings) == 0 && len(s.Fleet) == 0 {
		t.add(unsure)
	}
	v.Fleet = m.fleet(s.Fleet, &t)
	v.Peers = m.peers(s.Peers, &t)
	v.Notices = m.notices(s.Notices, &t)
	v.History = m.history(s.History)
	v.headline(s, &t)
	v.navigation(s)
	return v
}

// A tally counts what there is to look at: a group of hosts is one thing.
type tally struct{ found, unsure int }

func (t *tally) add(l level) {
	switch l {
	case found:
		t.found++
	case unsure:
		t.unsure++
	}
}

func (v *view) headline(s *Site, t *tally) {
	if t.found > 0 {
		v.Head = append(v.Head, part{found.name(), many(t.found, "finding", "findings")})
	}
	if t.unsure > 0 {
		v.Head = append(v.Head, part{unsure.name(), many(t.unsure, "thing", "things") + " could not be told"})
	}
	if len(v.Head) == 0 {
		v.Head = []part{{good.name(), "In sync"}}
	}
	v.Level = v.Head[0].Level
	var title []string
	for _, p := range v.Head {
		title = append(title, p.Text)
	}
	v.Title = strings.Join(title, ", ")

	var about []string
	if n := len(s.Gates); n > 0 {
		about = append(about, many(n, "gate", "gates")+" on this host")
	}
	if v.Fleet != nil {
		about = append(about, many(v.Fleet.Hosts, "other host", "other hosts")+" in the fleet")
	}
	if v.Peers != nil {
		about = append(about, many(v.Peers.Total, "host", "hosts")+" watched")
	}
	v.Sub = strings.Join(about, ", ")
}

func (v *view) navigation(s *Site) {
	if n := len(s.Failures) + len(s.Warnings); n > 0 {
		v.Nav = append(v.Nav, link{"troubles", "Troubles", count(n)})
	}
	v.Nav = append(v.Nav, link{"gates", "Gates", count(len(s.Gates))})
	if v.Fleet != nil {
		v.Nav = append(v.Nav, link{"fleet", "Fleet", count(v.Fleet.Hosts)})
	}
	if v.Peers != nil {
		v.Nav = append(v.Nav, link{"peers", "Peers", count(v.Peers.Total)})
	}
	if len(v.Notices.Rows) > 0 {
		v.Nav = append(v.Nav, link{"notices", "Pending notices", count(len(s.Notices))})
	}
	v.Nav = append(v.Nav, link{"decisions", "Decisions", count(len(s.History))})
}

// gates are the gates of this host.
func (m *maker) gates(gates []Gate, t *tally) gatesView {
	if len(gates) == 0 {
		return gatesView{None: true}
	}
	sorted := slices.Clone(gates)
	slices.SortStableFunc(sorted, func(a, b Gate) int {
		return cmp.Or(bySeverity(&a, &b), cmp.Compare(a.Name, b.Name))
	})
	var v gatesView
	more, rest := 0, 0
	for i := range sorted {
		g := &sorted[i]
		_, w := rank(results, g.Result)
		t.add(w.level)
		switch {
		case w.level != good && len(v.Open) == maxGates:
			more++
		case w.level != good:
			v.Open = append(v.Open, m.card(g, fmt.Sprintf("gate-%d", len(v.Open)+1)))
		case len(v.Calm) == maxCalm:
			rest++
		default:
			v.Calm = append(v.Calm, m.calm(g))
		}
	}
	if more > 0 {
		v.More = many(more, "more gate is", "more gates are") + " not in sync: warden status"
	}
	if rest > 0 {
		v.Rest = many(rest, "more gate is", "more gates are") + " in sync"
	}
	return v
}

func bySeverity(a, b *Gate) int {
	i, wa := rank(results, a.Result)
	j, wb := rank(results, b.Result)
	return cmp.Or(cmp.Compare(wa.level.order(), wb.level.order()), cmp.Compare(i, j))
}

func (m *maker) calm(g *Gate) calmRow {
	row := calmRow{Name: m.named(g.Name, maxName), Tree: m.plain(g.Tree, 12), Since: m.stamp(g.Since)}
	if g.Tree != "" {
		row.Tree = m.plain(g.Tree[:min(12, len(g.Tree))], 12)
	}
	if g.Unwitnessed {
		row.Notes = append(row.Notes, "unwitnessed")
	}
	for _, p := range g.Processes[:min(len(g.Processes), m.few(maxItems))] {
		_, w := rank(verdicts, p.Verdict)
		row.Notes = append(row.Notes, m.plain(p.Unit, maxName)+" "+m.plain(w.text, maxName))
	}
	if g.Pause != nil {
		row.Notes = append(row.Notes, m.pause(g.Pause))
	}
	for _, e := range m.grants(g.Grants) {
		row.Notes = append(row.Notes, fmt.Sprintf("exception %s until %s: %s", e.ID, e.Until.Text, e.Text))
	}
	return row
}

func (m *maker) troubles(s *Site, t *tally) []troubleView {
	var list []troubleView
	for _, f := range s.Failures {
		t.add(found)
		list = append(list, troubleView{found.name(), m.plain(f.Summary, maxText), m.plain(f.Command, maxText), m.stamp(f.Since)})
	}
	for _, w := range s.Warnings {
		t.add(unsure)
		list = append(list, troubleView{Level: unsure.name(), Text: m.plain(w, maxText)})
	}
	if n := len(list) - maxRows; n > 0 {
		list = append(list[:maxRows], troubleView{Level: unsure.name(), Text: many(n, "more", "more")})
	}
	return list
}

// notices are those that somebody waits for. One that could not be sent is something to look at; one that another unit is
// about to send is not.
func (m *maker) notices(list []Notice, t *tally) noticesView {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b Notice) int { return a.Since.Compare(b.Since) })
	var v noticesView
	failed := false
	for i, n := range sorted {
		failed = failed || n.Error != ""
		if i < maxRows {
			v.Rows = append(v.Rows, noticeRow{m.named(n.ID, maxName), m.plain(n.Sink, maxName), m.plain(n.Error, maxText), n.Later, m.stamp(n.Since)})
		}
	}
	if failed {
		t.add(unsure)
	}
	if n := len(sorted) - maxRows; n > 0 {
		v.More = many(n, "more is pending", "more are pending") + ": warden status"
	}
	return v
}

func (m *maker) history(events []Event) historyView {
	var v historyView
	for i := len(events) - 1; i >= 0 && len(v.Rows) < maxRows; i-- {
		e := events[i]
		v.Rows = append(v.Rows, eventRow{
			m.stamp(e.At), m.named(e.Gate, maxName), m.plain(e.Action, maxName), m.plain(e.What, maxName), m.plain(e.By, maxName), m.plain(e.Why, maxText),
		})
	}
	if n := len(events) - len(v.Rows); n > 0 {
		v.More = many(n, "earlier decision", "earlier decisions") + ": warden history"
	}
	return v
}

func (m *maker) stamp(at time.Time) stamp {
	if at.IsZero() {
		return stamp{}
	}
	at = at.In(m.now.Location())
	text := at.Format("2006-01-02 15:04 MST")
	if y, month, d := at.Date(); m.now.Year() == y && m.now.Month() == month && m.now.Day() == d {
		text = at.Format("15:04 MST")
	}
	last := lasts(m.now.Sub(at))
	past := last + " ago"
	if strings.HasPrefix(last, "just") || strings.HasPrefix(last, "in ") {
		past = last
	}
	return stamp{m.plain(text, maxName), at.Format(time.RFC3339), last, past}
}

// lasts is how long something lasts, in one unit.
func lasts(d time.Duration) string {
	switch {
	case d < -time.Minute:
		return "in the future"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return many(int(d.Minutes()), "minute", "minutes")
	case d < 48*time.Hour:
		return many(int(d.Hours()), "hour", "hours")
	default:
		return many(int(d.Hours()/24), "day", "days")
	}
}
