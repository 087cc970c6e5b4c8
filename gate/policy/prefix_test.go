package policy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

// TestTheBeginningOfACallCoversIt cuts calls after each word: what stands before the cut is an entry that covers the
// call, and of deny one that refuses it.
func TestTheBeginningOfACallCoversIt(t *testing.T) {
	tried := 0
	for _, line := range corpus(t) {
		list, err := spec.Line(line, spec.Options{Packs: bundled(), Forms: true, Shell: shell.Options{Dir: "/w", Home: "/home/u"}})
		if err != nil {
			continue
		}
		for i := range list {
			c := &list[i]
			if len(c.Meta.DynamicArgs) > 0 || c.Form.More || c.Meta.Wrapper != "" || strings.Contains(strings.Join(c.Argv, ""), "\n") {
				continue
			}
			entry := ""
			for n, word := range c.Argv {
				entry += " '" + strings.ReplaceAll(word, "'", `'\''`) + "'"
				if n == maxWords {
					break
				}
				one, err := begin(entry, "", bundled())
				if err != nil {
					if strings.Contains(err.Error(), "cut short") {
						break
					}
					t.Errorf("%s: %v", entry, err)
					break
				}
				p := &Policy{Allow: []Entry{{Text: entry, begins: []form{one}}}, Deny: []Entry{{Text: entry, begins: []form{one}}}}
				p.denies = indexOf(p.Deny, func(f *form) string { return f.path[0] })
				if _, m := p.Denied(c, Host{}); m != Yes {
					t.Errorf("%s does not stand against %q: %d", entry, c.Argv, m)
				}
				p.Deny, p.denies = nil, nil
				p.index()
				e, why := p.Allowed(c, Host{})
				if e == nil && strings.Contains(why, "with its value, each time") {
					continue // what follows gives the option another value
				}
				if e == nil {
					t.Errorf("%s does not cover %q: %s", entry, c.Argv, why)
				}
				tried++
			}
		}
	}
	if tried < 1500 {
		t.Errorf("only %d beginnings were tried", tried)
	}
}

// corpus are the lines of the cases of gate and gate/spec.
func corpus(t testing.TB) (lines []string) {
	t.Helper()
	for _, name := range []string{"../spec/testdata/translate.jsonl", "../testdata/verdicts.jsonl"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var c struct{ Line string }
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, c.Line)
		}
	}
	return lines
}
