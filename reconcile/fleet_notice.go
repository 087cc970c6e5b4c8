package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/manifest"
	"gatehouse/notify"
)

// A Group is what is the same on several hosts: one drift by its fingerprint, or one result that is no drift. The
// worst group stands first, and in it the hosts by name.
type Group struct {
	Gate        string            `json:"gate"`
	Result      Result            `json:"result"`
	ID          string            `json:"id,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Reason      string            `json:"reason"` // of the first host
	Next        string            `json:"next,omitempty"`
	Since       time.Time         `json:"since"` // of the first that had it
	Hosts       []string          `json:"hosts"`
	Changes     []manifest.Change `json:"changes,omitempty"`
	Accepted    string            `json:"accepted,omitempty"`

	reasons    map[string]string // by host
	restorable bool
}

// Names is who has it, in a few words: some hosts by name, and how many there are.
func (g *Group) Names() string { return fewNames(g.Hosts) }

// ReasonOf is what is wrong with one of the hosts.
func (g *Group) ReasonOf(host string) string { return g.reasons[host] }

func fewNames(hosts []string) string {
	const few = 4
	if len(hosts) <= few {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:few-1], ", "), len(hosts)-few+1)
}

// groupReports puts together what is the same on several hosts. A host is in one group for each of its findings, and in
// the group InSync if it has none.
func groupReports(reports []Report) []*Group {
	groups := make(map[string]*Group)
	for i := range reports {
		r := &reports[i]
		findings := r.Findings
		if len(findings) == 0 {
			findings = []Finding{{Result: InSync}}
		}
		seen := make(map[string]bool)
		for _, f := range findings {
			key := string(f.Result)
			if isDrift(f.Result) {
				key = kindDrift + "/" + r.Fingerprint
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			g := groups[key]
			if g == nil {
				g = &Group{Gate: r.Gate, Result: f.Result, Reason: f.Reason, Next: f.Next, Since: r.Since, reasons: make(map[string]string)}
				if isDrift(f.Result) {
					g.ID, g.Fingerprint, g.Changes, g.Accepted = r.ID, r.Fingerprint, r.Changes, r.Accepted
				}
				if f.Result == Behind {
					g.Changes, g.restorable = r.Changes, r.Restorable
				}
				groups[key] = g
			}
			if r.Since.Before(g.Since) {
				g.Since = r.Since
			}
			g.Hosts = append(g.Hosts, r.Host)
			g.reasons[r.Host] = f.Reason
			if f.Next != "" && g.Next == "" {
				g.Next = f.Next // a host with something else beside the drift has no command for it
			}
			if len(f.Items) > 0 {
				g.reasons[r.Host] += ": " + f.Items[0].Text
			}
		}
	}
	list := make([]*Group, 0, len(groups))
	for _, g := range groups {
		slices.Sort(g.Hosts)
		if _, command, there := strings.Cut(g.Next, ": "); there && strings.HasPrefix(g.Next, "on ") && len(g.Hosts) > 1 {
			g.Next = "on each of them: " + command
		}
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *Group) int {
		if a.Result != b.Result {
			return a.Result.rank() - b.Result.rank()
		}
		if len(a.Hosts) != len(b.Hosts) {
			return len(b.Hosts) - len(a.Hosts)
		}
		return strings.Compare(a.Fingerprint, b.Fingerprint)
	})
	return list
}

// A told is what is announced of a group. Its hosts came in batches: the first is told with the drift, and those that
// join later in a message that names them alone. A host that heals leaves its batch without a word; the closing line
// comes when the last one has.
type told struct {
	Kind        string  `json:"kind"`
	Fingerprint string  `json:"fingerprint,omitempty"`
	Slot        int     `json:"slot"` // of a drift: the subject of its notices, taken anew when it is over
	Batches     []batch `json:"batches"`
	Last        int     `json:"last"` // number of the last batch
}

type batch struct {
	Number int      `json:"number"`
	Hosts  []string `json:"hosts"`
}

func (t *told) is(g *Group) bool { return t.Kind == kindOf(g) && t.Fingerprint == g.Fingerprint }

func (t *told) subject() string {
	if t.Kind == kindDrift {
		return fmt.Sprintf("%s-%d", fleetSubject, t.Slot)
	}
	return fleetSubject
}

const fleetSubject = "fleet"

// patience is how long a group is looked at before it is told: what the next fetch should cure, and a host that has yet
// to take over what was accepted, publish that and send it.
func (g *Group) patience(interval time.Duration) time.Duration {
	switch {
	case g.Result == Unfetched:
		return interval
	case g.Result == Behind && g.restorable:
		return 2 * interval
	}
	return 0
}

// kindOf is the kind of the notices about a group.
func kindOf(g *Group) string {
	if isDrift(g.Result) {
		return kindDrift
	}
	return string(g.Result)
}

// join takes over who has it now.
func (t *told) join(hosts []string) {
	now := make(map[string]bool, len(hosts))
	for _, host := range hosts {
		now[host] = true
	}
	var left []batch
	for _, b := range t.Batches {
		b.Hosts = slices.DeleteFunc(slices.Clone(b.Hosts), func(host string) bool { return !now[host] })
		for _, host := range b.Hosts {
			delete(now, host)
		}
		if len(b.Hosts) > 0 {
			left = append(left, b)
		}
	}
	if len(now) > 0 {
		t.Last++
		fresh := batch{Number: t.Last}
		for _, host := range hosts {
			if now[host] {
				fresh.Hosts = append(fresh.Hosts, host)
			}
		}
		left = append(left, fresh)
	}
	t.Batches = left
}

// maxGroups is how many drifts of a gate are told one by one. Hosts that are each at odds in their own way could
// otherwise make as many notices as there are hosts.
const maxGroups = 50

// plan returns what is told of the groups. What hosts had that could not be compared this time is not over.
func (s *fleetState) plan(groups []*Group, look *fleetLook) []*told {
	reports := look.reports
	unsure := make(map[string]bool)
	blind := false
	for i := range reports {
		if !reports[i].Complete() {
			unsure[reports[i].Host] = true
		}
		blind = blind || reports[i].Has(Unfetched) || reports[i].Has(Error)
	}
	slots := make(map[int]bool)
	for _, t := range s.Told {
		slots[t.Slot] = true
	}
	var open []*told
	drifts := 0
	for _, g := range groups {
		if g.Result == InSync || look.now.Sub(g.Since) < g.patience(look.fleet.Interval) {
			continue
		}
		t := &told{Kind: kindOf(g), Fingerprint: g.Fingerprint}
		if i := slices.IndexFunc(s.Told, func(t *told) bool { return t.is(g) }); i >= 0 {
			t = s.Told[i]
		} else if t.Kind == kindDrift {
			if drifts >= maxGroups {
				continue
			}
			for t.Slot = 1; slots[t.Slot]; t.Slot++ {
			}
			slots[t.Slot] = true
		}
		if t.Kind == kindDrift {
			drifts++
		}
		t.join(withUnsure(g.Hosts, t, unsure))
		open = append(open, t)
	}
	for _, t := range s.Told {
		if slices.Contains(open, t) {
			continue
		}
		t.join(withUnsure(nil, t, unsure))
		if len(t.Batches) > 0 && (t.Kind == kindDrift || t.Kind == string(Behind) || blind && comparedKind(Result(t.Kind))) {
			open = append(open, t)
		}
	}
	return open
}

// comparedKind reports whether a result can only be known to be over by what a host sent.
func comparedKind(kind Result) bool {
	return kind != Unfetched && kind != Missing && kind != Error && kind != Forged
}

// withUnsure adds the hosts that had it when it was told and of which nothing is known now.
func withUnsure(hosts []string, t *told, unsure map[string]bool) []string {
	all := slices.Clone(hosts)
	for _, b := range t.Batches {
		for _, host := range b.Hosts {
			if unsure[host] {
				all = append(all, host)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// announceFleet tells the outbox how a gate stands on other hosts: one subject for each drift, and one for each other
// result, whichever hosts have it. What is told no longer is over.
func (w *Warden) announceFleet(look *fleetLook, groups []*Group) error {
	current := make(map[string]bool)
	for _, t := range look.state.Told {
		current[t.Kind+"/"+t.subject()] = true
		i := slices.IndexFunc(groups, t.is)
		if i < 0 {
			continue // nobody could say anything new; the record stays open as it is
		}
		if err := w.Outbox.Report(w.fleetEvent(look, groups[i], t), look.now); err != nil {
			return err
		}
	}
	open, _ := w.Outbox.Open(look.fleet.Gate) // a record that cannot be read is set aside, and named, by the delivery
	for _, record := range open {
		if !strings.HasPrefix(record.Subject, fleetSubject) || current[record.Kind+"/"+record.Subject] {
			continue
		}
		why := "over: no host has it any more"
		if Worst(look.reports) == InSync {
			why = "in sync again: the live files of all hosts are as accepted"
		}
		if err := w.Outbox.Clear(record.Kind, look.fleet.Gate, record.Subject, why, look.now); err != nil {
			return err
		}
	}
	return nil
}

// fleetEvent is the notice about a group.
func (w *Warden) fleetEvent(look *fleetLook, g *Group, t *told) notify.Event {
	e := notify.Event{Kind: t.Kind, Gate: g.Gate, Subject: t.subject(), Fingerprint: g.Fingerprint, Command: g.Next,
		Severity: g.Result.severity(), Summary: g.Reason,
		Title: fmt.Sprintf("gate %s: %s on %s (%s)", g.Gate, g.Result, count(len(g.Hosts), "host", "hosts"), g.Names())}
	if t.Kind == kindDrift {
		e.Changes = changeList(g.Changes)
		if g.Result != Drifted {
			e.Changes = append(e.Changes, notify.Change{ID: string(g.Result) + "/" + g.Fingerprint, Text: string(g.Result) + ": " + g.Reason})
		}
		gate := look.fleet.OnHub()
		e.Detail = w.detail(gate, &Report{Gate: g.Gate, Fingerprint: g.Fingerprint, Changes: g.Changes, Accepted: g.Accepted})
	}
	for _, b := range t.Batches {
		text := fmt.Sprintf("on %s: %s", count(len(b.Hosts), "host", "hosts"), fewNames(b.Hosts))
		if t.Kind != kindDrift {
			const few = 3
			var reasons []string
			for _, host := range b.Hosts[:min(len(b.Hosts), few)] {
				reasons = append(reasons, host+": "+g.reasons[host])
			}
			if more := len(b.Hosts) - few; more > 0 {
				reasons = append(reasons, fmt.Sprintf("and %s more", count(more, "host", "hosts")))
			}
			text = strings.Join(reasons, "; ")
		}
		e.Changes = append(e.Changes, notify.Change{ID: fmt.Sprintf("hosts/%d", b.Number), Text: text})
	}
	return e
}
