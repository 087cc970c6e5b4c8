// Command gate is the agent's door: it runs as the agent's user, judges command lines, publishes what the gate's own
// files are, and puts accepted files back.
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
	"gatehouse/gate/harness"
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
	if len(args) > 1 && args[0] == "hook" {
		if _, ok := harness.Lookup(args[1]); ok { // what runs before every command of an agent needs no tree of commands
			return runHook(ctx, &globals{streams: streams, index: config.DefaultIndex}, args[1:])
		}
	}
	return cli.Run(ctx, newRoot(streams, config.DefaultIndex, args...), args, streams)
}

// globals are the options of every command.
type globals struct {
	streams cli.Streams
	index   string // root's index
	config  string // as --config says, empty if it does not
}

// commands make the commands, by name.
func commands() map[string]func(*globals) *cobra.Command {
	return map[string]func(*globals) *cobra.Command{
		"publish": newPublishCommand, "restore": newRestoreCommand, "translate": newTranslateCommand, "specs": newSpecsCommand,
		"flags": newFlagsCommand, "ltl": newLTLCommand, "check": newCheckCommand, "init": newInitCommand, "policy": newPolicyCommand,
		"rules": newRulesCommand, "verify": newVerifyCommand, "doctor": newDoctorCommand, "log": newLogCommand, "why": newWhyCommand,
		"call": newCallCommand, "catalog": newCatalogCommand, "mcp": newMCPCommand, "hook": newHookCommand,
	}
}

// newRoot makes the tree of commands, or no more of it than the command that args begin with: making the others would take
// as long as a check.
func newRoot(streams cli.Streams, index string, args ...string) *cobra.Command {
	all := commands()
	if len(args) > 0 && all[args[0]] != nil {
		all = map[string]func(*globals) *cobra.Command{args[0]: all[args[0]]}
	}
	g := &globals{streams: streams, index: index}
	root := &cobra.Command{
		Use:   "gate",
		Short: "The agent's side of the gate: judge command lines, publish the gate's files, put accepted ones back",
		Long: `gate runs as the agent's user. It says whether a command line may run, by a policy that a person wrote, and why not, and
runs nothing itself. It publishes what the gate's own files are, for root's warden to compare with the copy that a person
accepted, and it puts accepted files back over the live ones.`,
		Example: `  gate init                            # a policy for this project and machine
  gate check "git status | head"       # may it run?
  gate policy git push --force         # which entry says so?
  gate publish`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&g.config, "config", "",
		"take the gates from this `file`, not "+config.DefaultPath+" ($GATEHOUSE_CONFIG)")
	for _, make := range all {
		root.AddCommand(make(g))
	}
	root.AddCommand(
		cli.ExitCodesTopic("gate", `  0  yes; done; check: every line is allowed
  1  no:
       check              a line is asked about or refused, or an answer is not what --expect has
       policy             there are remarks (--lint), or no entry lets the CALL pass
       rules test         an answer is not what the file expects; rules judge: a rule is broken
       call               the call is refused, or its tool fails; catalog check: something is wrong
       verify, doctor     something is wrong
       translate          the line is refused
       ltl                the formula is not satisfied, or the newest call is refused
       flags              there is no such program, subcommand or help
       log --replay       something would be decided otherwise
       publish            a file was refused; restore --dry-run: something would be changed
     With --jsonl these are results, and the exit code is 0.
  2  could not tell: usage, configuration (a policy that cannot be read), a fault`),
	)
	return root
}
