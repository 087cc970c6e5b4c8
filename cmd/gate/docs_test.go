package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheSpecsPageIsTrue runs the transcripts of docs/specs.md in a directory with the files that it shows.
func TestTheSpecsPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/specs.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, block := range regexp.MustCompile("(?ms)^```(\\S+) (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if err := os.MkdirAll(filepath.Dir(block[2]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(block[2], []byte(block[3]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, shown, _ := strings.Cut(part+"\n", "\n")
			name, words, _ := strings.Cut(line, " ")
			if name != "gate" {
				t.Fatalf("%s is no command of ours", line)
			}
			_, out, errOut := run(t, nil, "none", unquote(words)...)
			if diff := cmp.Diff(strings.TrimSpace(unfold(shown)), strings.TrimSpace(errOut+out)); diff != "" {
				t.Errorf("%s (-page +real)\n%s", line, diff)
			}
			commands++
		}
	}
	if commands < 6 {
		t.Errorf("only %d commands", commands)
	}
}

// unfold joins the objects that the page shows on several lines.
func unfold(shown string) string {
	var lines []string
	for line := range strings.Lines(shown) {
		line = strings.TrimRight(line, "\n")
		if n := len(lines); n > 0 && strings.HasPrefix(line, "  ") && strings.HasPrefix(lines[n-1], "{") {
			lines[n-1] += line[2:]
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// unquote splits words in which only single quotes are special.
func unquote(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
