package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

type historyOptions struct {
	json bool
	gate string
}

func newHistoryCommand(g *globals) *cobra.Command {
	var opts historyOptions
	cmd := &cobra.Command{
		Use:   "history [GATE]",
		Short: "List what people decided about gates",
		Long: `List acceptances, rejections, deploys, rollbacks, pauses and exceptions, oldest first, with who decided and why. What
was committed stands in git as well: "git log -- vendor-gate".`,
		Example: `  warden history
  warden history claude --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			opts.gate = strings.Join(args, "")
			return runHistory(g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the events as JSON")
	return cmd
}

func runHistory(g *globals, opts historyOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	if opts.gate != "" {
		if _, err := s.one(opts.gate); err != nil {
			return err
		}
	}
	events, err := s.warden.History(opts.gate)
	if err != nil {
		return err
	}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema string            `json:"schema"`
			Events []reconcile.Event `json:"events"`
		}{"gatehouse/history/v1", append([]reconcile.Event{}, events...)})
	}
	if len(events) == 0 {
		fmt.Fprintln(g.streams.Out, "nothing was decided yet")
		return nil
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i, e := range events {
		what := decidedOn(events[:i], &e)
		if what == "" {
			what = "-"
		}
		commit := "-"
		if e.Commit != "" {
			commit = e.Commit[:min(12, len(e.Commit))]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.At.Local().Format(clockFormat), e.Gate, e.Action, what, commit,
			cli.Printable(e.By), cli.Line(historyText(&e)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(g.streams.Out, strings.TrimRight(line, " \n"))
	}
	return nil
}

// decidedOn is what an event was about: a drift, an exception, or where a rollback went; empty for the gate itself.
func decidedOn(earlier []reconcile.Event, e *reconcile.Event) string {
	if e.Grant != "" {
		return e.Grant
	}
	if e.Fingerprint != "" {
		return reconcile.DriftID(e.Fingerprint)
	}
	if e.Action == "rollback" {
		if to := firstWith(earlier, *e); to != "" {
			return "to " + to[:min(12, len(to))]
		}
	}
	return ""
}

// historyText is why something was decided, and of an exception for what.
func historyText(e *reconcile.Event) string {
	if e.Grant == "" {
		return e.Why
	}
	text := e.Decision + ": " + oneLine(e.Call)
	if e.Action == "grant" {
		text += fmt.Sprintf(" (for %s)", inWords(e.Until.Sub(e.At)))
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// firstWith returns the commit that first had the tree of e.
func firstWith(earlier []reconcile.Event, e reconcile.Event) string {
	for _, before := range earlier {
		if before.Gate == e.Gate && before.Tree == e.Tree && e.Tree != "" {
			return before.Commit
		}
	}
	return ""
}
