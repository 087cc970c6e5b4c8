package ltl

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// A testCase is a line of testdata/ltl.jsonl.
type testCase struct {
	ID      string  `json:"id"`
	Formula string  `json:"formula"`
	Trace   []Event `json:"trace"`
	Mode    string  `json:"mode"`
	Verdict any     `json:"verdict"`
	Value   string  `json:"value"`
	Refused bool    `json:"refused"`
	Note    string  `json:"note"`
}

func readCases(t testing.TB) []testCase {
	t.Helper()
	data, err := os.ReadFile("testdata/ltl.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []testCase
	for line := range bytes.Lines(data) {
		var c testCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestCaseFile(t *testing.T) {
	cases := readCases(t)
	if len(cases) < 100 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		f, err := Parse(c.Formula, nil)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		m, err := NewMonitor(f)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		for _, e := range c.Trace {
			if _, err := m.Step(e); err != nil {
				t.Errorf("%s: %v", c.ID, err)
			}
		}
		if c.Mode == "complete" {
			if got := Holds(f, c.Trace); got != c.Verdict {
				t.Errorf("%s: Holds(%s) = %v, want %v: %s", c.ID, c.Formula, got, c.Verdict, c.Note)
			}
			if got := m.Holds(); got != c.Verdict {
				t.Errorf("%s: monitor of %s holds: %v, want %v: %s", c.ID, c.Formula, got, c.Verdict, c.Note)
			}
			continue
		}
		for who, v := range map[string]Value{"Judge": Judge(f, c.Trace).Value, "monitor": m.Value().Value} {
			if v.String() != c.Value || v.Refuses() != c.Refused || verdict(v) != c.Verdict {
				t.Errorf("%s: %s of %s = %v, want %s: %s", c.ID, who, c.Formula, v, c.Value, c.Note)
			}
		}
	}
}

func verdict(v Value) any {
	switch v {
	case True:
		return true
	case False:
		return false
	default:
		return "undecided"
	}
}
