package policy

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAFileWithOnlyAllowHasTheDefaults(t *testing.T) {
	p := parse(t, "version: 1\nallow:\n  - git status\n")
	want := map[string]any{
		"shell": Full, "observe": false, "unlisted": Refuse, "flags": Help, "dynamic": Ask, "unattended": Refuse, "root": Project,
		"within": "${HOME}", "redirects": "**", "exist": true, "env": 0, "tools": 0, "deny": 0,
	}
	got := map[string]any{
		"shell": p.Shell, "observe": p.Observe, "unlisted": p.Unlisted, "flags": p.CheckFlags, "dynamic": p.Dynamic,
		"unattended": p.Unattended, "root": p.Paths.Root, "within": p.Paths.Within.Text, "redirects": p.Paths.Redirects[0].Text,
		"exist": p.Paths.ReadsMustExist, "env": len(p.Env), "tools": len(p.Tools), "deny": len(p.Deny) + len(p.Paths.Deny),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e := p.Allow[0]; e.Text != "git status" || e.At != "gate.yaml:3" {
		t.Errorf("entry %q at %q", e.Text, e.At)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	p := parse(t, `version: 1
shell: none
enforce: observe
observe_until: 2026-12-31
unlisted: ask
check_flags: off
dynamic_values: allow
allow:
  - {call: python3, only: ["-m pytest"], trust: root-owned, match: ["python3 -m pytest -q"], not_match: ["python3 -c x"]}
  - call: /opt/tool
    sha256: "`+strings.Repeat("Ab", 32)+`"
    exact: true
  - git push
deny:
  - {call: git push, flags: [--force], why: history is shared, fix: {run: git push --force-with-lease}}
  - sudo
paths:
  root: [/srv/a/, /srv/b]
  within: /srv
  deny: [".env*", "!.env.example"]
  read_only: ["migrations/**"]
  redirects: []
  create: ["*.log"]
  reads_must_exist: false
env: {allow: [CI, "LC_*"]}
tools:
  - {tool: [Edit, Write], paths: {deny: ["**/*.lock"]}}
  - {tool: "mcp__*", unlisted: ask}
ask: {unattended: deny}
`)
	if p.Shell != None || !p.Observe || p.Unlisted != Ask || p.CheckFlags != Off || p.Dynamic != Allow {
		t.Errorf("answers: %+v", p)
	}
	for day, want := range map[string]bool{"2026-12-31T23:59:59Z": true, "2027-01-01T00:00:00Z": false} {
		at, err := time.Parse(time.RFC3339, day)
		if err != nil {
			t.Fatal(err)
		}
		if p.Observes(at) != want {
			t.Errorf("observes at %s: %v", day, !want)
		}
	}
	if e := p.Allow[0]; !e.Trust || e.At != "gate.yaml:9" {
		t.Errorf("entry %+v", e)
	}
	if e := p.Allow[1]; e.SHA256 != strings.Repeat("ab", 32) || !e.Exact {
		t.Errorf("entry %+v", e)
	}
	if e := p.Deny[0]; e.Why != "history is shared" || e.Fix != "git push --force-with-lease" || e.At != "gate.yaml:15" {
		t.Errorf("entry %+v", e)
	}
	if diff := cmp.Diff([]string{"/srv/a", "/srv/b"}, p.Paths.Roots); diff != "" || p.Paths.Root != Absolute {
		t.Errorf("roots: %s", diff)
	}
	if len(p.Paths.Redirects) != 0 || p.Paths.ReadsMustExist || p.Paths.Deny[1].At != "gate.yaml:20" {
		t.Errorf("paths %+v", p.Paths)
	}
	if got := p.ToolsFor("mcp__x__y"); len(got) != 1 || got[0].Unlisted != Ask {
		t.Errorf("mcp tools: %+v", got)
	}
	if got := p.ToolsFor("Edit"); len(got) != 1 || got[0].Unlisted != Allow || len(got[0].Paths.Deny) != 1 {
		t.Errorf("Edit: %+v", got)
	}
	if got := p.ToolsFor("Read"); got != nil {
		t.Errorf("Read: %+v", got)
	}
}

func TestWhatIsWrongIsToldWithItsLine(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "gate.yaml:1: the file is empty"},
		{"allow: [ls]\n", "gate.yaml:1: version: is required"},
		{"version: 2\n", `gate.yaml:1: version: must be 1`},
		{"version: 1\nalow: [ls]\n", `gate.yaml:2: alow: unknown key; did you mean "allow"?`},
		{"version: 1\nallow: [ls]\nallow: [cat]\n", "gate.yaml:3: allow: "},
		{"version: 1\nallow:\n  - ls\n  - a && b\n", `gate.yaml:4: allow[1]: "a && b" must be the beginning of one call`},
		{"version: 1\nallow: ['git log *']\n", `gate.yaml:2: allow[0]: "git log *" has the glob "*"; leave it out`},
		{"version: 1\nallow: ['ls $X']\n", `has the word "$X", whose value is known only at run time`},
		{"version: 1\nallow: ['ls > x']\n", "must be the beginning of one call"},
		{"version: 1\nallow: ['ls $(x)']\n", "must be the beginning of one call"},
		{"version: 1\nallow: ['A=1 ls']\n", "begins with an assignment; env.allow says"},
		{"version: 1\nallow: ['ls \"']\n", "is not plain words"},
		{"version: 1\nallow: ['# x']\n", "has no words"},
		{"version: 1\nallow: [\"''\"]\n", "begins with an empty word"},
		{"version: 1\nallow: ['git push --force-w']\n", "is cut short; spell --force-with-lease out"},
		{"version: 1\nallow: [7]\n", "must be text, not a number; put it in quotes"},
		{"version: 1\nallow: [true]\n", "must be text, not true or false; put it in quotes"},
		{"version: 1\nallow: [{only: [x]}]\n", "allow[0].call: is required"},
		{"version: 1\nallow: [{call: ls, trust: me}]\n", "trust: must be root-owned"},
		{"version: 1\nallow: [{call: ls, sha256: abc}]\n", "must be a SHA-256 digest"},
		{"version: 1\nallow: [{call: ls, match: [cat]}]\n", `gate.yaml:2: allow[0].match: "cat" is not covered`},
		{"version: 1\nallow: [{call: ls, match: ['ls (']}]\n", `"ls (" is not covered`},
		{"version: 1\nallow: [{call: ls, not_match: [timeout 5 ls -l]}]\n", `allow[0].not_match: "timeout 5 ls -l" is covered`},
		{"version: 1\nallow: [{call: git push, only: []}]\n", "allow[0].only: has nothing"},
		{"version: 1\ndeny: [{call: git push, flags: []}]\n", "has no flags"},
		{"version: 1\ndeny: [{call: git push, flags: [force]}]\n", `"force" is no option`},
		{"version: 1\ndeny: [{call: git push, flags: ['--force x']}]\n", "is not read as an option of git push"},
		{"version: 1\nallow: [ls]\ndeny: [{call: rm, fix: {run: rm -i}}]\n", `deny[0].fix.run: "rm -i" would not pass: the entry "rm"`},
		{"version: 1\nallow: [ls]\ndeny: [{call: rm, fix: {run: trash}}]\n", `"trash" would not pass: no entry names "trash"`},
		{"version: 1\nunlisted: allow\n", `must be deny or ask, not "allow"`},
		{"version: 1\nenforce: observe\n", "observe needs observe_until"},
		{"version: 1\nobserve_until: 2026-12-31\n", "goes with enforce: observe only"},
		{"version: 1\nenforce: observe\nobserve_until: soon\n", "must be a date as 2026-12-31"},
		{"version: 1\npaths: {root: here}\n", "must be project, cwd or absolute paths"},
		{"version: 1\npaths: {root: [project, /a]}\n", `"project" stands alone`},
		{"version: 1\npaths: {root: []}\n", "must not be empty"},
		{"version: 1\npaths: {within: a}\n", "must be an absolute path or begin with ${HOME}"},
		{"version: 1\npaths: {deny: ['~/.ssh']}\n", "write ${HOME}"},
		{"version: 1\npaths: {deny: ['a/${HOME}']}\n", "neither ${PROJECT}/ nor ${HOME}/"},
		{"version: 1\npaths: {deny: ['${HOME}x']}\n", "neither ${PROJECT}/ nor ${HOME}/"},
		{"version: 1\npaths: {deny: ['../x']}\n", "so it can match no path"},
		{"version: 1\npaths: {deny: ['a**']}\n", "has ** beside other characters"},
		{"version: 1\npaths: {deny: ['[a']}\n", "has a [ without its ]"},
		{"version: 1\npaths: {deny: ['a\\']}\n", "ends in a backslash"},
		{"version: 1\nenv: {allow: ['A B']}\n", "is no name of a variable"},
		{"version: 1\nenv: {allow: ['*A']}\n", "is no name of a variable"},
		{"version: 1\ntools: [{tool: Edit}]\n", "says nothing about the tool"},
		{"version: 1\ntools: [{tool: \"!Edit\", unlisted: ask}]\n", "name the tools first"},
		{"version: 1\ntools: [{tool: Edit, paths: {root: cwd}}]\n", "unknown key"},
		{"version: 1\nask: {unattended: allow}\n", "must be deny"},
		{"version: 1\nallow: ['" + strings.Repeat("a ", 31) + "']\n", "30 are the most"},
	} {
		_, err := Parse("gate.yaml", []byte(test.text), bundled())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	_, err := Parse("g", []byte("version: 1\nallow: ['a | b', 'c $X']\nunlisted: no\npaths: {deny: ['..']}\n"), bundled())
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("want four lines, got %v", err)
	}
}

func TestTheDefaultGateIsInOrder(t *testing.T) {
	data, err := os.ReadFile("../../vendor-gate/default/files/policy/gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("gate.yaml", data, bundled())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range p.Lint() {
		t.Errorf("%s: %s", problem.At, problem.Text)
	}
}

func TestLinesNameTheLineOfEverySetting(t *testing.T) {
	p := parse(t, "version: 1\nunlisted: ask\nallow:\n  - ls\n  - {call: python3, only: [-m pytest], exact: true}\npaths: {deny: [.env]}\n")
	got := map[string]Key{}
	for _, k := range p.Lines() {
		got[k.Name] = k
	}
	for _, want := range []Key{
		{"version", "1", 1}, {"shell", "full", 0}, {"unlisted", "ask", 2}, {"allow[0]", "ls", 4},
		{"allow[1]", "python3  only: -m pytest  exact", 5}, {"deny", "none", 0}, {"paths.deny[0]", ".env", 6},
		{"paths.redirects[0]", "**", 0}, {"paths.within", "${HOME}", 0}, {"env.allow", "none", 0}, {"ask.unattended", "deny", 0},
	} {
		if diff := cmp.Diff(want, got[want.Name]); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
	}
}
