package memory

import (
	"fmt"
	"strings"
	"testing"
)

// rules gives st the state of as many rules as a large policy has.
func rules(st *State) {
	for i := range 200 {
		st.Rules[fmt.Sprintf("rule-%03d#0123456789abcdef", i)] = []byte("12345678")
	}
}

// withCalls returns a store whose session has n calls behind it.
func withCalls(b *testing.B, n int) Store {
	s := Store{Dir: b.TempDir()}
	for done := 0; done < n; done += 1000 {
		must(b, s.Update(b.Context(), []ID{session}, func(states []*State) ([]Record, error) {
			rules(states[0])
			return line(strings.Repeat("x", 60), min(n, 1000))(nil)
		}))
	}
	must(b, s.Update(b.Context(), []ID{session}, line("x", min(n, 40))))
	return s
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprint("calls=", n), func(b *testing.B) {
			s := withCalls(b, n)
			for b.Loop() {
				load(b, s, session)
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		for what, ids := range map[string][]ID{"session": both[:1], "session and project": both} {
			b.Run(fmt.Sprintf("calls=%d/%s", n, what), func(b *testing.B) {
				s := withCalls(b, n)
				for b.Loop() {
					must(b, s.Update(b.Context(), ids, func(states []*State) ([]Record, error) {
						states[0].Rules["rule-000#0123456789abcdef"][0] ^= 1
						return line("git commit -m x && git push", 2)(nil)
					}))
				}
			})
		}
	}
}
