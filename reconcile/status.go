package reconcile

import (
	"fmt"
	"time"

	"gatehouse/manifest"
)

// A Status is the last report on a gate with what has come of it since.
type Status struct {
	Report
	Pause  *Pause  `json:"pause,omitempty"`
	Grants []Grant `json:"grants,omitempty"` // in force now
	Unseen bool    `json:"-"`                // no pass was made yet; the report is Missing
}

// Status returns how the gate stood at the last pass. It makes none, and changes nothing; but a pass that is itself
// overdue is a finding.
func (w *Warden) Status(g Gate) (*Status, error) {
	now := w.Now().UTC()
	s, err := w.loadState(g.Name)
	if err != nil {
		return nil, err
	}
	status := &Status{Report: Report{Gate: g.Name, CheckedAt: now, Since: now, Changes: []manifest.Change{}}}
	if s.Report == nil {
		status.Unseen = true
		status.add(Missing, "no pass was made yet", "warden reconcile")
	} else {
		status.Report = *s.Report
		if age := now.Sub(s.Report.CheckedAt); age > 2*g.Interval {
			status.add(Overdue, fmt.Sprintf("the last pass was %v ago; one is due every %v", age.Round(time.Second), g.Interval),
				"warden reconcile")
		}
	}
	if s.paused(now) {
		status.Pause = s.Pause
	}
	status.Grants, _ = w.Grants(g) // what cannot be read counts for nothing, and doctor names it
	status.settle()
	return status, nil
}
