package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

type diffOptions struct {
	json     bool
	exitZero bool
	id       string
}

func newDiffCommand(g *globals) *cobra.Command {
	var opts diffOptions
	cmd := &cobra.Command{
		Use:   "diff [DRIFT | GATE]",
		Short: "Show what a drift changes, or what a deploy would",
		Long: `Show the difference between what is accepted and what the last pass found, as a unified diff: the staged bytes
of a drift, or HEAD of the repository for a gate that awaits "warden deploy". Without an argument, all of them.
Characters that could disturb a terminal are shown escaped.`,
		Example: `  warden diff
  warden diff d-0123456789ab`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			opts.id = strings.Join(args, "")
			return runDiff(g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the changes and their lines as JSON")
	cmd.Flags().BoolVar(&opts.exitZero, "exit-zero", false, "exit with 0 also when there is a difference")
	return cmd
}

// A gateDiff is the difference of one gate.
type gateDiff struct {
	Gate        string               `json:"gate"`
	Hosts       []string             `json:"hosts,omitempty"` // that have it; none for this host
	Result      reconcile.Result     `json:"result"`
	Fingerprint string               `json:"fingerprint,omitempty"`
	Diffs       []reconcile.FileDiff `json:"diffs"`
	HeadDiffs   []reconcile.FileDiff `json:"head_diffs,omitempty"` // what a deploy would change, when diverged
}

func runDiff(g *globals, opts diffOptions) error {
	s, err := g.open()
	if err != nil {
		return err
	}
	all, err := s.fleetDiffs(opts.id)
	if err != nil {
		return g.refused(err)
	}
	var drifts []reconcile.Drift
	var unknown []string
	if !s.onlyFleets(opts.id, len(all)) {
		if drifts, unknown, err = s.differing(opts.id); err != nil {
			return err
		}
	}
	for _, d := range drifts {
		shown, err := s.diffOf(&d)
		if err != nil {
			return err
		}
		all = append(all, *shown)
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, struct {
			Schema string     `json:"schema"`
			Gates  []gateDiff `json:"gates"`
		}{"gatehouse/diff/v1", all})
		if err != nil {
			return err
		}
	} else {
		for _, d := range all {
			g.printGateDiff(&d)
		}
		if len(all) == 0 && len(unknown) == 0 {
			fmt.Fprintln(g.streams.Out, "no difference at the last pass")
		}
	}
	if len(all) == 0 && len(unknown) > 0 && !opts.exitZero {
		return fmt.Errorf("nothing was compared at the last pass: %s; warden status says what helps", strings.Join(unknown, ", "))
	}
	if len(all) == 0 || opts.exitZero {
		return nil
	}
	return cli.Exit(cli.No)
}

// differing returns the gates whose last report has changes, and what the others are that could not be compared: the
// one that id names, by drift or by gate, or all.
func (s *site) differing(id string) (drifts []reconcile.Drift, unknown []string, err error) {
	gates := s.gates
	if id != "" {
		named, err := s.selected([]string{id})
		if err != nil {
			drift, err := s.find(id)
			if err != nil {
				return nil, nil, err
			}
			return []reconcile.Drift{*drift}, nil, nil
		}
		gates = named
	}
	for _, gate := range gates {
		status, err := s.warden.Status(gate)
		if err != nil {
			return nil, nil, err
		}
		if len(status.Changes) > 0 {
			drifts = append(drifts, reconcile.Drift{Gate: gate, Report: status.Report})
		} else if !status.Complete() {
			unknown = append(unknown, fmt.Sprintf("%s is %s", gate.Name, status.Result))
		}
	}
	return drifts, unknown, nil
}

func (s *site) diffOf(d *reconcile.Drift) (*gateDiff, error) {
	diffs, err := s.warden.Diff(d.Gate, &d.Report)
	if err != nil {
		return nil, err
	}
	head, err := s.warden.DiffHead(d.Gate, &d.Report)
	if err != nil {
		return nil, err
	}
	return &gateDiff{Gate: d.Gate.Name, Result: d.Report.Result, Fingerprint: d.Report.Fingerprint, Diffs: diffs, HeadDiffs: head}, nil
}

// showDrift prints the diff of a drift, for a person who is about to decide.
func (g *globals) showDrift(s *site, d *reconcile.Drift) error {
	shown, err := s.diffOf(d)
	if err == nil {
		g.printGateDiff(shown)
	}
	return err
}

func (g *globals) printGateDiff(d *gateDiff) {
	if len(d.Hosts) > 0 {
		fmt.Fprintf(g.streams.Out, "%s: %s of %s on %s: %s\n", d.Gate, d.Result, reconcile.DriftID(d.Fingerprint), count(len(d.Hosts), "host"), strings.Join(d.Hosts, ", "))
	}
	g.printDiff(d.Gate, d.Diffs)
	if len(d.HeadDiffs) > 0 {
		fmt.Fprintf(g.streams.Out, "\n%s: what \"warden deploy\" would put in force:\n", d.Gate)
		g.printDiff(d.Gate, d.HeadDiffs)
	}
}

func (g *globals) printDiff(gate string, diffs []reconcile.FileDiff) {
	colour := g.streams.Colour()
	for _, d := range diffs {
		for i, line := range d.Lines {
			line = cli.Line(line)
			switch {
			case i == 0:
				line = gate + ": " + line
			case !colour:
			case strings.HasPrefix(line, "+"):
				line = "\x1b[32m" + line + "\x1b[0m"
			case strings.HasPrefix(line, "-"):
				line = "\x1b[31m" + line + "\x1b[0m"
			case strings.HasPrefix(line, "@@"):
				line = "\x1b[36m" + line + "\x1b[0m"
			}
			fmt.Fprintln(g.streams.Out, line)
		}
	}
}
