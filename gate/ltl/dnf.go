package ltl

import (
	"cmp"
	"slices"
)

// A dnf is what is left of a formula once the calls so far are taken into account: the greatest of its clauses, each of
// which is the least of its obligations. It is in its only shortest form, sorted and without a clause that another one
// covers, so equal remainders are equal values and a formula has finitely many of them.
//
// No clause: it does not hold. One clause without an obligation: it holds.
type dnf []clause

type clause []int

// The limits of what can be open at once.
const (
	maxClauses   = 128
	maxInstances = 256
	maxWork      = 1 << 22 // comparisons of obligations, about, in one step
)

func certain(holds bool) dnf {
	if holds {
		return dnf{clause{}}
	}
	return nil
}

func obligation(id int) dnf { return dnf{clause{id}} }

func (d dnf) holds() bool { return len(d) == 1 && len(d[0]) == 0 }
func (d dnf) fails() bool { return len(d) == 0 }

func (d dnf) equal(e dnf) bool {
	return slices.EqualFunc(d, e, func(a, b clause) bool { return slices.Equal(a, b) })
}

// or is the greatest of d and e.
func or(d, e dnf) dnf {
	switch {
	case d.fails() || e.holds():
		return e
	case e.fails() || d.holds():
		return d
	}
	return shortest(slices.Concat(d, e))
}

// and is the least of d and e. It returns more clauses than maxClauses only to say that there are too many.
func and(d, e dnf) dnf {
	switch {
	case d.holds() || e.fails():
		return e
	case e.holds() || d.fails():
		return d
	}
	out := make(dnf, 0, len(d)*len(e))
	for _, a := range d {
		for _, b := range e {
			out = append(out, union(a, b))
		}
		if len(out) > maxClauses {
			if out = shortest(out); len(out) > maxClauses {
				return out
			}
		}
	}
	return shortest(out)
}

func union(a, b clause) clause {
	out := make(clause, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// shortest leaves out what other clauses cover, and sorts the rest.
func shortest(d dnf) dnf {
	slices.SortFunc(d, func(a, b clause) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b))
	})
	kept := d[:0]
	for _, c := range d {
		if !slices.ContainsFunc(kept, func(k clause) bool { return within(k, c) }) {
			kept = append(kept, c)
		}
	}
	return kept
}

// within reports whether all of a is in b.
func within(a, b clause) bool {
	for _, x := range b {
		if len(a) > 0 && a[0] == x {
			a = a[1:]
		}
	}
	return len(a) == 0
}
