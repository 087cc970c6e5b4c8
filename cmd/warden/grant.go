package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

type grantOptions struct {
	lasting  time.Duration
	gate     string
	log      string
	subject  string
	why      string
	yes      bool
	json     bool
	decision string
}

func newGrantCommand(g *globals) *cobra.Command {
	var opts grantOptions
	cmd := &cobra.Command{
		Use:   "grant DECISION",
		Short: "Let one refused call through for a time",
		Long: `Show a call that the gate refused, or wants somebody to be asked about, and ask whether it may run after all. The
exception is for this very text, in this very directory, under this very policy, for a time, on this boot of the host.

The call is read from the log of the gate's user, which that user can write: what is shown is what it would be for, and
everything else in the log is hearsay. An agent can make two calls that share an id, so --yes, which does not ask, needs
the whole subject of the call, as it is shown.`,
		Example: `  warden grant c-0123456789ab --for 10m
  warden grant list
  warden grant revoke g-0123456789ab`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.decision = args[0]
			return runGrant(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().DurationVar(&opts.lasting, "for", 10*time.Minute, "how long, such as 10m; at most 24h")
	cmd.Flags().StringVar(&opts.gate, "gate", "", "look only in the log of this gate's user")
	cmd.Flags().StringVar(&opts.log, "log", "", "the `directory` of that log, where it is not below ~/.local/state/gatehouse; needs --gate")
	cmd.Flags().StringVar(&opts.subject, "subject", "", "the `digest` of the call, which --yes needs")
	cmd.Flags().StringVar(&opts.why, "why", "", "record the `reason` in the history")
	cmd.Flags().BoolVar(&opts.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the exception as JSON; needs --yes")
	cmd.AddCommand(newGrantListCommand(g), newGrantRevokeCommand(g))
	return cmd
}

func runGrant(ctx context.Context, g *globals, opts grantOptions) error {
	switch {
	case opts.lasting <= 0 || opts.lasting > reconcile.LongestGrant:
		return fmt.Errorf("grant needs --for, more than 0 and at most %v; what is needed for longer belongs into the policy", reconcile.LongestGrant)
	case opts.yes && len(opts.subject) != 64:
		return errors.New("grant --yes needs --subject with all 64 digits, as the same command shows it without --yes")
	case opts.json && !opts.yes:
		return errors.New("grant --json cannot ask; add --yes")
	case opts.log != "" && opts.gate == "":
		return errors.New("grant --log needs --gate: whose log is it?")
	}
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	call, err := within(ctx, decisionTimeout, func(ctx context.Context) (*refusedCall, error) { return s.findRefused(ctx, opts) })
	if err != nil {
		return g.refused(err)
	}
	if opts.subject != "" && opts.subject != call.subject {
		return g.refused(fmt.Errorf("%w: the subject of %s is %s, and not the one that --subject has", reconcile.ErrNotGranted,
			call.entry.ID, call.subject))
	}
	if !opts.yes {
		g.showRefused(call)
		if !g.streams.Interactive() {
			return fmt.Errorf("grant asks on a terminal, and this is none; read the call above, then: %s grant %s --for %s --yes --subject %s",
				g.program(), call.entry.ID, inWords(opts.lasting), call.subject)
		}
		if !g.agreed(ctx, fmt.Sprintf("\nLet it through for %s?", inWords(opts.lasting))) {
			fmt.Fprintln(g.streams.Out, "not granted")
			return cli.Exit(cli.No)
		}
	}
	type granted struct {
		grant *reconcile.Grant
		pass  *reconcile.Pass
	}
	done, err := within(ctx, decisionTimeout, func(ctx context.Context) (granted, error) {
		grant, pass, err := s.warden.Grant(ctx, call.gate, call.grant(), opts.lasting, decided(g.streams.Getenv, opts.why))
		return granted{grant, pass}, err
	})
	if err != nil {
		return g.refused(err)
	}
	g.printDelivery(done.pass.Delivery)
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, grantsJSON{grantsSchema, []grantRow{rowOf(*done.grant)}})
	} else {
		fmt.Fprintf(g.streams.Out, "granted %s until %s; to end it before: %s grant revoke %[1]s\n", done.grant.ID(),
			done.grant.ExpiresAt.Local().Format(clockFormat), g.program())
	}
	return errors.Join(err, g.handOver())
}

// showRefused shows what an exception would be for. All of it but what is named first stands in the subject, so it
// cannot be other than it is shown.
func (g *globals) showRefused(c *refusedCall) {
	w := g.streams.Out
	e := c.entry
	fmt.Fprintf(w, "gate     %s, policy %.12s\n", c.gate.Name, e.PolicyTree)
	fmt.Fprintf(w, "in       %s\n", cli.Line(e.Cwd))
	for i, line := range strings.Split(c.text(), "\n") {
		label := "call    "
		if i > 0 {
			label = "        "
		}
		fmt.Fprintf(w, "%s│ %s\n", label, cli.Line(line))
	}
	if exact := strconv.QuoteToASCII(c.text()); exact != `"`+c.text()+`"` {
		fmt.Fprintf(w, "exactly  %s\n", exact)
	}
	fmt.Fprintf(w, "subject  %s\n", c.subject)
	fmt.Fprintf(w, "\nThe log of %s, which that user can write, has it as %s of %s by %s:\n", cli.Printable(c.user), e.ID,
		e.Time.Local().Format(clockFormat), cli.Printable(e.Client))
	for i, r := range e.Reasons {
		if i == maxReasons {
			fmt.Fprintf(w, "  and %d more\n", len(e.Reasons)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", cli.Line(reasonText(&r)))
	}
}

const maxReasons = 5

func reasonText(r *ledger.Reason) string {
	text := strings.ToUpper(string(r.Action)) + " " + r.Text
	if at := strings.TrimSpace(r.Rule + " " + r.At); at != "" {
		text += " (" + at + ")"
	}
	return text
}
