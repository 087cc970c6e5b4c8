package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/exchange/server"
)

type removeOptions struct{ node string }

func newRemoveCommand(g *globals) *cobra.Command {
	var opts removeOptions
	cmd := &cobra.Command{
		Use:   "remove HOST",
		Short: "Let a host in no more, and empty what it has said",
		Long: `Take HOST from the list. Running nodes cut it off within seconds. What it has said (its beat, its exports) is emptied where
a node runs on this machine, so that nobody finds it; objects expire after thirty days. Take it from peers.hosts of the
others' warden.yaml first: they report it as silent otherwise.`,
		Example: `  warden exchange remove agent-1`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runRemove(cmd.Context(), g, args[0], opts) },
	}
	cmd.Flags().StringVar(&opts.node, "node", "", "the `NAME` of the node to ask, where several are here")
	return cmd
}

func runRemove(ctx context.Context, g *globals, host string, opts removeOptions) error {
	home, err := g.open()
	if err != nil {
		return err
	}
	if err := home.Remove(host); err != nil {
		return err
	}
	out := g.streams.Out
	fmt.Fprintf(out, "%s is let in no more\n", host)
	explainNodes(out, g.dir, home.Plan())
	if err := forget(ctx, home, host, opts); err != nil {
		fmt.Fprintf(out, "what it has said is still there: %v\n", err)
		return nil
	}
	fmt.Fprintln(out, "what it has said is emptied")
	return nil
}

// forget tries for a few seconds: the node takes up the new list of hosts at the same time, and is deaf for that moment.
func forget(ctx context.Context, home *server.Home, host string, opts removeOptions) error {
	name, err := home.Local(opts.node)
	if err != nil {
		return err
	}
	nc, err := home.Dial(name)
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for try := 1; ; try++ {
		err := server.Forget(ctx, nc, host)
		if err == nil || try == 10 || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}
