package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/catalog"
	"gatehouse/gate/catalog/caller"
	"gatehouse/internal/cli"
)

// maxCallInput is one more than a call may have, so that the catalogue says that it is too large.
const maxCallInput = 1<<20 + 1

type callOptions struct {
	job   string
	json  bool
	stage bool // for the gate itself
	serve bool // for gatehouse-call.service
	tool  bool // for gatehouse-tool@.service
}

func newCallCommand(g *globals) *cobra.Command {
	var opts callOptions
	cmd := &cobra.Command{
		Use:   "call [JSON]",
		Short: "Run one tool of the frozen catalogue: no shell, one step of a job",
		Long: `Read one JSON object {"tool": NAME, "args": {…}} from standard input, or from the argument, and run that tool of the
catalogue (tools.json beside the policy in force): its arguments are held against a closed schema, put into an argument
vector word by word, and the program is run with a time limit, in a fixed directory, by no shell. What it prints is printed.

The catalogue has to be frozen (gate catalog freeze) and accepted by the warden or, where there is none, committed and clean
in git. The policy in force can still refuse the call, and its log has it.

Each call is one step of the job that --job names. A job has so many steps as the catalogue says, and the first failure ends
it: every later call is refused. The counter never goes back; take a new name for a new job.

On a host where warden install put the service, it takes the calls of the users whose gates root's index lists, counts them
where nobody else can write, and runs the tools as a user of their own. Anywhere else this process does.

Exit codes: 0 the tool ran and ended well; 1 the call was refused or the tool failed, and the job is over; 2 could not tell:
nothing ran. Each failure has a code, printed before its text and in --json; docs/catalog.md lists them.`,
		Example: `  echo '{"tool": "git_log", "args": {"count": "5"}}' | gate call --job review-17
  gate call --job review-17 --json '{"tool": "git_status", "args": {}}'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case opts.stage && len(args) == 1:
				catalog.Stage(args[0], callReexec())
				return nil // which it does not
			case opts.stage:
				return errors.New("--stage is for the gate itself")
			case opts.serve:
				return runCallService(cmd.Context(), g)
			case opts.tool:
				return runCallTool(g.streams.In)
			}
			return runCall(cmd.Context(), g, opts, args)
		},
	}
	set := cmd.Flags()
	set.StringVar(&opts.job, "job", "", "the `name` of the job that this is a step of ($GATEHOUSE_JOB)")
	set.BoolVar(&opts.json, "json", false, "print the result as JSON")
	set.BoolVar(&opts.stage, "stage", false, "run a tool for the gate itself")
	set.BoolVar(&opts.serve, "serve", false, "take the calls of all users that root's index lists, on the socket that systemd hands over")
	set.BoolVar(&opts.tool, "tool", false, "run the tool of one call for the service at the other end of standard input")
	for _, hidden := range []string{"stage", "serve", "tool"} {
		set.MarkHidden(hidden)
	}
	return cmd
}

// boundary is the Counter of results of the service.
const boundary = "boundary"

// callReexec is how this program starts the stages of a call.
func callReexec() []string { return []string{os.Args[0], "call", "--stage"} }

func runCall(ctx context.Context, g *globals, opts callOptions, args []string) error {
	if opts.job == "" {
		opts.job = g.streams.Getenv("GATEHOUSE_JOB")
	}
	data, err := callInput(g, args)
	if err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	runner, err := caller.Open(g.caller(cwd))
	if err != nil {
		return err
	}
	result := runner.Call(ctx, catalog.Request{Job: opts.job, Call: data})
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, result)
	} else {
		err = printCall(g, result)
	}
	if err == nil {
		err = cli.Exit(result.Code.Exit())
	}
	return err
}

func callInput(g *globals, args []string) ([]byte, error) {
	if len(args) == 1 && args[0] != "-" {
		return []byte(args[0]), nil
	}
	if g.streams.Interactive() {
		return nil, errors.New(`give the call as JSON: gate call --job NAME '{"tool": "git_status", "args": {}}'; gate catalog list shows the tools`)
	}
	data, err := io.ReadAll(io.LimitReader(g.streams.In, maxCallInput))
	if err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	return data, nil
}

// printCall prints what the tool printed where it would have, and what the gate has to say on standard error.
func printCall(g *globals, r catalog.Result) error {
	out, errOut := r.Stdout, r.Stderr
	if cli.IsTerminal(g.streams.Out) {
		out = shown(out)
	}
	if cli.IsTerminal(g.streams.Err) {
		errOut = shown(errOut)
	}
	if _, err := io.WriteString(g.streams.Out, out); err != nil {
		return err
	}
	io.WriteString(g.streams.Err, errOut)
	say := func(format string, args ...any) { fmt.Fprintf(g.streams.Err, "gate: "+format+"\n", args...) }
	if r.Killed > 0 {
		say("%d processes that the tool left behind were ended", r.Killed)
	}
	if r.Code != catalog.OK {
		say("%s: %s", r.Code, strings.TrimRight(shown(r.Error), "\n"))
		switch {
		case r.Decision == "" || r.Ran:
		case r.Counter == boundary:
			say("this is a boundary; root sees the decision %s in the log of the service", r.Decision)
		default:
			say("this is a boundary; gate why %s shows the decision", r.Decision)
		}
	}
	if r.Step > 0 {
		what := "the counter belongs to this user and guards against accidents only"
		if r.Counter == boundary {
			what = "the counter belongs to another user"
		}
		over := ""
		if r.Ended {
			over = "; the job is over"
		}
		say("step %d of %d of job %s%s (%s)", r.Step, r.Steps, cli.Printable(r.Job), over, what)
	}
	return nil
}

// shown makes a text of foreign origin harmless on a terminal, line by line.
func shown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		content, ended := strings.CutSuffix(line, "\n")
		b.WriteString(cli.Line(content))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
