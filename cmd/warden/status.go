package main

import (
	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

type statusOptions struct {
	json     bool
	exitZero bool
	gates    []string
}

func newStatusCommand(g *globals) *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:   "status [GATE...]",
		Short: "Show how each gate stood at the last pass",
		Long: `Show the result of the last pass for each gate, since when, what changed, and which notices are open or pending.
It makes no pass and changes nothing. A last pass that is too long ago is itself a finding.`,
		Example: `  warden status
  warden status --json`,
		RunE: func(_ *cobra.Command, args []string) error {
			opts.gates = args
			return runStatus(g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the reports as JSON")
	cmd.Flags().BoolVar(&opts.exitZero, "exit-zero", false, "exit with 0 whatever the results are")
	return cmd
}

func runStatus(g *globals, opts statusOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	gates, err := s.selected(opts.gates)
	if err != nil {
		return err
	}
	var reports []reconcile.Report
	var pauses []*reconcile.Pause
	for _, gate := range gates {
		status, err := s.warden.Status(gate)
		if err != nil {
			return err
		}
		reports = append(reports, status.Report)
		pauses = append(pauses, status.Pause)
	}
	rows := s.rows(reports)
	for i := range rows {
		rows[i].Pause = pauses[i]
	}
	if err := g.printRows(s, rows, opts.json); err != nil {
		return err
	}
	if opts.exitZero {
		return nil
	}
	return cli.Exit(reconcile.Worst(reports).Code())
}
