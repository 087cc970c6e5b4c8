package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/notify"
	"gatehouse/reconcile"
)

type reconcileOptions struct {
	json     bool
	exitZero bool
	quiet    bool
	timeout  time.Duration
	gates    []string
}

func newReconcileCommand(g *globals) *cobra.Command {
	var opts reconcileOptions
	cmd := &cobra.Command{
		Use:   "reconcile [GATE...]",
		Short: "Make one pass: compare, stage, and notify once",
		Long: `Compare the published and the live files of each gate with what was accepted, stage the verified bytes of a
drift, and send what is new. It never changes a live file and never commits.`,
		Example: `  warden reconcile
  warden reconcile claude --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gates = args
			return runReconcile(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the reports as JSON")
	cmd.Flags().BoolVar(&opts.exitZero, "exit-zero", false, "exit with 0 whatever the results are, unless the run itself fails")
	cmd.Flags().BoolVar(&opts.quiet, "quiet", false, "print only gates that are not in sync and were not so at the last pass, as for cron")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", time.Minute, "give up after this `time`")
	return cmd
}

func runReconcile(ctx context.Context, g *globals, opts reconcileOptions) error {
	if opts.timeout <= 0 {
		return fmt.Errorf("--timeout %v leaves no time at all", opts.timeout)
	}
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	gates, err := s.selected(opts.gates)
	if err != nil {
		return err
	}
	pass, err := within(ctx, opts.timeout, func(ctx context.Context) (*reconcile.Pass, error) {
		return s.warden.Reconcile(ctx, gates)
	})
	if err != nil {
		return err
	}
	code := exitCode(pass)
	if opts.exitZero {
		code = cli.Yes
	}
	after := g.leave(s)
	if after == nil { // else the run failed, and says so
		after = g.completed(ctx, s, code)
	}
	rows := s.rows(pass.Reports)
	if opts.quiet {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.Result == reconcile.InSync || r.Since.Before(r.CheckedAt) })
	}
	if err := g.printRows(s, rows, opts.json); err != nil {
		return err
	}
	g.printDelivery(pass.Delivery)
	if after != nil {
		return after
	}
	return cli.Exit(code)
}

// exitCode is that of the worst result. A notice that can never arrive as things are configured is a fault that no
// good result may hide.
func exitCode(pass *reconcile.Pass) int {
	code := reconcile.Worst(pass.Reports).Code()
	if code == cli.Yes && slices.ContainsFunc(pass.Delivery.Sinks, func(r notify.SinkResult) bool { return r.Permanent }) {
		return cli.Unknown
	}
	return code
}

// An outcome is what a decision led to.
type outcome struct {
	action string
	commit string // empty where nothing was committed
	pass   *reconcile.Pass
}

// finish writes the index, shows what a decision led to, and exits with 0 unless the run failed.
func (g *globals) finish(s *site, o outcome, json bool, done string) (err error) {
	defer func() { err = errors.Join(err, g.leave(s), g.handOver()) }() // what was done is said in any case
	rows := s.rows(o.pass.Reports)
	g.printDelivery(o.pass.Delivery)
	if json {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema string `json:"schema"`
			Host   string `json:"host"`
			Action string `json:"action"`
			Commit string `json:"commit,omitempty"`
			Gates  []row  `json:"gates"`
		}{"gatehouse/decision/v1", s.config.Host, o.action, o.commit, rows})
	}
	fmt.Fprintln(g.streams.Out, done)
	return g.printRows(s, rows, false)
}
