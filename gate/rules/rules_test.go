package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatehouse/gate/call"
	"gatehouse/gate/memory"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

// parse returns the set of one file that has these rules.
func parse(t testing.TB, text string) *Set {
	t.Helper()
	s, err := Parse([]File{{"rules.yaml", []byte(text)}}, ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines judges shell lines in a directory of its own; what passes counts as run.
type lines struct {
	t   testing.TB
	set *Set
	m   Memories
	env Surroundings
}

func in(t testing.TB, text string) *lines {
	dir := t.TempDir()
	return &lines{t, parse(t, text), Memories{new(memory.State), new(memory.State)}, onDisk(dir)}
}

// onDisk asks the real disk.
func onDisk(dir string) Surroundings {
	return Surroundings{
		Project: dir, Home: "/home/u", Cwd: dir,
		Exists: func(p string) bool { _, err := os.Lstat(p); return err == nil },
		Resolve: func(p string) string {
			if real, err := filepath.EvalSymlinks(p); err == nil {
				return real
			}
			return p
		},
		Glob: func(p string) ([]string, bool) {
			all, err := filepath.Glob(p)
			return slices.DeleteFunc(all, func(m string) bool { // as bash has it
				return strings.HasPrefix(filepath.Base(m), ".") && !strings.HasPrefix(filepath.Base(p), ".")
			}), err == nil
		},
		Below: func(dir string, match func(string) bool) (bool, bool) {
			found := false
			err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
				if err == nil && p != dir && match(p) {
					found = true
				}
				return err
			})
			return found, err == nil
		},
	}
}

func (l *lines) events(line string) []Event {
	l.t.Helper()
	if name, args, ok := strings.Cut(line, " path:"); ok { // a client's tool
		return []Event{Tool(name, map[string]any{"file_path": args}, l.env.Cwd)}
	}
	calls, err := spec.Line(line, spec.Options{
		Shell: shell.Options{Dir: l.env.Cwd, Home: l.env.Home}, Packs: packs, Effects: true, Root: l.env.Project,
	})
	if err != nil {
		l.t.Fatalf("%s: %v", line, err)
	}
	events := Events(calls)
	Prove(line, calls, events)
	return events
}

// packs are shared, since a spec is decoded once.
var packs = spec.Bundled()

// judge says what becomes of a line: allow, or the action of the strongest verdict.
func (l *lines) judge(line string) string {
	l.t.Helper()
	verdicts := l.set.Judge(l.m, l.events(line), l.env)
	if len(verdicts) == 0 {
		return "allow"
	}
	return verdicts[0].Action.String()
}

// do judges a line, and records what followed from the verdict.
func (l *lines) do(line string) string {
	l.t.Helper()
	return l.run(line, 0)
}

// run is do for a line whose calls all end with a status; below 0, nobody knows it.
func (l *lines) run(line string, status int) string {
	l.t.Helper()
	events := l.events(line)
	verdicts := l.set.Judge(l.m, events, l.env)
	if len(verdicts) > 0 && verdicts[0].Action != Note {
		if err := l.set.Refuse(l.m, events, verdicts, l.env); err != nil {
			l.t.Fatal(err)
		}
		return verdicts[0].Action.String()
	}
	for i := range events {
		if status >= 0 {
			events[i].Status = &status
		}
	}
	if err := l.set.Record(l.m, events, l.env); err != nil {
		l.t.Fatal(err)
	}
	if len(verdicts) > 0 {
		return "note"
	}
	return "allow"
}

func (l *lines) write(names ...string) {
	l.t.Helper()
	for _, name := range names {
		p := filepath.Join(l.env.Project, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("x\n"), 0o644); err != nil {
			l.t.Fatal(err)
		}
	}
}

// A play is lines with what becomes of each: "allow: pytest". A line that begins with "exit N:" ends so.
func (l *lines) play(script string) {
	l.t.Helper()
	for step := range strings.Lines(script) {
		step = strings.TrimSpace(step)
		if step == "" {
			continue
		}
		want, line, _ := strings.Cut(step, ": ")
		status := 0
		switch want {
		case "fails":
			want, status = "allow", 1
		case "unknown":
			want, status = "allow", -1
		case "prompt":
			l.set.Prompt(l.m)
			continue
		}
		if got := l.run(line, status); got != want {
			l.t.Errorf("%s: %s, want %s", line, got, want)
			for _, v := range l.set.Judge(l.m, l.events(line), l.env) {
				l.t.Logf("  %s %s: %s (maybe %v)", v.Action, v.Rule, v.Text, v.Maybe)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	for name, test := range map[string]struct{ rules, play string }{
		"never": {`rules: [{id: a, never: git_push, with: {force: true}}]`, `
			allow: git push
			deny: git push -f
			deny: git push --force origin main
			deny: ls; git push -fv
			deny: timeout 5 git push -f`},
		"before": {`rules: [{id: a, before: [pytest, git_push]}]`, `
			deny: git push
			allow: pytest -q
			allow: git push`},
		"before on one line": {`rules: [{id: a, before: [pytest, git_push]}]`, `
			deny: git push; pytest
			allow: pytest && git push`},
		"before since": {`rules: [{id: a, before: {first: [pytest, {tool: make, with: {argv: test}}], then: git_push, since: [Edit, Write]}}]`, `
			deny: git push
			allow: make test
			allow: git push
			allow: Edit path:a.go
			deny: git push
			allow: make lint
			deny: git push
			allow: pytest
			allow: git push`},
		"before with success": {`rules: [{id: a, before: {first: {tool: pytest, succeeded: true}, then: git_push}}]`, `
			fails: pytest
			deny: git push
			unknown: pytest
			deny: git push
			allow: pytest
			allow: git push`},
		"before with success on one line": {`rules: [{id: a, before: {first: {tool: pytest, succeeded: true}, then: git_push}}]`, `
			deny: pytest; git push
			deny: pytest || git push
			deny: ! pytest && git push
			deny: pytest | tee log && git push
			deny: pytest && ls || git push
			deny: pytest && ls; git push
			deny: (pytest; ls) && git push
			deny: git push && pytest
			deny: pytest & git push
			deny: ls && git push
			fails: pytest && ls && git push
			deny: git push
			fails: timeout 60 pytest -q && git push
			deny: git push`},
		"require": {`rules: [{id: a, require: {tool: rm, where: {paths: [build, "build/**"]}}}]`, `
			allow: ls
			allow: rm build/x
			deny: rm src/x`},
		"at_most": {`rules: [{id: a, at_most: {call: gh_pr_create, times: 1}}]`, `
			allow: gh pr create -t x -b y
			deny: gh pr create -t x -b y
			allow: gh pr list`},
		"at_most on one line": {`rules: [{id: a, at_most: {call: ls, times: 2}}]`, `
			deny: ls; ls; ls
			allow: ls; ls
			deny: ls`},
		"ltl": {`rules: [{id: a, ltl: 'G(now("WebFetch") -> G(!now("curl") & !now("wget")))'}]`, `
			allow: curl -s http://x
			allow: WebFetch path:x
			allow: ls
			deny: curl -s http://x
			allow: ls
			deny: wget http://x`},
		"ltl that counts": {`rules: [{id: a, ltl: 'G(now("git_push") -> Y(now("pytest")))'}]`, `
			deny: git push
			allow: pytest
			allow: ls
			deny: git push
			allow: pytest
			allow: git push`},
		"formula": {`rules: [{id: a, formula: {type: Before, args: {a: git_fetch, b: git_rebase}}}]`, `
			deny: git rebase main
			allow: git fetch
			allow: git rebase main`},
		"a variable": {`
rules:
- id: a
  before:
    first: {tool: [Read, cat], with: {file_path: $f}}
    then: {tool: [Edit, Write], with: {file_path: $f}, exists: true}`, `
			deny: Edit path:a.go
			allow: Write path:new.go
			allow: Read path:a.go
			allow: Edit path:a.go
			deny: Edit path:b.go`},
	} {
		t.Run(name, func(t *testing.T) {
			l := in(t, test.rules)
			l.write("a.go", "b.go")
			l.play(test.play)
		})
	}
}

func TestEventsOfCalls(t *testing.T) {
	calls := []call.Call{{Name: "apt_get_install", Argv: []string{"/usr/bin/apt-get", "install", "x"}}}
	e := Events(calls)
	if len(e) != 1 || !e[0].goesBy("apt_get") {
		t.Errorf("apt-get is not known by its name: %+v", e)
	}
}
