package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

func TestOnlyAYesIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " yes \n": true, "\n": false, "": false, "no\n": false, "yess\n": false} {
		out := new(bytes.Buffer)
		g := &globals{streams: cli.Streams{In: strings.NewReader(answer), Out: out}}
		if got := g.agreed(t.Context(), "Let it through?"); got != want || !strings.HasPrefix(out.String(), "Let it through? [y/N] ") {
			t.Errorf("%q: %v, %q", answer, got, out)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	blocked, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if g := (&globals{streams: cli.Streams{In: blocked, Out: new(bytes.Buffer)}}); g.agreed(ctx, "") {
		t.Error("an interrupt is taken for a yes")
	}
}

func TestACallIsShownSoThatNothingHides(t *testing.T) {
	for name, c := range map[string]struct {
		entry ledger.Entry
		want  []string
		never []string
	}{
		"plain": {ledger.Entry{Line: "git push"}, []string{"call    │ git push\nsubject"}, []string{"exactly"}},
		"escapes": {ledger.Entry{Line: "ls\x1b[2K\rgit status"}, []string{`│ ls\x1b[2K\rgit status`, `exactly  "ls\x1b[2K\rgit status"`},
			[]string{"\x1b", "\r"}},
		"letters that look like others": {ledger.Entry{Line: "gіt push"}, []string{`exactly  "g\u0456t push"`}, nil},
		"a line that looks like ours": {ledger.Entry{Line: "rm x\nsubject  00"}, []string{"call    │ rm x\n        │ subject  00\n", `"rm x\nsubject  00"`},
			[]string{"\nsubject  00"}},
		"words": {ledger.Entry{Argv: []string{"rm", "a b", ""}}, []string{`["rm" "a b" ""]`}, nil},
		"a tool": {ledger.Entry{Tool: &ledger.Tool{Name: "Write", Args: map[string]any{"file_path": "/etc/passwd"}}},
			[]string{`Write {"file_path":"/etc/passwd"}`}, nil},
		"what the log says": {ledger.Entry{Line: "ls", Client: "a\x1bb", Reasons: []ledger.Reason{{Action: ledger.Deny, Text: "no\nyes", Rule: "git push", At: "gate.yaml:3"}}},
			[]string{`  DENY no\nyes (git push gate.yaml:3)`, `by "a\x1bb":`}, []string{"\x1b"}},
	} {
		out := new(bytes.Buffer)
		g := &globals{streams: cli.Streams{Out: out}}
		g.showRefused(&refusedCall{gate: reconcile.Gate{Name: "claude"}, user: "agent", entry: &c.entry, subject: "5b2f"})
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: it does not show %q:\n%s", name, want, out)
			}
		}
		for _, never := range c.never {
			if strings.Contains(out.String(), never) {
				t.Errorf("%s: it shows %q:\n%s", name, never, out)
			}
		}
	}
}

func TestWhatCannotBeSeenIsNotGranted(t *testing.T) {
	for name, c := range map[string]struct {
		entry   ledger.Entry
		subject string
		want    string
	}{
		"a credential":     {ledger.Entry{Line: "curl -u «redacted»", Redacted: true}, "a", "held a credential"},
		"a part":           {ledger.Entry{Line: "echo", Cut: true}, "a", "longer than the log keeps"},
		"a long one":       {ledger.Entry{Line: strings.Repeat("x", maxCallLength+1)}, "a", "nobody reads more than"},
		"nothing":          {ledger.Entry{}, "a", "does not say"},
		"another subject":  {ledger.Entry{Line: "ls", Subject: "b"}, "a", "its subject is not that of its call"},
		"no subject":       {ledger.Entry{Line: "ls"}, "", "its subject is not that of its call"},
		"what was allowed": {ledger.Entry{Line: "ls", Subject: "a", Verdict: ledger.Allow}, "a", "was let through"},
		"what was asked":   {ledger.Entry{Line: "ls", Subject: "a", Verdict: ledger.Ask}, "a", ""},
	} {
		call := refusedCall{entry: &c.entry, subject: c.subject}
		err := call.grantable()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Where the agent made two calls with one id, neither is taken for the other.
func TestTwoCallsWithOneIDAreNotGranted(t *testing.T) {
	call := func(subject string) *refusedCall {
		return &refusedCall{gate: reconcile.Gate{Name: "claude"}, subject: subject,
			entry: &ledger.Entry{ID: "c-0123456789ab", Line: "ls", Subject: subject, Verdict: ledger.Deny}}
	}
	for name, c := range map[string]struct {
		found []*refusedCall
		want  string
	}{
		"none":      {nil, "no log of a gate's user has a decision c-01234567"},
		"one":       {[]*refusedCall{call("a")}, ""},
		"one twice": {[]*refusedCall{call("a"), call("a")}, ""},
		"two":       {[]*refusedCall{call("a"), call("b")}, "stands for 2 different calls"},
	} {
		_, err := oneRefused(c.found, "c-01234567")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestIDsOfDecisions(t *testing.T) {
	for id, want := range map[string]string{"c-01234567": "", "C-0123456789AB": "", "c-0123": "8 digits or more", "c-0123456789abc": "8 digits or more",
		"0123456789ab": "8 digits or more", "g-0123456789ab": "in force already", "d-0123456789ab": "is a drift", "c-zzzzzzzz": "8 digits or more"} {
		if _, err := decisionPrefix(id); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}
