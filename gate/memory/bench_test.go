package memory

import (
	"fmt"
	"testing"
)

// rules gives st the state of as many rules as a large policy has.
func rules(st *State) {
	for i := range 200 {
		st.Rules[fmt.Sprintf("rule-%03d#0123456789abcdef", i)] = []byte("12345678")
	}
}

func BenchmarkMemory(b *testing.B) {
	s := Store{Dir: b.TempDir()}
	must(b, s.Update(b.Context(), both, func(states []*State) error {
		rules(states[0])
		rules(states[1])
		return nil
	}))
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := s.Load(both)
			must(b, err)
		}
	})
	for what, changed := range map[string]int{"nothing": 0, "the session": 1, "both": 2} {
		b.Run("update "+what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, s.Update(b.Context(), both, func(states []*State) error {
					for _, st := range states[:changed] {
						st.Rules["rule-000#0123456789abcdef"][0] ^= 1
					}
					return nil
				}))
			}
		})
	}
}
