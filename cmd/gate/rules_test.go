package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/config"
	"gatehouse/gate/rules"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// ruleDir is a policy directory with rules.
func ruleDir(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"gate.yaml": "version: 1\n", "rules.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestStepsOfATest(t *testing.T) {
	steps, err := parseSteps("f", []byte("# comment\n\ndeny: git push\nfail: pytest\nls: \nRead {\"file_path\": \"a\"}\n@exists a b\nallow: @finish\n---\nls {a,b}\n"))
	if err == nil || !strings.Contains(err.Error(), `f:5: "ls" is nothing to expect`) {
		t.Errorf("error %v", err)
	}
	want := []step{
		{at: "f:3", expect: "deny", text: "git push"},
		{at: "f:4", expect: "fail", text: "pytest", status: 1},
		{at: "f:5"},
		{at: "f:6", text: `Read {"file_path": "a"}`, tool: "Read", args: map[string]any{"file_path": "a"}},
		{at: "f:7", text: "@exists a b", order: "exists", paths: []string{"a", "b"}},
		{at: "f:8", expect: "allow", text: "@finish", order: "finish"},
		{at: "f:9", order: "begin"},
		{at: "f:10", text: "ls {a,b}"},
	}
	if diff := cmp.Diff(want, steps, cmp.AllowUnexported(step{})); diff != "" {
		t.Errorf("steps (-want +got)\n%s", diff)
	}
}

func TestStepsThatSayNothing(t *testing.T) {
	for text, want := range map[string]string{
		"alow: ls":        "did you mean allow?",
		"deny:":           `no line after "deny:"`,
		"@exists":         "needs the names",
		"@promt":          "did you mean prompt?",
		"@prompt now":     "takes no words",
		"deny: @exists a": "is not answered",
		"@":               "nothing after @",
	} {
		if _, err := parseSteps("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f:1: ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestATestOfRulesRemembersWhatRan(t *testing.T) {
	for name, test := range map[string]struct{ use, steps string }{
		"only what is allowed runs":  {"tests-before-push", "deny: git push\ndeny: git push\nallow: pytest\nallow: git push\n"},
		"a failure is no success":    {"tests-before-push", "fail: pytest\ndeny: git push\n"},
		"--- forgets":                {"tests-before-push", "allow: pytest\n---\ndeny: git push\n"},
		"a session forgets":          {"tests-before-push", "allow: pytest\n@session\ndeny: git push\n"},
		"what is asked does not run": {"no-deploy-twice", "agreed: ls\n"},
		"a stop holds":               {"protect-env-files", "stop: cat .env\ndeny: ls\n@prompt\nallow: ls\n"},
		"a warning is given once":    {"diff-before-commit", "deny: git commit -m x\nallow: git commit -m x\n"},
		"tools of the client":        {"read-before-edit", "deny: Edit {\"file_path\": \"a\"}\nallow: Read {\"file_path\": \"a\"}\nallow: Edit {\"file_path\": \"a\"}\n"},
		"a shell tool is a line":     {"no-force-push", "deny: Bash {\"command\": \"cd x && git push -f\"}\nallow: Bash {\"command\": \"git push\"}\n"},
		"a new file exists then":     {"read-before-overwrite", "allow: echo x > a\nrm a\nallow: echo y > a\n"},
		"a line nobody understands":  {"no-force-push", "deny: eval $X\n"},
	} {
		file := filepath.Join(t.TempDir(), "steps.txt")
		if err := os.WriteFile(file, []byte(test.steps), 0o644); err != nil {
			t.Fatal(err)
		}
		want := cli.Yes
		if name == "what is asked does not run" {
			want = cli.No // ls is allowed, and nobody is asked
		}
		if code, out, errOut := run(t, nil, "none", "rules", "test", "--use", test.use, file); code != want {
			t.Errorf("%s: code %d\n%s%s", name, code, out, errOut)
		}
	}
}

func TestAgreeingLetsItRun(t *testing.T) {
	dir := ruleDir(t, `
rules:
  - {id: ask, mode: ask, never: deploy}
  - {id: after, before: [deploy, announce]}
`)
	file := filepath.Join(dir, "steps.txt")
	steps := "ask: deploy\ndeny: announce\nagreed: deploy\nallow: announce\n"
	if err := os.WriteFile(file, []byte(steps), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := run(t, nil, "none", "rules", "test", "--policy", dir, file); code != cli.Yes {
		t.Errorf("code %d\n%s%s", code, out, errOut)
	}
}

func TestRulesJudgesTracesOfBothFormats(t *testing.T) {
	ours := `{"name": "git_push", "args": {"force": true}}
{"name": "pytest", "args": {}, "status": 0}
{"name": "git_push", "args": {}}
`
	theirs := `[{"tool_name": "git_push", "arguments": {"force": true}, "id": "1", "cli": {"index": 0}},
 {"tool_name": "Bash", "arguments": "{\"command\": \"pytest && git push\"}", "status": 0}]`
	for name, trace := range map[string]string{"ours": ours, "theirs": theirs} {
		file := filepath.Join(t.TempDir(), "trace.json")
		if err := os.WriteFile(file, []byte(trace), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := run(t, nil, "none", "rules", "judge", "--use", "no-force-push,tests-before-push,no-sudo,no-env-dumps", "--json", file)
		var got judgement
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %v\n%s%s", name, err, out, errOut)
		}
		if code != cli.No || got.Score != 0.5 || got.Label != "PARTIAL" || len(got.Calls) != 3 || got.Broken != 2 {
			t.Errorf("%s: code %d, %+v", name, code, got)
		}
		for _, r := range got.Rules {
			broken := r.ID == "no-force-push" || r.ID == "tests-before-push"
			if r.Passed == broken || broken && (len(r.Breaks) != 1 || r.Breaks[0].Call != 0) {
				t.Errorf("%s: %s: %+v", name, r.ID, r)
			}
		}
	}
}

func TestRulesJudgesTheEndOfATrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	for trace, want := range map[string]string{
		`{"name": "Edit", "args": {"file_path": "a"}}`:                               "VIOLATION",
		`{"name": "Edit", "args": {"file_path": "a"}}` + "\n" + `{"name": "pytest"}`: "FULL",
		"": "FULL",
	} {
		if err := os.WriteFile(file, []byte(trace), 0o644); err != nil {
			t.Fatal(err)
		}
		_, out, errOut := run(t, nil, "none", "rules", "judge", "--use", "tests-before-finishing", file)
		if !strings.Contains(out, want+":") {
			t.Errorf("%s: want %s\n%s%s", trace, want, out, errOut)
		}
	}
}

func TestRulesErrorsNameTheWayOut(t *testing.T) {
	dir := ruleDir(t, "rules:\n  - {id: a, nver: ls}\n")
	trace := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(trace, []byte("{\"args\": {}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"did you mean no-force-push?": {"library", "no-force-psh"},
		"did you mean no-sudo?":       {"add", "--policy", dir, "no-sudoo"},
		"rules.yaml:2":                {"--policy", dir},
		"nothing was changed":         {"add", "--policy", dir, "no-sudo"},
		"did you mean block?":         {"add", "--mode", "blok", "no-sudo"},
		"there are":                   {"library", "--tag", "nothing"},
		"call 0 has no name":          {"judge", "--use", "no-sudo", trace},
		"is no directory":             {"add", "--policy", filepath.Join(dir, "gate.yaml"), "no-sudo"},
		"name the policy directory":   {"add", "no-sudo"},
	} {
		code, _, errOut := run(t, nil, filepath.Join(dir, "none"), append([]string{"rules"}, args...)...)
		if code != cli.Unknown || !strings.Contains(errOut, want) {
			t.Errorf("%v: code %d, %q; want %q", args, code, errOut, want)
		}
	}
}

func TestAnActionHasOneName(t *testing.T) {
	for action, want := range map[rules.Action]string{rules.Deny: "deny", rules.Stop: "stop", rules.Ask: "ask", rules.Note: "note"} {
		if got := actionName(action); got != want {
			t.Errorf("%d: %s, want %s", action, got, want)
		}
	}
}

// acceptedRuleDir accepts the policy in dir as a warden does, and returns the index that says so.
func acceptedRuleDir(t *testing.T, dir string) (index string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	uid := uint32(os.Getuid())
	must(os.Chmod(dir, 0o755))
	limits := manifest.Limits{Entries: 100, File: 1 << 20, Total: 1 << 20}
	live := []manifest.Live{{Name: "policy", Root: dir}}
	scan, err := manifest.Scan(t.Context(), manifest.Source{Live: live, Owner: uid, Limits: limits})
	must(err)
	generation := manifest.NewGeneration("claude", scan.Entries)
	state := t.TempDir()
	accepted := filepath.Join(state, "claude")
	must(manifest.WriteGeneration(t.Context(), durable.Disk{}, accepted, generation, func(e manifest.Entry) (io.ReadCloser, error) {
		return os.Open(filepath.Join(dir, strings.TrimPrefix(e.Path, "policy/")))
	}, manifest.GenerationPerms{Dir: 0o755, File: 0o644, GID: -1}))
	data, err := (&config.Index{Schema: config.IndexSchema, Host: "here", WrittenAt: time.Now().UTC().Truncate(time.Second), Gates: []config.IndexGate{{
		Gate: "claude", UID: uid, User: "me", Decide: config.DecideAccepted, Accepted: accepted, Tree: generation.Tree,
		Export: filepath.Join(state, "export"), Live: live, Limits: limits, Interval: time.Hour, Result: "in-sync",
	}}}).Marshal()
	must(err)
	index = filepath.Join(state, "gates.json")
	must(os.WriteFile(index, data, 0o644))
	return index
}

func TestTheLiveFileIsChangedAndRootsCopyDecides(t *testing.T) {
	dir := ruleDir(t, "use: [no-tunnels]\n")
	index := acceptedRuleDir(t, dir)
	code, out, errOut := run(t, nil, index, "rules", "add", "no-sudo")
	if code != cli.Yes || !strings.Contains(errOut, "stays in force until a person accepts the change") {
		t.Errorf("code %d\n%s%s", code, out, errOut)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "rules.yaml")); err != nil || string(text) != "use: [no-tunnels, no-sudo]\n" {
		t.Errorf("%q, %v", text, err)
	}
	code, out, _ = run(t, nil, index, "rules", "remove", "--json", "no-sudo")
	if code != cli.Yes || !strings.Contains(out, `"accepted_decides": true`) {
		t.Errorf("code %d\n%s", code, out)
	}
}

func TestTheRulesInForceAreThoseThatWereAccepted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: the accepted copy is believed only where root wrote it")
	}
	dir := ruleDir(t, "rules:\n  - {id: mine, never: {tool: deployctl, where: {target: prod}}}\n")
	specs := filepath.Join(dir, "specs")
	if err := os.Mkdir(specs, 0o755); err != nil {
		t.Fatal(err)
	}
	own := "deployctl:\n  options: [{flags: [-t, --target]}]\n"
	if err := os.WriteFile(filepath.Join(specs, "deployctl.yaml"), []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	index := acceptedRuleDir(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("rules: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, nil, index, "rules")
	if code != cli.Yes || !strings.Contains(out, "policy/rules.yaml:2") || strings.Contains(out, "remarks") {
		t.Errorf("code %d\n%s%s", code, out, errOut)
	}
	steps := filepath.Join(t.TempDir(), "steps.txt")
	if err := os.WriteFile(steps, []byte("deny: deployctl -t prod\nallow: deployctl -t dev\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := run(t, nil, index, "rules", "test", steps); code != cli.Yes {
		t.Errorf("code %d\n%s%s", code, out, errOut)
	}
}

// TestAddingKeepsModeAndLinks: a file that is a link stays one, and who may read it may read it still.
func TestAddingKeepsModeAndLinks(t *testing.T) {
	dir := ruleDir(t, "use: []\n")
	path := filepath.Join(dir, "rules.yaml")
	real := filepath.Join(dir, "real.yaml")
	if err := os.Rename(path, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(real, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.yaml", path); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := run(t, nil, "none", "rules", "add", "--policy", dir, "no-sudo"); code != cli.Yes {
		t.Fatal(errOut)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err = os.Stat(real); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
