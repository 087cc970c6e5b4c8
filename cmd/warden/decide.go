package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/reconcile"
)

type rejectOptions struct {
	why  string
	json bool
	id   string
}

func newRejectCommand(g *globals) *cobra.Command {
	var opts rejectOptions
	cmd := &cobra.Command{
		Use:   "reject DRIFT --why REASON",
		Short: "Record that a drift is not wanted; it stays a finding",
		Long: `Record that a person saw the drift and does not want it. It stays a finding and is announced as rejected, until
the live files are as accepted again: "gate restore", run as the agent's user, puts them back. Root never writes into
the agent's tree.`,
		Example: `  warden reject d-0123456789ab --why "the agent widened its own allow list"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = args[0]
			return runReject(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().StringVar(&opts.why, "why", "", "the `reason`, as it is announced (required)")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the outcome as JSON")
	return cmd
}

func runReject(ctx context.Context, g *globals, opts rejectOptions) error {
	if strings.TrimSpace(opts.why) == "" {
		return errors.New("reject needs --why: the reason is announced, and stands in the history")
	}
	s, err := g.open()
	if err != nil {
		return err
	}
	if far, err := s.findFleet(opts.id); err != nil {
		return g.refused(err)
	} else if far != nil {
		return g.rejectFleet(ctx, s, far, opts)
	}
	drift, err := s.find(opts.id)
	if err != nil {
		return g.refused(err)
	}
	pass, err := within(ctx, decisionTimeout, func(ctx context.Context) (*reconcile.Pass, error) {
		return s.warden.Reject(ctx, drift.Gate, drift.Report.Fingerprint, decided(g.streams.Getenv, opts.why))
	})
	if err != nil {
		return g.refused(err)
	}
	return g.finish(s, outcome{"reject", "", pass}, opts.json, fmt.Sprintf("rejected %s of gate %s; \"gate restore\", run as its user, puts the accepted files back",
		reconcile.DriftID(drift.Report.Fingerprint), drift.Gate.Name))
}

type deployOptions struct {
	why  string
	json bool
	gate string
}

func newDeployCommand(g *globals) *cobra.Command {
	var opts deployOptions
	cmd := &cobra.Command{
		Use:   "deploy [GATE]",
		Short: "Put what git has for a gate in force",
		Long: `Verify what HEAD of the repository has for the gate, make it the accepted copy, which is in force at once, and ask
for the live files to be restored to it: the agent's next "gate publish" does that, or "gate restore" at once.
The gate may be left out where there is only one.`,
		Example: `  warden deploy claude`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gate = strings.Join(args, "")
			return runDeploy(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().StringVar(&opts.why, "why", "", "record the `reason` in the history")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the outcome as JSON")
	return cmd
}

func runDeploy(ctx context.Context, g *globals, opts deployOptions) error {
	s, err := g.open()
	if err != nil {
		return err
	}
	gate, err := s.one(opts.gate)
	if err != nil {
		return err
	}
	pass, err := within(ctx, decisionTimeout, func(ctx context.Context) (*reconcile.Pass, error) {
		return s.warden.Deploy(ctx, gate, decided(g.streams.Getenv, opts.why))
	})
	if err != nil {
		return g.refused(err)
	}
	return g.finish(s, outcome{"deploy", "", pass}, opts.json, fmt.Sprintf("gate %s: what git has committed is in force", gate.Name))
}

type rollbackOptions struct {
	why    string
	json   bool
	gate   string
	commit string
}

func newRollbackCommand(g *globals) *cobra.Command {
	var opts rollbackOptions
	cmd := &cobra.Command{
		Use:   "rollback GATE [COMMIT]",
		Short: "Commit an earlier vendored state of a gate and put it in force",
		Long: `Take the vendored state of the gate from an earlier commit, the one before the last that changed it by default,
commit it again, and put it in force as deploy does. Nothing is taken out of the history of git.`,
		Example: `  warden rollback claude
  warden rollback claude 1a2b3c4 --why "the new rules refuse ordinary lines"`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gate = args[0]
			if len(args) == 2 {
				opts.commit = args[1]
			}
			return runRollback(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().StringVar(&opts.why, "why", "", "record the `reason` in the commit")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the outcome as JSON")
	return cmd
}

func runRollback(ctx context.Context, g *globals, opts rollbackOptions) error {
	s, err := g.open()
	if err != nil {
		return err
	}
	gate, err := s.one(opts.gate)
	if err != nil {
		return err
	}
	var commit string
	pass, err := within(ctx, decisionTimeout, func(ctx context.Context) (pass *reconcile.Pass, err error) {
		commit, pass, err = s.warden.Rollback(ctx, gate, opts.commit, decided(g.streams.Getenv, opts.why))
		return pass, err
	})
	if err != nil {
		return g.refused(err)
	}
	return g.finish(s, outcome{"rollback", commit, pass}, opts.json, fmt.Sprintf("gate %s is rolled back in commit %.12s, which is in force", gate.Name, commit))
}

// one returns the gate that is named, or the only one there is.
func (s *site) one(name string) (reconcile.Gate, error) {
	for _, f := range s.fleets {
		if f.Own == nil && (f.Gate == name || name == "" && len(s.gates) == 0 && len(s.fleets) == 1) {
			return f.OnHub(), nil
		}
	}
	if name == "" && len(s.gates) != 1 {
		return reconcile.Gate{}, fmt.Errorf("there are %d gates; name one", len(s.gates))
	}
	if name == "" {
		return s.gates[0], nil
	}
	gates, err := s.selected([]string{name})
	if err != nil {
		return reconcile.Gate{}, err
	}
	return gates[0], nil
}

type pauseOptions struct {
	lasting time.Duration
	why     string
	end     bool
	gate    string
}

func newPauseCommand(g *globals) *cobra.Command {
	var opts pauseOptions
	cmd := &cobra.Command{
		Use:   "pause GATE --for DURATION --why REASON",
		Short: "Hold the notices of a gate during planned work",
		Long: `Hold the notices of a gate for a time. Findings and exit codes stay as they are; what is still open when the time
is over is announced then. --end ends a pause early.`,
		Example: `  warden pause claude --for 2h --why "upgrade of the plugin"
  warden pause claude --end`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gate = args[0]
			return runPause(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().DurationVar(&opts.lasting, "for", 0, "how long, such as 2h; at most a week")
	cmd.Flags().StringVar(&opts.why, "why", "", "the `reason`, shown in status")
	cmd.Flags().BoolVar(&opts.end, "end", false, "end the pause now")
	cmd.MarkFlagsMutuallyExclusive("for", "end")
	return cmd
}

func runPause(ctx context.Context, g *globals, opts pauseOptions) error {
	const longest = 7 * 24 * time.Hour
	switch {
	case opts.end:
	case opts.lasting <= 0 || opts.lasting > longest:
		return fmt.Errorf("pause needs --for, more than 0 and at most %v", longest)
	case strings.TrimSpace(opts.why) == "":
		return errors.New("pause needs --why: whoever looks at the status wants to know")
	}
	s, err := g.open()
	if err != nil {
		return err
	}
	gate, err := s.one(opts.gate)
	if err != nil {
		return err
	}
	var until time.Time
	done := fmt.Sprintf("notices of gate %s are sent again from the next pass on", gate.Name)
	if !opts.end {
		until = time.Now().Add(opts.lasting)
		done = fmt.Sprintf("notices of gate %s are held until %s", gate.Name, until.Format(clockFormat))
	}
	if err := s.warden.HoldNotices(ctx, gate, until, decided(g.streams.Getenv, opts.why)); err != nil {
		return err
	}
	fmt.Fprintln(g.streams.Out, done)
	return nil
}
