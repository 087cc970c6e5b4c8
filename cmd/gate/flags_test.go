package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestFlagsDocs runs what docs/flags.md shows.
func TestFlagsDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "stdin saved.txt\n"
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			if strings.HasPrefix(line, "gate flags git") {
				line = "[exec:git] exec " + line
			} else {
				line = "exec " + line
			}
			script += line + "stdout .\n"
		}
	}
	if strings.Count(script, "exec gate") < 5 {
		t.Fatalf("the document shows too little:\n%s", script)
	}
	dir := t.TempDir()
	script = strings.ReplaceAll(script, "[exec:git] exec gate flags git commit\nstdout .", "[exec:git] exec gate flags git commit")
	script += "-- saved.txt --\nUsage: x [-q]\n  -q   quiet\n"
	if err := os.WriteFile(filepath.Join(dir, "docs.txtar"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			return os.MkdirAll(home, 0o755)
		},
	})
}
