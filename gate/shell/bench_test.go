package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// benchLines are of the size and kind of what agents run.
var benchLines = []string{
	"git status --short",
	`cd /srv/app && git add -A && git commit -q -m "fix: keep the order of calls" && git push origin main`,
	`grep -rn "func Parse" --include=*.go . | head -20`,
	`cd /testbed && python -m pytest tests/test_models.py -x -q 2>&1 | tail -30`,
	`find . -name '*.py' -not -path './venv/*' -exec grep -l 'import os' {} + 2>/dev/null | sort | head -50`,
	"cat > notes.md <<'EOF'\n# Notes\n\nThe parser reads a line and lists what it can run.\nNothing is run.\n\n- one\n- two\nEOF\nwc -l notes.md",
	`for f in a.md b.md c.md; do echo "--- $f"; cat "$f"; done`,
	`sed -n '120,180p' src/main.go && echo "-----" && sed -n '1,40p' src/util.go`,
	`VERSION=1.2.3; docker build -t "app:$VERSION" . && docker run --rm "app:$VERSION" ./check.sh --all`,
	`if [ -f package.json ]; then npm ci --silent && npm test -- --watch=false; else echo "no package.json" >&2; exit 1; fi`,
}

func BenchmarkParse(b *testing.B) {
	o := Options{Dir: "/w", Home: "/home/agent"}
	b.SetBytes(benchBytes())
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range benchLines {
			if _, err := Parse(line, o); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkSyntaxOnly is the bare parse of the same lines, which the budget is a multiple of.
func BenchmarkSyntaxOnly(b *testing.B) {
	p := syntax.NewParser()
	var r strings.Reader
	b.SetBytes(benchBytes())
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range benchLines {
			r.Reset(line)
			if _, err := p.Parse(&r, ""); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchBytes() (n int64) {
	for _, line := range benchLines {
		n += int64(len(line))
	}
	return n
}

// seeds are the lines of the case file.
func seeds(tb testing.TB) []string {
	f, err := os.Open("../spec/testdata/translate.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []string
	for in := bufio.NewScanner(f); in.Scan(); {
		var c struct{ Line string }
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		out = append(out, c.Line)
	}
	return out
}
