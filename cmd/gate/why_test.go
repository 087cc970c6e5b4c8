package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
)

func TestWhyShowsTheWholePipeline(t *testing.T) {
	home, ids := decided(t, smallPolicy, "true && nosuchtool x", "true && nosuchtool x", "echo a", "echo 'b")
	env := map[string]string{"HOME": home}
	for i, want := range []string{`c-ID  DENY  TIME
  asked    true && nosuchtool x
  in       HOME/work
  by       codex, session s1
  policy   HOME/.config/gatehouse: live files, tree TREE
  took TOOK

  policy   ok
  shell    ok  true, nosuchtool
  protect  ok
  entry    DENY  nosuchtool x: `, "  same     asked 1 more times in this session: c-ID\n", "  rules    ok\n\n  after    it ran, exit 0 (TIME)\n", "  protect  not asked\n"} {
		code, out, errOut := run(t, env, noIndex, "why", ids[i])
		if got := steady(out, home); code != cli.Yes || !strings.Contains(got, want) {
			t.Errorf("code %d, %s\nno %q in\n%s", code, errOut, want, got)
		}
	}
}

func TestWhyPrintsJSON(t *testing.T) {
	home, ids := decided(t, smallPolicy, "echo a")
	code, out, _ := run(t, map[string]string{"HOME": home}, noIndex, "why", ids[0][2:8], "--json")
	var got struct {
		Schema   string
		Decision struct{ ID, Line string }
		After    []struct{ Kind string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != cli.Yes {
		t.Fatal(code, err, out)
	}
	if got.Schema != "gatehouse/why/v1" || got.Decision.ID != ids[0] || len(got.After) != 1 || got.After[0].Kind != "ran" {
		t.Errorf("%+v", got)
	}
}

func TestWhyNamesTheKindOfAnotherID(t *testing.T) {
	home, _ := decided(t, smallPolicy, "echo a")
	for id, want := range map[string]string{
		"d-0123456789ab": "is a drift and no decision",
		"c-000000000000": "no decision in the log has this id",
		"xyz":            "is no decision id",
		"c-1":            "is no decision id",
	} {
		code, _, errOut := run(t, map[string]string{"HOME": home}, noIndex, "why", id)
		if code != cli.Unknown || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%s: code %d, %q", id, code, errOut)
		}
	}
}

func TestWhyNamesTheLogOfTheServiceWhereThereIsOne(t *testing.T) {
	state := t.TempDir()
	for _, test := range []struct {
		err   error
		state string
		want  string
	}{
		{ledger.ErrUnknown, state, fmt.Sprintf("no decision in the log has this id; of a call that the service took root sees it: sudo env HOME=%s/%d gate why c-0123", state, os.Getuid())},
		{ledger.ErrUnknown, state + "/none", "no decision in the log has this id"},
		{os.ErrPermission, state, "permission denied"},
	} {
		if err := orOfTheService(test.err, test.state, "c-0123"); err.Error() != test.want {
			t.Errorf("got %q, want %q", err, test.want)
		}
	}
}

// TestWhyIsHarmlessOnATerminal explains a decision whose texts would move the cursor.
func TestWhyIsHarmlessOnATerminal(t *testing.T) {
	home := t.TempDir()
	l := ledger.In(filepath.Join(home, ".local/state/gatehouse"))
	e := &ledger.Entry{Kind: ledger.Decision, Verdict: ledger.Deny, Line: "a\x1b[2Jb\nc", Session: "s\x1b", Client: "c\x07", Cwd: "/\u202e", Gate: "g",
		Reasons: []ledger.Reason{{Stage: "entry", Action: ledger.Deny, Text: "t\x1b[2J\nu\x1b", Rule: "r\x1b", Why: "w\x1b", Fix: "f\x1b", Hint: "h\x1b", Source: "s\x1b"}}}
	if err := l.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"why", e.ID}, {"log"}, {"log", "--json"}} {
		code, out, errOut := run(t, map[string]string{"HOME": home}, noIndex, args...)
		if code != cli.Yes || strings.ContainsAny(out, "\x1b\x07\u202e") || !strings.Contains(out, `2J`) {
			t.Errorf("%v: code %d, %q, %s", args, code, out, errOut)
		}
	}
}
