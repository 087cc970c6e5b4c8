package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckSaysWhatIsWrongAndWritesOnlyWhatIsRight(t *testing.T) {
	for _, test := range []struct {
		yaml string
		code int
		out  string
	}{
		{"tool: {posix: true}\n", 0, "1 packs, "},
		{"tool: {posix: perhaps}\n", 1, "a.yaml:1: true or false is wanted here"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(test.yaml), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		bin := filepath.Join(dir, "packs.bin")
		if code := Main([]string{"-write", bin, dir}, &out, &out); code != test.code || !strings.Contains(out.String(), test.out) {
			t.Errorf("%s: code %d, %s", test.yaml, code, out.String())
		}
		if _, err := os.Stat(bin); (err == nil) != (test.code == 0) {
			t.Errorf("%s: the compiled packs: %v", test.yaml, err)
		}
	}
	if code := Main([]string{t.TempDir()}, new(bytes.Buffer), new(bytes.Buffer)); code != 2 {
		t.Errorf("without packs: code %d, want 2", code)
	}
}
