package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate/rules/library"
)

// TestTheRulesPageIsTrue runs the transcripts of docs/rules.md in a directory with the files that it shows.
func TestTheRulesPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range library.Names() {
		info, err := library.Describe(name)
		if err != nil {
			t.Fatal(err)
		}
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\| [a-z, ]+ \\| " + regexp.QuoteMeta(info.Summary) + " \\|$")
		if !row.Match(page) {
			t.Errorf("docs/rules.md does not list %s: %s", name, info.Summary)
		}
	}
	t.Chdir(t.TempDir())
	for _, block := range regexp.MustCompile("(?ms)^```(\\S+) (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if err := os.WriteFile(filepath.Base(block[2]), []byte(block[3]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, shown, _ := strings.Cut(part+"\n", "\n")
			_, out, errOut := run(t, nil, "none", strings.Fields(line)[1:]...)
			if diff := cmp.Diff(strings.TrimSpace(shown), strings.TrimSpace(errOut+out)); diff != "" {
				t.Errorf("%s (-page +real)\n%s", line, diff)
			}
			commands++
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands", commands)
	}
}
