package rules

import (
	"strings"
	"testing"

	"gatehouse/gate/ltl"
	"gatehouse/gate/memory"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"rules: [{id: a, never: rm}]", "rules: [{id: a, before: {first: {tool: x, with: {y: $f}}, then: {tool: z, with: {y: $f}}}}]",
		"rules: [{id: a, ltl: 'G(now(\"a\") -> O(now(\"b\")))'}]", "use: [no-force-push]\ndisable: [x]", "settings: {mode: warn}",
		"rules:\n- &a {id: a, never: x}\n- {<<: *a, id: b}\n", "rules: [{id: a, formula: {type: Before, args: {a: x, b: y}}}]",
		"a: &a [*a]", "rules: &r\n- *r\n", "rules: [{id: a, finally: {call: x, since: y}}]", "tools: {x: {options: []}}",
		"rules: [{id: a, require: {tool: x, where: {\"*\": [\"[a\"]}}}]", "rules: [{id: a, at_most: {call: [x, {tool: y, exists: no}], times: 2}}]",
	} {
		f.Add([]byte(text))
	}
	events := []Event{{Event: ltl.Event{Name: "x", Args: map[string]any{"y": "v"}}}, {Event: ltl.Event{Name: "rm", Loose: true}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse([]File{{"f.yaml", data}}, ParseOptions{})
		if err != nil {
			if s != nil {
				t.Fatal("a set beside an error")
			}
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "f.yaml:") && !strings.HasPrefix(line, "library/") {
					t.Fatalf("a problem without its place: %q", err)
				}
			}
			return
		}
		m := Memories{new(memory.State), new(memory.State)}
		s.Judge(m, events, Surroundings{})
		if err := s.Record(m, events, Surroundings{}); err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Judge(m, events, Surroundings{}) {
			if strings.Contains(v.Text, "cannot be judged") {
				t.Fatalf("%+v", v)
			}
		}
	})
}
