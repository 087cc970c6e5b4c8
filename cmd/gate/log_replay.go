package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gatehouse/gate"
	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
)

// A judge answers requests.
type judge interface {
	Check(context.Context, gate.Request) gate.Decision
}

// A replayed is what a replay found.
type replayed struct {
	Schema    string       `json:"schema"`
	Policy    string       `json:"policy"`
	Decisions int          `json:"decisions"` // that were judged again
	Requests  int          `json:"requests"`  // different ones among them
	Differ    []difference `json:"differ"`    // because of the policy
	Anyway    int          `json:"anyway"`    // requests that the policy in force decides differently now, and the other one likewise
	Granted   int          `json:"granted"`   // decisions that an exception of root's let pass: not replayed
	Cut       int          `json:"cut"`       // decisions whose text is not in the log as a whole: not replayed
	Redacted  int          `json:"redacted"`  // decisions that were judged without a credential that they held
}

// A difference is a request that the other policy decides differently.
type difference struct {
	Was     ledger.Verdict `json:"was"`
	Would   ledger.Verdict `json:"would"`
	Text    string         `json:"text"`
	Cwd     string         `json:"cwd"`
	Times   int            `json:"times"`
	Last    string         `json:"last"` // id of the last of these decisions
	Reasons []reasonJSON   `json:"reasons"`

	entry *ledger.Entry
}

func (g *globals) replay(ctx context.Context, l ledger.Log, filter ledger.Filter, o logOptions) error {
	other, err := g.openNamed("--replay", o.replay)
	if err != nil {
		return err
	}
	if err := other.Problem(); err != nil {
		return fmt.Errorf("--replay: %w", err)
	}
	force, err := g.open("")
	if err != nil {
		return err
	}
	entries, _, err := g.chosen(ctx, l, filter, o.last)
	if err != nil {
		return err
	}
	r := replayEntries(ctx, entries, force, other)
	if err := ctx.Err(); err != nil { // what was judged after it is no difference between policies
		return err
	}
	r.Schema, r.Policy = "gatehouse/replay/v1", o.replay
	if o.json {
		err = cli.PrintJSON(g.streams.Out, r)
	} else {
		g.printReplay(r)
	}
	if err == nil && len(r.Differ) > 0 {
		return cli.Exit(cli.No)
	}
	return err
}

// replayEntries judges decisions again, equal requests once. A verdict that is not the logged one is put down to the
// other policy only if the policy in force stands by the logged one, or says a third thing.
func replayEntries(ctx context.Context, entries []*ledger.Entry, force, other judge) replayed {
	r := replayed{Differ: []difference{}}
	at := make(map[string]int) // of a request, its place in all
	var all []difference
	for _, e := range entries {
		switch {
		case e.Kind != ledger.Decision:
			continue
		case e.Cut:
			r.Cut++
			continue
		case e.Granted != "":
			r.Granted++
			continue
		case e.Redacted:
			r.Redacted++
		}
		r.Decisions++
		was := e.Verdict
		if e.Would != "" {
			was = e.Would
		}
		key := strings.Join([]string{string(was), e.Cwd, e.Client, strconv.Quote(e.Line), strconv.Quote(strings.Join(e.Argv, "\x00")), e.Judged()}, "\x01")
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
			all = append(all, difference{Was: was, Text: judgedText(e), Cwd: e.Cwd})
		}
		all[i].Times++
		all[i].Last, all[i].entry = e.ID, e
	}
	r.Requests = len(all)
	for _, d := range all {
		request := requestOf(d.entry)
		answer := other.Check(ctx, request)
		if d.Would = policyVerdict(answer); d.Would == d.Was {
			continue
		}
		if policyVerdict(force.Check(ctx, request)) == d.Would {
			r.Anyway++
			continue
		}
		d.Reasons = reasonsJSON(answer.Reasons)
		r.Differ = append(r.Differ, d)
	}
	slices.SortStableFunc(r.Differ, func(a, b difference) int { return b.Times - a.Times })
	return r
}

// requestOf asks again what was asked.
func requestOf(e *ledger.Entry) gate.Request {
	r := gate.Request{Line: e.Line, Argv: e.Argv, Cwd: e.Cwd, Client: e.Client}
	if e.Tool != nil {
		r.Tool = &gate.Tool{Name: e.Tool.Name, Args: numbers(e.Tool.Args)}
	}
	return r
}

// numbers makes the arguments what a client's JSON is decoded to: numbers are float64.
func numbers(args map[string]any) map[string]any {
	var plain map[string]any
	data, err := json.Marshal(args)
	if err == nil {
		err = json.Unmarshal(data, &plain)
	}
	if err != nil {
		return args
	}
	return plain
}

// policyVerdict is what the policy says, also where it only observes.
func policyVerdict(d gate.Decision) ledger.Verdict {
	if d.Observed {
		return ledger.Verdict(d.Would.String())
	}
	return ledger.Verdict(d.Action.String())
}

func (g *globals) printReplay(r replayed) {
	out := g.streams.Out
	for _, d := range r.Differ {
		times := ""
		if d.Times > 1 {
			times = fmt.Sprintf("  (%d times)", d.Times)
		}
		fmt.Fprintf(out, "%-5s -> %-5s  %s  %s%s\n", strings.ToUpper(string(d.Was)), strings.ToUpper(string(d.Would)), d.Last,
			cli.Line(shorten(d.Text, 200)), times)
		if d.Would == ledger.Allow {
			continue
		}
		for _, reason := range d.Reasons[:min(len(d.Reasons), 3)] {
			text := reasonText(ledger.Reason{Source: reason.Source, Rule: reason.Rule, At: reason.At, Text: reason.Text}, d.entry)
			fmt.Fprintf(out, "    %s\n", cli.Line(text))
		}
	}
	fmt.Fprintf(out, "%s, %s: %d would differ under %s\n", count(r.Decisions, "decision"), count(r.Requests, "different request"), len(r.Differ),
		cli.Printable(r.Policy))
	for _, note := range []struct {
		n    int
		text string
	}{
		{r.Anyway, "differ already under the policy in force: files, programs or the session are not what they were"},
		{r.Granted, "were let pass by an exception of root's and are not replayed"},
		{r.Cut, "are too long for the log and are not replayed"},
		{r.Redacted, "held a credential and were judged without it"},
	} {
		if note.n > 0 {
			fmt.Fprintf(out, "  %d %s\n", note.n, note.text)
		}
	}
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
