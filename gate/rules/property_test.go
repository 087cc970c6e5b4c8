package rules

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gatehouse/gate/ltl"
	"gatehouse/gate/memory"
	"gatehouse/internal/wire"
)

// drawPattern draws a pattern over the tools a to d and the arguments x and y.
func drawPattern(t *rapid.T, vars []string, label string) pattern {
	var p pattern
	for range rapid.IntRange(1, 2).Draw(t, label+" targets") {
		one := target{tools: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "*"}), 1, 2).Draw(t, label+" tools")}
		for i, name := range vars {
			one.with = append(one.with, equals{arg: []string{"x", "y"}[i], name: name})
		}
		if vars == nil {
			switch rapid.IntRange(0, 3).Draw(t, label+" condition") {
			case 0:
				one.with = append(one.with, equals{arg: "x", value: rapid.SampledFrom([]any{int64(1), "2", true, false, nil}).Draw(t, "value")})
			case 1:
				one.where = append(one.where, globs{arg: "x", patterns: []string{rapid.SampledFrom([]string{"1", "*2", "v*"}).Draw(t, "glob")}})
			}
			one.succeeded = wanted(rapid.IntRange(0, 2).Draw(t, "succeeded"))
		}
		p = append(p, one)
	}
	return p
}

func drawRule(t *rapid.T, kinds ...Kind) *rule {
	r := &rule{}
	r.ID, r.At = "x", "f:1"
	r.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
	var vars []string
	if r.Kind == Before && rapid.Bool().Draw(t, "with variables") {
		vars = []string{"f", "g"}[:rapid.IntRange(1, 2).Draw(t, "variables")]
	}
	r.first = drawPattern(t, vars, "first")
	switch r.Kind {
	case Before:
		r.then = drawPattern(t, vars, "then")
		if vars == nil && rapid.Bool().Draw(t, "since") {
			r.since = drawPattern(t, nil, "since")
		}
	case Finally:
		if rapid.Bool().Draw(t, "since") {
			r.since = drawPattern(t, nil, "since")
		}
	case AtMost:
		r.times = rapid.IntRange(0, 3).Draw(t, "times")
	}
	r.vars = r.then.vars()
	r.key = r.digest()
	return r
}

func drawEvent(t *rapid.T) Event {
	value := rapid.SampledFrom([]any{int64(1), int64(2), "v", "2", true, false, []string{"v", "w"}, []any{int64(1), "w"}})
	e := Event{Event: ltl.Event{
		Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"),
		Args: maps.Clone(rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), value, 0, 2).Draw(t, "args")),
	}}
	if rapid.IntRange(0, 3).Draw(t, "known") == 0 {
		e.Unknown = []string{rapid.SampledFrom([]string{"x", "y"}).Draw(t, "unknown")}
	}
	e.Loose = rapid.IntRange(0, 4).Draw(t, "parsed") == 0
	if status := rapid.IntRange(-1, 1).Draw(t, "status"); status >= 0 {
		e.Status = &status
	}
	e.Doubt = rapid.IntRange(0, 3).Draw(t, "doubt") == 0
	return e
}

func TestNativeMemoryIsTheFormulaOfItsKind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRule(t, Never, Require, AtMost, Before, Finally)
		f := r.asFormula()
		monitor, err := ltl.NewMonitor(f)
		if err != nil {
			t.Fatal(err)
		}
		native, err := r.load(nil)
		if err != nil {
			t.Fatal(err)
		}
		var trace []ltl.Event
		for _, e := range rapid.SliceOfN(rapid.Custom(drawEvent), 0, 12).Draw(t, "trace") {
			trace = append(trace, e.Event)
			j, err := monitor.Step(e.Event)
			if err != nil {
				t.Fatal(err)
			}
			got, err := native.step(&e, &Surroundings{})
			if err != nil {
				t.Fatal(err)
			}
			broken := j.Value.Refuses() && j.AtFault()
			if got.broken != broken || broken && got.maybe != j.Uncertain {
				t.Fatalf("%s after %d: broken %v maybe %v, the formula %s says %v, uncertain %v",
					r.says(), len(trace), got.broken, got.maybe, f, broken, j.Uncertain)
			}
			if rapid.Bool().Draw(t, "save and load") {
				data, err := native.save()
				if err != nil {
					t.Fatal(err)
				}
				if native, err = r.load(data); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r.Kind == Finally {
			if owed, _ := native.owed(); owed == ltl.Holds(f, trace) {
				t.Fatalf("%s: owed %v, but the formula holds: %v", r.says(), owed, !owed)
			}
		}
	})
}

// formulas are safe ones of many forms; some are quiet, some are not.
var formulas = []string{
	`G(!now("a"))`,
	`G(now("b") -> O(now("a")))`,
	`G(now("c") -> Y((!now("b")) S now("a")))`,
	`G(now("b") -> Y(now("a")))`,
	`G(now("a") -> !X(F(now("a"))))`,
	`before("a", "b")`,
	`(!now("b")) W now("a")`,
	`G(now("c") -> count_before(now("c"), < 2))`,
	`within_steps("a", "b", 2)`,
	`at(2, !now("a"))`,
	`G(each(now_with("b", x=$f), Y(O(now_with("a", x=$f)))))`,
	`!now("a")`,
	`G(now("a") -> G(!now("b")))`,
	`called_n("a", <= 2)`,
}

// drawPast draws a formula about this call and those before it.
func drawPast(t *rapid.T, depth int) ltl.Formula {
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "atom") == 0 {
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tool")
		if rapid.Bool().Draw(t, "with") {
			return ltl.NowWith{Tool: name, Args: []ltl.Cond{{Name: "x", Value: int64(1)}}}
		}
		return ltl.Now{Tool: name}
	}
	sub := func() ltl.Formula { return drawPast(t, depth-1) }
	switch op := rapid.SampledFrom([]byte("!&|>YOHS#")).Draw(t, "op"); op {
	case '!':
		return ltl.Not{F: sub()}
	case '&':
		return ltl.And{All: []ltl.Formula{sub(), sub()}}
	case '|':
		return ltl.Or{Any: []ltl.Formula{sub(), sub()}}
	case '>':
		return ltl.Implies{If: sub(), Then: sub()}
	case 'S':
		return ltl.Binary{Op: 'S', L: sub(), R: sub()}
	case '#':
		cmp := rapid.SampledFrom([]ltl.Op{ltl.LT, ltl.LE, ltl.GT, ltl.GE}).Draw(t, "cmp")
		return ltl.CountBefore{F: sub(), Op: cmp, N: rapid.IntRange(0, 3).Draw(t, "n")}
	default:
		return ltl.Unary{Op: op, F: sub()}
	}
}

func TestAFormulaAboutThePastNeedsNoMonitor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := ltl.Unary{Op: 'G', F: drawPast(t, rapid.IntRange(0, 4).Draw(t, "depth"))}
		monitor, err := ltl.NewMonitor(f)
		if err != nil {
			t.Skip(err)
		}
		r := &rule{formula: f.String()}
		r.ID, r.Kind = "x", LTL
		r.key = r.digest()
		s, err := newSet(defaults(), []*rule{r})
		if err != nil {
			t.Fatal(err)
		}
		if r.asPast(f) == nil {
			t.Fatalf("%s is not taken", f)
		}
		doubted := false
		m := Memories{Session: new(memory.State)}
		for n := range rapid.IntRange(0, 15).Draw(t, "calls") {
			e := Event{Event: ltl.Event{
				Name: rapid.SampledFrom([]string{"a", "b", "c", "y", "z"}).Draw(t, "name"),
				Args: map[string]any{"x": rapid.IntRange(0, 2).Draw(t, "x")},
			}}
			if rapid.IntRange(0, 3).Draw(t, "known") == 0 {
				e.Unknown = []string{"x"}
			}
			e.Doubt = rapid.IntRange(0, 4).Draw(t, "doubt") == 0
			doubted = doubted || e.Doubt
			j, err := monitor.Step(e.Event)
			if err != nil {
				t.Skip(err)
			}
			got := s.Judge(m, []Event{e}, Surroundings{})
			broken := j.Value.Refuses() && j.AtFault()
			same := len(got) > 0 == broken && (!broken || got[0].Maybe == j.Uncertain)
			// The monitor knows which doubts fall together; where that matters the machine refuses more.
			stricter := doubted && len(got) > 0 && got[0].Maybe
			if !same && !stricter {
				t.Fatalf("%s: %s after %d calls: %v, the monitor says %v, uncertain %v", f, e.Name, n, got, broken, j.Uncertain)
			}
			if err := s.Record(m, []Event{e}, Surroundings{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAMonitorThatIsLeftAloneByOtherCallsJudgesAsIfItSawThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &rule{formula: rapid.SampledFrom(formulas).Draw(t, "formula")}
		r.ID, r.Kind = "x", LTL
		r.key = r.digest()
		s, err := newSet(defaults(), []*rule{r})
		if err != nil {
			t.Fatal(err)
		}
		f, err := ltl.Parse(r.formula, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := ltl.NewMonitor(f)
		if err != nil {
			t.Fatal(err)
		}
		m := Memories{Session: new(memory.State)}
		for n := range rapid.IntRange(0, 15).Draw(t, "calls") {
			e := Event{Event: ltl.Event{
				Name: rapid.SampledFrom([]string{"a", "b", "c", "x", "y", "z"}).Draw(t, "name"),
				Args: map[string]any{"x": rapid.IntRange(0, 2).Draw(t, "x")},
			}}
			e.Doubt = rapid.IntRange(0, 4).Draw(t, "doubt") == 0
			j, err := all.Step(e.Event)
			if err != nil {
				t.Fatal(err)
			}
			broken := len(s.Judge(m, []Event{e}, Surroundings{})) > 0
			if want := j.Value.Refuses() && j.AtFault(); broken != want {
				t.Fatalf("%s: %s after %d calls: broken %v, the monitor of all calls says %v", r.formula, e.Name, n, broken, want)
			}
			if err := s.Record(m, []Event{e}, Surroundings{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestASetIsWhatItWasAfterItWasWrittenAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []*rule
		for range rapid.IntRange(0, 5).Draw(t, "rules") {
			list = append(list, drawRule(t, Never, Require, AtMost, Before, Finally))
		}
		s, err := newSet(defaults(), list)
		if err != nil {
			t.Fatal(err)
		}
		var w wire.Writer
		s.Append(&w)
		again, err := Read(wire.NewReader(string(w.Bytes())))
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			r, err := again.rule(i)
			if err != nil {
				t.Fatal(err)
			}
			if r.says() != list[i].says() || r.key != list[i].key {
				t.Fatalf("rule %d says %q, was %q", i, r.says(), list[i].says())
			}
		}
	})
}

func TestACompiledSetThatIsDamagedIsAnErrorAndNoPanic(t *testing.T) {
	s := parse(t, `rules: [{id: a, before: {first: {tool: [x], with: {y: [1, "2"]}}, then: z}}, {id: b, ltl: 'before("a", "b")'}]`)
	var w wire.Writer
	s.Append(&w)
	whole := string(w.Bytes())
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(whole)
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		data[at] = rapid.Byte().Draw(t, "byte")
		data = data[:rapid.IntRange(at, len(data)).Draw(t, "length")]
		s, err := Read(wire.NewReader(string(data)))
		if err != nil {
			return
		}
		for i := range s.slots {
			_, _ = s.rule(i)
		}
		s.Judge(Memories{}, []Event{{Event: ltl.Event{Name: "x"}}, {Event: ltl.Event{Name: "z"}}}, Surroundings{})
	})
}

// TestNoRuleAllowsWhatSomeResolutionOfTheDoubtRefuses plays a line to a memory with calls that may not have run, and to
// one memory for each way in which they can have gone.
func TestNoRuleAllowsWhatSomeResolutionOfTheDoubtRefuses(t *testing.T) {
	refused := 0
	for range 5 {
		rapid.Check(t, func(t *rapid.T) { resolvesDoubt(t, &refused) })
	}
	if refused < 20 {
		t.Errorf("only %d calls were refused because of a doubt", refused)
	}
}

func resolvesDoubt(t *rapid.T, refused *int) {
	var r *rule
	exact := true
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		r = drawRule(t, Never, Require, AtMost, Before)
	case 1:
		r = &rule{formula: ltl.Unary{Op: 'G', F: drawPast(t, rapid.IntRange(0, 4).Draw(t, "depth"))}.String()}
		exact = false
	default:
		r = &rule{formula: rapid.SampledFrom(formulas).Draw(t, "formula")}
	}
	if r.formula != "" {
		r.ID, r.Kind = "x", LTL
		r.key = r.digest()
	}
	s, err := newSet(defaults(), []*rule{r})
	if err != nil {
		t.Fatal(err)
	}
	record := func(m Memories, e Event) {
		if err := s.Record(m, []Event{e}, Surroundings{}); err != nil {
			t.Fatal(err)
		}
	}
	doubts := 0
	m := Memories{Session: new(memory.State)}
	ways := [][]Event{nil}
	for range rapid.IntRange(0, 10).Draw(t, "calls") {
		e := drawEvent(t)
		doubt := e.Doubt && doubts < 4
		e.Doubt = false

		some, all := false, true
		for _, way := range ways {
			really := Memories{Session: new(memory.State)}
			for _, e := range way {
				record(really, e)
			}
			got := s.Judge(really, []Event{e}, Surroundings{})
			some = some || len(got) > 0
			all = all && len(got) > 0 && !got[0].Maybe
		}
		got := s.Judge(m, []Event{e}, Surroundings{})
		switch {
		case some && len(got) == 0:
			t.Fatalf("%s: %s is allowed, which some of the ways %v refuses", r.says(), e.Name, ways)
		case len(got) > 0 && !all && !got[0].Maybe:
			t.Fatalf("%s: %s is refused, and nothing said of the doubt", r.says(), e.Name)
		case exact && (len(got) > 0 != some || some && got[0].Maybe == all):
			t.Fatalf("%s: %s: %v, but in some ways %v and in all of them %v", r.says(), e.Name, got, some, all)
		}
		if some && !all {
			*refused++
		}

		for i, n := 0, len(ways); i < n; i++ {
			if doubt {
				ways = append(ways, ways[i])
			}
			ways[i] = append(slices.Clip(ways[i]), e)
		}
		if doubt {
			doubts++
			e.Doubt = true
		}
		record(m, e)
	}
}
