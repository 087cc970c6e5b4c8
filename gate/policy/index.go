package policy

import (
	"cmp"
	"slices"
	"strings"
)

// An index finds the entries for a name. The entries of one name keep their order.
type index []indexed

type indexed struct {
	name  string
	entry int
}

// indexOf makes the index of entries by what name says of each of their forms.
func indexOf(entries []Entry, name func(*form) string) index {
	var x index
	for i := range entries {
		if len(entries[i].begins) > 0 {
			x = append(x, indexed{name(&entries[i].begins[0]), i})
		}
	}
	slices.SortStableFunc(x, func(a, b indexed) int {
		return cmp.Or(strings.Compare(a.name, b.name), a.entry-b.entry)
	})
	return x
}

// of returns the entries for the name.
func (x index) of(name string) index {
	lo, hi := 0, len(x)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); x[mid].name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	end := lo
	for end < len(x) && x[end].name == name {
		end++
	}
	return x[lo:end]
}

// index makes both indexes.
func (p *Policy) index() {
	p.allows = indexOf(p.Allow, func(f *form) string { return f.base })
	p.denies = indexOf(p.Deny, func(f *form) string { return f.path[0] })
}
