package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCorpusCountsWhatAPolicyDecides(t *testing.T) {
	home := t.TempDir()
	project, policy := filepath.Join(home, "app"), filepath.Join(home, "policy")
	for _, dir := range []string{filepath.Join(project, ".git"), policy} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := "version: 1\nunlisted: ask\ncheck_flags: spec\nallow: [cat, ls, cd]\npaths: {deny: [\".env*\"], within: " + home + "}\n"
	if err := os.WriteFile(filepath.Join(policy, "gate.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := `{"line": "cd /code/a/b && cat src/x.py", "id": 1}
{"line": "cat .env"}
{"line": "ls --no-such-thing; make"}
{"line": "make"}
`
	var out, errOut bytes.Buffer
	args := []string{"-policy", policy, "-project", project, "-roots", "/code/*/*,/testbed", "-furnish", "-texts", "2", "-samples", "1"}
	if code := Main(args, strings.NewReader(in), &out, &errOut); code != 0 {
		t.Fatalf("code %d, %s", code, errOut.String())
	}
	for _, want := range []string{
		"4 lines · allow 1 (25.0 %) · ask 1 (25.0 %) · deny 2 (50.0 %)\n",
		"deny   paths         1 (25.00 %)        1 (25.00 %)        1 (25.00 %)\n",
		"deny   flags         1 (25.00 %)        1 (25.00 %)        0 ( 0.00 %)\n",
		"ask    entry         1 (25.00 %)        2 (50.00 %)        1 (25.00 %)\n",
		"\ndeny flags\n     1  the spec of ls has no option --no-such-thing\n\ndeny flags\n  ls --no-such-thing; make\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if _, err := os.Stat(filepath.Join(project, "src/x.py")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(project, ".env")); err == nil {
		t.Error("a protected file was made")
	}
	for _, in := range []string{"", "{", "ls\n"} {
		if code := Main(args, strings.NewReader(in), &out, &errOut); code != 2 {
			t.Errorf("%q: code %d, want 2", in, code)
		}
	}
}
