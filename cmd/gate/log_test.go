package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate"
	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
	"gatehouse/manifest"
)

const noIndex = "/nonexistent/gates.json"

// decided lays out a home directory with a policy, and lets the gate decide about lines in it. It returns the home and
// the ids.
func decided(t *testing.T, policy string, lines ...string) (home string, ids []string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, ".config/gatehouse")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gate.yaml"), []byte(policy), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "work/.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	opened, err := gate.Open(gate.Options{Index: noIndex, UID: uint32(os.Getuid()), Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		r := gate.Request{Line: line, Cwd: filepath.Join(home, "work"), Session: "s1", Client: "codex"}
		d, err := opened.Decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
		if d.Action == gate.Allow {
			status := 0
			if err := opened.Record(t.Context(), r, d, gate.Outcome{Status: &status}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return home, ids
}

const smallPolicy = `version: 1
check_flags: off
allow: [echo, "true"]
deny:
  - {call: echo, flags: [-e], why: escapes are hard to read}
`

// steady replaces what differs from run to run.
func steady(text, home string) string {
	text = strings.ReplaceAll(text, home, "HOME")
	for pattern, with := range map[string]string{
		`c-[0-9a-f]{12}`: "c-ID", `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [A-Z]+)?`: "TIME", `\(\d\d:\d\d:\d\d\)`: "(TIME)", `took +\S+`: "took TOOK", `tree [0-9a-f]{12}`: "tree TREE",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

func TestLogShowsWhatWasDecided(t *testing.T) {
	home, _ := decided(t, smallPolicy, "echo a", "true && nosuchtool x", "echo -e b")
	env := map[string]string{"HOME": home}
	for _, row := range []struct {
		args []string
		want []string // first words of lines that do not begin with a space
	}{
		{nil, []string{"ALLOW", "RAN", "DENY", "DENY"}},
		{[]string{"--verdict", "deny"}, []string{"DENY", "DENY"}},
		{[]string{"--verdict", "DENY", "-n", "1"}, []string{"DENY"}},
		{[]string{"--session", "s"}, []string{"ALLOW", "RAN", "DENY", "DENY"}},
		{[]string{"--session", "s2"}, nil},
		{[]string{"--client", "codex", "--grep", "nosuchtool"}, []string{"DENY"}},
		{[]string{"--rule", "echo"}, []string{"DENY"}},
		{[]string{"--since", "1h"}, []string{"ALLOW", "RAN", "DENY", "DENY"}},
		{[]string{"--since", "2999-01-01"}, nil},
	} {
		code, out, errOut := run(t, env, noIndex, append([]string{"log"}, row.args...)...)
		var got []string
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, " ") {
				got = append(got, strings.Fields(line)[2])
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" || code != cli.Yes {
			t.Errorf("%v: code %d\n%s%s%s", row.args, code, diff, out, errOut)
		}
		if len(row.want) == 0 && !strings.Contains(errOut, "no entry") {
			t.Errorf("%v: %q says nothing about there being nothing", row.args, errOut)
		}
	}
	_, out, _ := run(t, env, noIndex, "log")
	for _, part := range []string{"ALLOW  c-ID  echo a", "RAN    c-ID  it ran, exit 0: echo a", "DENY   c-ID  true && nosuchtool x\n    nosuchtool x: ", `"echo -e" (gate.yaml:`} {
		if !strings.Contains(steady(out, home), part) {
			t.Errorf("no %q in\n%s", part, steady(out, home))
		}
	}
}

func TestLogPrintsJSON(t *testing.T) {
	home, ids := decided(t, smallPolicy, "echo a", "nosuchtool")
	code, out, errOut := run(t, map[string]string{"HOME": home}, noIndex, "log", "--json")
	var got struct {
		Schema  string
		Entries []struct{ ID, Kind, Line, Verdict string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != cli.Yes {
		t.Fatalf("code %d, %v\n%s%s", code, err, out, errOut)
	}
	if len(got.Entries) != 3 || got.Schema != "gatehouse/log/v1" || got.Entries[0].ID != ids[0] || got.Entries[2].Verdict != "deny" {
		t.Errorf("%+v", got)
	}
}

func TestLogRefusesWhatItCannotMean(t *testing.T) {
	for want, args := range map[string][]string{
		"none of allow, ask and deny": {"log", "--verdict", "no"},
		"no age":                      {"log", "--since", "yesterday"},
		"no count":                    {"log", "-n", "-1"},
		"exclude each other":          {"log", "--follow", "--replay", "x"},
		"--replay takes a directory":  {"log", "--replay", "/nonexistent/policy"},
	} {
		code, _, errOut := run(t, map[string]string{"HOME": t.TempDir()}, noIndex, args...)
		if code != cli.Unknown || !strings.Contains(errOut, want) {
			t.Errorf("%v: code %d, %q", args, code, errOut)
		}
	}
}

func TestSinceIsAnAgeOrATime(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90m":                  now.Add(-90 * time.Minute),
		"7d":                   now.AddDate(0, 0, -7),
		"2026-06-30":           time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC),
		"2026-06-30 10:00":     time.Date(2026, 6, 30, 10, 0, 0, 0, time.UTC),
		"2026-06-30T10:00:00Z": time.Date(2026, 6, 30, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := since(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-1h", "-1d", "x", "99999999d", "2026-13-01"} {
		if got, err := since(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestLogFollows(t *testing.T) {
	home, _ := decided(t, smallPolicy, "echo a")
	ctx, cancel := context.WithCancel(t.Context())
	out := &until{text: "echo b", done: cancel}
	streams := cli.Streams{In: strings.NewReader(""), Out: out, Err: out, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	finished := make(chan int)
	go func() {
		finished <- cli.Run(ctx, newRoot(streams, noIndex), []string{"log", "--follow", "--json", "--grep", "echo"}, streams)
	}()
	l := ledger.In(filepath.Join(home, ".local/state/gatehouse"))
	for _, line := range []string{"other", "echo b"} {
		if err := l.Append(t.Context(), &ledger.Entry{Kind: ledger.Decision, Verdict: ledger.Allow, Line: line}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case code := <-finished:
		if code != cli.Yes || strings.Contains(out.String(), "other") || strings.Count(out.String(), `"line":"echo a"`) < 1 {
			t.Errorf("code %d\n%s", code, out)
		}
	case <-time.After(time.Minute):
		t.Fatal("what is written is not shown")
	}
}

// until is a buffer that calls done once it holds a text.
type until struct {
	bytes.Buffer
	text string
	done func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if strings.Contains(u.String(), u.text) {
		u.done()
	}
	return n, err
}

func TestReplayShowsWhatAnotherPolicyWouldChange(t *testing.T) {
	home, _ := decided(t, smallPolicy, "echo a", "echo a", "true", "nosuchtool x", "nosuchtool y", "echo -e b", "echo PASSWORD=hunter2", "echo "+strings.Repeat("x", 20000))
	other := filepath.Join(t.TempDir(), "gate.yaml")
	if err := os.WriteFile(other, []byte("version: 1\ncheck_flags: off\nallow: [nosuchtool x, echo]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home}
	code, out, errOut := run(t, env, noIndex, "log", "--replay", other)
	if code != cli.No {
		t.Fatalf("code %d\n%s%s", code, out, errOut)
	}
	got := strings.ReplaceAll(steady(out, home), other, "OTHER")
	for _, part := range []string{"ALLOW -> DENY   c-ID  true\n    ", "DENY  -> ALLOW  c-ID  nosuchtool x\n", "DENY  -> ALLOW  c-ID  echo -e b\n",
		"7 decisions, 6 different requests: 3 would differ under OTHER\n", "1 are too long", "1 held a credential"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if strings.Contains(got, "hunter2") || strings.Contains(got, "nosuchtool y") {
		t.Errorf("too much:\n%s", got)
	}
	code, out, errOut = run(t, env, noIndex, "log", "--json", "--replay", filepath.Join(home, ".config/gatehouse"))
	var same replayed
	if err := json.Unmarshal([]byte(out), &same); err != nil || code != cli.Yes || same.Requests != 6 || len(same.Differ) != 0 {
		t.Errorf("the same policy: code %d, %v, %+v\n%s", code, err, same, errOut)
	}
	broken := filepath.Join(t.TempDir(), "gate.yaml")
	if err := os.WriteFile(broken, []byte("version: 1\nalow: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := run(t, env, noIndex, "log", "--replay", broken); code != cli.Unknown || !strings.Contains(errOut, "alow") {
		t.Errorf("a broken policy: code %d, %s", code, errOut)
	}
}

// An always judge gives every request the same answer.
type always gate.Action

func (f always) Check(context.Context, gate.Request) gate.Decision {
	return gate.Decision{Action: gate.Action(f)}
}

func TestReplayTellsThePolicyFromTheWorld(t *testing.T) {
	entry := func(verdict, would ledger.Verdict, granted string) *ledger.Entry {
		return &ledger.Entry{Kind: ledger.Decision, Line: "x", Verdict: verdict, Would: would, Granted: granted, ID: "c-0"}
	}
	for name, test := range map[string]struct {
		entry                    *ledger.Entry
		force, other             gate.Action
		differ, anyway, excepted int
	}{
		"all the same":                {entry(ledger.Deny, "", ""), gate.Deny, gate.Deny, 0, 0, 0},
		"the policy":                  {entry(ledger.Deny, "", ""), gate.Deny, gate.Allow, 1, 0, 0},
		"the world":                   {entry(ledger.Deny, "", ""), gate.Allow, gate.Allow, 0, 1, 0},
		"both":                        {entry(ledger.Deny, "", ""), gate.Ask, gate.Allow, 1, 0, 0},
		"what observe let pass":       {entry(ledger.Allow, ledger.Deny, ""), gate.Deny, gate.Deny, 0, 0, 0},
		"what an exception let pass":  {entry(ledger.Allow, "", "root"), gate.Deny, gate.Deny, 0, 0, 1},
		"what ran is not judged here": {&ledger.Entry{Kind: ledger.Ran, Line: "x"}, gate.Deny, gate.Deny, 0, 0, 0},
	} {
		r := replayEntries(t.Context(), []*ledger.Entry{test.entry}, always(test.force), always(test.other))
		if len(r.Differ) != test.differ || r.Anyway != test.anyway || r.Granted != test.excepted {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestPublishNamesTheEndOfTheLog(t *testing.T) {
	dir, config := host(t)
	home, _ := decided(t, smallPolicy)
	env := map[string]string{"HOME": home}
	published := func() *manifest.Log {
		t.Helper()
		code, out, errOut := run(t, env, filepath.Join(dir, "etc/none.json"), "publish", "--config", config)
		if code != cli.Yes {
			t.Fatalf("code %d\n%s%s", code, out, errOut)
		}
		export, err := manifest.OpenExport(filepath.Join(dir, "export"), uint32(os.Getuid()), manifest.Limits{Entries: 100, File: 1 << 20, Total: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer export.Close()
		m, err := export.Manifest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m.Log
	}
	if log := published(); log != nil {
		t.Errorf("without decisions: %+v", log)
	}
	l := ledger.In(filepath.Join(home, ".local/state/gatehouse"))
	for n, tree := range []string{"", strings.Repeat("ab", 32)} {
		e := &ledger.Entry{Kind: ledger.Decision, Verdict: ledger.Deny, Line: "x", PolicyTree: tree}
		if err := l.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if tree == "" {
			tree = strings.Repeat("0", 64)
		}
		want := &manifest.Log{Head: e.Hash, Count: uint64(n + 1), LastAt: e.Time, PolicyTree: tree}
		if diff := cmp.Diff(want, published()); diff != "" {
			t.Error(diff)
		}
	}
	// A log that cannot be read does not keep the files from being published.
	if err := os.Rename(filepath.Join(l.Dir, "decisions.jsonl"), filepath.Join(l.Dir, "x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(l.Dir, "decisions.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "export/manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, env, filepath.Join(dir, "etc/none.json"), "publish", "--config", config)
	after, err := os.ReadFile(filepath.Join(dir, "export/manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if code != cli.Unknown || !strings.Contains(errOut, "decision log") || bytes.Equal(before, after) {
		t.Errorf("code %d\n%s%s", code, out, errOut)
	}
}
