package main

import "strings"

// ruleRemarks are what looks wrong with the rules of a person. The library names programs that have no spec on purpose.
func ruleRemarks(book *ruleBook) ([]remarkDoc, error) {
	remarks := []remarkDoc{}
	problems, err := book.set.Lint(book.packs)
	for _, p := range problems {
		if !strings.HasPrefix(p.At, "library/") {
			remarks = append(remarks, remarkDoc{p.At, p.Rule + ": " + p.Text})
		}
	}
	return remarks, err
}
