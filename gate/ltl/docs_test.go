package ltl

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheManualIsRight reads the examples of docs/ltl.md: a formula, and under it "calls => verdict, value".
func TestTheManualIsRight(t *testing.T) {
	text, err := os.ReadFile("../../docs/ltl.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	said := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```ltl\n(.*?)```").FindAllSubmatch(text, -1) {
		var f Formula
		for line := range strings.Lines(string(block[1])) {
			line = strings.TrimRight(line, "\n")
			if !strings.HasPrefix(line, "  ") {
				if f, err = Parse(line, nil); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				continue
			}
			calls, want, ok := strings.Cut(line, "=>")
			if !ok {
				t.Fatalf("%s says nothing", line)
			}
			trace := readCalls(t, calls)
			got := map[bool]string{true: "true", false: "false"}[Holds(f, trace)] + ", " + Judge(f, trace).Value.String()
			if got != strings.TrimSpace(want) {
				t.Errorf("%s on %s: got %s, the manual says %s", f, strings.TrimSpace(calls), got, want)
			}
			examples++
			said[f.String()] = true
		}
	}
	if examples < 60 {
		t.Errorf("only %d examples", examples)
	}
	for w := range strings.FieldsSeq(words) {
		if !strings.Contains(string(text), "`"+w) && !regexp.MustCompile(`\b`+w+`\(`).Match(text) && w != "always" && w != "eventually" && w != "true" && w != "false" {
			t.Errorf("the manual does not know %s", w)
		}
	}
}

// readCalls reads calls such as: plan, write(file="a", force=?)
func readCalls(t *testing.T, text string) []Event {
	t.Helper()
	p := &parser{scanner: scanner{text: strings.ReplaceAll(text, "?", "@")}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if strings.TrimSpace(text) == "-" {
		return nil
	}
	var trace []Event
	must(p.next())
	for p.kind == word {
		e := Event{Name: p.token, Args: map[string]any{}}
		must(p.next())
		if p.is("(") {
			must(p.members(")", func() error {
				name := p.token
				must(p.next())
				must(p.expect("="))
				if p.is("@") {
					e.Unknown = append(e.Unknown, name)
					return p.next()
				}
				v, err := p.jsonValue()
				e.Args[name] = v
				return err
			}))
		}
		trace = append(trace, e)
		if p.is(",") {
			must(p.next())
		}
	}
	if p.kind != end {
		t.Fatalf("%s: %s is no call", text, p.found())
	}
	return trace
}
