package ltl

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPrecedence(t *testing.T) {
	for in, want := range map[string]string{
		`now("a") | now("b") & now("c")`:                   `now("a") | (now("b") & now("c"))`,
		`now("a") -> now("b") -> now("c")`:                 `now("a") -> (now("b") -> now("c"))`,
		`!now("a") U now("b")`:                             `!(now("a") U now("b"))`,
		`now("a") U now("b") U now("c")`:                   `now("a") U (now("b") U now("c"))`,
		`G now("a") & now("b")`:                            `G(now("a")) & now("b")`,
		`now("a") S !now("b") & now("c")`:                  `(now("a") S (!now("b"))) & now("c")`,
		`(now("a") & now("b")) & now("c")`:                 `(now("a") & now("b")) & now("c")`,
		`g X  o(NOW("a"))`:                                 `G(X(O(now("a"))))`,
		"G\n(true)\t->FALSE":                               `G(true) -> false`,
		`always("a") | eventually("b")`:                    `G(called("a")) | F(called("b"))`,
		`called_with("a",n=-1,"x y"=1.50,z=null,w=[1,{}])`: `called_with("a", n=-1, "x y"=1.5, z=null, w=[1, {}])`,
		`called_with("a", n=1e3)`:                          `called_with("a", n=1000)`,
		`called('it is "quoted"')`:                         `called("it is "'"quoted"')`,
		`called("C:\dir\")`:                                `called("C:\dir\")`,
		`in_order([])`:                                     `in_order([])`,
		`called_with_result("a", {"k": [true]}, x=None)`:   `called_with_result("a", {"k": [true]}, x=null)`,
		`each(now_with("w",f=$f),Y O now_with("r",f=$f))`:  `each(now_with("w", f=$f), Y(O(now_with("r", f=$f))))`,
		`at(0, now("a"))`:                                  `at(0, now("a"))`,
		`count_before(now("a") -> now("b"), <= 2)`:         `count_before(now("a") -> now("b"), <= 2)`,
		`instance_before("a"[2],"b"[1])`:                   `instance_before("a"[2], "b"[1])`,
		`branch_called("a") & branch_called("a", "b")`:     `branch_called("a") & branch_called("a", "b")`,
		`within_steps("a", "b", 0)`:                        `within_steps("a", "b", 0)`,
	} {
		f, err := Parse(in, nil)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if f.String() != want {
			t.Errorf("%s is read as\n%s, want\n%s", in, f, want)
		}
		if again, err := Parse(f.String(), nil); err != nil || again.String() != want {
			t.Errorf("%s is read back as %v, %v", want, again, err)
		}
	}
}

func TestErrorsHaveAPositionAndAWayOut(t *testing.T) {
	for in, want := range map[string]string{
		``:                             `1: a formula is missing: such as G(!now("rm"))`,
		`now("a") now("b")`:            `10: expected an operator or the end, found "now"`,
		`now("a") and now("b")`:        `10: expected an operator or the end, found "and": write &`,
		`now("a") && now("b")`:         `11: expected a formula, found "&": write one &`,
		`now("a") || now("b")`:         `11: expected a formula, found "|": write one |`,
		`~now("a")`:                    `1: expected a formula, found "~": write ! for not`,
		`not now("a")`:                 `1: "not" is no word of formulas: write !`,
		`now("a") => now("b")`:         `10: expected an operator or the end, found "=": "f implies g" is written f -> g`,
		`!now("a") & G now("b") U`:     `25: expected a formula, found the end`,
		`G now("a") U now("b") W`:      `24: expected a formula, found the end`,
		`now("a") & (now("b")`:         `21: expected ")", found the end`,
		`now("a"))`:                    `9: expected an operator or the end, found ")": it closes nothing`,
		`now(a)`:                       `5: expected the name of a tool in quotes, found "a": write "a"`,
		`now("")`:                      `1: a tool has a name that is not empty`,
		`"rm"`:                         `1: expected a formula, found "rm": for a call of that tool write now("rm") or called("rm")`,
		`cald("a")`:                    `1: "cald" is no word of formulas: did you mean called?`,
		`frobnicate("a")`:              `1: "frobnicate" is no word of formulas: atoms are called, `,
		`called_n("a", 2)`:             `15: expected one of == >= <= > <, found "2": such as >= 2`,
		`called_n("a", >= 1.5)`:        `18: expected a whole number, found "1.5"`,
		`called_n("a", >= -1)`:         `1: -1 is not between 0 and 1048576`,
		`called_n("a", >= 9999999)`:    `18: 1048576 is the greatest number of calls`,
		`instance_before("a"[0], "b")`: `28: expected "[", found ")"`,
		`called_with("a", b==1)`:       `19: expected =, found "=="`,
		`called_with("a", b=x)`:        `20: expected a value, found "x": write text in quotes`,
		`called_with("a", b=1, b=2)`:   `1: argument "b" is named twice`,
		`called_with("a", b=$x)`:       `1: $x: variables stand in now_with and @name`,
		`now_with("a", b=$x)`:          `1: $x: variables stand in now_with and @name, within each(pattern, ...) or some(pattern, ...)`,
		`each(now("a"), now("b"))`:     `6: each needs a pattern with variables first: such as now_with("t", path=$x)`,
		`each(now_with("a", p=$x), F(now_with("b", p=$x)))`:              `27: each: the body speaks of this call and those before it only`,
		`each(now_with("a", p=$x), now_with("b", p=$y))`:                 `27: now_with("b", p=$y): has $y, and the pattern of each or some has $x`,
		`each(now_with("a", p=$x), each(now_with("b", p=$x), now("c")))`: `32: each within each or some: bind all variables in one pattern`,
		`each(now_with("a", p=$x, q=$y), now_with("b", p=$x))`:           `33: now_with("b", p=$x): has $x, and the pattern of each or some has $x, $y`,
		`now("a`:                              `5: the quote is not closed`,
		`now("a") § x`:                        `10: '§' has no place in a formula`,
		`@p`:                                  `2: there is no pattern @p`,
		`$x`:                                  `1: expected a formula, found "$x"`,
		`now($)`:                              `5: a variable is $ and a name: such as $path`,
		strings.Repeat("!", 300) + `now("a")`: `nested deeper than 200: use lists and fewer parentheses`,
		strings.Repeat("(", 300) + `now("a")`: `nested deeper than 200: use lists and fewer parentheses`,
		strings.Repeat("true|", 5000) + `now("a")`:                                     `more than 4096 parts: split it into several formulas`,
		strings.Repeat(" ", maxText) + `now("a")`:                                      `65537: more than 65536 bytes: split it into several formulas`,
		`called_with("a", x=` + strings.Repeat("[", 300):                               `nested deeper than 200`,
		`count_before(F(now("a")), < 65)`:                                              `1: count_before: up to 64 where later calls can change what is counted`,
		strings.Repeat("count_before(", 5) + `now("a")` + strings.Repeat(", == 1)", 5): `count_before within itself more than 4 deep`,
	} {
		f, err := Parse(in, nil)
		if err == nil {
			t.Errorf("%.80s is read as %.80s", in, f)
			continue
		}
		if se := new(SyntaxError); !errors.As(err, &se) || se.Offset < 0 || se.Offset > len(in) {
			t.Errorf("%.80s: %#v has no place in the text", in, err)
		}
		if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "formula, position ") {
			t.Errorf("%.80s: got\n%v, want\n%s", in, err, want)
		}
	}
}

func TestCheckRefusesWhatParseWouldNotGive(t *testing.T) {
	for name, f := range map[string]Formula{
		"nothing":           nil,
		"a part missing":    Not{},
		"one operand":       And{[]Formula{Now{"a"}}},
		"no operator":       Unary{'Z', Now{"a"}},
		"no binary":         Binary{0, Now{"a"}, Now{"b"}},
		"no comparison":     CalledN{Tool: "a"},
		"no tool":           Before{"a", ""},
		"no pattern":        Match{Name: "p"},
		"free variable":     NowWith{"a", []Cond{{Name: "x", Var: "v"}}},
		"odd value":         CalledWith{"a", []Cond{{Name: "x", Value: struct{}{}}}},
		"bound too often":   Each{Bind{"p", []string{"x", "x"}, listed{}}, Now{"a"}},
		"open body":         Some{NowWith{"a", []Cond{{Name: "x", Var: "v"}}}, Called{"b"}},
		"negative position": At{-1, Now{"a"}},
	} {
		if err := Check(f); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := NewMonitor(f); err == nil {
			t.Errorf("%s: a monitor", name)
		}
	}
}

// listed is a host's pattern: it binds the arguments of calls named "bind", and is a plain pattern too.
type listed struct{}

func (listed) Match(e *Event) Truth { return truth(strings.HasPrefix(e.Name, "l")) }

func (listed) Bind(e *Event) Bound {
	if e.Name != "bind" {
		return Bound{}
	}
	return Bound{Sure: []string{encode(normal(e.Args["x"]))}, Any: e.Loose}
}

func TestPatternsOfTheHost(t *testing.T) {
	names := func(name string) any {
		if name == "known" {
			return listed{}
		}
		return nil
	}
	text := `G(@known -> !O(now("stop"))) & G(each(@known($x), Y(O(now_with("r", x=$x)))))`
	f, err := Parse(text, names)
	if err != nil {
		t.Fatal(err)
	}
	if f.String() != text {
		t.Fatalf("printed as %s", f)
	}
	for in, want := range map[string]string{
		`@other`:                           "there is no pattern @other",
		`each(@known($x, $x), now("a"))`:   "variables are words, each named once",
		`each(@known, now("a"))`:           "each needs a pattern with variables first",
		`each(@known($x), @known($x, $y))`: "has $x, $y",
	} {
		if _, err := Parse(in, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	x := func(name string, v any) Event { return Event{Name: name, Args: map[string]any{"x": v}} }
	for _, c := range []struct {
		trace []Event
		want  Value
	}{
		{[]Event{x("r", "1"), x("bind", "1")}, Pending},
		{[]Event{x("r", 1), x("bind", "1")}, False},
		{[]Event{x("r", []string{"2", "1"}), x("bind", "1"), x("ls", nil)}, Pending},
		{[]Event{x("stop", nil), x("ls", nil)}, False},
		{[]Event{x("r", "1"), {Name: "bind", Args: map[string]any{"x": "1"}, Loose: true}}, False},
	} {
		if got := Judge(f, c.trace).Value; got != c.want {
			t.Errorf("%s: %v, want %v", show(c.trace), got, c.want)
		}
	}
}

func TestClasses(t *testing.T) {
	for text, want := range map[string]Class{
		`G(!now("rm"))`: Safe,
		`G(now("push") -> Y((!now("edit")) S now("test")))`: Safe,
		`before("a", "b")`:              Safe,
		`called_n("a", <= 1)`:           Safe,
		`within_steps("a", "b", 3)`:     Safe,
		`branch_called("a", "b")`:       Safe,
		`called("a")`:                   Unsafe,
		`called_n("a", >= 1)`:           Unsafe,
		`after("a", "b")`:               Unsafe,
		`G(called("a") -> called("b"))`: Unsafe,
		`called("c") -> called("a")`:    Unsafe,
		`F(now("a"))`:                   Inert,
		`G(now("a") -> F(now("b")))`:    Inert,
		`in_order(["a", "b"])`:          Inert,
		`branch_called("a")`:            Inert,
		`now("a") U F(now("b"))`:        Inert,
		`true`:                          Inert,
		`G(each(now_with("a", x=$x), O(now_with("b", x=$x))))`: Safe,
	} {
		f, err := Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := Classify(f); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
	if Class(0) != Unsafe || Unsafe.Advice() == "" || Inert.Advice() == "" || Safe.Advice() != "" {
		t.Error("the classes that do harm need advice, and the zero class is one of them")
	}
}

func TestTheSuggestionsAreWords(t *testing.T) {
	p := &parser{}
	for _, w := range strings.Fields(words) {
		if !slices.Contains([]string{"true", "false"}, w) && p.atomReader(w) == nil {
			t.Errorf("%s is suggested, and is no atom", w)
		}
	}
}
