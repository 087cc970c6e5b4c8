package gate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/gate/ledger"
	"gatehouse/internal/durable"
)

const withRules = `rules:
  - id: tests-first
    before: {first: {tool: pytest}, then: {tool: git_push}}
    why: what is pushed was tested
`

func newRulesHost(t *testing.T) *host {
	h := newHost(t, "version: 1\ncheck_flags: off\npaths: {root: [/]}\nallow: [git push, pytest, ls]\n")
	put(t, filepath.Join(h.live, "rules.yaml"), withRules)
	return h
}

func (h *host) in(session, line string) Request {
	r := h.request(line)
	r.Session, r.Client = session, "claude-code"
	return r
}

func TestRulesLookBackOnWhatRan(t *testing.T) {
	h := newRulesHost(t)
	g := h.open()
	must(t, g.Problem())
	push := h.in("s1", "git push origin main")
	d := g.Check(t.Context(), push)
	h.judged(t, row{"push before the tests", "deny rules"}, d)
	if r := d.Reasons[0]; r.Why != "what is pushed was tested" || r.Rule != "tests-first" || r.At == "" {
		t.Errorf("%+v", r)
	}
	tests := h.in("s1", "pytest")
	d, err := g.Decide(t.Context(), tests)
	must(t, err)
	h.judged(t, row{"pytest", "allow"}, d)
	h.judged(t, row{"decided is not run", "deny rules"}, g.Check(t.Context(), push))
	status := 0
	must(t, g.Record(t.Context(), tests, d, Outcome{Status: &status}))
	h.judged(t, row{"push after the tests", "allow"}, g.Check(t.Context(), push))
	h.judged(t, row{"another session", "deny rules"}, g.Check(t.Context(), h.in("s2", "git push origin main")))
}

func TestARuleLooksBackToWhenItCameIntoForce(t *testing.T) {
	h := newRulesHost(t)
	ls := h.in("s1", "ls")
	list := func() Decision {
		g := h.open()
		d := g.Check(t.Context(), ls)
		must(t, g.Record(t.Context(), ls, d, Outcome{}))
		return d
	}
	list()
	put(t, filepath.Join(h.live, "rules.yaml"), "rules: [{id: one-ls, at_most: {call: ls, times: 1}}]\n")
	h.judged(t, row{"the first ls that the rule sees", "allow"}, list())
	h.judged(t, row{"the second", "deny rules"}, list())
}

func TestWithoutRulesNothingIsRememberedOfWhatRan(t *testing.T) {
	h := newRulesHost(t)
	must(t, os.Remove(filepath.Join(h.live, "rules.yaml")))
	must(t, h.open().Ran(t.Context(), h.in("s1", "pytest"), Outcome{}))
	for _, name := range []string{"sessions", "projects"} {
		if _, err := os.Stat(filepath.Join(h.options.State, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatRanIsRememberedWhateverBecameOfTheLog(t *testing.T) {
	h := newRulesHost(t)
	g := h.open()
	d, err := g.Decide(t.Context(), h.in("s1", "pytest"))
	must(t, err)
	log := filepath.Join(h.options.State, "log", "decisions.jsonl")
	must(t, errors.Join(os.Remove(log), unix.Mkfifo(log, 0o600)))
	if err := g.Ran(t.Context(), h.in("s1", "pytest"), Outcome{}); err == nil || !strings.Contains(err.Error(), log) {
		t.Errorf("after %s: got %v, want what is wrong with the log", d.ID, err)
	}
	h.judged(t, row{"push after the tests", "allow"}, g.Check(t.Context(), h.in("s1", "git push origin main")))
}

func TestWhatRanIsRememberedBeforeTheLogIsTouched(t *testing.T) {
	h := newRulesHost(t)
	var steps []string
	h.options.Disk = durable.Disk{Around: func(step durable.Step, change func() error) error {
		steps = append(steps, step.Op+" "+filepath.Base(step.Name))
		return change()
	}}
	must(t, h.open().Ran(t.Context(), h.in("s1", "pytest"), Outcome{}))
	if memory, log := slices.Index(steps, "write state"), slices.Index(steps, "append decisions.jsonl"); memory < 0 || log < memory {
		t.Errorf("got %q, want the memory first: a hook may run into its limit at a log that is long or locked", steps)
	}
}

func TestASessionThatBeginsClearsAwayThoseOfLongAgo(t *testing.T) {
	h := newRulesHost(t)
	g := h.open()
	for _, session := range []string{"old", "young"} {
		must(t, g.Record(t.Context(), h.in(session, "pytest"), g.Check(t.Context(), h.in(session, "pytest")), Outcome{}))
	}
	long := time.Now().Add(-100 * 24 * time.Hour)
	must(t, os.Chtimes(filepath.Join(h.options.State, "sessions", "old", "state"), long, long))
	_, err := g.Start(t.Context(), h.in("new", ""))
	must(t, err)
	h.judged(t, row{"the old one", "deny rules"}, g.Check(t.Context(), h.in("old", "git push origin main")))
	h.judged(t, row{"the young one", "allow"}, g.Check(t.Context(), h.in("young", "git push origin main")))
}

func TestDecisionsAreLogged(t *testing.T) {
	h := newRulesHost(t)
	g := h.open()
	for n := range 3 {
		d, err := g.Decide(t.Context(), h.in("s1", "git push origin main"))
		must(t, err)
		if d.Action != Deny || d.Repeated != n || len(d.ID) != 14 {
			t.Errorf("%d: %s, repeated %d, id %q", n, d.Action, d.Repeated, d.ID)
		}
		said, err := ledger.In(h.options.State).History(t.Context(), d.ID)
		must(t, err)
		if e := said[0]; e.Line != "git push origin main" || e.Verdict != ledger.Deny || e.Subject != d.Subject || len(e.Reasons) == 0 || e.PolicyTree != g.Provenance().Tree {
			t.Errorf("%+v", e)
		}
	}
	d, err := g.Decide(t.Context(), h.in("s1", "git push origin other"))
	must(t, err)
	if d.Repeated != 0 {
		t.Errorf("another line: repeated %d", d.Repeated)
	}
}

func TestMemoryThatCannotBeReadRefuses(t *testing.T) {
	h := newRulesHost(t)
	g := h.open()
	r := h.in("s1", "pytest")
	d, err := g.Decide(t.Context(), r)
	must(t, err)
	must(t, g.Record(t.Context(), r, d, Outcome{}))
	files, err := filepath.Glob(filepath.Join(h.options.State, "sessions", "*", "state"))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("%q", files)
	}
	must(t, os.WriteFile(files[0], []byte("garbage"), 0o600))
	h.judged(t, row{"ls", "deny rules cannot be read"}, g.Check(t.Context(), h.in("s1", "git push origin main")))
}

func TestALogThatCannotBeWrittenIsAnError(t *testing.T) {
	h := newRulesHost(t)
	put(t, h.options.State, "a file where the directory should be")
	d, err := h.open().Decide(t.Context(), h.request("ls"))
	if err == nil || d.ID == "" {
		t.Errorf("%q: %v", d.ID, err)
	}
}

func TestAPersonsNextMessageAnswersWhatTheClientCannotAsk(t *testing.T) {
	h := newHost(t, "version: 1\ncheck_flags: off\nunlisted: ask\npaths: {root: [/]}\nallow: [ls]\n")
	g := h.open()
	r := h.in("s1", "git push")
	r.Deferred = true
	decide := func(want Action) {
		t.Helper()
		d, err := g.Decide(t.Context(), r)
		must(t, err)
		if d.Action != want {
			t.Errorf("%s, want %s", d.Action, want)
		}
	}
	decide(Ask)
	decide(Ask)
	must(t, g.Prompt(t.Context(), r))
	decide(Allow)
	decide(Ask) // it was for once
	must(t, g.Prompt(t.Context(), r))
	must(t, g.Prompt(t.Context(), r))
	decide(Ask) // it was not used before the person spoke again
	r.Objections = []Reason{{Stage: StageShell, Call: -1, Text: "nobody sees what is typed there"}}
	decide(Deny)
}

func TestRanFindsItsDecision(t *testing.T) {
	h := newRulesHost(t)
	r := h.in("s1", "pytest")
	d, err := h.open().Decide(t.Context(), r)
	must(t, err)
	status := 0
	must(t, h.open().Ran(t.Context(), r, Outcome{Status: &status}))
	h.judged(t, row{"push", "allow"}, h.open().Check(t.Context(), h.in("s1", "git push origin main")))
	entries, err := ledger.In(h.options.State).History(t.Context(), d.ID)
	must(t, err)
	if len(entries) != 2 || entries[1].Kind != ledger.Ran {
		t.Errorf("%d entries of %s", len(entries), d.ID)
	}
}
