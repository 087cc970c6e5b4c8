package ltl

import (
	"errors"
	"testing"
)

// FuzzParse holds that whatever is read prints, reads back, passes Check and can be monitored like it is judged.
func FuzzParse(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add(c.Formula)
	}
	for _, text := range rulesForBench {
		f.Add(text)
	}
	f.Add(`called_with_result('a "', {"k": [1, -2.5e3, null]}, "odd name"=true)`)
	trace := calls("a b rm plan apply a test push")
	f.Fuzz(func(t *testing.T, text string) {
		formula, err := Parse(text, nil)
		if err != nil {
			if se := new(SyntaxError); !errors.As(err, &se) || se.Offset < 0 || se.Offset > len(text) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		printed := formula.String()
		if len(printed) > maxText {
			return // Check says so
		}
		again, err := Parse(printed, nil)
		if err != nil || again.String() != printed {
			t.Fatalf("%q is printed as %q and read back as %v, %v", text, printed, again, err)
		}
		m, err := NewMonitor(formula)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for i, e := range trace {
			got, err := m.Step(e)
			if errors.Is(err, errOpen) {
				return
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			want := Judge(formula, trace[:i+1])
			if got.Value != want.Value || got.AtFault() != want.AtFault() || m.Holds() != Holds(formula, trace[:i+1]) {
				t.Fatalf("%q, call %d: monitor %v, evaluator %v", text, i, got, want)
			}
		}
	})
}
