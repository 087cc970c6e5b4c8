package main

import (
	"context"
	"fmt"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

// runAcceptLog takes a log of decisions that does not go on from what was seen as the one to go on from.
func runAcceptLog(ctx context.Context, g *globals, opts acceptOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	gate, err := s.one(opts.id)
	if err != nil {
		return err
	}
	if !opts.yes {
		if !g.streams.Interactive() {
			return fmt.Errorf("accept asks on a terminal, and this is none; look at %s status, then: %[1]s accept --log %s --yes", g.program(), gate.Name)
		}
		status, err := s.warden.Status(gate)
		if err != nil {
			return err
		}
		for _, f := range status.Findings {
			if f.Result != reconcile.LogRewound {
				continue
			}
			fmt.Fprintln(g.streams.Out, f.Reason)
			for _, item := range f.Items {
				fmt.Fprintf(g.streams.Out, "  %s\n", cli.Line(item.Text))
			}
			if !g.agreed(ctx, fmt.Sprintf("\nIs that known, and may the log of gate %s go on from here?", gate.Name)) {
				fmt.Fprintln(g.streams.Out, "not accepted")
				return cli.Exit(cli.No)
			}
		}
	}
	var breaks []reconcile.Item
	pass, err := within(ctx, decisionTimeout, func(ctx context.Context) (pass *reconcile.Pass, err error) {
		breaks, pass, err = s.warden.AcceptLog(ctx, gate, decided(g.streams.Getenv, opts.why))
		return pass, err
	})
	if err != nil {
		return g.refused(err)
	}
	return g.finish(s, outcome{"accept-log", "", pass}, opts.json, fmt.Sprintf("gate %s: %s of its log known; it goes on from what was published last",
		gate.Name, count(len(breaks), "break")))
}
