package rules

import "strings"

// nearest returns the name that word was most likely meant to be, "" if there is none.
func nearest(word string, names []string) string {
	best, least := "", 3
	for _, name := range names {
		n := distance(strings.ToLower(word), strings.ToLower(name))
		if n < least && n < len(word) {
			best, least = name, n
		}
	}
	return best
}

// distance counts the bytes to insert, delete or replace that turn a into b.
func distance(a, b string) int {
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
	return row[len(b)]
}
