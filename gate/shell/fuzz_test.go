package shell

import (
	"errors"
	"testing"
	"time"
)

// FuzzParse: no line makes Parse panic, hang, or give what its contract does not allow.
func FuzzParse(f *testing.F) {
	for _, line := range seeds(f) {
		f.Add(line)
	}
	for _, test := range parseTests {
		f.Add(test.line)
	}
	for _, line := range hostileLines {
		f.Add(line)
	}
	for _, line := range agreeLines {
		f.Add(line)
	}
	o := testOptions
	o.Limits = Limits{Input: 1 << 14, Commands: 1000, Words: 5000, Text: 1 << 17}
	f.Fuzz(func(t *testing.T, line string) {
		begun := time.Now()
		cmds, err := Parse(line, o)
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Kind == "" || e.Message == "" || cmds != nil) {
			t.Errorf("got %v and %d commands, want an *Error and none", err, len(cmds))
		}
		for _, c := range cmds {
			if len(c.Words) == 0 || c.Words[0].State != Exact || c.Words[0].Splits || c.Words[0].Text == "" {
				t.Fatalf("%+v has no exact name", c)
			}
			for _, w := range c.Words {
				if (w.State == Several || w.State == Maybe || w.State == Pattern) != (len(w.Values) > 0) {
					t.Errorf("%+v: values and state do not fit", w)
				}
			}
			if d := c.Dir; d.Path != "" && d.Path[0] != '/' {
				t.Errorf("directory %q is not absolute", d.Path)
			}
		}
	})
}
