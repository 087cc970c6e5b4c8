package library_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatehouse/gate/rules/library"
)

// reference are the entries that rule files written for AgentLTL may use.
var reference = []string{
	"ask-before-creating-credentials", "ask-before-discarding-work", "ask-before-infra-changes", "ask-before-installing",
	"ask-before-reading-secret-stores", "ask-before-recursive-delete", "devops-secrets", "no-claude-coauthor",
	"no-codex-coauthor", "no-copilot-coauthor", "no-vibe-coauthor", "no-env-dumps", "no-force-push", "no-leaky-debug",
	"no-push-to-main", "no-secrets-in-commands", "no-skipping-secret-scans", "protect-env-files", "protect-secret-files",
	"read-before-overwrite", "subagents-on-sonnet", "tests-before-finishing", "tests-before-push",
}

func TestTheLibraryHasTheEntriesOfTheReferenceAndMore(t *testing.T) {
	names := library.Names()
	if !slices.IsSorted(names) {
		t.Error("the names are not sorted")
	}
	for _, name := range reference {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if more := len(names) - len(reference); more < 25 {
		t.Errorf("only %d entries beyond those of the reference", more)
	}
}

func TestEveryEntryExplainsItself(t *testing.T) {
	word := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	owner := make(map[string]string)
	for _, name := range library.Names() {
		info, err := library.Describe(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !word.MatchString(name) {
			t.Errorf("%s: malformed name", name)
		}
		if info.Summary == "" || strings.HasSuffix(info.Summary, ".") || len(info.Tags) == 0 {
			t.Errorf("%s: the summary should be one phrase without a full stop, and there should be tags", name)
		}
		for _, tag := range info.Tags {
			if !word.MatchString(tag) {
				t.Errorf("%s: malformed tag %q", name, tag)
			}
		}
		for _, other := range info.Include {
			if !slices.Contains(library.Names(), other) || other == name {
				t.Errorf("%s includes %q, which is no other entry", name, other)
			}
		}
		if len(info.Rules) == 0 && len(info.Include) == 0 {
			t.Errorf("%s has neither rules nor entries", name)
		}
		for _, r := range info.Rules {
			if r.ID != name && !strings.HasPrefix(r.ID, name+"-") {
				t.Errorf("%s: the rule %q does not begin with the name of the entry", name, r.ID)
			}
			if other, taken := owner[r.ID]; taken {
				t.Errorf("%s: the rule %q is also one of %s", name, r.ID, other)
			}
			owner[r.ID] = name
			if r.Why == "" || r.Fix == "" || r.Mode == "" {
				t.Errorf("%s: the rule %q needs why, fix and mode", name, r.ID)
			}
			if strings.HasSuffix(r.Why, ".") || strings.HasSuffix(r.Fix, ".") {
				t.Errorf("%s: why and fix of %q are no sentences with a full stop", name, r.ID)
			}
		}
	}
}

// TestEveryEntryHasFixtures counts them; cmd/gate runs them, as "gate rules test" does.
func TestEveryEntryHasFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !slices.Contains(library.Names(), name) {
			t.Errorf("%s belongs to no entry", file)
		}
	}
	for _, name := range library.Names() {
		data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		caught, passed := 0, 0
		for line := range strings.Lines(string(data)) {
			switch prefix, _, _ := strings.Cut(line, ":"); prefix {
			case "deny", "ask", "stop", "note":
				caught++
			case "allow", "fail":
				passed++
			}
		}
		if caught < 4 || passed < 4 {
			t.Errorf("%s: %d lines that it must catch, %d that it must not; want at least 4 of each", name, caught, passed)
		}
	}
}

func TestOnlyEntriesHaveASource(t *testing.T) {
	for _, name := range []string{"", "no-such-entry", "../library", "no-force-push.yaml", "entries/no-force-push"} {
		if _, ok := library.Source(name); ok {
			t.Errorf("%q has a source", name)
		}
		if _, err := library.Describe(name); err == nil {
			t.Errorf("%q has a description", name)
		}
	}
	text, ok := library.Entries{}.Open("no-force-push")
	if !ok || !strings.Contains(string(text), "id: no-force-push") {
		t.Errorf("no-force-push: %q", text)
	}
}
