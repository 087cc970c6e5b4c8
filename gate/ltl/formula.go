package ltl

// A Formula is one of the types below. They are values; nothing changes a formula once it is built. Text written in the
// comments is what String gives and Parse reads.
type Formula interface {
	String() string
	formula()
}

// Facts about the whole trace. They say the same at every position.
type (
	// Constant is true or false.
	Constant struct{ Holds bool }
	// Called is called("t"): t occurs.
	Called struct{ Tool string }
	// CalledWith is called_with("t", k=v): a call of t has all of the arguments.
	CalledWith struct {
		Tool string
		Args []Cond
	}
	// CalledWithResult is called_with_result("t", result, k=v): such a call had the result. Of an object, the members
	// that are named must be equal.
	CalledWithResult struct {
		Tool   string
		Result any
		Args   []Cond
	}
	// CalledN is called_n("t", >= 2): the number of calls of t.
	CalledN struct {
		Tool string
		Op   Op
		N    int
	}
	// Before is before("a", "b"): both occur, the first a before the first b; in an earlier step where both have one.
	Before struct{ A, B string }
	// After is after("a", "b"): both occur, the first a after the first b.
	After struct{ A, B string }
	// AllBefore is all_before(["a", "b"], "t"): t occurs, and the first of each of the tools before the first t.
	AllBefore struct {
		Tools  []string
		Target string
	}
	// BranchCalled is branch_called("right", "wrong"): right occurs and wrong does not. Wrong may be empty: no tool.
	BranchCalled struct{ Right, Wrong string }
	// InstanceBefore is instance_before("a"[2], "b"[1]): the second a before the first b, both of which exist.
	InstanceBefore struct {
		A string
		N int
		B string
		M int
	}
	// InOrder is in_order(["a", "b"]): the tools occur in this order, others between them.
	InOrder struct{ Tools []string }
	// WithinSteps is within_steps("a", "b", 3): a occurs, and a b follows the first a at a distance of at most 3.
	WithinSteps struct {
		A, B string
		K    int
	}
)

// What one call is.
type (
	// Now is now("t"): this call is one of t.
	Now struct{ Tool string }
	// NowWith is now_with("t", k=v, l=$x): this call is one of t and has all of the arguments.
	NowWith struct {
		Tool string
		Args []Cond
	}
	// Match is @name: this call matches a pattern that the host has given that name.
	Match struct {
		Name    string
		Pattern Pattern
	}
	// Bind is @name($x, $y): this call matches the host's pattern with these values.
	Bind struct {
		Name    string
		Vars    []string
		Pattern Binder
	}
)

// What is made of formulas.
type (
	// Not is !f.
	Not struct{ F Formula }
	// And is f & g & h.
	And struct{ All []Formula }
	// Or is f | g | h.
	Or struct{ Any []Formula }
	// Implies is f -> g.
	Implies struct{ If, Then Formula }
	// Unary is G f, F f, X f, Y f, O f or H f.
	Unary struct {
		Op byte
		F  Formula
	}
	// Binary is f U g, f W g, f R g or f S g.
	Binary struct {
		Op   byte
		L, R Formula
	}
	// CountBefore is count_before(f, < 3): the number of earlier positions where f holds.
	CountBefore struct {
		F  Formula
		Op Op
		N  int
	}
	// At is at(2, f): the call with that index exists, and f holds there.
	At struct {
		Index int
		F     Formula
	}
	// Each is each(pattern, f): for all values with which this call matches the pattern, f holds. The pattern is a NowWith
	// or a Bind; f speaks of this call and those before it, and each of its patterns that has variables has all of them.
	Each struct{ Pattern, Body Formula }
	// Some is some(pattern, f): for some values with which this call matches the pattern, f holds.
	Some struct{ Pattern, Body Formula }
)

// A Cond says that an argument has a value, or that its value is that of a variable. A null also stands for an argument
// that is not there.
type Cond struct {
	Name  string
	Value any    // nil, bool, int64, float64, string, []any or map[string]any
	Var   string // name without "$"; then Value is nil
}

// An Op compares numbers. The zero Op is no comparison, and Check refuses it.
type Op uint8

// The comparisons.
const (
	_ Op = iota
	EQ
	GE
	LE
	GT
	LT
)

var opTexts = [...]string{"?", "==", ">=", "<=", ">", "<"}

// String returns the comparison as it is written.
func (o Op) String() string {
	if int(o) < len(opTexts) {
		return opTexts[o]
	}
	return opTexts[0]
}

func (o Op) holds(a, b int) bool {
	switch o {
	case EQ:
		return a == b
	case GE:
		return a >= b
	case LE:
		return a <= b
	case GT:
		return a > b
	case LT:
		return a < b
	default:
		return false
	}
}

// A Pattern is a kind of call that the host knows how to tell. Match always gives the same answer for the same event.
type Pattern interface {
	Match(e *Event) Truth
}

// A Binder is a Pattern with variables: it says with which values an event matches.
type Binder interface {
	Bind(e *Event) Bound
}

// Bound says with which values an event matches. Each string is made by Key from the values of all variables, in the
// order in which the formula lists them.
type Bound struct {
	Sure  []string
	Maybe []string // it may match with these
	Any   bool     // it may match with values that nobody can name
}

func (Constant) formula()         {}
func (Called) formula()           {}
func (CalledWith) formula()       {}
func (CalledWithResult) formula() {}
func (CalledN) formula()          {}
func (Before) formula()           {}
func (After) formula()            {}
func (AllBefore) formula()        {}
func (BranchCalled) formula()     {}
func (InstanceBefore) formula()   {}
func (InOrder) formula()          {}
func (WithinSteps) formula()      {}
func (Now) formula()              {}
func (NowWith) formula()          {}
func (Match) formula()            {}
func (Bind) formula()             {}
func (Not) formula()              {}
func (And) formula()              {}
func (Or) formula()               {}
func (Implies) formula()          {}
func (Unary) formula()            {}
func (Binary) formula()           {}
func (CountBefore) formula()      {}
func (At) formula()               {}
func (Each) formula()             {}
func (Some) formula()             {}

// kids returns the formulas that f is made of.
func kids(f Formula) []Formula {
	switch f := f.(type) {
	case Not:
		return []Formula{f.F}
	case And:
		return f.All
	case Or:
		return f.Any
	case Implies:
		return []Formula{f.If, f.Then}
	case Unary:
		return []Formula{f.F}
	case Binary:
		return []Formula{f.L, f.R}
	case CountBefore:
		return []Formula{f.F}
	case At:
		return []Formula{f.F}
	case Each:
		return []Formula{f.Pattern, f.Body}
	case Some:
		return []Formula{f.Pattern, f.Body}
	default:
		return nil
	}
}

// settled reports whether f is decided at each call by that call and those before it.
func settled(f Formula) bool {
	switch f := f.(type) {
	case Now, NowWith, Match, Bind, Each, Some:
		return true
	case Not, And, Or, Implies, CountBefore:
	case Unary:
		if f.Op != 'Y' && f.Op != 'O' && f.Op != 'H' {
			return false
		}
	case Binary:
		if f.Op != 'S' {
			return false
		}
	default:
		return false
	}
	for _, k := range kids(f) {
		if !settled(k) {
			return false
		}
	}
	return true
}

// wholeTrace reports whether f says the same at every position.
func wholeTrace(f Formula) bool {
	switch f := f.(type) {
	case Now, NowWith, Match, Bind, Each, Some, Unary, Binary, CountBefore:
		return false
	case At:
		return true
	case Not, And, Or, Implies:
		for _, k := range kids(f) {
			if !wholeTrace(k) {
				return false
			}
		}
		return true
	default:
		return true
	}
}
