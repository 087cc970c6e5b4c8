package ltl

// explain returns what f is worth and the parts to which it is due, where that refuses. Where negated is set f stands
// below an odd number of "!", and all values are those of its denial. before judges the trace without its newest call.
func (p partial) explain(f Formula, pessimist, negated bool, before partial) (Value, []Witness) {
	switch f := f.(type) {
	case Not:
		return p.explain(f.F, pessimist, !negated, before)
	case And:
		return p.combine(!negated, pessimist, before, operandsOf(negated, f.All...))
	case Or:
		return p.combine(negated, pessimist, before, operandsOf(negated, f.Any...))
	case Implies:
		return p.combine(negated, pessimist, before, append(operandsOf(!negated, f.If), operandsOf(negated, f.Then)...))
	}
	side := pessimist != negated // how a Maybe is taken inside of f itself
	signed := func(v Value) Value {
		if negated {
			return v.not()
		}
		return v
	}
	v := signed(p.first(f, side))
	if !v.Refuses() {
		return v, nil
	}
	if u, ok := f.(Unary); ok && always(u, negated) && !wholeTrace(u.F) {
		return v, p.instances(u, pessimist, negated, before)
	}
	w := Witness{Formula: negate(f, negated), At: -1, Value: v}
	w.New = len(p.trace) == 0 || signed(before.first(f, side)) != False
	return v, []Witness{w}
}

type signedFormula struct {
	f       Formula
	negated bool
}

func operandsOf(negated bool, fs ...Formula) []signedFormula {
	var all []signedFormula
	for _, f := range fs {
		all = append(all, signedFormula{f, negated})
	}
	return all
}

// combine explains a conjunction or disjunction.
func (p partial) combine(and, pessimist bool, before partial, operands []signedFormula) (Value, []Witness) {
	v := valueOf(and, True, False)
	var all []Witness
	for _, o := range operands {
		w, ws := p.explain(o.f, pessimist, o.negated, before)
		all = append(all, ws...)
		if and {
			v = min(v, w)
		} else {
			v = max(v, w)
		}
	}
	if !v.Refuses() {
		return v, nil
	}
	return v, all
}

// always reports whether f says, by itself or by being denied, that something holds at every position.
func always(f Unary, negated bool) bool { return f.Op == 'G' && !negated || f.Op == 'F' && negated }

// instances returns the positions at which what always holds does not.
func (p partial) instances(f Unary, pessimist, negated bool, before partial) []Witness {
	side := pessimist != negated
	signed := func(v Value) Value {
		if negated {
			return v.not()
		}
		return v
	}
	var was []Value
	if len(before.trace) > 0 {
		was = before.all(f.F, side)
	}
	var all []Witness
	for i, v := range p.all(f.F, side) {
		if v := signed(v); v.Refuses() {
			all = append(all, Witness{negate(f, negated), i, v, i >= len(was) || signed(was[i]) != False})
		}
	}
	return all
}

func negate(f Formula, negated bool) Formula {
	if negated {
		return Not{f}
	}
	return f
}
