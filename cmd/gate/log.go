package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/gate"
	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
)

type logOptions struct {
	session, client, verdict, rule, grep, since string
	last                                        int
	json, follow                                bool
	replay                                      string
}

func newLogCommand(g *globals) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "log",
		Short: "What the gate decided: filter it, follow it, or replay it",
		Long: `Print the decisions that are in your log, the newest last, with what was reported as run since. All that is asked for
must fit: --verdict deny --since 2h are the refusals of the last two hours.

With --replay, the decisions are judged again under another policy, and those are printed that would differ; the exit
code is 1 if there are any. Files are looked at as they are now, and rules see a session in which nothing has happened
yet. What the policy in force would decide differently now as well is counted apart.

Texts that held a credential are logged without it. docs/log.md describes the file and its chain of hashes, which gate
verify checks.`,
		Example: `  gate log --verdict deny --since 2h
  gate log --follow --client codex
  gate log --replay ./new-policy --since 7d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := o.filter(time.Now())
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("last") && (o.replay != "" || o.since != "") {
				o.last = 0
			}
			l, err := g.log()
			switch {
			case err != nil:
				return err
			case o.replay != "" && o.follow:
				return errors.New("--replay and --follow exclude each other")
			case o.replay != "":
				return g.replay(cmd.Context(), l, filter, o)
			default:
				return g.printLog(cmd.Context(), l, filter, o)
			}
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.session, "session", "", "only this `session`; the beginning of its name is enough")
	f.StringVar(&o.client, "client", "", "only what this `client` asked, as claude-code or codex")
	f.StringVar(&o.verdict, "verdict", "", "only this `verdict`: allow, ask or deny")
	f.StringVar(&o.rule, "rule", "", "only where a reason names this rule or entry, or one with this `text` in it")
	f.StringVar(&o.grep, "grep", "", "only with this `text` in what was asked or in a reason")
	f.StringVar(&o.since, "since", "", "only since this `time`: 90m, 12h, 7d, 2006-01-02 or 2006-01-02T15:04:05Z")
	f.IntVarP(&o.last, "last", "n", 20, "the last `count` that fit, 0 for all; with --since and --replay all is the default")
	f.BoolVar(&o.follow, "follow", false, "go on with what is decided from now, until interrupted")
	f.BoolVar(&o.json, "json", false, "print JSON; with --follow, one entry a line")
	f.StringVar(&o.replay, "replay", "", "judge it all again under this `policy`, a directory or a gate.yaml")
	return cmd
}

// log is the log of the caller, where the gate that judges the caller writes it.
func (g *globals) log() (ledger.Log, error) {
	opened, err := gate.Open(gate.Options{Index: g.index, UID: uint32(os.Getuid()), Home: g.streams.Getenv("HOME")})
	if err != nil {
		return ledger.Log{}, err
	}
	state := opened.StateDir()
	if state == "" {
		return ledger.Log{}, errors.New("you have no home directory, and so no decision log")
	}
	return ledger.In(state), nil
}

func (o *logOptions) filter(now time.Time) (ledger.Filter, error) {
	f := ledger.Filter{Session: o.session, Client: o.client, Verdict: ledger.Verdict(strings.ToLower(o.verdict)), Rule: o.rule, Grep: o.grep}
	if f.Verdict != "" && !slices.Contains([]ledger.Verdict{ledger.Allow, ledger.Ask, ledger.Deny}, f.Verdict) {
		return f, fmt.Errorf("--verdict %s is none of allow, ask and deny", cli.Printable(o.verdict))
	}
	if o.last < 0 {
		return f, fmt.Errorf("--last %d is no count", o.last)
	}
	var err error
	if o.since != "" {
		f.Since, err = since(o.since, now)
	}
	return f, err
}

// since reads an age or a time of this machine's clock.
func since(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %s is no age (90m, 12h, 7d) and no time (2006-01-02, 2006-01-02T15:04:05Z)", cli.Printable(text))
}

func (g *globals) printLog(ctx context.Context, l ledger.Log, filter ledger.Filter, o logOptions) error {
	entries, end, err := g.chosen(ctx, l, filter, o.last)
	if err != nil {
		return err
	}
	switch {
	case o.json && !o.follow:
		return cli.PrintJSON(g.streams.Out, struct {
			Schema  string          `json:"schema"`
			Entries []*ledger.Entry `json:"entries"`
		}{"gatehouse/log/v1", append([]*ledger.Entry{}, entries...)})
	case len(entries) == 0 && !o.follow:
		fmt.Fprintf(g.streams.Err, "gate: no entry in %s fits\n", cli.Printable(l.Dir))
		return nil
	}
	show := g.printEntry
	if o.json {
		show = g.printEntryJSON
	}
	for _, e := range entries {
		if err := show(e); err != nil {
			return err
		}
	}
	if !o.follow {
		return nil
	}
	return l.Follow(ctx, end, func(line ledger.Line) error {
		if line.Err != nil {
			g.noEntry(line)
			return nil
		}
		if !filter.Match(line.Entry) {
			return nil
		}
		return show(line.Entry)
	})
}

// chosen returns the last entries that fit, oldest first, and the number of the newest entry there is.
func (g *globals) chosen(ctx context.Context, l ledger.Log, filter ledger.Filter, last int) (entries []*ledger.Entry, end uint64, err error) {
	err = l.Newest(ctx, func(line ledger.Line) error {
		if line.Err != nil {
			g.noEntry(line)
			return nil
		}
		end = max(end, line.Entry.Seq)
		if line.Entry.Time.Before(filter.Since.Add(-time.Minute)) {
			return ledger.ErrStop // writers that wait for each other may be out of order by a second
		}
		if !filter.Match(line.Entry) {
			return nil
		}
		if entries = append(entries, line.Entry); len(entries) == last {
			return ledger.ErrStop
		}
		return nil
	})
	slices.Reverse(entries)
	return entries, end, err
}

// noEntry says that a line is none. Whether that matters, gate verify says.
func (g *globals) noEntry(line ledger.Line) {
	fmt.Fprintf(g.streams.Err, "gate: %s:%d is no entry of the log; gate verify says whether the chain is whole\n", cli.Printable(line.File), line.Number)
}

func (g *globals) printEntryJSON(e *ledger.Entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.streams.Out, "%s\n", data)
	return err
}

func (g *globals) printEntry(e *ledger.Entry) error {
	out := g.streams.Out
	head := fmt.Sprintf("%s  %s  %-14s", e.Time.Local().Format("2006-01-02 15:04:05"), g.entryWord(e), cmp.Or(e.ID, "-"))
	if e.Kind == ledger.Note {
		_, err := fmt.Fprintf(out, "%s  %s\n", head, cli.Line(noteText(e)))
		return err
	}
	text := shorten(judgedText(e), 200)
	if e.Kind == ledger.Ran {
		text = ranText(e) + ": " + text
	}
	if _, err := fmt.Fprintf(out, "%s  %s\n", head, cli.Line(text)); err != nil {
		return err
	}
	if e.Would != "" {
		fmt.Fprintf(out, "    the policy only observes; enforced it would be %s\n", strings.ToUpper(string(e.Would)))
	}
	if e.Granted != "" {
		fmt.Fprintf(out, "    %s\n", cli.Line(e.Granted))
	}
	for i, r := range e.Reasons {
		if i == 3 {
			fmt.Fprintf(out, "    and %d more: gate why %s\n", len(e.Reasons)-i, e.ID)
			break
		}
		fmt.Fprintf(out, "    %s\n", cli.Line(reasonText(r, e)))
	}
	return nil
}

// entryWord is the first word about an entry, as wide as any of them.
func (g *globals) entryWord(e *ledger.Entry) string {
	word, colour := "NOTE", ""
	switch e.Kind {
	case ledger.Decision:
		word = strings.ToUpper(string(e.Verdict))
		colour = map[ledger.Verdict]string{ledger.Allow: "32", ledger.Ask: "33", ledger.Deny: "31"}[e.Verdict]
	case ledger.Ran:
		word = "RAN"
	}
	padded := fmt.Sprintf("%-5s", word)
	if colour == "" || !g.streams.Colour() {
		return padded
	}
	return "\x1b[" + colour + "m" + padded + "\x1b[0m"
}

// judgedText is what was asked, on one line.
func judgedText(e *ledger.Entry) string {
	if len(e.Argv) > 0 {
		return quoteWords(e.Argv)
	}
	return e.Judged()
}

func ranText(e *ledger.Entry) string {
	text := "it ran"
	if e.ID == "" {
		text = "ran ungated"
	}
	if e.Status != nil {
		text += ", exit " + strconv.Itoa(*e.Status)
	}
	return text
}

func noteText(e *ledger.Entry) string {
	switch {
	case e.Torn != nil:
		return fmt.Sprintf("%s: %d bytes that a crash left", e.Text, e.Torn.Bytes)
	case e.Dropped != nil:
		return fmt.Sprintf("%s: up to number %d", e.Text, e.Dropped.Seq)
	default:
		return e.Text
	}
}

// reasonText is a reason with the call that it is about, where there are others.
func reasonText(r ledger.Reason, e *ledger.Entry) string {
	text := strings.TrimRight(r.Text, "\n")
	rule, at := shorten(r.Rule, 60), r.At
	if rule != "" && gate.Stage(r.Stage) != gate.StageRules && strings.Contains(text, rule) {
		rule = ""
	}
	if filepath.IsAbs(at) {
		at = filepath.Base(at) // which directory it was, gate why says
	}
	if place := strings.Trim(rule+", "+at, ", "); place != "" && !(rule == "" && strings.Contains(text, at)) {
		text += " (" + place + ")"
	}
	if r.Source != "" && r.Source != strings.TrimSpace(judgedText(e)) {
		text = shorten(r.Source, 100) + ": " + text
	}
	return text
}
