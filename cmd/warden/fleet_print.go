package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"gatehouse/internal/cli"
	"gatehouse/manifest"
	"gatehouse/reconcile"
)

// A fleetRow is one gate of other hosts, as JSON. The changes stand in the groups.
type fleetRow struct {
	Gate      string             `json:"gate"`
	CheckedAt time.Time          `json:"checked_at,omitzero"`
	Pause     *reconcile.Pause   `json:"pause,omitempty"`
	Groups    []*reconcile.Group `json:"groups"`
	Hosts     []reconcile.Report `json:"hosts"`
}

func fleetRows(fleets []*reconcile.FleetStatus) []fleetRow {
	var rows []fleetRow
	for _, f := range fleets {
		row := fleetRow{Gate: f.Gate, CheckedAt: f.CheckedAt, Pause: f.Pause, Groups: f.Groups, Hosts: slices.Clone(f.Reports)}
		for i := range row.Hosts {
			row.Hosts[i].Changes, row.Hosts[i].HeadChanges = []manifest.Change{}, nil
		}
		rows = append(rows, row)
	}
	return rows
}

// printFleets shows what is the same on several hosts once, the worst first.
func printFleets(w io.Writer, paint func(int, string) string, fleets []*reconcile.FleetStatus, now time.Time) {
	for _, f := range fleets {
		for _, group := range f.Groups {
			printGroup(w, paint, group, now)
		}
		if f.Pause != nil {
			fmt.Fprintf(w, "%s  notices are held until %s by %s: %s\n", f.Gate, f.Pause.Until.Local().Format(clockFormat),
				cli.Printable(f.Pause.By), cli.Line(f.Pause.Why))
		}
	}
}

func printGroup(w io.Writer, paint func(int, string) string, group *reconcile.Group, now time.Time) {
	word := string(group.Result)
	if group.Result == reconcile.InSync {
		word = "in sync"
	}
	fmt.Fprintf(w, "%s on %s (%s)  %s", group.Gate, count(len(group.Hosts), "host"), group.Names(), paint(group.Result.Code(), word))
	if group.ID != "" {
		fmt.Fprintf(w, "  %s", group.ID)
	}
	fmt.Fprintf(w, "  unwitnessed  %s\n", since(group.Since, now))
	if group.Result == reconcile.InSync {
		return
	}
	for i, host := range group.Hosts {
		if i == maxShown {
			fmt.Fprintf(w, "    and %d more\n", len(group.Hosts)-i)
			break
		}
		if reason := group.ReasonOf(host); reason != group.Reason {
			fmt.Fprintf(w, "  %s: %s\n", host, cli.Line(reason))
		} else if i == 0 {
			fmt.Fprintf(w, "  %s\n", cli.Line(reason))
		}
	}
	printChanges(w, group.Changes)
	if group.Next != "" {
		fmt.Fprintf(w, "  → %s\n", group.Next)
	}
}
