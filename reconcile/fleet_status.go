package reconcile

import (
	"fmt"
	"slices"
	"time"

	"gatehouse/manifest"
)

// A FleetStatus is how a gate stood on other hosts at the last pass.
type FleetStatus struct {
	Gate      string
	CheckedAt time.Time
	Reports   []Report // the worst first, then by host
	Groups    []*Group
	Pause     *Pause

	seen []string
}

// FleetStatus returns how a gate stood on other hosts at the last pass. It makes none, and changes nothing; a host of
// the inventory of which nothing is known yet is Missing, and a pass that is itself overdue is a finding of all.
func (w *Warden) FleetStatus(f Fleet) (*FleetStatus, error) {
	now := w.Now().UTC()
	s, err := w.loadFleet(f.Gate)
	if err != nil {
		return nil, err
	}
	status := &FleetStatus{Gate: f.Gate, CheckedAt: s.CheckedAt, seen: s.Seen}
	if own, err := w.loadState(f.Gate); err == nil && own.paused(now) {
		status.Pause = own.Pause
	}
	lists := make(map[string][]manifest.Change)
	read := func(name string) []manifest.Change {
		list, ok := lists[name]
		if !ok {
			list, _ = w.readChanges(name) // what is lost is made anew by the next pass
			lists[name] = list
		}
		return list
	}
	age := now.Sub(s.CheckedAt)
	hosts := slices.Clone(f.Hosts)
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		r := Report{Gate: f.Gate, Host: host, Unwitnessed: true, CheckedAt: now, Since: now, Changes: []manifest.Change{}}
		if h := s.Hosts[host]; h == nil || h.Report == nil {
			r.add(Missing, "no pass was made yet", fetchAgain)
		} else {
			r = *h.Report
			r.CheckedAt = s.CheckedAt
			r.Changes, r.HeadChanges = read(h.Changes), read(h.HeadChanges)
			if age > 2*f.Interval {
				r.Findings = append(slices.Clone(r.Findings), Finding{Result: Overdue, Next: w.command(Gate{}, fetchAgain),
					Reason: fmt.Sprintf("the last pass was %v ago; one is due every %v", age.Round(time.Second), f.Interval)})
			}
		}
		r.settle()
		status.Reports = append(status.Reports, r)
	}
	status.Groups = groupReports(status.Reports)
	slices.SortStableFunc(status.Reports, func(a, b Report) int { return a.Result.rank() - b.Result.rank() })
	return status, nil
}

// DiffFleet shows the changes of a group of hosts.
func (w *Warden) DiffFleet(f Fleet, g *Group) ([]FileDiff, error) {
	return w.Diff(f.OnHub(), &Report{Gate: g.Gate, Fingerprint: g.Fingerprint, Changes: g.Changes, Accepted: g.Accepted})
}

// FleetWants says what a judgement of a fleet will need of a list of entries: nothing of the one that is named (it is
// accepted), and of any other the files whose contents are to be staged and are not yet.
func (w *Warden) FleetWants(f Fleet) (known string, wants func(*manifest.Generation) []manifest.Entry, err error) {
	s, err := w.loadFleet(f.Gate)
	if err != nil {
		return "", nil, err
	}
	var accepted *manifest.Generation
	stored, err := w.accepted(f.OnHub())
	if err != nil {
		return "", nil, err
	}
	if stored != nil {
		accepted = stored.Generation
		stored.Close()
		if known, err = contentOf(accepted); err != nil {
			return "", nil, err
		}
	}
	return known, func(list *manifest.Generation) []manifest.Entry {
		if s.wasAccepted(list.Tree) || list.Tree == s.InForce.Tree {
			return nil
		}
		changes := manifest.Diff(entries(accepted), list.Entries)
		if len(changes) == 0 || w.isStaged(w.stagedDir(manifest.Fingerprint(f.Gate, changes)), changes) {
			return nil
		}
		var files []manifest.Entry
		for _, c := range changes {
			if c.New != nil && c.New.Type == manifest.File {
				files = append(files, manifest.Entry{Path: c.Path, Type: manifest.File, Size: c.New.Size, SHA256: c.New.SHA256})
			}
		}
		return files
	}, nil
}

// An Acceptance is the generation of a gate that is in force here, and the decision that put it there.
type Acceptance struct {
	*manifest.StoredGeneration
	Generation *manifest.Generation
	Commit, By string
	At         time.Time
}

// InForce opens what is accepted of g, nil for nothing. The decision is the last one in the history that led to it.
func (w *Warden) InForce(g Gate) (*Acceptance, error) {
	stored, err := w.accepted(g)
	if err != nil || stored == nil {
		return nil, err
	}
	events, err := w.History(g.Name)
	if err != nil {
		stored.Close()
		return nil, err
	}
	a := &Acceptance{StoredGeneration: stored, Generation: stored.Generation}
	for _, e := range slices.Backward(events) {
		if e.Tree == stored.Generation.Tree && e.Commit != "" && e.Action != "reject" {
			a.Commit, a.By, a.At = e.Commit, e.By, e.At
			break
		}
	}
	return a, nil
}
