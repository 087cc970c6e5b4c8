// Package spelling finds the name that a misspelt one was most likely meant to be, for every "did you mean".
//
// It is two edits at most (Levenshtein, in bytes, whatever the case), or one of the two begins the other. Of a short word
// two edits leave nothing: there they count only where the letters are the same and stand in another order.
package spelling

import (
	"slices"
	"strings"
)

// Nearest returns the name that word was most likely meant to be, the first of equals, or "" where none is near.
func Nearest(word string, names []string) string {
	best, least := "", 3
	lower := strings.ToLower(word)
	for _, name := range names {
		if d := apart(lower, strings.ToLower(name)); d < least && d < len(word) {
			best, least = name, d
		}
	}
	return best
}

// apart is how far two words are from each other, 3 for too far.
func apart(a, b string) int {
	d := Distance(a, b, 3)
	if d == 2 && len(a) < 5 && !sameLetters(a, b) {
		d = 3 // list is not test
	}
	if d > 1 && (len(a) >= 3 && strings.HasPrefix(b, a) || len(b) >= 3 && strings.HasPrefix(a, b)) {
		d = 1
	}
	return d
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return string(x) == string(y)
}

// Distance counts the bytes to insert, delete or replace that turn a into b. Where it is limit or more, it says limit.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}
