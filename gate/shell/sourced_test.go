package shell

import "testing"

// TestSourcedMarksWhatFollows: an activation script may change what names mean, in this shell and those it starts.
func TestSourcedMarksWhatFollows(t *testing.T) {
	for line, want := range map[string][]bool{
		"a; source v/bin/activate; b; (c); bash -c d": {false, false, true, true, true, true},
		"(. v/bin/activate; a); b":                    {false, true, false},
		"if a; then . v/bin/activate; fi; b":          {false, false, true},
		"a || . v/bin/activate; b $(c)":               {false, false, true, true},
	} {
		cmds, err := Parse(line, testOptions)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		for i, c := range cmds {
			if i >= len(want) || c.Sourced != want[i] {
				t.Errorf("%q: command %d (%s) has Sourced %t", line, i, c.Source, c.Sourced)
			}
		}
		if len(cmds) != len(want) {
			t.Errorf("%q: got %d commands, want %d", line, len(cmds), len(want))
		}
	}
}
