package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASealedFileIsWholeOrCorrupt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	for _, data := range []string{"", "x", "two\nlines\n", "\n", strings.Repeat("x", 100_000)} {
		must(t, Disk{}.WriteSealed(name, []byte(data), 0o600))
		if got, err := ReadSealed(name); err != nil || string(got) != data {
			t.Errorf("got %.20q, %v, want %.20q", got, err, data)
		}
	}
	must(t, Disk{}.WriteSealed(name, []byte("data\n"), 0o600))
	whole, err := os.ReadFile(name)
	must(t, err)
	corrupt := map[string][]byte{
		"empty":     {},
		"zeros":     make([]byte, len(whole)),
		"longer":    append(bytes.Clone(whole), 'x'),
		"no seal":   []byte("data\n"),
		"upper hex": bytes.ToUpper(whole),
	}
	for i := range whole {
		corrupt[fmt.Sprintf("cut at %d", i)] = whole[:i]
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1
		corrupt[fmt.Sprintf("flipped at %d", i)] = flipped
	}
	for what, data := range corrupt {
		must(t, os.WriteFile(name, data, 0o600))
		if got, err := ReadSealed(name); !errors.Is(err, ErrCorrupt) || got != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %q, %v, want ErrCorrupt of %s", what, got, err, name)
		}
	}
	must(t, os.Remove(name))
	if _, err := ReadSealed(name); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrCorrupt) {
		t.Errorf("no file: %v", err)
	}
}
