package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate"
	"gatehouse/internal/cli"
)

type checkOptions struct {
	policy     string
	cwd        string
	session    string
	client     string
	record     bool
	status     int
	unattended bool
	explain    bool
	json       bool
	jsonl      bool
	expect     []string
}

func newCheckCommand(g *globals) *cobra.Command {
	opts := checkOptions{status: -1}
	cmd := &cobra.Command{
		Use:   "check [LINE... | - | -- ARGV...]",
		Short: "Say whether a command line may run, and why not; run nothing",
		Long: `Judge each command line by the policy in force, without running it: ALLOW, ASK (a person decides) or DENY, and below an ASK
or DENY what stands against it. A reason says which call of the line it is about, by which entry or rule (with file and
line), why in the owner's words, and what to do instead. The whole line is all or nothing: one refused call refuses it.

Each argument is a line of its own. Without any, or with -, each line of standard input is one; blank lines and lines that
begin with # are skipped. After -- the words are one command that no shell reads. Flags end at the first line.

The policy is that of --policy (a directory or a gate.yaml), else what root's index says is in force for you, else
$GATEHOUSE_POLICY, else ~/.config/gatehouse; which one it was is said on standard error. So a policy can be tried out here.
The hooks of agent clients look at neither the flag nor the variable where root's index lists the user.

With --jsonl each line of standard input is an object {"line", "cwd", "session"}, of which cwd and session may be missing,
and each line of output is, in the same order, {"line", "action": "allow|ask|deny", "reasons": [{"stage", "call", "source",
"rule", "text", "fix"}], "calls"}; rule and fix (and at, why, hint) stand there only where there is one. The answers are
results there, and do not change the exit code. Instead of line there may be "argv", a list, or "tool" {"name", "args"}.

With --expect a file says what the policy has to answer, one line each: "allow: LINE", "ask: LINE" or "deny: LINE".

Rules over the order of calls remember what ran. --session judges as in that session; --record counts each line that is
allowed as run there, with the exit status of --status if it is given.

Exit codes: 0 all lines are allowed, 1 any other answer, 2 could not tell, such as a policy that cannot be read.`,
		Example: `  gate check "git status && git push --force"
  gate check --explain "make test | tee build/log"
  gate check -- rm -rf "my build"
  gate check - < plan.sh
  gate check --policy ./gate.yaml --expect policy.test`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd.Context(), g, opts, args, cmd.ArgsLenAtDash() == 0)
		},
	}
	set := cmd.Flags()
	set.SetInterspersed(false)
	set.StringVar(&opts.policy, "policy", "", "judge by this policy `directory` or gate.yaml ($GATEHOUSE_POLICY)")
	set.StringVar(&opts.cwd, "cwd", "", "the `directory` in which the line would run (the present one)")
	set.StringVar(&opts.session, "session", "", "judge as in this `session`, with what it remembers")
	set.StringVar(&opts.client, "client", "", "judge as for this agent `client`")
	set.BoolVar(&opts.record, "record", false, "count what is allowed as run in the session")
	set.IntVar(&opts.status, "status", -1, "with --record: the exit `status` with which it ended (not known)")
	set.BoolVar(&opts.unattended, "unattended", false, "judge as if nobody were there to be asked")
	set.BoolVar(&opts.explain, "explain", false, "show each stage for each call, also of what is allowed")
	set.BoolVar(&opts.json, "json", false, "print one JSON document with all lines")
	set.BoolVar(&opts.jsonl, "jsonl", false, "read objects from standard input, write one answer a line")
	set.StringArrayVar(&opts.expect, "expect", nil, "judge the lines of `file` and compare with what it expects")
	return cmd
}

func runCheck(ctx context.Context, g *globals, opts checkOptions, args []string, argv bool) error {
	if err := opts.contradiction(args); err != nil {
		return err
	}
	var err error
	if opts.cwd, err = directory(opts.cwd); err != nil {
		return err
	}
	if len(args) == 0 && !opts.jsonl && opts.expect == nil && g.streams.Interactive() {
		return errors.New(`give a line, such as gate check "git status | head", or - to read lines; gate check --help has more`)
	}
	judge, err := g.open(opts.policy)
	if err != nil {
		return err
	}
	c := &checker{g: g, opts: opts, gate: judge, out: bufio.NewWriter(g.streams.Out), colour: g.streams.Colour(), width: g.streams.Width()}
	fmt.Fprintf(g.streams.Err, "gate: %s\n", cli.Line(provenance(judge.Provenance())))
	switch {
	case opts.expect != nil:
		err = c.expect(ctx)
	case opts.jsonl:
		err = c.objects(ctx)
	case argv:
		err = c.requests(ctx, slices.Values([]gate.Request{{Argv: args}}))
	case len(args) == 0, len(args) == 1 && args[0] == "-":
		err = c.lines(ctx)
	default:
		hintWords(g.streams.Err, args)
		err = c.requests(ctx, func(yield func(gate.Request) bool) {
			for _, line := range args {
				if !yield(gate.Request{Line: line}) {
					return
				}
			}
		})
	}
	if flushErr := c.out.Flush(); flushErr != nil {
		return errors.Join(err, flushErr)
	}
	if err == nil {
		err = cli.Exit(c.code)
	}
	return err
}

// contradiction names options that exclude each other.
func (o *checkOptions) contradiction(args []string) error {
	switch {
	case o.jsonl && len(args) > 0:
		return errors.New("--jsonl reads standard input: give it no line")
	case o.jsonl && (o.json || o.explain || o.expect != nil):
		return errors.New("--jsonl has a form of its own: give it neither --json, --explain nor --expect")
	case o.expect != nil && len(args) > 0:
		return errors.New("--expect takes the lines from the file: give it no other")
	case o.record && o.expect != nil:
		return errors.New("--expect only compares: give it no --record")
	case o.record && o.session == "" && !o.jsonl:
		return errors.New("--record needs the --session in which the line counts as run")
	case o.status >= 0 && !o.record:
		return errors.New("--status says how a line ended that --record counts as run: give both")
	}
	return nil
}

// hintWords tells whoever forgot the quotes.
func hintWords(w io.Writer, args []string) {
	if len(args) > 1 && !strings.ContainsAny(args[0], " \t\n;|&") {
		fmt.Fprintf(w, "gate: each argument is a line of its own; for one line quote it, gate check %q, or write gate check -- %s\n",
			strings.Join(args, " "), cli.Line(strings.Join(args, " ")))
	}
}

// A checker judges requests one after the other and prints the answers.
type checker struct {
	g      *globals
	opts   checkOptions
	gate   *gate.Gate
	out    *bufio.Writer
	colour bool
	width  int // of the terminal; 0: it is none
	code   int // the worst so far
}

// judge fills in what the flags say, judges, and records if that is asked for.
func (c *checker) judge(ctx context.Context, r gate.Request) (gate.Request, gate.Decision, error) {
	if r.Cwd == "" {
		r.Cwd = c.opts.cwd
	}
	if r.Session == "" {
		r.Session = c.opts.session
	}
	r.Client, r.Unattended, r.Env = c.opts.client, c.opts.unattended, c.g.lookupEnv
	d := c.gate.Check(ctx, r)
	if err := ctx.Err(); err != nil {
		return r, d, err
	}
	if c.opts.record && d.Action == gate.Allow {
		outcome := gate.Outcome{}
		if c.opts.status >= 0 {
			outcome.Status = &c.opts.status
		}
		if err := c.gate.Record(ctx, r, d, outcome); err != nil {
			return r, d, fmt.Errorf("record the line: %w", err)
		}
	}
	return r, d, nil
}

// count keeps the worst exit code. A gate that could not do its work is a fault, though its answer is a refusal.
func (c *checker) count(d gate.Decision) {
	switch {
	case slices.ContainsFunc(d.Reasons, func(r gate.Reason) bool { return r.Stage == gate.StageFault }) || c.gate.Problem() != nil:
		c.code = cli.Unknown
	case d.Action != gate.Allow:
		c.code = max(c.code, cli.No)
	}
}

// requests judges what comes and prints each answer before it waits for the next request.
func (c *checker) requests(ctx context.Context, requests func(func(gate.Request) bool)) error {
	doc := checkJSON{Schema: "gatehouse/check/v1", Policy: policyJSON(c.gate.Provenance()), Lines: []checkedJSON{}}
	for request := range requests {
		r, d, err := c.judge(ctx, request)
		if err != nil {
			return err
		}
		c.count(d)
		if c.opts.json {
			doc.Lines = append(doc.Lines, checkedAll(r, d))
			continue
		}
		c.print(r, d)
		if c.opts.explain {
			c.explain(r, d)
		}
		if err := c.out.Flush(); err != nil {
			return err
		}
	}
	if c.opts.json {
		return cli.PrintJSON(c.out, doc)
	}
	return nil
}
