package ltl

import (
	"fmt"
	"testing"
)

// rulesForBench are formulas of the kinds that rules are made of.
var rulesForBench = []string{
	`G(!now("rm"))`,
	`G(now("push") -> Y((!now("edit")) S now("test")))`,
	`G(now("deploy") -> count_before(now("deploy"), < 3))`,
	`G(now("request") -> F(now("answer")))`,
	`before("plan", "apply")`,
	`G(each(now_with("Write", file=$f), Y(O(now_with("Read", file=$f)))))`,
}

func benchEvent(i int) Event {
	switch i % 5 {
	case 0:
		return Event{Name: "Read", Args: map[string]any{"file": fmt.Sprint("f", i%1000)}}
	case 1:
		return Event{Name: "edit"}
	case 2:
		return Event{Name: "test"}
	case 3:
		return Event{Name: "request"}
	default:
		return Event{Name: "Write", Args: map[string]any{"file": fmt.Sprint("f", (i-4)%1000)}}
	}
}

// BenchmarkStep is the cost of judging a call and taking it into account, with calls behind it.
func BenchmarkStep(b *testing.B) {
	for _, behind := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("behind=%d", behind), func(b *testing.B) {
			var monitors []*Monitor
			for _, text := range rulesForBench {
				m := mustMonitor(b, text)
				for i := range behind {
					if _, err := m.Step(benchEvent(i)); err != nil {
						b.Fatal(err)
					}
				}
				monitors = append(monitors, m)
			}
			events := make([]Event, 1000)
			for i := range events {
				events[i] = benchEvent(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				for _, m := range monitors {
					if _, err := m.Step(events[i%len(events)]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkTwoHundredRules is the cost of judging one call by 200 formulas.
func BenchmarkTwoHundredRules(b *testing.B) {
	var monitors []*Monitor
	for i := range 200 {
		monitors = append(monitors, mustMonitor(b, rulesForBench[i%len(rulesForBench)]))
	}
	e := benchEvent(4)
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range monitors {
			if _, err := m.Try(e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func mustMonitor(t testing.TB, text string) *Monitor {
	t.Helper()
	f, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMonitor(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
