// Command gate is the agent's door: it runs as the agent's user, says which calls a shell line can make, publishes what
// the gate's own files are, and puts accepted files back.
//
// Which gates are meant, and where their files are, comes from root's index where there is one that lists the caller;
// then neither a flag nor the environment can say otherwise. Without it, the warden.yaml of the host is read.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}

// Main runs the command line args and returns its exit code: 0 done, 1 no, 2 could not tell.
func Main(ctx context.Context, args []string, streams cli.Streams) int {
	return cli.Run(ctx, newRoot(streams, config.DefaultIndex), args, streams)
}

// globals are the options of every command.
type globals struct {
	streams cli.Streams
	index   string // root's index
	config  string // as --config says, empty if it does not
}

func newRoot(streams cli.Streams, index string) *cobra.Command {
	g := &globals{streams: streams, index: index}
	root := &cobra.Command{
		Use:   "gate",
		Short: "The agent's side of the gate: read its command lines, publish its files, put accepted ones back",
		Long: `gate runs as the agent's user. It says which calls a shell line can make, without running it. It publishes what the
gate's own files are, for root's warden to compare with the copy that a person accepted, and it puts accepted files
back over the live ones.`,
		Example: `  gate translate "git status | head"
  gate publish
  gate restore --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&g.config, "config", "",
		"read gates from this `file` where root's index does not list the caller ($GATEHOUSE_CONFIG, then "+config.DefaultPath+")")
	root.AddCommand(
		newPublishCommand(g),
		newRestoreCommand(g),
		newTranslateCommand(g),
		newSpecsCommand(g),
		newFlagsCommand(g),
		newLTLCommand(g),
		cli.ExitCodesTopic("gate", `  0  yes; done
  1  no: translate refuses a line, the trace does not satisfy the formula of ltl or its newest call is refused (but with
     --jsonl these are results); flags finds no such program, subcommand or help; publish refused a file; with
     restore --dry-run, something would be changed
  2  could not tell: usage, configuration, a fault`),
	)
	return root
}
