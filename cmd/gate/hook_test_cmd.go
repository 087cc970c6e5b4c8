package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/wiring"
	"gatehouse/internal/cli"
)

func newHookTestCommand(g *globals) *cobra.Command {
	var opts hookOptions
	cmd := &cobra.Command{
		Use:   "test {CLIENT... | --all}",
		Short: "Prove by the configured hook that a refused command does not run",
		Long: `Start the program that a client's settings name, as the client does, with inputs as the client sends them, and read the
answers as the client reads them:

  refused   gate hook remove --all, which no policy can allow an agent
  broken    an input that is cut off: the answer has to be a refusal
  allowed   the first of a few harmless commands that the policy lets pass

Nothing of this runs a command: the hook only answers. The questions stand in the log like others, under the session
proof-of-the-gate. That the client itself asks is shown with the real client and a model that is scripted, by
packaging/clients in the sources.

Exit codes: 0 refused and broken are refused, 1 one of them would run or nothing is told to ask, 2 a fault.`,
		Example: `  gate hook test claude-code
  gate hook test --all --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return runHookTest(cmd.Context(), g, opts, args) },
	}
	set := cmd.Flags()
	set.BoolVar(&opts.all, "all", false, "every client that this user has")
	set.BoolVar(&opts.json, "json", false, "print the result as JSON")
	set.StringVar(&opts.codex, "codex", "", "the codex `program` that is asked which hooks it trusts (that on PATH)")
	return cmd
}

// A hookProof is what came out for one client.
type hookProof struct {
	Client string        `json:"client"`
	Proven bool          `json:"proven"`
	Path   string        `json:"path,omitempty"`
	Argv   []string      `json:"argv,omitempty"`
	Steps  []wiring.Step `json:"steps"`
	Error  string        `json:"error,omitempty"`
	Way    string        `json:"way_out,omitempty"`

	fault bool
}

func runHookTest(ctx context.Context, g *globals, o hookOptions, args []string) error {
	h, err := g.hookHost(wiring.User)
	if err != nil {
		return err
	}
	names, err := hookClientsOf(h, o, args)
	if err != nil {
		return err
	}
	proofs := []hookProof{}
	code := cli.Yes
	for _, name := range names {
		p := proveHook(ctx, h, o, name)
		proofs = append(proofs, p)
		switch {
		case p.fault:
			code = cli.Unknown
		case !p.Proven:
			code = max(code, cli.No)
		}
	}
	if len(names) == 0 {
		code = cli.No
	}
	if o.json {
		err := cli.PrintJSON(g.streams.Out, struct {
			Schema  string      `json:"schema"`
			Clients []hookProof `json:"clients"`
		}{"gatehouse/hook-test/v1", proofs})
		return errors.Join(err, cli.Exit(code))
	}
	for i, p := range proofs {
		if i > 0 {
			fmt.Fprintln(g.streams.Out)
		}
		g.printHookProof(p)
	}
	if len(names) == 0 {
		fmt.Fprintln(g.streams.Out, "no agent client keeps its settings in this home directory")
	}
	return cli.Exit(code)
}

// proveHook asks the configured hook of a client what it has to refuse.
func proveHook(ctx context.Context, h wiring.Host, o hookOptions, name string) hookProof {
	p := hookProof{Client: name, Steps: []wiring.Step{}}
	fail := func(err error) hookProof {
		p.Error, p.fault = err.Error(), true
		return p
	}
	hooks, err := codexHooks(ctx, h, o, name)
	if err != nil {
		return fail(err)
	}
	status, err := h.Status(name, hooks)
	if err != nil {
		return fail(err)
	}
	for _, f := range status.Findings {
		if f.Weight == wiring.Off && !status.InForce {
			p.Error, p.Way = f.Text, f.Way
			return p
		}
	}
	if p.Argv, p.Path, err = h.Hook(name); err != nil {
		p.Error = err.Error()
		return p
	}
	dir, err := os.Getwd()
	if err != nil {
		return fail(err)
	}
	p.Proven = true
	for _, q := range []struct {
		what, line string
		broken     bool
	}{{"refused", "gate hook remove --all", false}, {"broken", "", true}} {
		step, err := h.Ask(ctx, name, p.Argv, q.line, dir, q.broken)
		if err != nil {
			return fail(err)
		}
		step.What = q.what
		p.Steps = append(p.Steps, step)
		p.Proven = p.Proven && !step.Runs
	}
	for _, line := range []string{"true", "pwd", "git status", "ls", "echo ok"} {
		step, err := h.Ask(ctx, name, p.Argv, line, dir, false)
		if err != nil {
			return fail(err)
		}
		if step.Runs {
			step.What, step.Text = "allowed", ""
			p.Steps = append(p.Steps, step)
			return p
		}
	}
	p.Steps = append(p.Steps, wiring.Step{What: "allowed", Text: "the policy lets none of the harmless commands pass that were tried"})
	return p
}

func (g *globals) printHookProof(p hookProof) {
	out := g.streams.Out
	if p.Error != "" {
		fmt.Fprintf(out, "%s  NOT PROVEN: %s\n", p.Client, cli.Line(p.Error))
		if p.Way != "" {
			fmt.Fprintf(out, "  → %s\n", cli.Line(p.Way))
		}
		return
	}
	word := "NOT PROVEN"
	if p.Proven {
		word = "proven"
	}
	fmt.Fprintf(out, "%s  %s, by %s\n  asks: %s\n", p.Client, word, cli.Printable(p.Path), cli.Line(strings.Join(p.Argv, " ")))
	for _, s := range p.Steps {
		answer := "does not run"
		switch {
		case s.Runs:
			answer = "runs"
		case s.What == "allowed":
			answer = s.Text
		}
		what := s.Command
		if s.What == "broken" {
			what = "a cut-off input"
		}
		fmt.Fprintf(out, "  %-8s  %s%s", s.What, cli.Line(what), map[bool]string{true: ": "}[what != ""])
		fmt.Fprintf(out, "%s", answer)
		if s.Micros > 0 {
			fmt.Fprintf(out, " (%.1f ms)", float64(s.Micros)/1000)
		}
		fmt.Fprintln(out)
		if first, _, _ := strings.Cut(s.Said, "\n"); first != "" {
			fmt.Fprintf(out, "            %s\n", cli.Line(first))
		}
		if s.Text != "" && s.What != "allowed" {
			fmt.Fprintf(out, "            %s\n", cli.Line(s.Text))
		}
	}
}
