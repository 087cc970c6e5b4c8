package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/internal/cli"
)

func TestMCPIsFoundBesideTheGateOrInItsLibexec(t *testing.T) {
	dir := t.TempDir()
	self := filepath.Join(dir, "bin/gate")
	put := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := put("elsewhere/gate-mcp", 0o755)
	t.Setenv("PATH", filepath.Dir(path))
	if _, err := findMCP(self); err == nil || !strings.Contains(err.Error(), "go build -o DIRECTORY/ ./cmd/gate ./cmd/gate-mcp") {
		t.Errorf("where there is none: %v", err)
	}
	libexec := put("libexec/gatehouse/gate-mcp", 0o755)
	if got, err := findMCP(self); got != libexec || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	beside := put("bin/gate-mcp", 0o755)
	if got, err := findMCP(self); got != beside || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.Chmod(beside, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := findMCP(self); err == nil || !strings.Contains(err.Error(), "is no program") {
		t.Errorf("what cannot be run: %v", err)
	}
}

func TestMCPWithoutItsProgramSaysSo(t *testing.T) {
	code, out, errOut := run(t, nil, "none", "mcp", "--listen", "127.0.0.1:0")
	if code != cli.Unknown || out != "" || !strings.Contains(errOut, "the program gate-mcp is not there") {
		t.Errorf("code %d\n%s%s", code, out, errOut)
	}
	if code, out, _ := run(t, nil, "none", "mcp", "--help"); code != cli.Yes || !strings.Contains(out, "docs/mcp.md") {
		t.Errorf("its help: code %d\n%s", code, out)
	}
}
