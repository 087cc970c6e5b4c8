package main

import (
	"context"
	"fmt"
	"time"

	"gatehouse/gate/ledger"
)

// logFinding says whether the log of decisions is whole, and when the gate was last asked.
func logFinding(ctx context.Context, state string) finding {
	f := finding{What: "log"}
	if state == "" {
		f.Text = "there is no home directory with a log in it"
		return f
	}
	log := ledger.In(state)
	report, err := log.Verify(ctx)
	switch {
	case err != nil:
		f.Text = err.Error()
	case report.Break != nil:
		f.State, f.Text = wrong, fmt.Sprintf("broken at %s: %s", report.Break.Place, report.Break.Why)
		f.Way = "somebody changed it, or a disk did; keep a copy of " + log.Dir + " and look at what stands there"
	case report.Entries == 0:
		f.State, f.Text = none, "the gate was never asked for a decision: "+log.Dir+" has no entry"
	default:
		f.State, f.Text = ok, fmt.Sprintf("%d entries, the last of %s; the chain of hashes is whole", report.Entries, report.Head.At.Local().Format(time.DateTime))
		for _, torn := range report.Torn {
			f.More = append(f.More, "before "+torn.String()+" a crash left half a line, and the log says so")
		}
		if report.Unfinished > 0 {
			f.More = append(f.More, fmt.Sprintf("%d bytes at its end were not finished; the next decision notes them", report.Unfinished))
		}
	}
	return f
}
