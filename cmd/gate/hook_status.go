package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/wiring"
	"gatehouse/internal/cli"
)

func newHookStatusCommand(g *globals) *cobra.Command {
	var opts hookOptions
	cmd := &cobra.Command{
		Use:   "status [CLIENT... | --all]",
		Short: "Say which agent clients ask the gate, and what switches that off",
		Long: `Look at everything that is known to keep a client from asking the gate: settings that do not name it or name another,
files of the repository that switch hooks off, a hook that Codex does not trust, settings that a client ignores as a
whole, administrator files that others can write, plugins that are not the ones that ship. Each comes with the way out.
Without CLIENT, all that this user has. Settings prove that a client was told to ask, not that it does: gate hook test.

Exit codes: 0 each of them asks the gate, 1 one does not or something would get past it, 2 something could not be told.`,
		Example: `  gate hook status
  gate hook status codex --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				opts.all = true
			}
			return runHookStatus(cmd.Context(), g, opts, args)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&opts.all, "all", false, "every client that this user has (the default)")
	set.BoolVar(&opts.json, "json", false, "print the result as JSON")
	set.StringVar(&opts.codex, "codex", "", "the codex `program` that is asked which hooks it trusts (that on PATH)")
	return cmd
}

func runHookStatus(ctx context.Context, g *globals, o hookOptions, args []string) error {
	h, err := g.hookHost(wiring.User)
	if err != nil {
		return err
	}
	names, err := hookClientsOf(h, o, args)
	if err != nil {
		return err
	}
	reports := []wiring.Report{}
	var problem error
	for _, name := range names {
		hooks, err := codexHooks(ctx, h, o, name)
		problem = errors.Join(problem, err)
		r, err := h.Status(name, hooks)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	code := cli.Yes
	for _, r := range reports {
		if !r.InForce || slices.ContainsFunc(r.Findings, func(f wiring.Finding) bool { return f.Weight == wiring.Weak }) {
			code = cli.No
		}
	}
	if o.json {
		err := cli.PrintJSON(g.streams.Out, struct {
			Schema  string          `json:"schema"`
			Clients []wiring.Report `json:"clients"`
		}{"gatehouse/hook-status/v1", reports})
		return errors.Join(err, cli.Exit(code))
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(g.streams.Out)
		}
		g.printHookReport(r)
	}
	if len(reports) == 0 {
		fmt.Fprintln(g.streams.Out, "no agent client keeps its settings in this home directory")
	}
	if problem != nil {
		fmt.Fprintln(g.streams.Err, cli.Line(problem.Error()))
	}
	return cli.Exit(code)
}

// codexHooks asks the codex program what it trusts, where the client is Codex and has settings of its user's.
func codexHooks(ctx context.Context, h wiring.Host, o hookOptions, name string) ([]wiring.CodexHook, error) {
	if name != "codex" {
		return nil, nil
	}
	codex := o.codex
	if codex == "" {
		found, err := program("codex")
		if err != nil {
			return nil, nil
		}
		codex = found
	}
	return h.CodexHooks(ctx, codex)
}

// hookReports says of every client that the user has whether it asks the gate. No program is started for it.
func (g *globals) hookReports() ([]wiring.Report, error) {
	h, err := g.hookHost(wiring.User)
	if err != nil {
		return nil, err
	}
	var reports []wiring.Report
	for _, name := range h.Present() {
		r, err := h.Status(name, nil)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func (g *globals) printHookReport(r wiring.Report) {
	colour := func(code, text string) string {
		if !g.streams.Colour() {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	word := colour("31", "DOES NOT ASK")
	if r.InForce {
		word = colour("32", "asks the gate")
	}
	fmt.Fprintf(g.streams.Out, "%s  %s\n", r.Client, word)
	for _, p := range r.Places {
		if p.State == wiring.Absent {
			continue
		}
		state := string(p.State)
		if p.State == wiring.Unclear {
			state = "unclear"
		}
		fmt.Fprintf(g.streams.Out, "  %-7s  %-7s  %s\n", p.Scope, state, cli.Printable(p.Path))
	}
	for _, f := range r.Findings {
		mark := map[wiring.Weight]string{wiring.Off: colour("31", "OFF "), wiring.Weak: colour("33", "WEAK"), wiring.Note: "note"}[f.Weight]
		text := strings.Split(f.Text, "\n")
		fmt.Fprintf(g.streams.Out, "  %s  %s\n", mark, cli.Line(text[0]))
		for _, line := range text[1:] {
			fmt.Fprintf(g.streams.Out, "        %s\n", cli.Line(line))
		}
		if f.Way != "" {
			fmt.Fprintf(g.streams.Out, "        → %s\n", cli.Line(f.Way))
		}
	}
}
