package main

import "gatehouse/gate/wiring"

// hookFindings says which agent clients are told to ask the gate, and what would keep them from it. The settings are
// looked at, and no client is started: gate hook status asks Codex as well.
func (g *globals) hookFindings() []finding {
	reports, err := g.hookReports()
	if err != nil {
		return []finding{{What: "hook", Text: err.Error()}}
	}
	if len(reports) == 0 {
		return []finding{{What: "hook", State: none, Text: "no agent client keeps its settings in this home directory"}}
	}
	var findings []finding
	for _, r := range reports {
		findings = append(findings, hookFinding(r))
	}
	return findings
}

func hookFinding(r wiring.Report) finding {
	f := finding{What: "hook", State: wrong, Text: r.Client + ": nothing in its settings asks the gate before a command", Way: "gate hook status " + r.Client}
	if r.InForce {
		f.State, f.Way = ok, ""
		for _, p := range r.Places {
			if p.State == wiring.Asks || p.State == wiring.Older {
				f.Text = r.Client + ": told to ask the gate, by " + p.Path
			}
		}
	}
	for _, x := range r.Findings {
		switch {
		case x.Weight == wiring.Off && !r.InForce:
			f.Text, f.Way = r.Client+": "+x.Text, x.Way
		case x.Weight == wiring.Weak:
			f.State = wrong
			f.More = append(f.More, x.Text)
			f.Way = x.Way
		}
	}
	return f
}
