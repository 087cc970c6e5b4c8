package call

// A Span is a range of the calls of a line, From included, To not. The zero Span is none of them.
type Span struct{ From, To int }

// Proofs says for each of the calls of line which later ones run only if it ran and succeeded: in "a && b", b for a, and
// in "! a || exit; b" and in "set -e; a; b" too. It is about the calls of the line itself, not about those in
// substitutions and wrappers, and ok is false where the line is not plain, as Outcomes has it: then nothing is known.
func Proofs(line string, calls []Call) (proofs []Span, ok bool) {
	s := script{line, calls, nil, 0, shellOptions{}}
	units, ok := s.plain()
	if !ok || len(units) > mostUnits || !setOptions(units, s.options) {
		return nil, false
	}
	proofs = make([]Span, len(calls))
	for i, u := range units {
		span := proven(units, i)
		for n, st := range u.stages {
			if n == len(u.stages)-1 || u.pipefail {
				proofs[st.call] = span
			}
		}
	}
	return proofs, true
}

// proven returns the calls of the first units in a row that run only if the commands of unit i succeeded.
func proven(units []*unit, i int) (s Span) {
	type state struct {
		point
		succeeded bool
	}
	at := map[state]bool{{}: true}
	for k, u := range units {
		next := map[state]bool{}
		runs, always := false, true // always: only where unit i succeeded
		for from := range at {
			for _, way := range u.steps(0, from.point, false) {
				to := state{way.to, from.succeeded}
				if k == i {
					to.succeeded = way.ran && way.to.failed == u.negated
				}
				if way.ran {
					runs, always = true, always && from.succeeded
				}
				next[to] = true
			}
		}
		at = next
		switch {
		case k <= i:
		case runs && always && len(u.stages) > 0:
			if s.To == 0 {
				s.From = u.stages[0].from
			}
			s.To = u.stages[len(u.stages)-1].to
		case s.To > 0 && len(u.stages) > 0:
			return s
		}
	}
	return s
}
