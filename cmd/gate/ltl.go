package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/ltl"
	"gatehouse/internal/cli"
)

type ltlOptions struct {
	jsonl, json bool
	trace       string
	mode        string
}

// The modes in which a trace is judged.
const (
	completeMode = "complete"
	partialMode  = "partial"
)

func newLTLCommand(g *globals) *cobra.Command {
	var opts ltlOptions
	cmd := &cobra.Command{
		Use:   "ltl [FORMULA]",
		Short: "Judge a trace of calls by a formula of temporal logic",
		Long: `Read a formula over the order of calls and show how it is understood, and what it does to a run that it guards: SAFE
refuses a call only where the call breaks the formula for good, UNSAFE refuses everything until something has happened,
INERT never refuses.

With --trace, judge the calls of a file: one JSON object {"name", "args", "result", "status", "unknown"} a line, or one
array of them. All but the name may be missing; "unknown" lists arguments that are not known, or is true for all.
--mode complete takes the trace as ended: true or false. --mode partial takes it as going on: TRUE, PTRUE, PENDING,
PFALSE or FALSE, and the newest call is refused where that is below PENDING.

With --jsonl each line of standard input is {"formula", "trace": [calls], "mode": "complete" or "partial"}, and each line
of output is, in the same order, {"verdict": true, false or "undecided"}; in partial mode also "value" and "refused". A
line that cannot be judged has the verdict "undecided", "refused": true and the "error". Other keys are not looked at,
and verdicts and errors do not change the exit code.`,
		Example: `  gate ltl 'G(now("git_push") -> O(now("pytest")))'
  gate ltl 'before("plan", "apply")' --trace calls.jsonl --mode partial
  gate ltl --jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runLTL(g, opts, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.jsonl, "jsonl", false, "read objects from standard input, write one verdict a line")
	flags.BoolVar(&opts.json, "json", false, "print one JSON document")
	flags.StringVar(&opts.trace, "trace", "", "judge the calls of this `file`; - is standard input")
	flags.StringVar(&opts.mode, "mode", completeMode, "take the trace as `complete` or partial")
	return cmd
}

func runLTL(g *globals, opts ltlOptions, args []string) error {
	if opts.jsonl {
		if len(args) > 0 || opts.json || opts.trace != "" {
			return errors.New("--jsonl reads formulas and traces from standard input: give it no formula, --json or --trace")
		}
		return judgeObjects(g.streams.In, g.streams.Out)
	}
	if len(args) == 0 {
		return errors.New(`give a formula, such as gate ltl 'G(!now("rm"))', or --jsonl`)
	}
	if opts.mode != completeMode && opts.mode != partialMode {
		return fmt.Errorf("--mode is %s or %s, not %q", completeMode, partialMode, opts.mode)
	}
	f, err := ltl.Parse(args[0], nil)
	if err != nil {
		return err
	}
	class := ltl.Classify(f)
	result := ltlResult{Schema: "gatehouse/ltl/v1", Formula: f.String(), Class: class.String(), Advice: class.Advice()}
	if opts.trace != "" {
		trace, err := readTrace(opts.trace, g.streams.In)
		if err != nil {
			return err
		}
		result.judge(f, trace, opts.mode)
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, result)
	} else {
		err = result.print(g.streams.Out)
	}
	if err != nil {
		return err
	}
	if result.no {
		return cli.Exit(cli.No)
	}
	return nil
}

// An ltlResult is a formula, and what it says of a trace if there is one.
type ltlResult struct {
	Schema    string       `json:"schema"`
	Formula   string       `json:"formula"`
	Class     string       `json:"class"`
	Advice    string       `json:"advice,omitempty"`
	Mode      string       `json:"mode,omitempty"`
	Calls     *int         `json:"calls,omitempty"`
	Verdict   any          `json:"verdict,omitempty"`
	Value     string       `json:"value,omitempty"`
	Refused   *bool        `json:"refused,omitempty"`
	Uncertain bool         `json:"uncertain,omitempty"`
	Fails     []ltlWitness `json:"fails,omitempty"`

	no bool
}

// An ltlWitness is a part that fails. At is the index of a call, from 0, or null for the trace as a whole.
type ltlWitness struct {
	Formula string `json:"formula"`
	At      *int   `json:"at"`
	Call    string `json:"call,omitempty"`
	Value   string `json:"value"`
	New     bool   `json:"new"`
}

func (r *ltlResult) judge(f ltl.Formula, trace []ltl.Event, mode string) {
	n := len(trace)
	r.Mode, r.Calls = mode, &n
	if mode == completeMode {
		held := ltl.Holds(f, trace)
		r.Verdict, r.no = held, !held
		return
	}
	j := ltl.Judge(f, trace)
	refused := j.Value.Refuses()
	r.Verdict, r.Value, r.Refused, r.no, r.Uncertain = verdictOf(j.Value), j.Value.String(), &refused, refused, j.Uncertain
	for _, w := range j.Witnesses {
		out := ltlWitness{Formula: w.Formula.String(), Value: w.Value.String(), New: w.New}
		if w.At >= 0 {
			out.At, out.Call = &w.At, trace[w.At].Name
		}
		r.Fails = append(r.Fails, out)
	}
}

func (r *ltlResult) print(out io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(cli.Line(fmt.Sprintf(format, args...)) + "\n") }
	line("%s", r.Formula)
	line("%s", strings.TrimSuffix(r.Class+": "+r.Advice, ": "))
	switch {
	case r.Calls == nil:
	case r.Mode == completeMode:
		line("%v on a complete trace of %d calls", r.Verdict, *r.Calls)
	default:
		what := "not refused"
		if *r.Refused {
			what = "refused"
		}
		if r.Uncertain {
			what = "refused, since not all is known"
		}
		line("%s on a partial trace of %d calls: the newest call is %s", r.Value, *r.Calls, what)
	}
	for _, w := range r.Fails {
		where, since := "the trace", ""
		if w.At != nil {
			where = fmt.Sprintf("call [%d] %s", *w.At, w.Call)
		}
		if !w.New {
			since = ", not by the newest call"
		}
		line("  %s on %s%s: %s", w.Value, where, since, w.Formula)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// verdictOf is what is certain: true, false or "undecided".
func verdictOf(v ltl.Value) any {
	switch v {
	case ltl.True:
		return true
	case ltl.False:
		return false
	default:
		return "undecided"
	}
}

// readTrace reads calls from a file: one object a line, or one array.
func readTrace(name string, stdin io.Reader) ([]ltl.Event, error) {
	in, from := stdin, "standard input"
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, from = file, name
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	trace := []ltl.Event{}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		if err := json.Unmarshal(text, &trace); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		return trace, nil
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e ltl.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", from, number, err)
		}
		trace = append(trace, e)
	}
	return trace, nil
}

// An ltlAnswer is one line of the output of --jsonl.
type ltlAnswer struct {
	Verdict any    `json:"verdict"`
	Value   string `json:"value,omitempty"`
	Refused *bool  `json:"refused,omitempty"`
	Error   string `json:"error,omitempty"`
}

// judgeObjects answers each object before it waits for the next one.
func judgeObjects(from io.Reader, to io.Writer) error {
	in, out := bufio.NewReaderSize(from, 1<<16), bufio.NewWriter(to)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return errors.Join(out.Flush(), fmt.Errorf("standard input: %w", err))
		}
		if len(bytes.TrimSpace(text)) > 0 {
			if err := writeLine(out, judgeObject(text)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return out.Flush()
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func judgeObject(text []byte) ltlAnswer {
	answer, err := judgeTrace(text)
	if err != nil {
		refused := true
		return ltlAnswer{Verdict: "undecided", Refused: &refused, Error: err.Error()}
	}
	return answer
}

func judgeTrace(text []byte) (ltlAnswer, error) {
	var ask struct {
		Formula *string      `json:"formula"`
		Trace   *[]ltl.Event `json:"trace"`
		Mode    string       `json:"mode"`
	}
	if err := json.Unmarshal(text, &ask); err != nil {
		return ltlAnswer{}, err
	}
	switch {
	case ask.Formula == nil:
		return ltlAnswer{}, errors.New(`"formula" is missing`)
	case ask.Trace == nil:
		return ltlAnswer{}, errors.New(`"trace" is missing: give a list of calls, [] for none`)
	case ask.Mode != completeMode && ask.Mode != partialMode:
		return ltlAnswer{}, fmt.Errorf(`"mode" is %q or %q, not %q`, completeMode, partialMode, ask.Mode)
	}
	f, err := ltl.Parse(*ask.Formula, nil)
	if err != nil {
		return ltlAnswer{}, err
	}
	if ask.Mode == completeMode {
		return ltlAnswer{Verdict: ltl.Holds(f, *ask.Trace)}, nil
	}
	v := ltl.Judge(f, *ask.Trace).Value
	refused := v.Refuses()
	return ltlAnswer{Verdict: verdictOf(v), Value: v.String(), Refused: &refused}, nil
}
