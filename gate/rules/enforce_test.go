package rules

import (
	"strings"
	"testing"

	"gatehouse/gate/call"
	"gatehouse/gate/memory"
	"gatehouse/gate/spec"
)

func TestModes(t *testing.T) {
	for name, test := range map[string]struct{ rules, play string }{
		"block": {`rules: [{id: a, never: rm}]`, `
			deny: rm x
			deny: rm x`},
		"warn lets insisting pass, once": {`rules: [{id: a, never: rm, mode: warn}]`, `
			deny: rm x
			deny: rm y
			note: rm x
			deny: rm x`},
		"warn forgets after another call": {`rules: [{id: a, never: rm, mode: warn}]`, `
			deny: rm x
			allow: ls
			deny: rm x
			note: rm x`},
		"warn looks at the call and not at the line": {`rules: [{id: a, never: rm, mode: warn}]`, `
			deny: ls; rm x
			note: rm x`},
		"warn does not pass what a stronger rule refuses": {`
rules:
- {id: a, never: rm, mode: warn}
- {id: b, never: {tool: rm, with: {force: true}}}`, `
			deny: rm -f x
			deny: rm -f x
			deny: rm x
			note: rm x`},
		"ask":   {`rules: [{id: a, never: rm, mode: ask}]`, `ask: rm x`},
		"log":   {`rules: [{id: a, never: rm, mode: log}]`, `note: rm x`},
		"retry": {`rules: [{id: a, never: rm, mode: retry}]`, "deny: rm x\nallow: ls\ndeny: rm y\nask: rm x\ndeny: rm x"},
		"retry, consecutive": {"settings: {retry_counting: consecutive}\nrules: [{id: a, never: rm, mode: retry}]",
			"deny: rm x\nallow: ls\ndeny: rm y\ndeny: rm x\nask: rm x"},
		"retry, once": {"settings: {retries: 1}\nrules: [{id: a, never: rm, mode: retry}]", `ask: rm x`},
		"stop": {`rules: [{id: a, never: rm, mode: stop}]`, `
			stop: rm x
			deny: ls
			deny: rm x
			prompt: sorry
			allow: ls`},
		"a stop that may be is a refusal": {`rules: [{id: a, never: {tool: rm, where: {paths: x}}, mode: stop}]`, `
			deny: rm $UNKNOWN
			allow: ls`},
		"the strongest decides": {`
rules:
- {id: a, never: rm, mode: log}
- {id: b, never: rm, mode: ask}
- {id: c, never: rm, mode: warn}`, `ask: rm x`},
	} {
		t.Run(name, func(t *testing.T) { in(t, test.rules).play(test.play) })
	}
}

func TestTwoCallsOfOneAnswerAreNotInsisting(t *testing.T) {
	l := in(t, `rules: [{id: a, never: rm, mode: warn}]`)
	l.env.Generation = "answer 1"
	l.play(`
		deny: rm x
		deny: rm x`)
	l.env.Generation = "answer 2"
	l.play(`note: rm x`)
}

func TestJudgingChangesNothing(t *testing.T) {
	l := in(t, `
rules:
- {id: a, at_most: {call: ls, times: 1}}
- {id: b, ltl: 'G(now("ls") -> !X(F(now("ls"))))', mode: warn}
- {id: c, before: {first: {tool: cat, with: {paths: $f}}, then: {tool: rm, with: {paths: $f}}}}`)
	l.play("allow: ls\nallow: cat x")
	for range 3 {
		for line, want := range map[string]string{"ls": "deny", "rm x": "allow", "rm y": "deny", "cat y": "allow", "cat y; rm y": "allow"} {
			if got := l.judge(line); got != want {
				t.Errorf("%s: %s, want %s", line, got, want)
			}
		}
	}
}

func TestTheEndOfATurn(t *testing.T) {
	l := in(t, `
settings: {finish_retries: 2}
rules:
- {id: tests, finally: {call: pytest, since: [Edit, Write]}, fix: run pytest}
- {id: note, finally: Notify, mode: log}`)
	finish := func(want string) {
		t.Helper()
		verdicts, err := l.set.Finish(l.m)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range verdicts {
			got = append(got, v.Rule+":"+v.Action.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
	finish("note:note")
	l.play("allow: Edit path:a.go")
	finish("tests:deny note:note")
	l.play("fails: pytest\nallow: Edit path:a.go")
	finish("tests:deny note:note")
	finish("") // sent back often enough
	l.set.Prompt(l.m)
	finish("tests:deny note:note")
	l.play("allow: pytest")
	l.set.Prompt(l.m)
	finish("note:note")
}

func TestScopes(t *testing.T) {
	l := in(t, `
rules:
- {id: s, at_most: {call: ls, times: 1}}
- {id: p, at_most: {call: cat, times: 1}, scope: project}`)
	l.play("allow: ls\nallow: cat x\ndeny: ls\ndeny: cat x")
	l.m.Session = new(memory.State)
	l.play("allow: ls\ndeny: cat x")
	l.m.Project = nil // no project: the session remembers
	l.play("allow: cat x\ndeny: cat x")
}

func TestWithoutMemoryRulesJudgeAsIfNothingHadRun(t *testing.T) {
	l := in(t, `rules: [{id: a, before: [pytest, git_push]}, {id: w, never: rm, mode: warn}]`)
	l.m = Memories{}
	l.play("deny: git push\nallow: pytest\ndeny: git push\ndeny: rm x\ndeny: rm x")
}

func TestAMemoryThatIsDamagedRefuses(t *testing.T) {
	for _, text := range []string{
		`rules: [{id: a, before: [pytest, git_push]}]`,
		`rules: [{id: a, at_most: {call: git_push, times: 3}}]`,
		`rules: [{id: a, before: {first: {tool: x, with: {y: $f}}, then: {tool: git_push, with: {remote: $f}}}}]`,
		`rules: [{id: a, ltl: 'G(now("git_push") -> O(now("pytest")))'}]`,
		`rules: [{id: a, ltl: 'before("pytest", "git_push")'}]`,
	} {
		for _, data := range []string{"", "\xff", overflow, "\x01\x01\x01\x01", strings.Repeat("x", 100)} {
			l := in(t, text)
			key := l.set.must(t, 0).key
			l.m.Session.Rules = map[string][]byte{key: []byte(data)}
			verdicts := l.set.Judge(l.m, l.events("git push origin main"), l.env)
			if len(verdicts) != 1 || verdicts[0].Action != Deny || !strings.Contains(verdicts[0].Text, "cannot be judged") {
				t.Errorf("%s with %q: %+v", text, data, verdicts)
			}
		}
	}
}

func (s *Set) must(t *testing.T, i int) *rule {
	t.Helper()
	r, err := s.rule(i)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARuleThatSaysSomethingElseBeginsAnew(t *testing.T) {
	l := in(t, `rules: [{id: a, at_most: {call: ls, times: 1}}]`)
	l.play("allow: ls\ndeny: ls")
	l.set = parse(t, `rules: [{id: a, why: a new reason, at_most: {call: ls, times: 1}, mode: ask}]`)
	l.play("ask: ls")
	l.set = parse(t, `rules: [{id: a, at_most: {call: [ls, cat], times: 1}}]`)
	l.play("allow: ls\ndeny: ls")
}

func TestAnotherLimitGoesOnCounting(t *testing.T) {
	l := in(t, `rules: [{id: a, at_most: {call: ls, times: 3}}]`)
	l.play("allow: ls\nallow: ls")
	l.set = parse(t, `rules: [{id: a, at_most: {call: ls, times: 2}}]`)
	l.play("deny: ls")
	l.set = parse(t, `rules: [{id: a, at_most: {call: ls, times: 3}}]`)
	l.play("allow: ls\ndeny: ls")
}

func TestValuesThatAreForgottenHaveToBeSeenAgain(t *testing.T) {
	m := &seen{}
	key := func(i int) string { return strings.Repeat(string(rune(0x4e00+i)), 6)[:keySize] }
	for i := range maxSeen + 10 {
		m.sure = addSeen(m.sure, key(i))
	}
	if len(m.sure) != maxSeen*keySize || hasSeen(m.sure, key(0)) || !hasSeen(m.sure, key(maxSeen)) {
		t.Errorf("%d values, the first is there: %v", len(m.sure)/keySize, hasSeen(m.sure, key(0)))
	}
}

func TestStartListsTheRules(t *testing.T) {
	text, err := parse(t, `rules: [{id: a, never: {tool: git_push, with: {force: true}}, why: history is shared, mode: warn}]`).Start()
	if err != nil || !strings.Contains(text, "- a (warn): never: git_push with force=true; history is shared") {
		t.Errorf("%q, %v", text, err)
	}
	text, err = parse(t, `rules: [{id: a, before: {first: {tool: go, with: {subcommand: test}, succeeded: true}, then: git_push}}]`).Start()
	if err != nil || !strings.Contains(text, "before: go test that succeeded, then git_push") {
		t.Errorf("%q, %v", text, err)
	}
	text, err = parse(t, "settings: {announce: false}\nrules: [{id: a, never: x}]").Start()
	if err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestClientToolsGoByTheirCommonNames(t *testing.T) {
	l := in(t, `
rules:
- {id: w, never: {tool: Write, where: {file_path: "*.lock"}}}
- {id: r, never: {tool: Read, where: {file_path: "secret/**"}}}
- {id: t, require: {tool: Task, with: {model: haiku}}}
- {id: m, never: {tool: "mcp__*", with: {id: 7}}}`)
	for name, test := range map[string]struct {
		tool string
		args map[string]any
		want bool
	}{
		"claude":            {"Write", map[string]any{"file_path": "a.lock"}, true},
		"copilot":           {"create", map[string]any{"path": "a.lock"}, true},
		"gemini":            {"write_file", map[string]any{"file_path": "/w/a.lock"}, true},
		"opencode":          {"read", map[string]any{"filePath": "secret/x"}, true},
		"another file":      {"create", map[string]any{"path": "a.go"}, false},
		"argument required": {"spawn_agent", map[string]any{"model": "opus"}, true},
		"argument given":    {"spawn_agent", map[string]any{"model": "haiku"}, false},
		"mcp":               {"mcp__db__drop", map[string]any{"id": float64(7)}, true},
	} {
		got := l.set.Judge(l.m, []Event{Tool(test.tool, test.args, l.env.Cwd)}, l.env)
		if len(got) > 0 != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheDiskIsAskedOnce(t *testing.T) {
	l := in(t, `
rules:
- {id: a, never: {tool: "*", where: {"*": "*.pem"}}}
- {id: b, never: {tool: "*", where: {"*": "*.key"}}}
- {id: c, never: {tool: rm, where: {"*": .env}}}`)
	l.write("src/a.go", "src/b.go")
	walks, below := 0, l.env.Below
	l.env.Below = func(dir string, match func(string) bool) (bool, bool) {
		walks++
		return below(dir, match)
	}
	l.play("allow: rm -r src")
	walks = 0
	if got := l.judge("rm -r src"); got != "allow" || walks != 1 {
		t.Errorf("%s after %d walks", got, walks)
	}
}

func TestARuleConcernsCallsOfItsTools(t *testing.T) {
	calls := func(line string) []call.Call {
		all, err := spec.Line(line, spec.Options{Packs: packs})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	s := parse(t, `rules: [{id: a, before: {first: pytest, then: "git_*", since: Edit}}, {id: b, never: cargo}]`)
	for line, want := range map[string]bool{
		"ls": false, "ls; git push": true, "python -m pytest": true, "cargo build": true, "ssh h git status": true, "sudo ls": false,
	} {
		if got := s.Concerns(calls(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	for tool, want := range map[string]bool{"Edit": true, "edit": true, "Read": false, "replace": true} {
		if got := s.ConcernsTool(tool); got != want {
			t.Errorf("%s: %v", tool, got)
		}
	}
	for _, text := range []string{
		`rules: [{id: a, never: rm, mode: stop}]`, `rules: [{id: a, ltl: 'before("a", "b")'}]`, `rules: [{id: a, never: {tool: "*", where: {"*": x}}}]`,
	} {
		if !parse(t, text).Concerns(calls("ls")) {
			t.Errorf("%s may concern every call", text)
		}
	}
}
