// Command warden is root's door: it compares what agents published with what a person accepted, says so once, and
// carries out what that person decides.
//
// Each command is a function with an options struct, in a file of its own. They share site, which joins the
// configuration with the packages that do the work; nothing here decides anything about a gate.
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

	"gatehouse/config"
	"gatehouse/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}

// Main runs the command line args and returns its exit code: 0 in sync, 1 drift or any finding, 2 could not tell.
func Main(ctx context.Context, args []string, streams cli.Streams) int {
	return cli.Run(ctx, newRoot(streams), args, streams)
}

// asRoot says what a lack of permission means for a program of root's.
func asRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return fmt.Errorf("%w; run it as root", err)
	}
	return err
}

// globals are the options of every command.
type globals struct {
	streams cli.Streams
	config  string
}

func newRoot(streams cli.Streams) *cobra.Command {
	g := &globals{streams: streams}
	root := &cobra.Command{
		Use:   "warden",
		Short: "Prove that the gate in force on this host is the one a person reviewed",
		Long: `warden compares the live files of a gate with the copy that a person accepted into git. It notifies once
per drift, stages only what hashes right, and commits an acceptance with one command.

Start with "warden try": it tells the whole story in a temporary directory and needs no root.

Exit codes: 0 in sync, 1 drift or any finding, 2 could not tell.`,
		Example: `  warden try
  warden reconcile
  warden accept d-0123456789ab`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	path := streams.Getenv("GATEHOUSE_CONFIG")
	if path == "" {
		path = config.DefaultPath
	}
	root.PersistentFlags().StringVar(&g.config, "config", path, "read the configuration from `file` ($GATEHOUSE_CONFIG)")
	commands := []*cobra.Command{
		newReconcileCommand(g),
		newStatusCommand(g),
		newDiffCommand(g),
		newAcceptCommand(g),
		newRejectCommand(g),
		newDeployCommand(g),
		newRollbackCommand(g),
		newPullCommand(g),
		newPauseCommand(g),
		newGrantCommand(g),
		newFlagsCommand(g),
		newHistoryCommand(g),
		newPeersCommand(g),
		newBeatCommand(g),
		newMaintenanceCommand(g),
		newServeCommand(g),
		newNotifyCommand(g),
		newFailedCommand(g),
		newInstallCommand(g),
		newUninstallCommand(g),
		newLoadedCommand(g),
		newDoctorCommand(g),
		newExchangeCommand(g),
		newTryCommand(g),
	}
	for _, cmd := range commands {
		for _, cmd := range append(cmd.Commands(), cmd) {
			run := cmd.RunE
			cmd.RunE = func(cmd *cobra.Command, args []string) error { return asRoot(run(cmd, args)) }
		}
	}
	root.AddCommand(commands...)
	root.AddCommand(
		cli.ExitCodesTopic("warden", `  0  in sync; done
  1  drift, or any other finding; an acceptance that was refused or not confirmed
  2  could not tell: usage, configuration, a fault, no export, an export that is overdue or cannot be judged`),
	)
	return root
}
