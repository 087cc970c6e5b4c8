// Package ltl is temporal logic over finite traces of calls: formulas, their text, what they say of a whole trace and of
// one that still grows, and a monitor that judges call by call.
//
// The order is always the same. A formula is built in Go or read by Parse, and Check holds it to its limits. Holds judges
// a trace that has ended: true or false. Judge judges one that goes on, with five values, of which TRUE and FALSE are for
// good: no call that may follow changes them. A call is refused where the value, with the call, is below PENDING. Classify
// says beforehand whether a formula can refuse at all, and whether it would refuse everything. A Monitor gives the same
// answers as Judge and Holds, at a cost that depends on the formula and not on the calls behind it: settled past by
// recurrence, what is still open as a set of obligations, variables by value.
//
// A call may be known in part. Then an atom answers Maybe, and every judgement has two sides: Value takes each Maybe as it
// is worst for the formula, Possible as it is best. Decisions rest on Value, so what is not known counts against the call.
// A call that may not have run at all (Doubt) is followed both ways, with the same two sides.
//
// The package reads no clock, no file and keeps no state but that of a Monitor. Formulas, traces and saved monitors may
// come from an enemy: each has limits, and beyond them is an error, never a guess.
//
// It knows gate/call, and of that only what a call is.
package ltl

// A Value is what a formula is worth on a trace that goes on. The zero Value refuses.
type Value uint8

// The values, in their order: a conjunction is the least of its parts, a disjunction the greatest.
const (
	False   Value = iota // for good
	PFalse               // so far, and a later call can mend it
	Pending              // nothing can be said yet
	PTrue                // so far, and a later call can break it
	True                 // for good
)

var valueNames = [...]string{"FALSE", "PFALSE", "PENDING", "PTRUE", "TRUE"}

// String returns the name of v as it stands in documents.
func (v Value) String() string {
	if int(v) < len(valueNames) {
		return valueNames[v]
	}
	return valueNames[False]
}

// Refuses reports whether a call that leads to v is to be refused.
func (v Value) Refuses() bool { return v < Pending }

// not is the mirror of v.
func (v Value) not() Value { return True - v }

// A Truth is what an atom says of one call. The zero Truth is that it is not known.
type Truth uint8

// The truths.
const (
	Maybe Truth = iota
	No
	Yes
)

func truth(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// both is the conjunction of t and u.
func (t Truth) both(u Truth) Truth {
	switch {
	case t == No || u == No:
		return No
	case t == Maybe || u == Maybe:
		return Maybe
	default:
		return Yes
	}
}

// A Witness is a part of a formula that fails, where it fails.
type Witness struct {
	Formula Formula
	At      int // position of the call at which the instance of a "G" began, from 0; -1: the part speaks of the whole trace
	Value   Value
	New     bool // it had not failed for good before the newest call
}

// A Judgement is what a formula says of a trace that goes on.
type Judgement struct {
	Value    Value // every Maybe and doubt taken as it is worst
	Possible Value // every Maybe and doubt taken as it is best
	// Witnesses are the parts that fail, where Value refuses. There are none for what fails only if the newest call did
	// not run.
	Witnesses []Witness
	// Uncertain is set where nothing would be at fault if each Maybe and each doubt were taken as it is best.
	Uncertain bool
}

// AtFault reports whether the newest call is to blame: something fails that had not failed for good before it. Where
// Value refuses and nothing is new, an older violation is still there, and refusing the call would not mend it.
func (j Judgement) AtFault() bool { return anyNew(j.Witnesses) }

func anyNew(ws []Witness) bool {
	for _, w := range ws {
		if w.New {
			return true
		}
	}
	return false
}
