package ltl

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate/call"
)

// Try judges calls as if they followed, each after those before it, and leaves the monitor as it is.
func (m *Monitor) Try(events ...Event) ([]Judgement, error) {
	var all []Judgement
	now := m.now
	for i := range events {
		next, j, err := m.step(&now, &events[i])
		if err != nil {
			return nil, err
		}
		all, now = append(all, j), next
	}
	return all, nil
}

// Value says what the formula is worth after the calls so far.
func (m *Monitor) Value() Judgement {
	j := Judgement{Value: True, Possible: False}
	for i := range m.now.worlds {
		least, most := m.now.worlds[i].values(m.program)
		j.Value, j.Possible = min(j.Value, least), max(j.Possible, most)
	}
	return j
}

// calls makes events of names.
func calls(names string) []Event {
	var trace []Event
	for name := range strings.FieldsSeq(names) {
		trace = append(trace, Event{Name: name})
	}
	return trace
}

func step(t *testing.T, m *Monitor, trace ...Event) Judgement {
	t.Helper()
	var last Judgement
	for _, e := range trace {
		j, err := m.Step(e)
		if err != nil {
			t.Fatal(err)
		}
		last = j
	}
	return last
}

func TestOnlyTheCallThatBreaksAFormulaIsAtFault(t *testing.T) {
	for _, c := range []struct {
		formula string
		trace   string
		atFault string // a letter for each call: y or n
		want    string // witnesses of the last call
	}{
		{`G(!now("rm"))`, "ls rm ls rm", "nyny", `G(!now("rm"))@3 FALSE new`},
		{`G(!now("rm"))`, "ls rm ls", "nyn", `G(!now("rm"))@1 FALSE old`},
		{`!F(now("rm"))`, "rm ls rm", "yny", `!F(now("rm"))@2 FALSE new`},
		{`G(now("x") -> X(now("y")))`, "x z z x y x z", "nynnnny", `G(now("x") -> X(now("y")))@5 FALSE new`},
		{`G(!now("rm")) & G(now("push") -> O(now("test")))`, "push rm", "yy", `G(!now("rm"))@1 FALSE new; G(now("push") -> O(now("test")))@0 FALSE old`},
		{`before("plan", "apply")`, "apply plan apply", "ynn", `before("plan", "apply")@-1 FALSE old`},
		{`G(before("plan", "apply"))`, "apply apply", "yn", `G(before("plan", "apply"))@-1 FALSE old`},
		{`G(now("push") -> before("test", "push"))`, "push ls push", "yny", `G(now("push") -> before("test", "push"))@2 FALSE new`},
		{`called("a")`, "b b a", "yyn", ``},
		{`called("a") | G(!now("rm"))`, "rm ls a", "yyn", ``},
		{`called_n("a", < 0)`, "a", "n", `called_n("a", < 0)@-1 FALSE old`},
	} {
		m := mustMonitor(t, c.formula)
		var last Judgement
		for i, e := range calls(c.trace) {
			last = step(t, m, e)
			if got := last.AtFault(); got != (c.atFault[i] == 'y') {
				t.Errorf("%s on %s: call %d at fault: %v", c.formula, c.trace, i, got)
			}
		}
		var parts []string
		for _, w := range last.Witnesses {
			age := "old"
			if w.New {
				age = "new"
			}
			parts = append(parts, fmt.Sprintf("%s@%d %v %s", w.Formula, w.At, w.Value, age))
		}
		if got := strings.Join(parts, "; "); got != c.want {
			t.Errorf("%s on %s:\n%s, want\n%s", c.formula, c.trace, got, c.want)
		}
	}
}

func TestWhatIsNotKnownCountsAgainstTheCall(t *testing.T) {
	push := func(unknown ...string) Event {
		return Event{Name: "push", Args: map[string]any{"remote": "o"}, Unknown: unknown}
	}
	for _, c := range []struct {
		formula   string
		trace     []Event
		want      Value
		uncertain bool
	}{
		{`G(!now_with("push", force=true))`, []Event{push()}, Pending, false},
		{`G(!now_with("push", force=true))`, []Event{push("force")}, False, true},
		{`G(!now_with("push", force=true))`, []Event{{Name: "push", Loose: true}}, False, true},
		{`G(!now_with("push", force=true))`, []Event{{Name: "pull", Loose: true}}, Pending, false},
		{`!called_with("push", force=true)`, []Event{push("force")}, False, true},
		{`G(now("ship") -> O(now_with("push", remote="o")))`, []Event{push(), {Name: "ship"}}, Pending, false},
		{`G(now("ship") -> O(now_with("push", remote="o")))`, []Event{push("remote"), {Name: "ship"}}, False, true},
		{`G(now_with("push", force=true) -> O(now("test")))`, []Event{push("force")}, False, true},
		{`G(now_with("push", force=true) -> O(now("test")))`, []Event{{Name: "test"}, push("force")}, Pending, false},
		{`G(each(now_with("push", remote=$r), Y(O(now_with("add", remote=$r)))))`, []Event{push("remote")}, False, true},
		{`G(each(now_with("push", remote=$r), Y(O(now_with("add", remote=$r)))))`,
			[]Event{{Name: "add", Args: map[string]any{"remote": "o"}}, push()}, Pending, false},
	} {
		m := mustMonitor(t, c.formula)
		got := step(t, m, c.trace...)
		if got.Value != c.want || got.Uncertain != c.uncertain {
			t.Errorf("%s on %s: %v, uncertain %v", c.formula, show(c.trace), got.Value, got.Uncertain)
		}
	}
}

func TestOfACallThatIsNotUnderstood(t *testing.T) {
	plain := call.Call{Name: "rm", Args: call.Args{{Name: "paths", Value: []string{"a", "$F"}}, {Name: "force", Value: true}},
		Meta: call.Meta{SpecMatched: true, DynamicArgs: []string{"$F"}}}
	if got := Of(plain); got.Loose || len(got.Unknown) != 1 || got.Unknown[0] != "paths" || got.Args["force"] != true {
		t.Errorf("%+v", got)
	}
	plain.Meta.SpecMatched = false
	if got := Of(plain); !got.Loose {
		t.Errorf("a call that its spec does not match has no other arguments: %+v", got)
	}
	plain.Meta.SpecMatched = true
	plain.Args = append(plain.Args, call.Arg{Name: "unknown_paths", Value: true})
	if got := Of(plain); !got.Loose {
		t.Errorf("paths are not known, and there are no others: %+v", got)
	}
}

// TestVariablesOverALongTrace compares with a plain set for each value.
func TestVariablesOverALongTrace(t *testing.T) {
	m := mustMonitor(t, `G(each(now_with("write", f=$f), (!now("reset")) S now_with("read", f=$f)))`)
	rng := rand.New(rand.NewPCG(1, 2))
	read := map[string]bool{}
	refused, passed := 0, 0
	for i := range 20_000 {
		f := fmt.Sprint(rng.IntN(300))
		e := Event{Name: "read", Args: map[string]any{"f": f}}
		switch rng.IntN(40) {
		case 0:
			e = Event{Name: "reset"}
			clear(read)
		case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
			e.Name = "write"
			e.Args["f"] = []any{f, fmt.Sprint(rng.IntN(300))}[:1+rng.IntN(2)]
		default:
			read[f] = true
		}
		want := true
		if e.Name == "write" {
			for _, f := range e.Args["f"].([]any) {
				want = want && read[f.(string)]
			}
		}
		if got := !step(t, m, e).AtFault(); got != want {
			t.Fatalf("call %d: passes %v, want %v", i, got, want)
		}
		if want {
			passed++
		} else {
			refused++
		}
		if i%5000 == 4999 {
			m = reload(t, m)
		}
		base := m.now.views[0][0].base
		if len(base.roots) > 4 || len(base.parent) > 2*len(base.class)+64 {
			t.Fatalf("call %d: %d classes, %d of them roots, for %d values", i, len(base.parent), len(base.roots), len(base.class))
		}
	}
	if refused < 100 || passed < 100 {
		t.Fatalf("%d refused, %d passed: the test is about nothing", refused, passed)
	}
}

// TestValuesThatDoNotMatterAnyMoreAreForgotten reads many files, and resets them all with one call.
func TestValuesThatDoNotMatterAnyMoreAreForgotten(t *testing.T) {
	m := mustMonitor(t, `G(each(now_with("write", f=$f), (!now("reset")) S now_with("read", f=$f)))`)
	for i := range 3000 {
		step(t, m, Event{Name: "read", Args: map[string]any{"f": i}})
	}
	values := func() int { return len(m.now.views[0][0].base.class) }
	if values() != 3000 {
		t.Fatalf("%d values, want 3000", values())
	}
	step(t, m, Event{Name: "reset"})
	if values() != 0 {
		t.Errorf("%d values are left", values())
	}
}

func reload(t *testing.T, m *Monitor) *Monitor {
	t.Helper()
	data, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(m.Formula(), data)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestMemoryDoesNotGrowWithTheTrace compares what is saved after few and after many calls.
func TestMemoryDoesNotGrowWithTheTrace(t *testing.T) {
	for _, text := range append(rulesForBench,
		`G(now("Read") -> X(X(F(now("test")) | now("edit") U now("Write"))))`,
		`G(O(F(now("test")) & X(now("edit"))) -> count_before(F(now("test")), <= 3))`,
		`in_order(["Read", "edit", "Read"]) & called_n("Read", >= 100) & within_steps("Read", "test", 7)`,
	) {
		m := mustMonitor(t, text)
		size := func(until int) int {
			for i := m.now.calls; i < until; i++ {
				step(t, m, benchEvent(i))
			}
			data, err := m.Save()
			if err != nil {
				t.Fatal(err)
			}
			return len(data)
		}
		few, many := size(6000), size(30_000)
		if many > few+16 { // digits of positions
			t.Errorf("%s: %d bytes after 6000 calls, %d after 30000", text, few, many)
		}
	}
}

func TestLimitsAreErrorsAndChangeNothing(t *testing.T) {
	m := mustMonitor(t, `G(each(now_with("write", f=$f), O(now_with("read", f=$f))))`)
	m.limit = 100
	read := func(i int) Event { return Event{Name: "read", Args: map[string]any{"f": i}} }
	for i := range 100 {
		step(t, m, read(i))
	}
	before, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Step(read(100)); !errors.Is(err, errValues) {
		t.Fatalf("value 101: %v", err)
	}
	if after, _ := m.Save(); !bytes.Equal(before, after) {
		t.Error("the refused step left something behind")
	}
	step(t, m, read(5), Event{Name: "write", Args: map[string]any{"f": 99}})

	// Each call leaves another pair of obligations, of which one has to be met.
	var parts []string
	for i := range 12 {
		parts = append(parts, fmt.Sprintf(`(now("t%d") -> (F(now("a%d")) | F(now("b%d"))))`, i, i, i))
	}
	m = mustMonitor(t, `X(G(`+strings.Join(parts, " & ")+`))`)
	step(t, m, Event{Name: "start"})
	for i := range 12 {
		if _, err = m.Step(Event{Name: fmt.Sprint("t", i)}); err != nil {
			break
		}
	}
	if !errors.Is(err, errOpen) {
		t.Errorf("4096 ways to go on: %v", err)
	}
}

func TestLoadRefusesWhatIsNotItsOwn(t *testing.T) {
	text := `G(now("a") -> X(F(now("b")))) & O(F(now("c"))) & in_order(["a", "b"]) & G(each(now_with("a", x=$x), O(now_with("b", x=$x))))`
	m := mustMonitor(t, text)
	step(t, m, calls("a b")...)
	step(t, m, Event{Name: "b", Args: map[string]any{"x": "1"}}, Event{Name: "a", Args: map[string]any{"x": "1"}, Doubt: true})
	data, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}
	other, _ := Parse(`G(now("a"))`, nil)
	if _, err := Load(other, data); err == nil {
		t.Error("the state of another formula is taken")
	}
	for i := range data { // whatever is changed, it is an error or a monitor that works
		for _, b := range []byte("0-9],{n\"") {
			bad := bytes.Clone(data)
			bad[i] = b
			if m, err := Load(m.Formula(), bad); err == nil {
				step(t, m, calls("a b c d")...)
				m.Holds()
			}
		}
	}
	for n := range data {
		if _, err := Load(m.Formula(), data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken", n, len(data))
		}
	}
}

func TestEventsFromJSON(t *testing.T) {
	status := 1
	for text, want := range map[string]Event{
		`{"name":"a"}`: {Name: "a"},
		`{"name":"a","args":{"n":1,"f":1.5,"l":["x",2],"o":{"k":3}},"result":null,"status":1,"argv":["a"]}`: {Name: "a",
			Args: map[string]any{"n": int64(1), "f": 1.5, "l": []any{"x", int64(2)}, "o": map[string]any{"k": int64(3)}}, HasResult: true, Status: &status},
		`{"name":"a","unknown":["p"]}`: {Name: "a", Unknown: []string{"p"}},
		`{"name":"a","unknown":true}`:  {Name: "a", Loose: true},
	} {
		var got Event
		if err := got.UnmarshalJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{`{}`, `{"name":""}`, `{"name":1}`, `{"name":"a","args":[]}`, `{"name":"a","unknown":1}`, `{"name":"a","status":"0"}`} {
		if err := new(Event).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestValuesCompareAsTheyMean(t *testing.T) {
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{1, 1.0, true}, {1, "1", false}, {true, 1, false}, {nil, false, false}, {nil, nil, true},
		{[]string{"a"}, []any{"a"}, true}, {[]any{}, nil, false}, {map[string]any{"k": 1}, map[string]any{"k": 1.0}, true},
		{map[string]any{"k": nil}, map[string]any{}, false}, {map[string]any{"k": nil}, map[string]any{"l": nil}, false},
		{1 << 53, float64(1 << 53), true}, {"", nil, false},
	} {
		if equal(c.a, c.b) != c.want || equal(c.b, c.a) != c.want {
			t.Errorf("%#v and %#v: equal is not %v", c.a, c.b, c.want)
		}
	}
	if encode("a")+encode("b") == encode("ab")+encode("") || encode(normal(1)) == encode("1") || encode(normal(1)) != encode(normal(1.0)) {
		t.Error("different values are written alike, or one value differently")
	}
	if long := short(strings.Repeat("x", 1000)); len(long) > 100 || long == short(strings.Repeat("x", 1001)) {
		t.Errorf("the key of a long value: %q", long)
	}
}
