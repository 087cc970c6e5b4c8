package ltl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var alphabet = []string{"a", "b", "c"}

func anyTool(t *rapid.T) string { return rapid.SampledFrom(alphabet).Draw(t, "tool") }

func anyTools(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 3).Draw(t, "tools")
}

func anyConds(t *rapid.T) []Cond {
	var all []Cond
	for _, name := range rapid.SampledFrom([][]string{nil, {"x"}, {"y"}, {"x", "y"}}).Draw(t, "arguments") {
		all = append(all, Cond{Name: name, Value: rapid.SampledFrom([]any{nil, int64(1), int64(2), "1", true}).Draw(t, "value")})
	}
	return all
}

func anyOp(t *rapid.T) Op { return Op(rapid.IntRange(int(EQ), int(LT)).Draw(t, "op")) }

// anyAtom draws a formula without operands.
func anyAtom(t *rapid.T, local bool) Formula {
	n := 14
	if local {
		n = 1
	}
	small := rapid.IntRange(0, 3)
	switch rapid.IntRange(0, n).Draw(t, "atom") {
	case 0:
		return Now{anyTool(t)}
	case 1:
		return NowWith{anyTool(t), anyConds(t)}
	case 2:
		return Called{anyTool(t)}
	case 3:
		return CalledWith{anyTool(t), anyConds(t)}
	case 4:
		return CalledWithResult{anyTool(t), rapid.SampledFrom([]any{"ok", nil, map[string]any{"n": int64(1)}}).Draw(t, "result"), anyConds(t)}
	case 5:
		return CalledN{anyTool(t), anyOp(t), small.Draw(t, "n")}
	case 6:
		return Before{anyTool(t), anyTool(t)}
	case 7:
		return After{anyTool(t), anyTool(t)}
	case 8:
		return AllBefore{anyTools(t), anyTool(t)}
	case 9:
		return BranchCalled{anyTool(t), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "wrong")}
	case 10:
		return InstanceBefore{anyTool(t), small.Draw(t, "n") + 1, anyTool(t), small.Draw(t, "m") + 1}
	case 11:
		return InOrder{anyTools(t)}
	case 12:
		return WithinSteps{anyTool(t), anyTool(t), small.Draw(t, "k")}
	case 13:
		return Constant{rapid.Bool().Draw(t, "constant")}
	default:
		return Now{anyTool(t)}
	}
}

// anyFormula draws a formula; settled ones are those that may stand in each and some.
func anyFormula(t *rapid.T, depth int, local bool) Formula {
	if depth == 0 {
		return anyAtom(t, local)
	}
	sub := func() Formula { return anyFormula(t, depth-1, local) }
	unary, binary := "YOH", "S"
	if !local {
		unary, binary = "GFXYOHFXYY", "UWRSS"
	}
	n := 11
	if local {
		n = 8
	}
	switch rapid.IntRange(0, n).Draw(t, "node") {
	case 0:
		return anyAtom(t, local)
	case 1:
		return Not{sub()}
	case 2:
		return And{[]Formula{sub(), sub()}}
	case 3:
		return Or{[]Formula{sub(), sub()}}
	case 4:
		return Implies{sub(), sub()}
	case 5, 6:
		return Unary{unary[rapid.IntRange(0, len(unary)-1).Draw(t, "unary")], sub()}
	case 7:
		return Binary{binary[rapid.IntRange(0, len(binary)-1).Draw(t, "binary")], sub(), sub()}
	case 8:
		return CountBefore{sub(), anyOp(t), rapid.IntRange(0, 3).Draw(t, "n")}
	case 9:
		return At{rapid.IntRange(0, 3).Draw(t, "index"), sub()}
	case 10:
		return Each{bound(t), withVariables(t, anyFormula(t, depth-1, true))}
	default:
		return Some{bound(t), withVariables(t, anyFormula(t, depth-1, true))}
	}
}

func bound(t *rapid.T) NowWith {
	return NowWith{anyTool(t), []Cond{{Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "argument"), Var: "v"}}}
}

// withVariables gives some of the atoms of f a variable.
func withVariables(t *rapid.T, f Formula) Formula {
	again := func(f Formula) Formula { return withVariables(t, f) }
	switch f := f.(type) {
	case Not:
		return Not{again(f.F)}
	case And:
		return And{[]Formula{again(f.All[0]), again(f.All[1])}}
	case Or:
		return Or{[]Formula{again(f.Any[0]), again(f.Any[1])}}
	case Implies:
		return Implies{again(f.If), again(f.Then)}
	case Unary:
		return Unary{f.Op, again(f.F)}
	case Binary:
		return Binary{f.Op, again(f.L), again(f.R)}
	case CountBefore:
		return CountBefore{again(f.F), f.Op, f.N}
	default:
		if rapid.Bool().Draw(t, "variable") {
			return bound(t)
		}
		return f
	}
}

func anyEvent(t *rapid.T, unknown bool) Event {
	e := Event{Name: anyTool(t), Args: map[string]any{}}
	value := rapid.SampledFrom([]any{int64(1), int64(2), "1", true, []string{"1", "2"}, []any{int64(1), int64(2)}})
	for _, name := range []string{"x", "y"} {
		if rapid.Bool().Draw(t, "has") {
			e.Args[name] = value.Draw(t, "value")
		}
		if unknown && rapid.IntRange(0, 4).Draw(t, "unknown") == 0 {
			e.Unknown = append(e.Unknown, name)
		}
	}
	e.Loose = unknown && rapid.IntRange(0, 6).Draw(t, "loose") == 0
	if rapid.Bool().Draw(t, "ran") {
		e.HasResult = true
		e.Result = rapid.SampledFrom([]any{"ok", nil, map[string]any{"n": int64(1), "m": "x"}}).Draw(t, "result")
	}
	if rapid.IntRange(0, 3).Draw(t, "parallel") == 0 {
		step := rapid.IntRange(0, 1).Draw(t, "step")
		e.Step = &step
	}
	return e
}

func anyTrace(t *rapid.T, unknown bool) []Event {
	var trace []Event
	for range rapid.IntRange(0, 9).Draw(t, "calls") {
		trace = append(trace, anyEvent(t, unknown))
	}
	return trace
}

func TestTextParsesBackToTheSameFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFormula(t, 4, false)
		if err := Check(f); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		got, err := Parse(f.String(), nil)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if diff := cmp.Diff(f, got, cmp.Comparer(func(a, b []string) bool { return slices.Equal(a, b) }),
			cmp.Comparer(func(a, b []Cond) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); diff != "" {
			t.Fatalf("%s: %s", f, diff)
		}
	})
}

func TestTheMonitorSaysWhatTheEvaluatorSays(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		t.Run(fmt.Sprintf("unknown=%v", unknown), func(t *testing.T) {
			for range 15 { // one round is too few for what is rare, such as "Y" of something open
				rapid.Check(t, func(t *rapid.T) { sameAsEvaluator(t, unknown) })
			}
		})
	}
}

func sameAsEvaluator(t *rapid.T, unknown bool) {
	f := anyFormula(t, 3, false)
	trace := anyTrace(t, unknown)
	m, err := NewMonitor(f)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	if got, want := m.Holds(), Holds(f, nil); got != want {
		t.Fatalf("%s before any call: monitor holds %v, evaluator %v", f, got, want)
	}
	if got, want := m.Value(), Judge(f, nil); got.Value != want.Value || got.Possible != want.Possible {
		t.Fatalf("%s before any call: monitor %v, evaluator %v", f, got, want)
	}
	for i, e := range trace {
		tried, err := m.Try(trace[i:]...)
		if err != nil {
			t.Fatalf("%s: try: %v", f, err)
		}
		got, err := m.Step(e)
		if err != nil {
			t.Fatalf("%s: step: %v", f, err)
		}
		if diff := cmp.Diff(tried[0], got); diff != "" {
			t.Fatalf("%s: Try and Step differ: %s", f, diff)
		}
		so := trace[:i+1]
		sameJudgement(t, f, so, got, Judge(f, so))
		last := tried[len(tried)-1]
		sameJudgement(t, f, trace, last, Judge(f, trace))
		if got, want := m.Holds(), Holds(f, so); got != want {
			t.Fatalf("%s on %s: monitor holds %v, evaluator %v", f, show(so), got, want)
		}
		if rapid.IntRange(0, 2).Draw(t, "save") == 0 {
			m = saveAndLoad(t, m)
		}
	}
}

func sameJudgement(t *rapid.T, f Formula, trace []Event, got, want Judgement) {
	t.Helper()
	if got.Value != want.Value || got.Possible != want.Possible {
		t.Fatalf("%s on %s: monitor %v to %v, evaluator %v to %v", f, show(trace), got.Value, got.Possible, want.Value, want.Possible)
	}
	if got.AtFault() != want.AtFault() || got.Uncertain != want.Uncertain {
		t.Fatalf("%s on %s: monitor at fault %v, uncertain %v; evaluator %v, %v\n%v\n%v", f, show(trace),
			got.AtFault(), got.Uncertain, want.AtFault(), want.Uncertain, got.Witnesses, want.Witnesses)
	}
	if got.Value.Refuses() != (len(got.Witnesses) > 0) {
		t.Fatalf("%s on %s: %v with witnesses %v", f, show(trace), got.Value, got.Witnesses)
	}
	for _, w := range got.Witnesses {
		if w.New && !slices.ContainsFunc(want.Witnesses, func(v Witness) bool {
			return v.New && v.At == w.At && v.Value == w.Value && v.Formula.String() == w.Formula.String()
		}) {
			t.Fatalf("%s on %s: witness %v is not among %v", f, show(trace), w, want.Witnesses)
		}
	}
}

func saveAndLoad(t *rapid.T, m *Monitor) *Monitor {
	data, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(m.Formula(), data)
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	second, err := again.Save()
	if err != nil || string(data) != string(second) {
		t.Fatalf("saved again: %v\n%s\n%s", err, data, second)
	}
	return again
}

// TestNoExtensionContradictsAVerdict tries every trace that goes on from a decided one by up to two calls.
func TestNoExtensionContradictsAVerdict(t *testing.T) {
	decided := 0
	for range 5 {
		rapid.Check(t, func(t *rapid.T) { noContradiction(t, &decided) })
	}
	if decided < 50 {
		t.Errorf("only %d verdicts were tried", decided)
	}
}

func noContradiction(t *rapid.T, decided *int) {
	f := anyFormula(t, 3, false)
	trace := anyTrace(t, false)
	v := Judge(f, trace).Value
	if v != True && v != False {
		return
	}
	*decided++
	var more []Event
	for _, tool := range append(slices.Clone(alphabet), "other") {
		for _, x := range []any{nil, int64(1), "1"} {
			more = append(more, Event{Name: tool, Args: map[string]any{"x": x, "y": true}, Result: "ok", HasResult: true})
		}
	}
	check := func(trace []Event) {
		if Holds(f, trace) != (v == True) {
			t.Fatalf("%s is %v, but on %s it is %v", f, v, show(trace), v != True)
		}
		if got := Judge(f, trace).Value; got != v {
			t.Fatalf("%s is %v, but on %s it is %v", f, v, show(trace), got)
		}
	}
	check(trace)
	for _, e := range more {
		one := append(slices.Clone(trace), e)
		check(one)
		for _, e := range more {
			check(append(one, e))
		}
	}
}

// TestWhatIsUnknownLiesBetweenWorstAndBest resolves what is not known, and finds the outcome between Value and Possible.
func TestWhatIsUnknownLiesBetweenWorstAndBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFormula(t, 3, false)
		trace := anyTrace(t, true)
		j := Judge(f, trace)
		known := slices.Clone(trace)
		for i := range known {
			args := map[string]any{}
			for _, name := range []string{"x", "y"} {
				args[name] = trace[i].Args[name]
				if trace[i].unsure(name) {
					args[name] = rapid.SampledFrom([]any{nil, int64(1), "1", true, []any{"1", int64(2)}}).Draw(t, "really")
				}
			}
			known[i].Args, known[i].Unknown, known[i].Loose = args, nil, false
		}
		if got := Judge(f, known).Value; got < j.Value || got > j.Possible {
			t.Fatalf("%s on %s: %v to %v, but on %s it is %v", f, show(trace), j.Value, j.Possible, show(known), got)
		}
		if Holds(f, trace) && !Holds(f, known) {
			t.Fatalf("%s holds on %s, but not on %s", f, show(trace), show(known))
		}
	})
}

// TestTheClassHoldsEveryValue compares Classify with what traces lead to.
func TestTheClassHoldsEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFormula(t, 3, false)
		trace := anyTrace(t, true)
		if v := Judge(f, trace).Value; !reach(f).has(v) {
			t.Fatalf("%s on %s is %v, which Classify (%v) does not expect", f, show(trace), v, Classify(f))
		}
	})
}

func show(trace []Event) string {
	parts := make([]string, len(trace))
	for i, e := range trace {
		parts[i] = fmt.Sprintf("%s%v", e.Name, e.Args)
		if e.Loose || e.Unknown != nil {
			parts[i] += fmt.Sprintf("?%v%v", e.Unknown, e.Loose)
		}
		if e.Doubt {
			parts[i] += " perhaps"
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}
