package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheCheckPageIsTrue runs the transcripts of docs/check.md in a directory with the files that it shows, on a PATH
// with programs of the test's own. Of --explain the digest at the end is left out.
func TestTheCheckPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	files := map[string]string{"notes.txt": "x\n", ".env": "x\n"}
	for _, block := range regexp.MustCompile("(?ms)^```\\S+ (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		files[block[1]] = block[2]
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin := t.TempDir()
	for _, name := range []string{"git", "cat", "pytest", "curl"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"PATH": bin, "HOME": t.TempDir()}
	digest := regexp.MustCompile(`(?m)^  subject  [0-9a-f]{64}\n`)
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		line, shown, _ := strings.Cut(block[1], "\n")
		words, ok := strings.CutPrefix(line, "$ gate ")
		if !ok {
			t.Fatalf("%s is no command of ours", line)
		}
		_, out, errOut := run(t, env, "/nonexistent/gates.json", unquote(words)...)
		got := digest.ReplaceAllString(strings.ReplaceAll(errOut+out, dir, "/home/you/app"), "")
		if diff := cmp.Diff(shown, got); diff != "" {
			t.Errorf("%s (-page +real)\n%s", line, diff)
		}
		commands++
	}
	if commands < 6 {
		t.Errorf("only %d commands", commands)
	}
}
