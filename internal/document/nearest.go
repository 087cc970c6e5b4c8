package document

import "strings"

// nearest returns the key that a misspelt one was most likely meant to be: one that it begins, that begins with it, or
// that is at most two edits away. It is empty if there is none.
func nearest(word string, fields []Field) string {
	best, least := "", 3
	for _, f := range fields {
		n := distance(word, f.Key)
		if len(word) > 1 && (strings.HasPrefix(f.Key, word) || strings.HasPrefix(word, f.Key)) {
			n = min(n, 1)
		}
		if n < least && n < len(word) {
			best, least = f.Key, n
		}
	}
	return best
}

// distance counts the bytes to insert, delete or replace that turn a into b (Levenshtein).
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
