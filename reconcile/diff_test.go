package reconcile

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse/manifest"
)

func TestADiffHidesNothingThatWasPutIntoAText(t *testing.T) {
	file := func(size int) *manifest.Side {
		return &manifest.Side{Type: manifest.File, Mode: 0o644, Size: int64(size)}
	}
	for name, c := range map[string]struct {
		old, now string
		want     string
		never    string
	}{
		"an end of text":        {"deny: [curl]\n", "allow: [curl]\n#\x00\n", "+allow: [curl]", "(not a text)"},
		"bytes that are none":   {"deny: [curl]\n", "allow: [curl] # \xff\n", "+allow: [curl] # \xff", "(not a text)"},
		"a letter like ours":    {"deny: [git push]\n", "deny: [git \u0440ush]\n", "(beyond ASCII in the new lines: U+0440", "U+0075"},
		"a mark that is none":   {"deny: [git push]\n", "deny: [git push\ufe0f]\n", "U+FE0F", "(not a text)"},
		"what was there":        {"# ü\ndeny: [git]\n", "# ü\ndeny: []\n", "+deny: []", "beyond ASCII"},
		"a line without end":    {"deny: [git]\n", "deny: [git]", `\ No newline at end of file`, "beyond"},
		"another end of lines":  {"deny: [git]\n", "deny: [git]\r\n", "+deny: [git]\r", "beyond"},
		"no text to begin with": {"\x7fELF\x00", "\x7fELF\x00\x01", "(not a text)", "+"},
	} {
		change := manifest.Change{Path: "policy/gate.yaml", Kind: manifest.Content, Old: file(len(c.old)), New: file(len(c.now))}
		side := func(text string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(text), nil } }
		got := strings.Join(diffLines(&change, side(c.old), side(c.now))[1:], "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("%s:\n%q\nwant %q and not %q", name, got, c.want, c.never)
		}
	}
	renamed := manifest.Change{Path: "policy/g\u0430te.yaml", Kind: manifest.Added, New: file(1)}
	if got := ChangeText(&renamed); !strings.Contains(got, `\u0430`) {
		t.Errorf("%s passes for another name", got)
	}
}

func TestADetailIsABoundedAmountOfWork(t *testing.T) {
	r := &Report{Gate: "claude", Accepted: "a", Fingerprint: strings.Repeat("f", 64)}
	for i := range 5000 {
		r.Changes = append(r.Changes, manifest.Change{Path: fmt.Sprintf("policy/%04d", i), Kind: manifest.Added,
			New: &manifest.Side{Type: manifest.File, SHA256: strings.Repeat("a", 64)}})
	}
	w := &Warden{State: t.TempDir()}
	lines := w.detail(Gate{Name: "claude"}, r)
	if len(lines) != 101 || lines[0] != "(of the first 100 of 5000 changes)" {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
	if r.Changes = r.Changes[:3]; len(w.detail(Gate{Name: "claude"}, r)) != 3 {
		t.Errorf("a few: %q", w.detail(Gate{Name: "claude"}, r))
	}
}
