package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

type acceptOptions struct {
	yes  bool
	why  string
	json bool
	log  bool
	id   string
}

// decisionTimeout bounds what a decision does after it was made. The person's time to read is not in it.
const decisionTimeout = 2 * time.Minute

func newAcceptCommand(g *globals) *cobra.Command {
	var opts acceptOptions
	cmd := &cobra.Command{
		Use:   "accept [DRIFT]",
		Short: "Commit a drift as the reviewed state and put it in force",
		Long: `Show the diff of a drift, ask, verify everything again, and commit only the vendored directory. What was staged
is hashed once more and the live side is read once more; if either moved on, nothing is accepted. Nor is a policy that the
gate could not read: all that is wrong with it is listed.

A drift that other hosts have is accepted once for all of them: what they published is fetched and judged again, and a
host that moved on is left out and named. Hosts that follow this one take it over.

A drift is named by its id or by its gate; that may be left out while only one is open. --yes does not ask, and needs the id.

With --log and a gate, it is the gate's log of decisions that is accepted as it is now, after it was found shortened or
replaced (log-rewound). What is missing stays missing.`,
		Example: `  warden accept d-0123456789ab
  warden accept d-0123456789ab --yes --why "new deny rule, ticket 42"
  warden accept --log claude --why "the home directory was restored"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = strings.Join(args, "")
			if opts.log {
				return runAcceptLog(cmd.Context(), g, opts)
			}
			return runAccept(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&opts.log, "log", false, "accept that the gate's log of decisions does not go on from what was seen")
	cmd.Flags().StringVar(&opts.why, "why", "", "record the `reason` in the commit, or in the history")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the outcome as JSON; needs --yes")
	return cmd
}

func runAccept(ctx context.Context, g *globals, opts acceptOptions) error {
	if (opts.yes || opts.json) && opts.id == "" {
		return fmt.Errorf("accept without asking needs the id of the drift; \"%s status\" shows it", g.program())
	}
	if opts.json && !opts.yes {
		return errors.New("accept --json cannot ask; add --yes")
	}
	s, err := g.open()
	if err != nil {
		return err
	}
	if far, err := s.findFleet(opts.id); err != nil {
		return g.refused(err)
	} else if far != nil {
		return g.acceptFleet(ctx, s, far, opts)
	}
	drift, err := s.find(opts.id)
	if err != nil {
		return g.refused(err)
	}
	if opts.yes && opts.id == drift.Gate.Name {
		return fmt.Errorf("--yes needs the id of the drift and not the gate: what is open may have changed since you looked; "+
			"it is %s now", drift.Report.ID)
	}
	if !opts.yes {
		if err := g.confirm(ctx, s, drift); err != nil {
			return err
		}
	}
	done, err := within(ctx, decisionTimeout, func(ctx context.Context) (outcome, error) {
		commit, pass, err := s.warden.Accept(ctx, drift.Gate, drift.Report.Fingerprint, decided(g.streams.Getenv, opts.why))
		return outcome{"accept", commit, pass}, err
	})
	if err != nil {
		return errors.Join(g.refused(err), g.leave(s))
	}
	return g.finish(s, done, opts.json, fmt.Sprintf("accepted %s of gate %s in commit %.12s",
		reconcile.DriftID(drift.Report.Fingerprint), drift.Gate.Name, done.commit))
}

// confirm shows the diff and asks. Without a terminal there is nobody to ask.
func (g *globals) confirm(ctx context.Context, s *site, drift *reconcile.Drift) error {
	if !g.streams.Interactive() {
		return fmt.Errorf("accept asks on a terminal, and this is none; read the diff (%s diff %s), then: %[1]s accept %[2]s --yes",
			g.program(), reconcile.DriftID(drift.Report.Fingerprint))
	}
	if err := g.showDrift(s, drift); err != nil {
		return err
	}
	if changes := drift.Report.Changes; len(changes) > 1 {
		fmt.Fprintf(g.streams.Out, "\n%s:\n", count(len(changes), "change"))
		printChanges(g.streams.Out, changes)
	}
	for _, f := range drift.Report.Findings {
		fmt.Fprintf(g.streams.Out, "\n%s: %s\n", f.Result, cli.Line(f.Reason))
	}
	if g.agreed(ctx, fmt.Sprintf("\nAccept %s of gate %s?", reconcile.DriftID(drift.Report.Fingerprint), drift.Gate.Name)) {
		return nil
	}
	fmt.Fprintln(g.streams.Out, "not accepted")
	return cli.Exit(cli.No)
}

// agreed asks a person, who has to say yes.
func (g *globals) agreed(ctx context.Context, question string) bool {
	fmt.Fprintf(g.streams.Out, "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(g.streams.In).ReadString('\n') // the end of input is a no
		answers <- answer
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(g.streams.Out)
	case answer := <-answers:
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true
		}
	}
	return false
}

// find returns the drift that id stands for: an id, the name of a gate, or nothing where only one is open.
func (s *site) find(id string) (*reconcile.Drift, error) {
	drift, err := s.warden.Find(s.gates, id)
	if err == nil || id == "" {
		return drift, err
	}
	_, unknown := s.selected([]string{id})
	word := strings.Trim(strings.TrimPrefix(id, "d-"), "0123456789abcdef") != ""
	switch {
	case unknown == nil:
		return nil, fmt.Errorf("%w: none of gate %s is open", reconcile.ErrNoDrift, id)
	case word && !strings.HasPrefix(id, "c-"):
		return nil, fmt.Errorf("%w; the id of a drift is d- and 8 digits or more", unknown)
	}
	return nil, err
}

// refused shows a "no" that is about what was asked for and not a fault, and gives it its exit code.
func (g *globals) refused(err error) error {
	if policy := new(reconcile.PolicyError); errors.As(err, &policy) {
		fmt.Fprintf(g.streams.Err, "warden: the policy of gate %s does not compile; nothing was changed:\n", policy.Gate)
		for _, problem := range policy.Problems {
			fmt.Fprintf(g.streams.Err, "  %s\n", cli.Line(problem))
		}
		return cli.Exit(cli.No)
	}
	no := func(target error) bool { return errors.Is(err, target) }
	if !slices.ContainsFunc([]error{reconcile.ErrNotAcceptable, reconcile.ErrNoDrift, reconcile.ErrNotGranted, reconcile.ErrNotRevoked}, no) {
		return err
	}
	g.complain(err)
	return cli.Exit(cli.No)
}
