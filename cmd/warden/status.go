package main

import (
	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

type statusOptions struct {
	json     bool
	exitZero bool
	html     string
	metrics  string
	gates    []string
}

func newStatusCommand(g *globals) *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:   "status [GATE...]",
		Short: "Show how each gate stood at the last pass",
		Long: `Show the result of the last pass for each gate, since when, what changed, which exceptions are in force, which notices
are open or pending, and which runs of the units failed and were not followed by a good one. It makes no pass and changes
nothing. A last pass that is too long ago is itself a finding. On a hub, hosts with the same result and drift are shown
together, the worst first; --json has each host.

--html writes the same, with diffs and decisions, as one page for a browser, and --metrics as numbers for Prometheus. A
file is replaced at once, never in part. "-" is standard output.`,
		Example: `  warden status
  warden status --json
  warden status --html /var/www/gatehouse/index.html
  warden status --metrics /var/lib/prometheus/node-exporter/gatehouse.prom`,
		RunE: func(_ *cobra.Command, args []string) error {
			opts.gates = args
			return runStatus(g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the reports as JSON")
	cmd.Flags().BoolVar(&opts.exitZero, "exit-zero", false, "exit with 0 whatever the results are")
	cmd.Flags().StringVar(&opts.html, "html", "", "write a page for a browser to this `file`")
	cmd.Flags().StringVar(&opts.metrics, "metrics", "", "write numbers for Prometheus to this `file`")
	cmd.MarkFlagsMutuallyExclusive("json", "html")
	cmd.MarkFlagsMutuallyExclusive("json", "metrics")
	return cmd
}

func runStatus(g *globals, opts statusOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	gates, fleets, err := s.chosen(opts.gates)
	if err != nil {
		return err
	}
	shown, err := s.fleetStatuses(namesOf(fleets))
	if err != nil {
		return err
	}
	var reports []reconcile.Report
	var statuses []*reconcile.Status
	for _, gate := range gates {
		status, err := s.warden.Status(gate)
		if err != nil {
			return err
		}
		reports = append(reports, status.Report)
		statuses = append(statuses, status)
	}
	rows := s.rows(reports)
	for i := range rows {
		rows[i].Pause, rows[i].Unseen = statuses[i].Pause, statuses[i].Unseen
		for _, grant := range statuses[i].Grants {
			rows[i].Grants = append(rows[i].Grants, rowOf(grant))
		}
	}
	failures := g.openFailures(s)
	if opts.html != "" || opts.metrics != "" {
		err = g.writePages(s, gates, fleets, opts)
	} else {
		err = g.printAll(s, rows, shown, failures, opts.json)
	}
	if err != nil {
		return err
	}
	for _, f := range shown {
		reports = append(reports, f.Reports...)
	}
	code := reconcile.Worst(reports).Code()
	switch {
	case opts.exitZero:
		return nil
	case code == cli.Yes && len(failures) > 0:
		return cli.Exit(cli.No)
	}
	return cli.Exit(code)
}
