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
	from     string
	timeout  time.Duration
	gates    []string
}

func newReconcileCommand(g *globals) *cobra.Command {
	var opts reconcileOptions
	cmd := &cobra.Command{
		Use:   "reconcile [GATE...]",
		Short: "Make one pass: compare, stage, and notify once",
		Long: `Compare the published and the live files of each gate with what was accepted, stage the verified bytes of a
drift, and send what is new. It never changes a live file and never commits.

On a hub the gates of other hosts ("fleet:" in the configuration) are judged too, from what was fetched of them last;
"--from exchange" fetches them now, which needs the network. Nobody on this host can look at those files, so the results
say "unwitnessed": each host's own warden witnesses and signs. A host that cannot be fetched is a result of that host.

On a host that follows a hub, what the hub accepted and a beat fetched is committed here and put in force first.`,
		Example: `  warden reconcile
  warden reconcile claude --json
  warden reconcile --from exchange`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gates = args
			return runReconcile(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the reports as JSON")
	cmd.Flags().BoolVar(&opts.exitZero, "exit-zero", false, "exit with 0 whatever the results are, unless the run itself fails")
	cmd.Flags().BoolVar(&opts.quiet, "quiet", false, "print only gates that are not in sync and were not so at the last pass, as for cron")
	cmd.Flags().StringVar(&opts.from, "from", "", "\"exchange\" fetches the gates of other hosts before it judges them, and leaves this host's own alone")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", time.Minute, "give up after this `time`")
	return cmd
}

func runReconcile(ctx context.Context, g *globals, opts reconcileOptions) error {
	if opts.timeout <= 0 {
		return fmt.Errorf("--timeout %v leaves no time at all", opts.timeout)
	}
	if opts.from != "" && opts.from != "exchange" {
		return fmt.Errorf("--from %q is not known; it can only be \"exchange\"", opts.from)
	}
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	gates, fleets, err := s.chosen(opts.gates)
	if err != nil {
		return err
	}
	if opts.from != "" && len(fleets) == 0 {
		return errors.New("--from exchange needs gates of other hosts; name them with fleet: in the configuration")
	}
	pass, err := within(ctx, opts.timeout, func(ctx context.Context) (*reconcile.Pass, error) {
		return g.reconcileAll(ctx, s, gates, fleets, opts.from != "")
	})
	if err != nil {
		return err
	}
	shown, err := s.fleetStatuses(namesOf(fleets))
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
	if after == nil && len(opts.gates) == 0 && opts.from == "" {
		after = g.passDone(s)
	}
	rows := s.rows(slices.DeleteFunc(slices.Clone(pass.Reports), func(r reconcile.Report) bool { return r.Host != "" }))
	if opts.quiet {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.Result == reconcile.InSync || r.Since.Before(r.CheckedAt) })
		for _, f := range shown {
			f.Groups = slices.DeleteFunc(f.Groups, func(g *reconcile.Group) bool { return g.Result == reconcile.InSync || g.Since.Before(f.CheckedAt) })
		}
	}
	if err := g.printAll(s, rows, shown, nil, opts.json); err != nil {
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
