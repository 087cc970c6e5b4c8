package ltl

// A Class says what a formula does to a run that it guards. The zero Class is Unsafe.
type Class uint8

// The classes.
const (
	Unsafe Class = iota // it can refuse calls only because something has not happened yet
	Safe                // it refuses a call only where the call breaks it for good
	Inert               // it can never refuse a call
)

// String returns the class as it stands in documents.
func (c Class) String() string {
	switch c {
	case Safe:
		return "SAFE"
	case Inert:
		return "INERT"
	default:
		return "UNSAFE"
	}
}

// Advice says what to do about a formula of that class as a rule over calls; empty where it is fine.
func (c Class) Advice() string {
	switch c {
	case Safe:
		return ""
	case Inert:
		return "it never refuses a call, since what it asks for may always still come: bound it with within_steps(...), " +
			"or ask for it where the run ends"
	default:
		return "it refuses every call until something has happened: make it wait for a trigger, " +
			`as in G(now("b") -> O(now("a"))), bound it with within_steps(...), or ask for it where the run ends`
	}
}

// Classify says what f does to a run, from the values that it can have. It looks at the form of f and not at what can be
// true together, so it may find a value that no trace leads to.
func Classify(f Formula) Class {
	switch s := reach(f); {
	case s.has(PFalse):
		return Unsafe
	case s.has(False):
		return Safe
	default:
		return Inert
	}
}

// values is a set of them.
type values uint8

func set(vs ...Value) values {
	var s values
	for _, v := range vs {
		s |= 1 << v
	}
	return s
}

func (s values) has(v Value) bool { return s&(1<<v) != 0 }

// mirror is the set of the mirrored values.
func (s values) mirror() values { return combine(s, s, func(v, _ Value) Value { return v.not() }) }

func combine(s, t values, of func(v, w Value) Value) values {
	var out values
	for v := False; v <= True; v++ {
		for w := False; w <= True; w++ {
			if s.has(v) && t.has(w) {
				out |= set(of(v, w))
			}
		}
	}
	return out
}

func least(s, t values) values    { return combine(s, t, func(v, w Value) Value { return min(v, w) }) }
func greatest(s, t values) values { return combine(s, t, func(v, w Value) Value { return max(v, w) }) }

// reach returns the values that f can have on some trace.
func reach(f Formula) values {
	switch f := f.(type) {
	case Constant:
		return set(valueOf(f.Holds, PTrue, PFalse))
	case Called, CalledWith:
		return set(PFalse, True)
	case CalledWithResult:
		return set(PFalse, Pending, True)
	case CalledN:
		var s values
		for n := max(0, f.N-1); n <= f.N+1; n++ {
			s |= set(countValue(f.Op, n, f.N))
		}
		return s
	case Before, AllBefore, InstanceBefore, WithinSteps:
		return set(False, Pending, True)
	case After:
		return set(False, PFalse, True)
	case BranchCalled:
		if f.Wrong == "" {
			return set(Pending, True)
		}
		return set(False, Pending, PTrue)
	case InOrder:
		return set(Pending, True)
	case Now, NowWith, Match, Bind, Each, Some:
		return set(False, Pending, True)
	case Not:
		return reach(f.F).mirror()
	case And:
		s := set(True)
		for _, k := range f.All {
			s = least(s, reach(k))
		}
		return s
	case Or:
		s := set(False)
		for _, k := range f.Any {
			s = greatest(s, reach(k))
		}
		return s
	case Implies:
		return greatest(reach(f.If).mirror(), reach(f.Then))
	case Unary:
		return reachUnary(f.Op, reach(f.F))
	case Binary:
		return reachBinary(f.Op, reach(f.L), reach(f.R))
	case CountBefore:
		return set(False, Pending, True) | reach(f.F) | reach(f.F).mirror()
	case At:
		return set(Pending) | reach(f.F)
	default:
		return set(PFalse)
	}
}

func reachUnary(op byte, s values) values {
	switch op {
	case 'G':
		return least(s, set(Pending)) | set(Pending)
	case 'F':
		return greatest(s, set(Pending)) | set(Pending)
	case 'Y':
		return s | set(False, Pending)
	default: // X, and O and H, which are worth one of the values of the operand
		return s | set(Pending)
	}
}

func reachBinary(op byte, l, r values) values {
	s := set(Pending)
	if op == 'S' {
		s = set(False)
	}
	for {
		more := s
		if op == 'R' {
			more |= least(r, greatest(l, s))
		} else {
			more |= greatest(r, least(l, s))
		}
		if more == s {
			return s | set(Pending)
		}
		s = more
	}
}
