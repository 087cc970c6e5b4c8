package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmValue is the value of an arithmetic expression as a word.
func (w *walker) arithmValue(x syntax.ArithmExpr, c *ctx, st *state) Word {
	if n, ok := w.arithm(x, c, st); ok {
		return exact(strconv.FormatInt(n, 10))
	}
	return Word{}
}

// arithm evaluates x as far as it is known, with its assignments, and follows the substitutions in it.
func (w *walker) arithm(x syntax.ArithmExpr, c *ctx, st *state) (int64, bool) {
	if w.work--; w.work < 0 {
		w.limit("takes too many steps to follow")
	}
	if w.err != nil || !w.enter() {
		return 0, false
	}
	defer w.leave()
	switch x := x.(type) {
	case nil:
		return 0, true
	case *syntax.Word:
		return w.arithmWord(x, c, st)
	case *syntax.ParenArithm:
		return w.arithm(x.X, c, st)
	case *syntax.UnaryArithm:
		return w.unary(x, c, st)
	case *syntax.BinaryArithm:
		return w.binaryArithm(x, c, st)
	}
	w.fail(Unsupported, "this arithmetic is not followed; write the number out", w.nodeText(x))
	return 0, false
}

// arithmWord is the value of a number, a variable, or an expansion that makes one of them.
func (w *walker) arithmWord(word *syntax.Word, c *ctx, st *state) (int64, bool) {
	if p, ok := first[*syntax.ParamExp](word.Parts); ok && len(word.Parts) == 1 && !p.Dollar.IsValid() {
		e := expander{w: w, c: c, st: st, state: Exact}
		q := e.parameter(p)
		v := q.value()
		return w.number(v, st, 0)
	}
	return w.number(w.one(word, c, st), st, 0)
}

// number is the number that a word stands for; a name stands for its variable's.
func (w *walker) number(v Word, st *state, depth int) (int64, bool) {
	if v.State == Unknown {
		return 0, false
	}
	if v.State != Exact {
		for _, s := range v.Values {
			w.checkEvaluated(s)
		}
		return 0, false
	}
	s := strings.TrimSpace(v.Text)
	if s == "" {
		return 0, true
	}
	if n, ok := parseNumber(s); ok {
		return n, true
	}
	if syntax.ValidName(s) && depth < 8 {
		b := w.lookup(st, s)
		return w.number(b.value(), st, depth+1)
	}
	w.checkEvaluated(s)
	return 0, false
}

// checkEvaluated refuses text that bash evaluates as an expression and that would run commands then.
func (w *walker) checkEvaluated(s string) {
	if runsText(s) {
		w.fail(Unsupported, "bash evaluates this text and runs the command in it; run the command by itself", s)
	}
}

// runsText reports whether a text runs commands if it is expanded.
func runsText(s string) bool {
	return strings.Contains(s, "$(") || strings.IndexByte(s, '`') >= 0 || strings.Contains(s, "${") && strings.Contains(s, "@P") ||
		strings.Contains(s, "<(") || strings.Contains(s, ">(")
}

// parseNumber reads a constant: decimal, 0 octal, 0x, or BASE#DIGITS.
func parseNumber(s string) (int64, bool) {
	neg := false
	if s[0] == '-' || s[0] == '+' {
		neg, s = s[0] == '-', s[1:]
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	base := 10
	switch {
	case strings.IndexByte(s, '#') > 0:
		b, digits, _ := strings.Cut(s, "#")
		n, err := strconv.Atoi(b)
		if err != nil || n < 2 || n > 36 {
			return 0, false
		}
		base, s = n, digits
	case len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X"):
		base, s = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	if strings.ContainsAny(s, "_+-") {
		return 0, false
	}
	n, err := strconv.ParseInt(s, base, 64)
	if neg {
		n = -n
	}
	return n, err == nil
}

func (w *walker) unary(x *syntax.UnaryArithm, c *ctx, st *state) (int64, bool) {
	n, ok := w.arithm(x.X, c, st)
	switch x.Op {
	case syntax.Not:
		return int64(btoi(n == 0)), ok
	case syntax.BitNegation:
		return ^n, ok
	case syntax.Plus:
		return n, ok
	case syntax.Minus:
		return -n, ok
	case syntax.Inc, syntax.Dec:
		next := n + 1
		if x.Op == syntax.Dec {
			next = n - 1
		}
		w.assignNumber(x.X, next, ok, c, st)
		if !x.Post {
			n = next
		}
		return n, ok
	}
	w.fail(Unsupported, "this arithmetic is not followed; write the number out", w.nodeText(x))
	return 0, false
}

// assignNumber gives the variable that x names its value.
func (w *walker) assignNumber(x syntax.ArithmExpr, n int64, known bool, c *ctx, st *state) {
	word, ok := x.(*syntax.Word)
	if !ok {
		w.fail(Unsupported, "only a variable can be assigned to; write the number out", w.nodeText(x))
		return
	}
	if p, ok := first[*syntax.ParamExp](word.Parts); ok && len(word.Parts) == 1 && !p.Dollar.IsValid() && p.Param != nil {
		st.bind(w, binding{name: p.Param.Value, kind: opaqueArray, val: Word{Text: "$" + p.Param.Value}})
		return
	}
	v := w.one(word, c, st)
	if v.State != Exact || !syntax.ValidName(v.Text) {
		w.checkEvaluated(v.Text)
		w.forget(st)
		return
	}
	val := Word{Text: "$" + v.Text}
	if known {
		val = exact(strconv.FormatInt(n, 10))
	}
	w.assign(st, v.Text, val)
}

func (w *walker) binaryArithm(x *syntax.BinaryArithm, c *ctx, st *state) (int64, bool) {
	switch x.Op {
	case syntax.Assgn:
		n, ok := w.arithm(x.Y, c, st)
		w.assignNumber(x.X, n, ok, c, st)
		return n, ok
	case syntax.AndArit, syntax.OrArit:
		a, ok := w.arithm(x.X, c, st)
		if ok && (a != 0) == (x.Op == syntax.OrArit) {
			return int64(btoi(a != 0)), true
		}
		b, okB := w.perhaps(x.Y, !ok, c, st)
		return int64(btoi(b != 0)), ok && okB
	case syntax.TernQuest:
		cond, ok := w.arithm(x.X, c, st)
		arms, isArms := x.Y.(*syntax.BinaryArithm)
		if !isArms || arms.Op != syntax.TernColon {
			break
		}
		if ok && cond != 0 {
			return w.arithm(arms.X, c, st)
		}
		if ok {
			return w.arithm(arms.Y, c, st)
		}
		w.perhaps(arms.X, true, c, st)
		w.perhaps(arms.Y, true, c, st)
		return 0, false
	case syntax.Comma:
		w.arithm(x.X, c, st)
		return w.arithm(x.Y, c, st)
	}
	if op, ok := assignOp(x.Op); ok {
		a, okA := w.arithm(x.X, c, st)
		b, okB := w.arithm(x.Y, c, st)
		n, ok := compute(op, a, b)
		w.assignNumber(x.X, n, ok && okA && okB, c, st)
		return n, ok && okA && okB
	}
	a, okA := w.arithm(x.X, c, st)
	b, okB := w.arithm(x.Y, c, st)
	n, ok := compute(x.Op, a, b)
	return n, ok && okA && okB
}

// perhaps evaluates x; if maybe is set, it is not sure that bash does.
func (w *walker) perhaps(x syntax.ArithmExpr, maybe bool, c *ctx, st *state) (int64, bool) {
	if !maybe {
		return w.arithm(x, c, st)
	}
	before, inner := *st, *c
	inner.cond = true
	n, ok := w.arithm(x, &inner, st)
	*st = w.join(*st, before)
	return n, ok
}

func assignOp(op syntax.BinAritOperator) (syntax.BinAritOperator, bool) {
	switch op {
	case syntax.AddAssgn:
		return syntax.Add, true
	case syntax.SubAssgn:
		return syntax.Sub, true
	case syntax.MulAssgn:
		return syntax.Mul, true
	case syntax.QuoAssgn:
		return syntax.Quo, true
	case syntax.RemAssgn:
		return syntax.Rem, true
	case syntax.AndAssgn:
		return syntax.And, true
	case syntax.OrAssgn:
		return syntax.Or, true
	case syntax.XorAssgn:
		return syntax.Xor, true
	case syntax.ShlAssgn:
		return syntax.Shl, true
	case syntax.ShrAssgn:
		return syntax.Shr, true
	}
	return 0, false
}

func compute(op syntax.BinAritOperator, a, b int64) (int64, bool) {
	is := func(v bool) (int64, bool) { return int64(btoi(v)), true }
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo:
		if b == 0 || b == -1 {
			return -a, b == -1
		}
		return a / b, true
	case syntax.Rem:
		if b == 0 || b == -1 {
			return 0, b == -1
		}
		return a % b, true
	case syntax.Pow:
		n := int64(1)
		if b < 0 || b > 64 {
			return 0, false
		}
		for ; b > 0; b-- {
			n *= a
		}
		return n, true
	case syntax.Eql:
		return is(a == b)
	case syntax.Neq:
		return is(a != b)
	case syntax.Lss:
		return is(a < b)
	case syntax.Gtr:
		return is(a > b)
	case syntax.Leq:
		return is(a <= b)
	case syntax.Geq:
		return is(a >= b)
	case syntax.And:
		return a & b, true
	case syntax.Or:
		return a | b, true
	case syntax.Xor:
		return a ^ b, true
	case syntax.Shl:
		if b < 0 || b > 63 {
			return 0, false
		}
		return a << b, true
	case syntax.Shr:
		if b < 0 || b > 63 {
			return 0, false
		}
		return a >> b, true
	}
	return 0, false
}

// subscript evaluates the subscript of an array. That of an associative array is no arithmetic; what is known of such
// arrays is nothing, but the substitutions in it run all the same.
func (w *walker) subscript(x syntax.ArithmExpr, number bool, c *ctx, st *state) (int64, bool) {
	if word, ok := x.(*syntax.Word); ok && !number {
		w.checkEvaluated(w.one(word, c, st).Text)
		return 0, false
	}
	return w.arithm(x, c, st)
}
