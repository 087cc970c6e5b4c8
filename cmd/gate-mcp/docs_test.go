package main

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"gatehouse/internal/cli"
)

// TestTheMCPPageIsTrue holds docs/mcp.md against the program: its flags, its command lines, and that its JSON is JSON.
func TestTheMCPPageIsTrue(t *testing.T) {
	data, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	root := func() (set *pflag.FlagSet) {
		return newRoot(cli.Streams{Out: io.Discard, Err: io.Discard, Getenv: os.Getenv}, "none").Flags()
	}
	root().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(page, "| `--"+f.Name+" ") {
			t.Errorf("the page has no row for --%s", f.Name)
		}
	})
	lines := regexp.MustCompile(`(?m)^(?:\$ )?gate mcp(.*)$`).FindAllStringSubmatch(page, -1)
	for _, line := range lines {
		set := root()
		if err := set.Parse(strings.Fields(line[1])); err != nil || set.NArg() > 0 {
			t.Errorf("gate mcp%s: %v, words left: %q", line[1], err, set.Args())
		}
	}
	blocks := regexp.MustCompile("(?ms)^```json \\S+\n(.*?)^```$").FindAllStringSubmatch(page, -1)
	for _, block := range blocks {
		if !json.Valid([]byte(block[1])) {
			t.Errorf("no JSON:\n%s", block[1])
		}
	}
	if len(lines) < 2 || len(blocks) < 5 {
		t.Errorf("%d command lines, %d blocks of JSON", len(lines), len(blocks))
	}
	for _, part := range []string{jobHeader, endpoint, sessionless} {
		if !strings.Contains(page, part) {
			t.Errorf("the page does not say %q", part)
		}
	}
}
