package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

const grantsSchema = "gatehouse/grants/v1"

type grantsJSON struct {
	Schema string     `json:"schema"`
	Grants []grantRow `json:"grants"`
}

// A grantRow is an exception with its id.
type grantRow struct {
	ID string `json:"id"`
	reconcile.Grant
}

func rowOf(grant reconcile.Grant) grantRow { return grantRow{grant.ID(), grant} }

type grantListOptions struct {
	json  bool
	gates []string
}

func newGrantListCommand(g *globals) *cobra.Command {
	var opts grantListOptions
	cmd := &cobra.Command{
		Use:     "list [GATE...]",
		Short:   "List the exceptions that are in force",
		Long:    `List the exceptions that are in force now, those first that end first. Who made which, and why, is in "warden history".`,
		Example: `  warden grant list`,
		RunE: func(_ *cobra.Command, args []string) error {
			opts.gates = args
			return runGrantList(g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the exceptions as JSON")
	return cmd
}

func runGrantList(g *globals, opts grantListOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	gates, err := s.selected(opts.gates)
	if err != nil {
		return err
	}
	rows := []grantRow{}
	var errs []error
	for _, gate := range gates {
		grants, err := s.warden.Grants(gate)
		errs = append(errs, err)
		for _, grant := range grants {
			rows = append(rows, rowOf(grant))
		}
	}
	slices.SortStableFunc(rows, func(a, b grantRow) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	if opts.json {
		return errors.Join(append(errs, cli.PrintJSON(g.streams.Out, grantsJSON{grantsSchema, rows}))...)
	}
	if len(rows) == 0 {
		fmt.Fprintln(g.streams.Out, "no exception is in force")
		return errors.Join(errs...)
	}
	table := tabwriter.NewWriter(g.streams.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(table, "%s\tgate %s\tuntil %s\tby %s\tin %s\t%s\n", r.ID, r.Gate, r.ExpiresAt.Local().Format(clockFormat),
			cli.Printable(r.By), cli.Printable(r.Cwd), oneLine(r.Text()))
	}
	return errors.Join(append(errs, table.Flush())...)
}

// oneLine shows a call without tabs and line breaks.
func oneLine(text string) string {
	line := []rune(cli.Line(text))
	for i, r := range line {
		if r == '\t' {
			line[i] = ' '
		}
	}
	const most = 120
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}

type grantRevokeOptions struct {
	why string
	id  string
}

func newGrantRevokeCommand(g *globals) *cobra.Command {
	var opts grantRevokeOptions
	cmd := &cobra.Command{
		Use:   "revoke EXCEPTION",
		Short: "End an exception before its time",
		Long: `End an exception at once. It is named by its id, which begins with g-, or by the id of the decision that it answered.
What runs already is not ended.`,
		Example: `  warden grant revoke g-0123456789ab`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = args[0]
			return runGrantRevoke(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().StringVar(&opts.why, "why", "", "record the `reason` in the history")
	return cmd
}

func runGrantRevoke(ctx context.Context, g *globals, opts grantRevokeOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	type revoked struct {
		grant *reconcile.Grant
		pass  *reconcile.Pass
	}
	done, err := within(ctx, decisionTimeout, func(ctx context.Context) (revoked, error) {
		grant, pass, err := s.warden.Revoke(ctx, s.gates, opts.id, decided(g.streams.Getenv, opts.why))
		return revoked{grant, pass}, err
	})
	if err != nil {
		return g.refused(err)
	}
	g.printDelivery(done.pass.Delivery)
	fmt.Fprintf(g.streams.Out, "%s of gate %s is over\n", done.grant.ID(), done.grant.Gate)
	return g.handOver()
}
