package ltl

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// resolutions returns the traces that a trace can really have been, and whether its last call ran in each.
func resolutions(trace []Event) (all [][]Event, last []bool) {
	all, last = [][]Event{nil}, []bool{false}
	for _, e := range trace {
		doubt := e.Doubt
		e.Doubt = false
		for i, n := 0, len(all); i < n; i++ {
			if doubt {
				all, last = append(all, all[i]), append(last, false)
			}
			all[i], last[i] = append(slices.Clip(all[i]), e), true
		}
	}
	return all, last
}

// doubtful draws a trace in which up to four calls may not have run.
func doubtful(t *rapid.T, unknown bool) []Event {
	trace := anyTrace(t, unknown)
	for range rapid.IntRange(0, 4).Draw(t, "doubtful") {
		if len(trace) > 0 {
			trace[rapid.IntRange(0, len(trace)-1).Draw(t, "which")].Doubt = true
		}
	}
	return trace
}

// quantified reports whether there is an each or some in f: only then more than what can have happened is refused.
func quantified(f Formula) bool {
	switch f.(type) {
	case Each, Some:
		return true
	}
	return slices.ContainsFunc(kids(f), quantified)
}

func TestACallIsRefusedWhereSomeResolutionOfTheDoubtRefusesIt(t *testing.T) {
	refused := 0
	for _, unknown := range []bool{false, true} {
		for range 12 {
			rapid.Check(t, func(t *rapid.T) { eitherWay(t, unknown, &refused) })
		}
	}
	if refused < 200 {
		t.Errorf("only %d calls were refused because of a doubt", refused)
	}
}

func eitherWay(t *rapid.T, unknown bool, refused *int) {
	f := anyFormula(t, 3, false)
	trace := doubtful(t, unknown)
	m, err := NewMonitor(f)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	for i := range trace {
		so := trace[:i+1]
		tried, err := m.Try(trace[i:]...)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		j, err := m.Step(trace[i])
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		agreesWithResolutions(t, f, so, j, refused)
		agreesWithResolutions(t, f, trace, tried[len(tried)-1], refused)
		holds := true
		ways, _ := resolutions(so)
		for _, way := range ways {
			holds = holds && Holds(f, way)
		}
		if got := m.Holds(); got && !holds || got != holds && !quantified(f) {
			t.Fatalf("%s on %s: holds %v, want %v", f, show(so), got, holds)
		}
		if got := Holds(f, so); got != m.Holds() {
			t.Fatalf("%s on %s: Holds and the monitor differ", f, show(so))
		}
		if rapid.IntRange(0, 2).Draw(t, "save") == 0 {
			m = saveAndLoad(t, m)
		}
	}
}

func agreesWithResolutions(t *rapid.T, f Formula, trace []Event, got Judgement, refused *int) {
	t.Helper()
	least, most := True, False
	some, all := false, true // ways in which the call is refused, for all that is known
	ways, ran := resolutions(trace)
	for i, way := range ways {
		j := Judge(f, way)
		least, most = min(least, j.Value), max(most, j.Possible)
		refuses := ran[i] && j.Value.Refuses() && j.AtFault()
		some = some || refuses
		all = all && refuses && !j.Uncertain
	}
	refuses := got.Value.Refuses() && got.AtFault()
	if got.Value > least || got.Possible < most || some && !refuses || refuses && !all && !got.Uncertain {
		t.Fatalf("%s on %s: %v to %v, refused %v, uncertain %v; resolutions say %v to %v, refused in some %v, in all %v", f, show(trace),
			got.Value, got.Possible, refuses, got.Uncertain, least, most, some, all)
	}
	if some && !all {
		*refused++
	}
	if quantified(f) {
		return
	}
	if got.Value != least || got.Possible != most || refuses != some || got.Uncertain != (some && !all) {
		t.Fatalf("%s on %s: %v to %v, refused %v, uncertain %v; resolutions say %v to %v, refused in some %v, in all %v", f, show(trace),
			got.Value, got.Possible, refuses, got.Uncertain, least, most, some, all)
	}
}

func TestACallThatMayNotHaveRunNeverHelpsAndAlwaysCounts(t *testing.T) {
	perhaps := func(names string) []Event { // a name that ends in ? is in doubt
		trace := calls(names)
		for i := range trace {
			trace[i].Name, trace[i].Doubt = strings.CutSuffix(trace[i].Name, "?")
		}
		return trace
	}
	for _, c := range []struct {
		formula, trace string
		want           string // of the last call: passes, perhaps, refused
	}{
		{`before("plan", "apply")`, "plan apply", "passes"},
		{`before("plan", "apply")`, "plan? apply", "perhaps"},
		{`before("plan", "apply")`, "plan? plan apply", "passes"},
		{`before("plan", "apply")`, "plan apply? apply", "passes"},
		{`before("plan", "apply")`, "plan? apply? apply", "perhaps"},
		{`before("plan", "apply")`, "plan? apply ls", "passes"},
		{`called_n("deploy", <= 1)`, "deploy? deploy", "perhaps"},
		{`called_n("deploy", <= 1)`, "deploy deploy", "refused"},
		{`called_n("deploy", <= 1)`, "deploy? deploy deploy", "perhaps"},
		{`called_n("deploy", <= 1)`, "deploy? deploy ls", "passes"},
		{`all_before(["lint", "test"], "ship")`, "lint? test ship", "perhaps"},
		{`branch_called("blue", "green")`, "blue? green?", "perhaps"},
		{`instance_before("read"[2], "write"[1])`, "read read? write", "perhaps"},
		{`within_steps("alarm", "ack", 2)`, "alarm x? x ack", "passes"},
		{`within_steps("alarm", "ack", 2)`, "alarm x? x x", "perhaps"},
		{`G(now("push") -> Y(now("test")))`, "test x? push", "perhaps"},
		{`G(now("push") -> !Y(now("test")))`, "test x? push", "perhaps"},
		{`at(1, !now("b"))`, "a? a b", "perhaps"},
		{`G(now("a") -> G(!now("b")))`, "a b? b", "perhaps"},
		{`(!now("apply")) W now("plan")`, "plan? apply", "perhaps"},
		{`G(each(now_with("w", f=$f), O(now_with("r", f=$f))))`, "r? w", "passes"}, // no value
		{`G(!now("rm"))`, "rm?", "perhaps"},
	} {
		f, err := Parse(c.formula, nil)
		if err != nil {
			t.Fatal(err)
		}
		j, got := Judge(f, perhaps(c.trace)), "passes"
		if j.Value.Refuses() && j.AtFault() {
			got = "refused"
			if j.Uncertain {
				got = "perhaps"
			}
		}
		if got != c.want {
			t.Errorf("%s on %s: %s, want %s", c.formula, c.trace, got, c.want)
		}
	}
}

func TestTheMemoryOfDoubtIsSmallAndBounded(t *testing.T) {
	for _, text := range append(rulesForBench, `before("Read", "edit")`, `all_before(["Read", "test"], "edit")`, `called_n("Read", <= 20)`,
		`in_order(["Read", "edit", "Read"]) & within_steps("Read", "test", 7)`, `G(now("Read") -> X(X(F(now("test")))))`, `at(3, now("Read"))`,
	) {
		m := mustMonitor(t, text)
		worlds, size := 0, [2]int{}
		for i := range 3000 {
			e := benchEvent(i)
			e.Doubt = i%3 > 0
			step(t, m, e)
			worlds = max(worlds, len(m.now.worlds))
			if i == 1499 || i == 2999 {
				data, err := m.Save()
				if err != nil {
					t.Fatal(err)
				}
				size[i/1500] = len(data)
			}
		}
		if worlds > 64 {
			t.Errorf("%s: %d worlds", text, worlds)
		}
		if !strings.Contains(text, "each") && (size[1] > size[0]+500 || size[1] > 16<<10) {
			t.Errorf("%s: %d bytes after 1500 calls, %d after 3000", text, size[0], size[1])
		}
	}
}

func TestMoreDoubtThanCanBeFollowedIsAnErrorAndChangesNothing(t *testing.T) {
	m := mustMonitor(t, `called_n("a", <= 500)`)
	var before []byte
	for i := range 200 {
		_, err := m.Step(Event{Name: "a", Doubt: true})
		after, saving := m.Save()
		if saving != nil {
			t.Fatal(saving)
		}
		if err == nil {
			before = after
			continue
		}
		if !errors.Is(err, errDoubt) || i != maxWorlds-1 || !bytes.Equal(before, after) {
			t.Errorf("doubt %d: %v", i, err)
		}
		return
	}
	t.Error("200 doubts make no more ways than can be followed")
}
