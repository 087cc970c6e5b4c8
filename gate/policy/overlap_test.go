package policy

import "testing"

// A set in a glob stands for its own characters only.
func TestSetsInGlobs(t *testing.T) {
	for _, row := range []struct {
		pattern, glob string
		may           bool
	}{
		{"*.pem", "/p/x[a-z][a-z][a-z][a-z][a-z]", false},
		{"*.pem", "/p/x.[o-q]em", true},
		{".env*", "/p/.en[a-z][a-z]", true},
		{".env*", "/p/.en[0-9][0-9]", false},
		{".env*", "/p/.en[!a]", true},
		{".env*", "/p/.en[!v]", true}, // in another case it may be meant
		{".ENV", "/p/.[a-z][a-z][a-z]", true},
		{".env*", "/p/.en[[:alpha:]]x", true},
		{"é", "/p/[a-z]", true},
	} {
		got := Patterns{{Text: row.pattern}}.MayMatch(row.glob, Place{Project: "/p", Home: "/h"}) != nil
		if got != row.may {
			t.Errorf("%s and %s: %v", row.pattern, row.glob, got)
		}
	}
}
