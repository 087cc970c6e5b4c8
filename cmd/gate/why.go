package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/gate"
	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
)

func newWhyCommand(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why DECISION",
		Short: "Explain one decision: what was asked, and what each stage said",
		Long: `Explain the decision with this id, which every refusal names (c- and 12 hex digits; the first 4 will do where no other
decision begins with them). It is read from your decision log and not judged again: it is what the gate said then.`,
		Example: `  gate why c-3f9a1c04b7de
  gate why 3f9a --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return g.why(cmd.Context(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

// callState is where gatehouse-call.service keeps what it takes, below the uid of the caller.
const callState = "/var/lib/gatehouse-call"

// orOfTheService says where else a decision that the caller's log does not have can be.
func orOfTheService(err error, state, id string) error {
	if _, missing := os.Stat(state); missing != nil || !errors.Is(err, ledger.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w; of a call that the service took root sees it: sudo env HOME=%s/%d gate why %s", err, state, os.Getuid(), cli.Line(id))
}

func (g *globals) why(ctx context.Context, id string, asJSON bool) error {
	if drift, ok := strings.CutPrefix(id, "d-"); ok {
		return fmt.Errorf("%s is a drift and no decision; root sees it with: warden diff d-%s", cli.Printable(id), cli.Line(drift))
	}
	l, err := g.log()
	if err != nil {
		return err
	}
	history, err := l.History(ctx, id)
	if err != nil {
		return orOfTheService(err, callState, id)
	}
	e, after := history[0], history[1:]
	same, err := sameRequest(ctx, l, e)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema   string          `json:"schema"`
			Decision *ledger.Entry   `json:"decision"`
			After    []*ledger.Entry `json:"after"`
			Same     []string        `json:"same"`
		}{"gatehouse/why/v1", e, append([]*ledger.Entry{}, after...), append([]string{}, same...)})
	}
	g.printWhy(e, after, same)
	return nil
}

// sameRequest lists the other decisions of the session about the same request under the same policy, oldest first.
func sameRequest(ctx context.Context, l ledger.Log, e *ledger.Entry) (ids []string, err error) {
	if e.Subject == "" {
		return nil, nil
	}
	err = l.Each(ctx, func(line ledger.Line) error {
		if o := line.Entry; o != nil && o.Kind == ledger.Decision && o.Subject == e.Subject && o.Session == e.Session && o.ID != e.ID {
			ids = append(ids, o.ID)
		}
		return nil
	})
	return ids, err
}

func (g *globals) printWhy(e *ledger.Entry, after []*ledger.Entry, same []string) {
	out := g.streams.Out
	row := func(name, text string) {
		for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(out, "  %-8s %s\n", name, cli.Line(line))
		}
	}
	fmt.Fprintf(out, "%s  %s  %s\n", e.ID, strings.TrimSpace(g.entryWord(e)), e.Time.Local().Format("2006-01-02 15:04:05 MST"))
	row("asked", judgedText(e))
	if e.Redacted {
		row("", "(it held a credential, which is not kept)")
	}
	if e.Cut {
		row("", "(it is not kept as a whole)")
	}
	row("in", e.Cwd)
	row("by", asker(e))
	row("policy", policyText(e))
	if e.Took > 0 {
		row("took", e.Took.Round(10*time.Microsecond).String())
	}
	fmt.Fprintln(out)
	printStages(out, e)
	if e.Would != "" {
		row("observe", "the policy only observes; enforced it would be "+strings.ToUpper(string(e.Would)))
	}
	if e.Granted != "" {
		row("grant", e.Granted)
	}
	if len(after) > 0 || len(same) > 0 {
		fmt.Fprintln(out)
	}
	for _, ran := range after {
		row("after", fmt.Sprintf("%s (%s)", ranText(ran), ran.Time.Local().Format("15:04:05")))
	}
	if len(same) > 0 {
		row("same", fmt.Sprintf("asked %d more times in this session: %s", len(same), strings.Join(same[max(0, len(same)-5):], ", ")))
	}
	if e.Verdict == ledger.Deny && e.Gate != "" && !e.Redacted && !e.Cut && !protects(e) {
		fmt.Fprintf(out, "\nOnly root can make an exception: warden grant %s --for 10m\n", e.ID)
	}
}

func asker(e *ledger.Entry) string {
	by := e.Client
	if by == "" {
		by = "a person"
	}
	if e.Session != "" {
		by += ", session " + e.Session
	}
	return by
}

func policyText(e *ledger.Entry) string {
	text := e.PolicyFrom
	switch {
	case e.PolicyMode == gate.ModeNone || e.PolicyMode == "" && text == "":
		text = "none that counts"
	case e.PolicyMode == gate.ModeAccepted:
		text += fmt.Sprintf(": root's accepted copy of gate %s", e.Gate)
	case e.PolicyMode == gate.ModeGiven:
		text += ": named on the command line"
	default:
		text += ": live files"
	}
	if e.PolicyTree != "" {
		text += fmt.Sprintf(", tree %.12s", e.PolicyTree)
	}
	return text
}

// pipeline is the order in which the gate asks.
var pipeline = []gate.Stage{
	gate.StagePolicy, gate.StageShell, gate.StageProtect, gate.StageEntry, gate.StageBinary, gate.StageFlags, gate.StageEnv,
	gate.StagePaths, gate.StageDynamic, gate.StageRules,
}

// printStages shows what each stage said, also where that was nothing. What comes after a line that could not be taken
// apart was never asked.
func printStages(out io.Writer, e *ledger.Entry) {
	reached := true
	for _, stage := range pipeline {
		said := stageReasons(e, stage)
		switch {
		case len(said) > 0:
			for _, r := range said {
				printStage(out, stage, r, e)
			}
		case reached:
			note := "ok"
			if stage == gate.StageShell && len(e.Calls) > 0 {
				note += "  " + shorten(strings.Join(e.Calls, ", "), 160)
			}
			fmt.Fprintf(out, "  %-8s %s\n", stage, cli.Line(note))
		default:
			fmt.Fprintf(out, "  %-8s not asked\n", stage)
		}
		if (stage == gate.StagePolicy || stage == gate.StageShell) && len(said) > 0 && len(e.Calls) == 0 {
			reached = false
		}
	}
	for _, r := range e.Reasons {
		if stage := gate.Stage(r.Stage); !slices.Contains(pipeline, stage) {
			printStage(out, stage, r, e)
		}
	}
}

func stageReasons(e *ledger.Entry, stage gate.Stage) (said []ledger.Reason) {
	for _, r := range e.Reasons {
		if gate.Stage(r.Stage) == stage {
			said = append(said, r)
		}
	}
	return said
}

func printStage(out io.Writer, stage gate.Stage, r ledger.Reason, e *ledger.Entry) {
	text := strings.TrimRight(reasonText(r, e), "\n")
	for i, part := range strings.Split(text, "\n") {
		if i == 0 {
			part = fmt.Sprintf("  %-8s %s  %s", stage, strings.ToUpper(string(r.Action)), cli.Line(part))
		} else {
			part = "             " + cli.Line(part)
		}
		fmt.Fprintln(out, part)
	}
	for _, more := range []struct{ name, text string }{{"why", r.Why}, {"instead", r.Fix}, {"hint", r.Hint}} {
		if more.text != "" {
			fmt.Fprintf(out, "             %s: %s\n", more.name, cli.Line(more.text))
		}
	}
}

// protects reports whether the gate's own files were at stake: that root lets nobody.
func protects(e *ledger.Entry) bool { return len(stageReasons(e, gate.StageProtect)) > 0 }
