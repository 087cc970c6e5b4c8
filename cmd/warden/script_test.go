package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse/gate"
	"gatehouse/gate/ledger"
)

// setUp gives each script a host: $HOST with live files and an export of the agent's user, a repository of root's, and
// /etc/gatehouse/warden.yaml, which the script may replace. Notices go to the script's own webhook and Slack.
func setUp(env *testscript.Env, bin string) error {
	host, err := os.MkdirTemp("/dev/shm", "gatehouse-host-") // in memory: every command flushes a file system
	if err != nil {
		return err
	}
	fleet, err := filepath.Abs("testdata/fleet")
	if err != nil {
		return err
	}
	env.Defer(func() {
		os.RemoveAll(host)
		os.RemoveAll("/etc/gatehouse")
	})
	told := newTold(env)
	env.Values["told"] = told
	env.Setenv("HOST", host)
	env.Setenv("FLEET", fleet) // what makes several hosts of one, and has them take turns
	env.Setenv("PATH", bin+":"+env.Getenv("PATH"))
	env.Setenv("HOOK", told.URL+"/hook")
	env.Setenv("SLACK", told.URL+"/slack/")
	env.Setenv("SLACK_TOKEN", "xoxb-test")
	env.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	env.Setenv("GIT_AUTHOR_NAME", "Operator")
	env.Setenv("GIT_AUTHOR_EMAIL", "operator@example.org")
	env.Setenv("GIT_COMMITTER_NAME", "Operator")
	env.Setenv("GIT_COMMITTER_EMAIL", "operator@example.org")
	if err := os.Chmod(host, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"live", "export"} {
		path := filepath.Join(host, dir)
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		if err := os.Chown(path, agentID, agentID); err != nil {
			return err
		}
	}
	files := map[string]string{"gate.yaml": "version: 1\nallow:\n  - git status\n", "rules.yaml": "rules: []\n"}
	for name, content := range files {
		path := filepath.Join(host, "live", name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
		if err := os.Chown(path, agentID, agentID); err != nil {
			return err
		}
	}
	git := exec.Command("git", "init", "-q", "-b", "main", filepath.Join(host, "repo"))
	if out, err := git.CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, out)
	}
	if err := os.MkdirAll("/etc/gatehouse", 0o755); err != nil {
		return err
	}
	return os.WriteFile("/etc/gatehouse/warden.yaml", fmt.Appendf(nil, `version: 1
host: agent-1
repository: %[1]s/repo
state: %[1]s/state
gates:
  - name: claude
    user: %[2]s
    export: %[1]s/export
    live:
      - {name: policy, root: %[1]s/live}
notify:
  journal: false
  webhook: {url: "%[3]s/hook"}
  slack: {channel: "#agents", token: "env:SLACK_TOKEN", api_url: "%[3]s/slack/"}
`, host, agentName, told.URL), 0o644)
}

// asAgent runs a command as the agent's user.
func asAgent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: agent command [args...]")
	}
	path := args[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if full := filepath.Join(dir, args[0]); !strings.Contains(args[0], "/") && isFile(full) {
			path = full
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.Getenv("HOST")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=/nonexistent"}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: agentID, Gid: agentID}}
	err := cmd.Run()
	if err != nil && !neg {
		ts.Fatalf("agent %s: %v", strings.Join(args, " "), err)
	}
	if err == nil && neg {
		ts.Fatalf("agent %s: succeeded", strings.Join(args, " "))
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// couldNotTell runs a command that must exit with 2 and one line of error.
func couldNotTell(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if neg || !errors.As(err, &exit) || exit.ExitCode() != 2 {
		ts.Fatalf("%s: %v, want exit code 2", strings.Join(args, " "), err)
	}
	if stderr := ts.ReadFile("stderr"); strings.Count(stderr, "\n") != 1 {
		ts.Fatalf("not one line of error:\n%s", stderr)
	}
}

// driftID sets a variable to the id of the drift that the last command printed.
func driftID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: drift VARIABLE")
	}
	id := regexp.MustCompile(`\bd-[0-9a-f]{12}\b`).FindString(ts.ReadFile("stdout"))
	if id == "" {
		ts.Fatalf("no drift in the output")
	}
	ts.Setenv(args[0], id)
}

// writeDecision adds a refusal to the log of the agent, as the gate does, and sets a variable to its id, and one with
// _SUBJECT to the subject: decides VARIABLE CWD LINE [tree=… | subject=… | verdict=… | nonce=…].
func writeDecision(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: decides VARIABLE CWD LINE [KEY=VALUE...]")
	}
	host := ts.Getenv("HOST")
	generation, err := os.Readlink(filepath.Join(host, "state/accepted/claude"))
	ts.Check(err)
	line, err := strconv.Unquote(`"` + args[2] + `"`)
	ts.Check(err)
	e := &ledger.Entry{Kind: ledger.Decision, Gate: "claude", Session: "s1", Client: "claude-code", Cwd: args[1], Line: line,
		Verdict: ledger.Deny, PolicyTree: strings.TrimPrefix(generation, "claude."), PolicyMode: "accepted",
		Reasons: []ledger.Reason{{Action: ledger.Deny, Stage: "entry", Text: "no entry covers it", At: "gate.yaml:2"}}}
	subject := ""
	for _, arg := range args[3:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "tree":
			e.PolicyTree = strings.Repeat(value, 64)
		case "subject":
			subject = strings.Repeat(value, 64)
		case "verdict":
			e.Verdict = ledger.Verdict(value)
		default:
			ts.Fatalf("what is %s?", key)
		}
	}
	e.Subject = gate.Subject(gate.Request{Line: e.Line, Cwd: e.Cwd}, e.PolicyTree)
	if subject != "" {
		e.Subject = subject
	}
	ts.Check(ledger.Log{Dir: filepath.Join(host, "log")}.Append(context.Background(), e))
	ts.Check(filepath.WalkDir(filepath.Join(host, "log"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, agentID, agentID)
	}))
	ts.Setenv(args[0], e.ID)
	ts.Setenv(args[0]+"_SUBJECT", e.Subject)
}

// told is a webhook and a Slack that keep what they are told.
type told struct {
	*httptest.Server
	mu    sync.Mutex
	hook  []string // bodies
	slack []string // texts that were accepted
	will  []string // what Slack answers next, before it accepts
}

func newTold(env *testscript.Env) *told {
	t := new(told)
	t.Server = httptest.NewServer(t)
	env.Defer(t.Close)
	return t
}

func (t *told) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	if req.URL.Path == "/hook" {
		t.hook = append(t.hook, string(body))
		return
	}
	if len(t.will) > 0 && strings.HasSuffix(req.URL.Path, "chat.postMessage") {
		code, after, _ := strings.Cut(t.will[0], ":")
		t.will = t.will[1:]
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		status, err := strconv.Atoi(code)
		if err != nil {
			panic(err)
		}
		w.WriteHeader(status)
		return
	}
	answer := map[string]any{"ok": true, "channel": "C1", "ts": "1.1", "messages": []any{}}
	if strings.HasSuffix(req.URL.Path, "chat.postMessage") {
		form, err := url.ParseQuery(string(body))
		if err != nil || form.Get("channel") != "#agents" || req.Header.Get("Authorization") == "" && form.Get("token") == "" {
			answer = map[string]any{"ok": false, "error": "invalid_auth"}
		} else {
			t.slack = append(t.slack, form.Get("text")+form.Get("blocks"))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// countNotices compares how many messages have arrived: notices hook|slack N [PATTERN in the last one].
func countNotices(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: notices hook|slack COUNT [PATTERN]")
	}
	t := ts.Value("told").(*told)
	t.mu.Lock()
	defer t.mu.Unlock()
	messages := map[string][]string{"hook": t.hook, "slack": t.slack}[args[0]]
	if want, err := strconv.Atoi(args[1]); err != nil || len(messages) != want {
		ts.Fatalf("%s got %d messages, want %s:\n%s", args[0], len(messages), args[1], strings.Join(messages, "\n"))
	}
	for _, pattern := range args[2:] {
		if last := messages[len(messages)-1]; !regexp.MustCompile(pattern).MatchString(last) {
			ts.Fatalf("the last message to %s does not match %q:\n%s", args[0], pattern, last)
		}
	}
}

// scriptSlack says what Slack answers next: slackwill 429:1 500.
func scriptSlack(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value("told").(*told)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.will = args
}

// forgePublication edits the agent's manifest as JSON, as a lying publisher would: publishes NAME=VALUE…
// "sequence=+1" adds, "published_at=now" takes the time.
func forgePublication(ts *testscript.TestScript, neg bool, args []string) {
	path := filepath.Join(ts.Getenv("HOST"), "export", "manifest.json")
	data, err := os.ReadFile(path)
	ts.Check(err)
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch value {
		case "now":
			value = strconv.Quote(time.Now().UTC().Format(time.RFC3339Nano))
		case "+1":
			n, err := strconv.ParseUint(string(regexp.MustCompile(`"sequence":(\d+)`).FindSubmatch(data)[1]), 10, 64)
			ts.Check(err)
			value = strconv.FormatUint(n+1, 10)
		}
		pattern := regexp.MustCompile(`("` + regexp.QuoteMeta(name) + `":)("[^"]*"|\d+)`)
		changed := pattern.ReplaceAll(data, []byte("${1}"+value))
		if bytes.Equal(changed, data) {
			ts.Fatalf("the manifest has no %s", name)
		}
		data = changed
	}
	ts.Check(os.WriteFile(path, data, 0o644))
}
