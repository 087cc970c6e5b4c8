package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/rules"
	"gatehouse/internal/cli"
)

type rulesTestOptions struct {
	source  ruleSource
	explain bool
	json    bool
}

func newRulesTestCommand(g *globals) *cobra.Command {
	var opts rulesTestOptions
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Judge the lines of a file, and compare with what it expects",
		Long: `Judge the lines of a file one after the other. Before a line stands what should be answered; a line that is allowed counts
as run for those that follow. Nothing is run, no disk is looked at, and no memory is kept. - is standard input.

  deny: git push               # allow, deny, ask, stop or note; without one of them the answer is shown
  allow: pytest
  allow: git push
  fail: pytest                 # is allowed, and exits with 1
  agreed: npm install x        # is asked about, and the person agrees
  ask: Edit {"file_path": "a"} # a tool of the client, with its arguments
  @exists a.go src/b.go        # these files exist; nothing else does, but for what lines that ran have written
  @prompt                      # the person speaks, which lifts a stop
  allow: @finish               # the turn ends
  @session                     # another session of the same project
  ---                          # everything is forgotten

The exit code is 1 if an answer is not as expected.`,
		Example: `  gate rules test lines.txt
  gate rules test --use no-force-push,tests-before-push lines.txt
  echo "deny: git push --force" | gate rules test --use no-force-push -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runRulesTest(g, opts, args) },
	}
	opts.source.flags(cmd)
	cmd.Flags().BoolVar(&opts.explain, "explain", false, "say of every line which rules speak against it")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the answers as JSON")
	return cmd
}

// A stepDoc is the answer to a step in JSON.
type stepDoc struct {
	At       string       `json:"at"`
	Step     string       `json:"step"`
	Expected string       `json:"expected,omitempty"`
	Answer   string       `json:"answer"`
	Pass     bool         `json:"pass"`
	Verdicts []verdictDoc `json:"verdicts,omitempty"`
}

type verdictDoc struct {
	Rule   string `json:"rule,omitempty"`
	At     string `json:"at,omitempty"`
	Action string `json:"action"`
	Call   int    `json:"call"` // -1: the line as a whole
	Text   string `json:"text"`
	Maybe  bool   `json:"maybe,omitempty"`
	Why    string `json:"why,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

func verdictDocument(v rules.Verdict) verdictDoc {
	return verdictDoc{v.Rule, v.At, actionName(v.Action), v.Call, v.Text, v.Maybe, v.Why, v.Fix}
}

func runRulesTest(g *globals, opts rulesTestOptions, names []string) error {
	book, err := g.ruleBook(opts.source)
	if err != nil {
		return err
	}
	if len(book.rules) == 0 {
		return errors.New("there are no rules to test: gate rules library lists some, --use takes them for a test")
	}
	var errs []error
	var files [][]step
	for _, name := range names {
		steps, err := g.readSteps(name)
		errs = append(errs, err)
		files = append(files, steps)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	out := bufio.NewWriter(g.streams.Out)
	doc := struct {
		Schema string    `json:"schema"`
		Passed int       `json:"passed"`
		Failed int       `json:"failed"`
		Steps  []stepDoc `json:"steps"`
	}{Schema: "gatehouse/rules-test/v1", Steps: []stepDoc{}}
	for _, steps := range files {
		trial := book.trial("/project", "/home/user")
		for _, s := range steps {
			answer, verdicts := trial.play(s)
			if answer == "" {
				continue
			}
			got := answered(s, answer, verdicts)
			doc.Steps = append(doc.Steps, got)
			switch {
			case s.expect == "":
			case got.Pass:
				doc.Passed++
			default:
				doc.Failed++
			}
			if !opts.json {
				opts.print(out, got)
			}
		}
	}
	if opts.json {
		err = cli.PrintJSON(out, doc)
	} else if doc.Passed+doc.Failed > 0 {
		fmt.Fprintf(out, "%d of %d lines are answered as expected\n", doc.Passed, doc.Passed+doc.Failed)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	if doc.Failed > 0 {
		return cli.Exit(cli.No)
	}
	return nil
}

func (g *globals) readSteps(name string) ([]step, error) {
	if name != "-" {
		data, err := readSmall(name)
		if err != nil {
			return nil, err
		}
		return parseSteps(name, data)
	}
	data, err := io.ReadAll(io.LimitReader(g.streams.In, 2<<20))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return parseSteps("standard input", data)
}

func answered(s step, answer string, verdicts []rules.Verdict) stepDoc {
	got := stepDoc{At: s.at, Step: s.text, Expected: expected(s.expect), Answer: answer, Pass: true}
	if s.expect != "" {
		got.Pass = answer == got.Expected || answer == "note" && got.Expected == "allow"
	}
	for _, v := range verdicts {
		got.Verdicts = append(got.Verdicts, verdictDocument(v))
	}
	return got
}

// print shows an answer that nobody expects, or that nobody foretold.
func (opts rulesTestOptions) print(out io.Writer, got stepDoc) {
	if got.Expected != "" && got.Pass && !opts.explain {
		return
	}
	word := strings.ToUpper(got.Answer)
	if !got.Pass {
		word = "FAIL"
	}
	fmt.Fprintln(out, cli.Line(fmt.Sprintf("%-6s %s", word, got.Step)))
	if !got.Pass {
		fmt.Fprintln(out, cli.Line(fmt.Sprintf("  %s expects %s, the rules say %s", got.At, got.Expected, got.Answer)))
	}
	for _, v := range got.Verdicts {
		fmt.Fprintln(out, cli.Line("  "+v.line()))
	}
}

func (v verdictDoc) line() string {
	text := v.Text
	if v.Maybe {
		text += ", as far as is known"
	}
	if v.Rule == "" {
		return text
	}
	return fmt.Sprintf("%s (%s): %s", v.Rule, v.At, text)
}
