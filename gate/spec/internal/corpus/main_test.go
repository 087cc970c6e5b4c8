package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCorpusCountsRefusalsAndMatches(t *testing.T) {
	in := `{"line": "ls; rm x", "id": 1}
{"line": "eval \"$X\""}
{"line": "unheard-of a; unheard-of b; ls"}
`
	var out, errOut bytes.Buffer
	if code := Main([]string{"-unmatched", "3"}, strings.NewReader(in), &out, &errOut); code != 0 {
		t.Fatalf("code %d, %s", code, errOut.String())
	}
	for _, want := range []string{
		"3 lines, 47 bytes\n", "refused    1 (33.333 %) · eval 1\n", "calls      5, matched 60.00 %\n",
		"all calls matched 50.00 %\n", "× syntax 1.00\n", "     1  unheard_of\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, in := range []string{"", "{", "ls\n"} {
		if code := Main(nil, strings.NewReader(in), &out, &errOut); code != 2 {
			t.Errorf("%q: code %d, want 2", in, code)
		}
	}
}
