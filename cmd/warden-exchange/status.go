package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/exchange/server"
	"gatehouse/internal/cli"
)

type statusOptions struct {
	node  string
	usage bool
	json  bool
}

func newStatusCommand(g *globals) *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how the exchange is, as this machine's node sees it",
		Long: `Ask the node of this machine how the streams are: whether each has a leader and current copies on all nodes, how full it
is, and how long the node's certificate is good. --usage counts what each host has stored, most first: a host that was
taken over may fill the exchange.

Exit codes: 0 all is well, 1 there is a problem, 2 the node does not answer.`,
		Example: `  warden exchange status
  warden exchange status --usage --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), g, opts, time.Now()) },
	}
	set := cmd.Flags()
	set.StringVar(&opts.node, "node", "", "the `NAME` of the node to ask, where several are here")
	set.BoolVar(&opts.usage, "usage", false, "also count what each host has stored")
	set.BoolVar(&opts.json, "json", false, "print it as JSON")
	return cmd
}

// report is what status prints.
type report struct {
	Schema      string                `json:"schema"`
	Node        string                `json:"node"`
	Hosts       int                   `json:"hosts"`
	Certificate *time.Time            `json:"certificate_until,omitempty"`
	Streams     []server.StreamStatus `json:"streams"`
	Usage       []server.Usage        `json:"usage,omitempty"`
	Problems    []string              `json:"problems"`
}

func runStatus(ctx context.Context, g *globals, opts statusOptions, now time.Time) error {
	home, err := g.open()
	if err != nil {
		return err
	}
	name, err := home.Local(opts.node)
	if err != nil {
		return err
	}
	hosts, err := home.Hosts()
	if err != nil {
		return err
	}
	nc, err := home.Dial(name)
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := report{Schema: "gatehouse/exchange-status/v1", Node: name, Hosts: len(hosts), Problems: []string{}}
	if r.Streams, err = server.ReadStatus(ctx, nc); err != nil {
		return err
	}
	for _, s := range r.Streams {
		if s.Problem != "" {
			r.Problems = append(r.Problems, s.Name+": "+s.Problem)
		}
	}
	if home.Secure(name) {
		until, err := home.Until(name)
		if err != nil {
			return err
		}
		r.Certificate = &until
		if until.Sub(now) < server.RenewBefore {
			r.Problems = append(r.Problems, fmt.Sprintf("the certificate of node %s ends on %s; warden exchange renew", name, until.Format(time.DateOnly)))
		}
	}
	if opts.usage {
		if r.Usage, err = server.ReadUsage(ctx, nc); err != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("what each host has stored cannot be counted: %v", err))
		}
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, r)
	} else {
		err = r.print(g.streams.Out)
	}
	if err == nil && len(r.Problems) > 0 {
		err = cli.Exit(cli.No)
	}
	return err
}

func (r report) print(out io.Writer) error {
	fmt.Fprintf(out, "node %s, hosts: %d\n", r.Node, r.Hosts)
	if r.Certificate != nil {
		fmt.Fprintf(out, "certificate good until %s\n", r.Certificate.Format(time.DateOnly))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STREAM\tMESSAGES\tKIB\tOF\tLEADER")
	for _, s := range r.Streams {
		limit, leader := "", "none"
		if s.Leader != "" {
			leader = cli.Printable(s.Leader)
		}
		if s.Limit > 0 {
			limit = fmt.Sprint(s.Limit >> 10)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", s.Name, s.Messages, s.Bytes>>10, limit, leader)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Usage != nil {
		w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "HOST\tSTATEMENTS\tCHUNKS")
		for _, u := range r.Usage {
			fmt.Fprintf(w, "%s\t%d\t%d\n", cli.Printable(u.Host), u.Statements, u.Chunks)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintln(out, "problem: "+cli.Line(p))
	}
	if len(r.Problems) == 0 {
		fmt.Fprintln(out, "all is well")
	}
	return nil
}
