package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheExchangeIsFoundNearby(t *testing.T) {
	dir := t.TempDir()
	self := filepath.Join(dir, "bin", "warden")
	if _, err := findExchange(self); err == nil || !strings.Contains(err.Error(), "go build") {
		t.Errorf("where there is none: %v, want the way out", err)
	}
	write := func(name string, mode os.FileMode) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	packaged := write("libexec/gatehouse/warden-exchange", 0o755)
	if got, err := findExchange(self); got != packaged || err != nil {
		t.Errorf("as packaged: %q, %v; want %q", got, err, packaged)
	}
	write("bin/warden-exchange", 0o644)
	if _, err := findExchange(self); err == nil {
		t.Error("a file that is no program is taken for one")
	}
	if err := os.Chmod(filepath.Join(dir, "bin/warden-exchange"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findExchange(self); got != filepath.Join(dir, "bin/warden-exchange") || err != nil {
		t.Errorf("beside it: %q, %v", got, err)
	}
}
