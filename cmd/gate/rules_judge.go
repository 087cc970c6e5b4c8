package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/call"
	"gatehouse/gate/rules"
	"gatehouse/internal/cli"
)

type rulesJudgeOptions struct {
	source ruleSource
	cwd    string
	json   bool
}

func newRulesJudgeCommand(g *globals) *cobra.Command {
	var opts rulesJudgeOptions
	cmd := &cobra.Command{
		Use:   "judge TRACE",
		Short: "Judge calls that were made by the rules, and give a score",
		Long: `Judge a trace: the calls of a run, in order. The file holds one JSON object a line, or one array; - is standard input. A call
is {"name", "args", "status", "result"}, or as AgentLTL writes it {"tool_name", "arguments", "id", "cli", "result"}; all but
the name may be missing, and other keys are not looked at. A call of a shell tool with its command is taken apart into the
calls of that line.

Every call is judged with those before it; one that breaks a rule counts as run all the same. The score is the part of the
rules that were kept: 1 is FULL, 0 is VIOLATION, anything between is PARTIAL. The exit code is 1 if a rule was broken.`,
		Example: `  gate rules judge trace.jsonl
  gate rules judge --use tests-before-push,no-force-push --json trace.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runRulesJudge(g, opts, args[0]) },
	}
	opts.source.flags(cmd)
	cmd.Flags().StringVar(&opts.cwd, "cwd", "/project", "the project `directory` in which the calls were made")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the judgement as JSON")
	return cmd
}

// A judgement is what rules say of a trace.
type judgement struct {
	Schema  string       `json:"schema"`
	Score   float64      `json:"score"`
	Label   string       `json:"label"`
	Calls   []string     `json:"calls"` // their names
	Unread  []unreadDoc  `json:"unread,omitempty"`
	Rules   []judgedRule `json:"rules"`
	Broken  int          `json:"broken"`
	Skipped int          `json:"skipped,omitempty"` // calls that did not run
}

// An unreadDoc is a line of a shell tool that could not be taken apart; it counts as one call of that tool.
type unreadDoc struct {
	Line  string `json:"line"`
	Error string `json:"error"`
}

type judgedRule struct {
	ruleDoc
	Passed bool        `json:"passed"`
	Breaks []brokenDoc `json:"breaks,omitempty"`
}

type brokenDoc struct {
	Call  int    `json:"call"` // index in calls; -1: the end
	Name  string `json:"name,omitempty"`
	Text  string `json:"text"`
	Maybe bool   `json:"maybe,omitempty"`
}

func runRulesJudge(g *globals, opts rulesJudgeOptions, name string) error {
	book, err := g.ruleBook(opts.source)
	if err != nil {
		return err
	}
	if len(book.rules) == 0 {
		return errors.New("there are no rules to judge by: gate rules library lists some, --use takes them")
	}
	records, err := g.readRecords(name)
	if err != nil {
		return err
	}
	cwd, err := directory(opts.cwd)
	if err != nil {
		return err
	}
	j, err := book.judge(records, cwd, g.streams.Getenv("HOME"))
	if err != nil {
		return err
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, j)
	} else {
		err = j.print(g.streams.Out)
	}
	if err == nil && j.Broken > 0 {
		err = cli.Exit(cli.No)
	}
	return err
}

// A traceRecord is one call of a trace, in our format or in AgentLTL's.
type traceRecord struct {
	Name      string          `json:"name"`
	ToolName  string          `json:"tool_name"`
	Args      json.RawMessage `json:"args"`
	Arguments json.RawMessage `json:"arguments"`
	ToolArgs  json.RawMessage `json:"tool_args"`
	Status    *int            `json:"status"`
	Result    any             `json:"result"`
	Known     call.Known      `json:"known"`
	CLI       *struct {
		Env   map[string]string `json:"env"`
		Index int               `json:"index"`
	} `json:"cli"`
}

func (r *traceRecord) name() string {
	if r.Name != "" {
		return r.Name
	}
	return r.ToolName
}

// args are the arguments: an object, or a text that is one.
func (r *traceRecord) args() (map[string]any, error) {
	for _, raw := range []json.RawMessage{r.Args, r.Arguments, r.ToolArgs} {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			raw = json.RawMessage(text)
		}
		var args map[string]any
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, fmt.Errorf("the arguments of %s are no object", r.name())
		}
		return args, nil
	}
	return map[string]any{}, nil
}

func (g *globals) readRecords(name string) ([]traceRecord, error) {
	data, from := []byte(nil), name
	var err error
	if name == "-" {
		from = "standard input"
		data, err = io.ReadAll(g.streams.In)
	} else {
		data, err = readSmall(name)
	}
	if err != nil {
		return nil, fmt.Errorf("trace %s: %w", from, err)
	}
	records := []traceRecord{}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		if err := json.Unmarshal(text, &records); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	} else {
		number := 0
		for line := range bytes.Lines(data) {
			number++
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var r traceRecord
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", from, number, err)
			}
			records = append(records, r)
		}
	}
	for i := range records {
		if records[i].name() == "" {
			return nil, fmt.Errorf("%s: call %d has no name", from, i)
		}
	}
	return records, nil
}

// judge plays a trace to the rules.
func (b *ruleBook) judge(records []traceRecord, cwd, home string) (*judgement, error) {
	j := &judgement{Schema: "gatehouse/judge/v1", Calls: []string{}}
	trial := b.trial(cwd, home)
	breaks := make(map[string][]brokenDoc)
	note := func(verdicts []rules.Verdict, at int) {
		for _, v := range verdicts {
			broken := brokenDoc{Call: -1, Text: v.Text, Maybe: v.Maybe}
			if v.Event >= 0 {
				broken.Call = at + v.Event
				broken.Name = j.Calls[broken.Call]
			}
			breaks[v.Rule] = append(breaks[v.Rule], broken)
		}
	}
	for i := range records {
		events, err := j.events(trial, &records[i])
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		at := len(j.Calls)
		for _, e := range events {
			j.Calls = append(j.Calls, e.Name)
		}
		env := trial.surroundings()
		note(b.set.Judge(trial.memories(), events, env), at)
		if err := b.set.Record(trial.memories(), events, env); err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
	}
	verdicts, err := b.set.Finish(trial.memories())
	if err != nil {
		return nil, err
	}
	note(verdicts, len(j.Calls))
	j.count(b.rules, breaks)
	return j, nil
}

// events are what one record stands for.
func (j *judgement) events(trial *ruleTrial, r *traceRecord) ([]rules.Event, error) {
	if r.Known == call.DidNotRun {
		j.Skipped++
		return nil, nil
	}
	args, err := r.args()
	if err != nil {
		return nil, err
	}
	s := step{tool: r.name(), args: args}
	line, isShell := shellCommand(s.tool, args)
	if !isShell {
		e := rules.Tool(s.tool, args, trial.cwd)
		if r.CLI != nil {
			var env []any
			for name, value := range r.CLI.Env {
				env = append(env, name+"="+value)
			}
			if len(env) > 0 {
				e.Args["prefix_env"] = env
			}
		}
		e.Status, e.Doubt = r.Status, r.Known == call.MaybeRan
		if r.Result != nil {
			e.Result, e.HasResult = r.Result, true
		}
		return []rules.Event{e}, nil
	}
	events, calls, err := trial.events(s)
	if err != nil {
		j.Unread = append(j.Unread, unreadDoc{line, err.Error()})
		e := rules.Tool(s.tool, args, trial.cwd)
		e.Status = r.Status
		return []rules.Event{e}, nil
	}
	ran := events[:0]
	outcomes := call.Outcomes(line, calls, r.Status)
	for _, e := range events {
		if o := outcomes[e.Call]; o.Known != call.DidNotRun {
			e.Doubt, e.Status = o.Known != call.Ran, o.Status
			ran = append(ran, e)
		}
	}
	return ran, nil
}

func (j *judgement) count(all []rules.Rule, breaks map[string][]brokenDoc) {
	j.Rules = []judgedRule{}
	for _, r := range all {
		judged := judgedRule{ruleDoc: ruleDocument(r), Breaks: breaks[r.ID]}
		if judged.Passed = len(judged.Breaks) == 0; !judged.Passed {
			j.Broken++
		}
		j.Rules = append(j.Rules, judged)
	}
	j.Score = float64(len(all)-j.Broken) / float64(len(all))
	switch j.Broken {
	case 0:
		j.Label = "FULL"
	case len(all):
		j.Label = "VIOLATION"
	default:
		j.Label = "PARTIAL"
	}
}

func (j *judgement) print(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, u := range j.Unread {
		fmt.Fprintln(out, cli.Line(fmt.Sprintf("not understood: %s: %s", u.Line, u.Error)))
	}
	for _, r := range j.Rules {
		word := "kept"
		if !r.Passed {
			word = "BROKEN"
		}
		fmt.Fprintln(out, cli.Line(fmt.Sprintf("%-7s %s (%s)", word, r.ID, r.At)))
		for _, b := range r.Breaks {
			where := "at the end"
			if b.Call >= 0 {
				where = fmt.Sprintf("by call [%d] %s", b.Call, b.Name)
			}
			fmt.Fprintln(out, cli.Line("  "+strings.TrimSuffix(where+": "+b.Text, ": ")))
		}
	}
	fmt.Fprintf(out, "%s: %d of %d rules kept over %d calls, score %.6g\n", j.Label, len(j.Rules)-j.Broken, len(j.Rules), len(j.Calls), j.Score)
	return out.Flush()
}
