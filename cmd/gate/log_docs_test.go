package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/cli"
)

// TestTheLogPageIsTrue runs the transcripts of docs/log.md over the log that they show, and parses its other commands.
func TestTheLogPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/log.md")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile("../../gate/ledger/testdata/decisions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for name, text := range map[string]string{
		".local/state/gatehouse/log/decisions.jsonl": string(log),
		".config/gatehouse/gate.yaml":                "version: 1\ncheck_flags: off\ndeny: [git push --force]\n",
		"new/gate.yaml":                              "version: 1\ncheck_flags: off\nallow: [git push]\npaths: {root: /, within: /}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(home)
	env := map[string]string{"HOME": home}
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [A-Z0-9+-]+)?( {2})?`) // of whatever zone
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		line, shown, _ := strings.Cut(block[1], "\n")
		_, out, errOut := run(t, env, noIndex, unquote(strings.TrimPrefix(line, "$ gate "))...)
		if diff := cmp.Diff(moment.ReplaceAllString(shown, "TIME "), moment.ReplaceAllString(errOut+out, "TIME ")); diff != "" {
			t.Errorf("%s (-page +real)\n%s", line, diff)
		}
		commands++
	}
	if commands != 3 {
		t.Errorf("%d transcripts", commands)
	}
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			words := unquote(strings.TrimSpace(line))
			if words[0] != "gate" {
				continue
			}
			root := newRoot(cli.Streams{Getenv: func(string) string { return "" }}, noIndex)
			cmd, args, err := root.Find(words[1:])
			if err != nil || cmd == root {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if err := cmd.ParseFlags(args); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}
