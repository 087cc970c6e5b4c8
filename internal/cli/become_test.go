package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAProgramIsFoundBesideTheDoorOrInItsLibexec(t *testing.T) {
	dir := t.TempDir()
	find := func() (string, error) { return near(filepath.Join(dir, "bin/gate"), "gate-mcp", "gate") }
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
	t.Setenv("PATH", filepath.Dir(put("elsewhere/gate-mcp", 0o755)))
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "go build -o DIRECTORY/ ./cmd/gate ./cmd/gate-mcp") {
		t.Errorf("where there is none: %v", err)
	}
	libexec := put("libexec/gatehouse/gate-mcp", 0o755)
	if got, err := find(); got != libexec || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	beside := put("bin/gate-mcp", 0o755)
	if got, err := find(); got != beside || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.Chmod(beside, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "is no program") {
		t.Errorf("what cannot be run: %v", err)
	}
}
