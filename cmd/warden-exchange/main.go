// Command warden-exchange runs the servers over which the wardens of a fleet exchange heartbeats, exports and claims, and
// keeps the list of hosts that may use them. It is what warden exchange becomes: a program of its own, since the server
// that it embeds (NATS, with JetStream) is fifteen megabytes that root's daemon on each host does without.
//
// Each command is a function with an options struct, in a file of its own, over the operator's directory (server.Home).
// Only serve listens; add, remove and renew change that directory, which a running node reads again by itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"gatehouse/exchange/server"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
)

// defaultDir is the operator's directory of the exchange.
const defaultDir = "/var/lib/gatehouse-exchange"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}

// Main runs the command line args and returns its exit code: 0 done, or all is well; 1 something is not; 2 could not tell.
func Main(ctx context.Context, args []string, streams cli.Streams) int {
	return cli.Run(ctx, newRoot(streams), args, streams)
}

// globals are the options of every command.
type globals struct {
	streams cli.Streams
	dir     string
}

// open opens the operator's directory.
func (g *globals) open() (*server.Home, error) { return server.Open(durable.Disk{}, g.dir) }

func newRoot(streams cli.Streams) *cobra.Command {
	g := &globals{streams: streams}
	root := &cobra.Command{
		Use: "warden-exchange",
		// A package puts this program where no PATH leads; people type the other name in any case.
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "warden exchange"},

		Short: "Run the exchange over which the wardens of a fleet watch each other",
		Long: `Run a node of the exchange, and say which hosts may use it. It takes one machine, or three of which any one may fail.

Start with init on one machine, then serve, then add each host. docs/exchange.md goes through it step by step.`,
		Example: `  warden exchange init
  warden exchange serve
  warden exchange add agent-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&g.dir, "dir", defaultDir, "the exchange's `directory`")
	commands := []*cobra.Command{
		newInitCommand(g), newServeCommand(g), newAddCommand(g), newRemoveCommand(g), newRenewCommand(g), newStatusCommand(g),
	}
	for _, cmd := range commands {
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return asRoot(run(cmd, args)) }
	}
	root.AddCommand(commands...)
	root.AddCommand(cli.ExitCodesTopic("warden exchange", `  0  done; all is well
  1  status found a problem
  2  could not tell: usage, a fault, no exchange there, a node that does not answer`))
	return root
}

// asRoot says what a lack of permission means for a directory of root's.
func asRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return fmt.Errorf("%w; run it as root", err)
	}
	return err
}
