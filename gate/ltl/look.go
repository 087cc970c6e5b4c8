package ltl

import "slices"

// A sight is what the patterns of a formula say of one call.
type sight struct {
	atoms  []Truth
	quants []quantSight
	maybe  bool // something is not known
}

type quantSight struct {
	domain Bound
	atoms  []atomSight // of the body
	keys   []string    // values that the call has
}

// An atomSight is what one atom of a body says: truth where values does not have the key.
type atomSight struct {
	truth  Truth
	values map[string]Truth
}

func look(p *program, e *Event) *sight {
	s := &sight{atoms: make([]Truth, len(p.atoms))}
	for i, f := range p.atoms {
		s.atoms[i] = plain(f, e)
		s.maybe = s.maybe || s.atoms[i] == Maybe
	}
	for _, q := range p.quants {
		qs := quantSight{domain: bind(q.pattern, e, q.vars)}
		keys := make(map[string]bool)
		note := func(b Bound) {
			for _, list := range [2][]string{b.Sure, b.Maybe} {
				for _, k := range list {
					if !keys[k] {
						keys[k] = true
						qs.keys = append(qs.keys, k)
					}
				}
			}
			s.maybe = s.maybe || b.Any || len(b.Maybe) > 0
		}
		note(qs.domain)
		for _, f := range q.body.atoms {
			if len(varsOf(f)) == 0 {
				t := plain(f, e)
				s.maybe = s.maybe || t == Maybe
				qs.atoms = append(qs.atoms, atomSight{truth: t})
				continue
			}
			b := bind(f, e, q.vars)
			note(b)
			a := atomSight{truth: No, values: make(map[string]Truth, len(b.Sure)+len(b.Maybe))}
			if b.Any {
				a.truth = Maybe
			}
			for _, k := range b.Maybe {
				a.values[k] = Maybe
			}
			for _, k := range b.Sure {
				a.values[k] = Yes
			}
			qs.atoms = append(qs.atoms, a)
		}
		s.quants = append(s.quants, qs)
	}
	return s
}

// look judges each and some at this call, and goes on with the memories of their values. Where the call is in doubt a
// memory becomes the worst of what it was and what the call makes of it, or the best.
func (p *program) look(seen *sight, was []view, hopeful, doubt bool) (held []bool, next []view) {
	held, next = make([]bool, len(was)), make([]view, len(was))
	for i := range was {
		held[i], next[i] = p.quants[i].look(&seen.quants[i], &was[i], hopeful, doubt)
	}
	return held, next
}

func (q *quant) look(seen *quantSight, was *view, hopeful, doubt bool) (bool, view) {
	body := q.body
	vals := make([]bool, len(body.nodes))
	root := len(body.nodes) - 1
	settle := func(state string, atom func(i int) Truth) string {
		cells := unpack(state)
		body.settle(cells, vals, hopeful, atom, nil)
		if doubt {
			body.blend(cells, unpack(state), hopeful)
		}
		return pack(cells)
	}
	held := make(map[string]bool, len(seen.keys))
	next := was.next(seen.keys, func(key, state string) string {
		state = settle(state, func(i int) Truth {
			if t, ok := seen.atoms[i].values[key]; ok {
				return t
			}
			return seen.atoms[i].truth
		})
		held[key] = vals[root]
		return state
	}, func(state string) string {
		return settle(state, func(i int) Truth { return seen.atoms[i].truth })
	})
	fails := func(key string) bool { return !held[key] }
	holds := func(key string) bool { return held[key] }
	d := seen.domain
	if q.each {
		ok := !slices.ContainsFunc(d.Sure, fails)
		return ok && (hopeful || !d.Any && !slices.ContainsFunc(d.Maybe, fails)), next
	}
	ok := slices.ContainsFunc(d.Sure, holds)
	return ok || hopeful && (d.Any || slices.ContainsFunc(d.Maybe, holds)), next
}
