package gate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A verdictCase is a line of testdata/verdicts.jsonl: what a gate that fails closed answers to a line under a policy.
type verdictCase struct {
	ID       string
	Source   string
	Line     string
	Executes [][]string
	Right    string
	Verdict  string
	Policy   struct{ Allow, Deny []string }
	Setup    struct {
		Files map[string]string
		Dirs  []string
		Git   string
	}
}

// gateYAML writes the policy of a case as its author meant it: what is not listed is denied, flags are not compared with
// help texts, run-time values are denied where they matter, and files are anywhere.
func (c *verdictCase) gateYAML() string {
	var b strings.Builder
	b.WriteString("version: 1\nunlisted: deny\ncheck_flags: off\ndynamic_values: deny\n")
	var allow, env, put, denied []string
	var deny []string
	for _, a := range c.Policy.Allow {
		kind, rest, marked := strings.Cut(a, ":")
		switch {
		case marked && kind == "write":
			put = append(put, rest)
		case marked && kind == "env":
			env = append(env, rest)
		default:
			allow = append(allow, a)
		}
	}
	for _, d := range c.Policy.Deny {
		switch kind, rest, _ := strings.Cut(d, ":"); kind {
		case "flag":
			call, flag, _ := cutLast(rest)
			deny = append(deny, fmt.Sprintf("{call: %q, flags: [%q]}", call, flag))
		case "path":
			denied = append(denied, rest)
		default:
			deny = append(deny, fmt.Sprintf("%q", d))
		}
	}
	list := func(key, indent string, items []string, quote bool) {
		if len(items) == 0 {
			fmt.Fprintf(&b, "%s%s: []\n", indent, key)
			return
		}
		fmt.Fprintf(&b, "%s%s:\n", indent, key)
		for _, item := range items {
			if quote {
				item = fmt.Sprintf("%q", item)
			}
			fmt.Fprintf(&b, "%s  - %s\n", indent, item)
		}
	}
	list("allow", "", allow, true)
	list("deny", "", deny, false)
	b.WriteString("paths:\n  root: /\n")
	list("deny", "  ", denied, true)
	list("redirects", "  ", put, true)
	if len(env) > 0 {
		b.WriteString("env:\n")
		list("allow", "  ", env, true)
	}
	return b.String()
}

func cutLast(s string) (before, after string, ok bool) {
	at := strings.LastIndexByte(s, ' ')
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+1:], true
}

func TestVerdictsOfReportedFaults(t *testing.T) {
	f, err := os.Open("testdata/verdicts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	seen := 0
	for lines.Scan() {
		var c verdictCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		seen++
		t.Run(c.ID, func(t *testing.T) { c.run(t) })
	}
	if err := lines.Err(); err != nil || seen < 152 {
		t.Errorf("%d cases, %v", seen, err)
	}
}

func (c *verdictCase) run(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "home", "project")
	bin := filepath.Join(dir, "bin")
	policy := filepath.Join(dir, "policy")
	for _, d := range []string{work, bin, policy} {
		must(t, os.MkdirAll(d, 0o755))
	}
	for name, text := range c.Setup.Files {
		put(t, filepath.Join(work, name), text)
	}
	for _, d := range c.Setup.Dirs {
		must(t, os.MkdirAll(filepath.Join(work, d), 0o755))
	}
	if c.Setup.Git != "" {
		makeRepository(t, work)
	}
	for _, argv := range c.Executes {
		if name := argv[0]; !strings.Contains(name, "/") {
			program(t, filepath.Join(bin, name))
		}
	}
	put(t, filepath.Join(policy, "gate.yaml"), c.gateYAML())
	g, err := Open(Options{Index: filepath.Join(dir, "none.json"), Policy: policy, Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	d := g.Check(t.Context(), Request{Line: c.Line, Cwd: work, Env: environment("PATH", bin)})
	if d.Action.String() != c.Verdict {
		t.Errorf("%s\n%s, want %s: %s\n%s", c.Line, d.Action, c.Verdict, c.Right, reasons(d))
	}
	for _, r := range d.Reasons {
		if r.Stage == StageFault || r.Stage == StagePolicy {
			t.Errorf("%s: %+v", c.Line, r)
		}
	}
	if testing.Verbose() {
		t.Log(reasons(d))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file, with the directories above it.
func put(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	must(t, os.WriteFile(path, []byte(text), mode))
}

// program puts a program there that nobody runs.
func program(t testing.TB, path string) {
	t.Helper()
	put(t, path, "#!/bin/sh\nexit 0\n")
}

// makeRepository makes a repository with one commit.
func makeRepository(t testing.TB, dir string) {
	t.Helper()
	put(t, filepath.Join(dir, "tracked.txt"), "one\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put(t, filepath.Join(dir, "tracked.txt"), "two\n")
}

// environment knows pairs of names and values and nothing else.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func reasons(d Decision) string {
	var b strings.Builder
	for _, r := range d.Reasons {
		fmt.Fprintf(&b, "  %s %s [%s] %q: %s (%s %s) -> %s\n", r.Action, r.Stage, r.At, r.Source, r.Text, r.Rule, r.Why, r.Hint)
	}
	return b.String()
}
