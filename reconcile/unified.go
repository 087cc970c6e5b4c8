package reconcile

import "fmt"

// maxEdits bounds the work on a diff, which an agent could otherwise choose. Texts that are further apart are shown as
// all of the one and all of the other.
const maxEdits = 1000

// unified returns the lines of a unified diff from a to b, without the two lines that name the files; none if they are
// equal. The edit script is a shortest one, by E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).
func unified(a, b []string) []string {
	const context = 3
	edits := script(a, b)
	var out []string
	for i := 0; i < len(edits); {
		if edits[i].kind == ' ' {
			i++
			continue
		}
		from, to := i, i+1 // a hunk: changes with fewer than two contexts of equal lines between them
		for j := to; j < len(edits) && j-to <= 2*context; j++ {
			if edits[j].kind != ' ' {
				to = j + 1
			}
		}
		i = to
		from, to = max(from-context, 0), min(to+context, len(edits))
		out = append(out, header(edits[from:to]))
		for _, e := range edits[from:to] {
			out = append(out, string(e.kind)+e.text)
		}
	}
	return out
}

// An edit is a line that is kept (' '), taken away ('-') or added ('+'), and how many lines of a and b are before it.
type edit struct {
	kind byte
	text string
	a, b int
}

// header is the line before a hunk. A side without lines is numbered by the line before it.
func header(hunk []edit) string {
	inA, inB := 0, 0
	for _, e := range hunk {
		if e.kind != '+' {
			inA++
		}
		if e.kind != '-' {
			inB++
		}
	}
	side := func(before, lines int) string {
		switch lines {
		case 0:
			return fmt.Sprintf("%d,0", before)
		case 1:
			return fmt.Sprintf("%d", before+1)
		default:
			return fmt.Sprintf("%d,%d", before+1, lines)
		}
	}
	return fmt.Sprintf("@@ -%s +%s @@", side(hunk[0].a, inA), side(hunk[0].b, inB))
}

// script returns the edits that lead from a to b.
func script(a, b []string) []edit {
	before := 0
	for before < len(a) && before < len(b) && a[before] == b[before] {
		before++
	}
	after := 0
	for after < len(a)-before && after < len(b)-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	kinds := make([]byte, 0, len(a)+len(b))
	keep := func(n int) {
		for range n {
			kinds = append(kinds, ' ')
		}
	}
	keep(before)
	kinds = append(kinds, shortest(a[before:len(a)-after], b[before:len(b)-after])...)
	keep(after)

	edits := make([]edit, 0, len(kinds))
	x, y := 0, 0
	for _, kind := range kinds {
		e := edit{kind: kind, a: x, b: y}
		if kind == '+' {
			e.text = b[y]
		} else {
			e.text = a[x]
			x++
		}
		if kind != '-' {
			y++
		}
		edits = append(edits, e)
	}
	return edits
}

// shortest returns the kinds of the edits from a to b: going from (0,0) to (len(a),len(b)), reach[k] is how far along a
// one gets on the diagonal k = x-y with the edits made so far.
func shortest(a, b []string) []byte {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*limit+3)
	at := func(k int) *int { return &reach[k+limit+1] }
	var trail [][]int // what reach was before each round, for the way back
	for d := 0; d <= limit; d++ {
		trail = append(trail, append([]int(nil), reach[limit+1-d:limit+2+d]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && *at(k - 1) < *at(k + 1):
				x = *at(k + 1)
			default:
				x = *at(k - 1) + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			*at(k) = x
			if x >= len(a) && x-k >= len(b) {
				return wayBack(len(a), len(b), trail)
			}
		}
	}
	kinds := make([]byte, 0, len(a)+len(b))
	for range a {
		kinds = append(kinds, '-')
	}
	for range b {
		kinds = append(kinds, '+')
	}
	return kinds
}

// wayBack follows the rounds from the end to the start.
func wayBack(x, y int, trail [][]int) []byte {
	kinds := make([]byte, x+y)
	i := len(kinds)
	put := func(kind byte) { i--; kinds[i] = kind }
	for d := len(trail) - 1; d > 0; d-- {
		before := trail[d]
		at := func(k int) int { return before[k+d] } // k is within one of the round before
		k := x - y
		from := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			from = k + 1
		}
		fromX := at(from)
		fromY := fromX - from
		for x > fromX && y > fromY {
			put(' ')
			x, y = x-1, y-1
		}
		if x > fromX {
			put('-')
			x--
		} else {
			put('+')
			y--
		}
	}
	for x > 0 {
		put(' ')
		x--
	}
	return kinds[i:]
}
