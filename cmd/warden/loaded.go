package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/manifest"
	"gatehouse/reconcile"
	"gatehouse/systemd"
)

type loadedOptions struct {
	json     bool
	exitZero bool
	timeout  time.Duration
	gates    []string
}

func newLoadedCommand(g *globals) *cobra.Command {
	var opts loadedOptions
	cmd := &cobra.Command{
		Use:   "loaded [GATE...]",
		Short: "Show whether the running services have loaded what is on disk",
		Long: `Ask systemd and the kernel about every service under "loaded_by:", and compare what its process read at its start
with the live files as they are now. The verdict is loaded, stale (the files changed since), unknown (with the reason),
or not-running. It tells nobody and changes nothing but its own memory of what a service was first seen with.`,
		Example: `  warden loaded
  warden loaded claude --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gates = args
			return runLoaded(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the verdicts as JSON")
	cmd.Flags().BoolVar(&opts.exitZero, "exit-zero", false, "exit with 0 whatever the verdicts are, unless the run itself fails")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", time.Minute, "give up after this `time`")
	return cmd
}

// A loadedRow is one service of a gate.
type loadedRow struct {
	Gate string `json:"gate"`
	reconcile.Process
}

func runLoaded(ctx context.Context, g *globals, opts loadedOptions) error {
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
	var rows []loadedRow
	var processes []reconcile.Process
	_, err = within(ctx, opts.timeout, func(ctx context.Context) (struct{}, error) {
		for _, gate := range gates {
			if gate.Problem != nil {
				return struct{}{}, gate.Problem
			}
			list, err := s.warden.Memory(ctx, gate)
			if err != nil {
				return struct{}{}, err
			}
			for _, p := range list {
				rows, processes = append(rows, loadedRow{gate.Name, p}), append(processes, p)
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	if err := g.printLoaded(s, gates, rows, opts.json); err != nil {
		return err
	}
	if opts.exitZero {
		return nil
	}
	return cli.Exit(reconcile.WorstProcess(processes).Code())
}

func (g *globals) printLoaded(s *site, gates []reconcile.Gate, rows []loadedRow, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema    string      `json:"schema"`
			Host      string      `json:"host"`
			Processes []loadedRow `json:"processes"`
		}{"gatehouse/loaded/v1", s.config.Host, append([]loadedRow{}, rows...)})
	}
	paint := painter(g.streams.Colour())
	for _, gate := range gates {
		i := slices.IndexFunc(rows, func(r loadedRow) bool { return r.Gate == gate.Name })
		if i < 0 {
			fmt.Fprintf(g.streams.Out, "%s  nothing to ask: the gate has no loaded_by in the configuration\n", gate.Name)
		}
	}
	for _, r := range rows {
		fmt.Fprintf(g.streams.Out, "%s  ", r.Gate)
		printProcess(g.streams.Out, paint, &r.Process, time.Now())
	}
	return nil
}

// printProcess says how a service stands: its verdict and start, why, the newest of its files, and what would help.
func printProcess(w io.Writer, paint func(int, string) string, p *reconcile.Process, now time.Time) {
	verdict := p.Verdict
	if verdict == "" {
		verdict = reconcile.Unproven
	}
	fmt.Fprintf(w, "%s  %s", cli.Printable(p.Unit), paint(reconcile.WorstProcess([]reconcile.Process{*p}).Code(), string(verdict)))
	if !p.Since.IsZero() {
		fmt.Fprintf(w, "  started %s", p.Since.Local().Format(clockFormat))
	}
	fmt.Fprintf(w, "\n  %s\n", cli.Line(p.Reason))
	if p.Newest != "" {
		fmt.Fprintf(w, "  newest: %s, %s\n", cli.Line(p.Newest), newer(p.By))
	}
	if p.Fix != "" {
		fmt.Fprintf(w, "  → %s\n", p.Fix)
	}
}

// newer puts a difference to the start of a process into words.
func newer(by string) string {
	if d, ok := strings.CutPrefix(by, "-"); ok {
		return d + " older than the process"
	}
	return by + " newer than the process"
}

// processes asks about every service that holds files of a gate in its memory.
func (s *site) processes(ctx context.Context, g reconcile.Gate, seen *manifest.Snapshot) []reconcile.Process {
	i := slices.IndexFunc(s.config.Gates, func(c config.Gate) bool { return c.Name == g.Name })
	var watches []systemd.Watch
	for _, by := range s.config.Gates[i].LoadedBy {
		watches = append(watches, systemd.Watch{
			Gate: g.Name, Unit: by.Unit, User: by.Scope == config.ScopeUser, UID: g.Source.Owner,
			UserName: s.config.Gates[i].User, Files: by.Files,
		})
	}
	var list []reconcile.Process
	for _, p := range s.checker.CheckAll(ctx, watches, g.Source, seen) {
		r := reconcile.Process{
			Unit: p.Unit, Scope: p.Scope, Verdict: reconcile.Verdict(p.Verdict), Reason: p.Reason, Evidence: p.Evidence,
			Since: p.Since, Invocation: p.InvocationID, PID: p.PID, Run: p.Run, Newest: p.Newest, Fix: p.Fix, Fault: p.Fault, Disk: p.Disk,
		}
		if p.Newest != "" {
			r.By = p.By.Round(time.Millisecond).String()
		}
		list = append(list, r)
	}
	return list
}
