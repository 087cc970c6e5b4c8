package ltl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The limits of a formula. They are far beyond what a person writes.
const (
	maxText   = 64 << 10 // bytes of text
	maxNodes  = 4096     // formulas in a formula, names in lists and values included
	maxDepth  = 200      // formulas around a formula
	maxNumber = 1 << 20  // counts, distances and indices
	maxCount  = 64       // count_before of a formula that a later call can change
	maxNested = 4        // count_before in count_before
)

// Check returns what is wrong with f: the first thing that Parse would not read back, or that is beyond the limits.
// Formulas that Parse returned are right.
func Check(f Formula) error {
	c := checker{}
	if err := c.formula(f, nil, 0); err != nil {
		return fmt.Errorf("formula: %w", err)
	}
	if n := len(f.String()); n > maxText {
		return fmt.Errorf("formula: %d bytes of text, and %d are the limit: split it into several formulas", n, maxText)
	}
	return nil
}

type checker struct{ nodes int }

func (c *checker) count(n, depth int) error {
	c.nodes += n
	if c.nodes > maxNodes {
		return fmt.Errorf("more than %d parts: split it into several formulas", maxNodes)
	}
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d: use lists and fewer parentheses", maxDepth)
	}
	return nil
}

// formula checks f, which stands where vars are bound: nil outside of each and some.
func (c *checker) formula(f Formula, vars []string, depth int) error {
	if err := c.count(1, depth); err != nil {
		return err
	}
	if err := c.atom(f, vars, depth); err != nil {
		return err
	}
	switch f := f.(type) {
	case Each:
		return c.quantifier("each", f.Pattern, f.Body, vars, depth)
	case Some:
		return c.quantifier("some", f.Pattern, f.Body, vars, depth)
	}
	for _, k := range kids(f) {
		if err := c.formula(k, vars, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) quantifier(word string, pattern, body Formula, vars []string, depth int) error {
	if vars != nil {
		return fmt.Errorf("%s within each or some: bind all variables in one pattern, now_with(\"t\", a=$x, b=$y)", word)
	}
	bound := varsOf(pattern)
	if len(bound) == 0 {
		return fmt.Errorf("%s needs a pattern with variables first, such as now_with(\"t\", path=$x)", word)
	}
	if err := c.formula(pattern, bound, depth+1); err != nil {
		return err
	}
	if !settled(body) {
		return fmt.Errorf("%s: the body speaks of this call and those before it only: now, now_with, @name, Y, O, H, S, "+
			"count_before, !, &, |, ->", word)
	}
	return c.formula(body, bound, depth+1)
}

// varsOf returns the variables of a pattern in the order that their keys have.
func varsOf(f Formula) []string {
	switch f := f.(type) {
	case NowWith:
		var vars []string
		for _, a := range f.Args {
			if a.Var != "" {
				vars = append(vars, a.Var)
			}
		}
		slices.Sort(vars)
		return slices.Compact(vars)
	case Bind:
		return f.Vars
	default:
		return nil
	}
}

var errTool = errors.New("a tool has a name that is not empty")

func (c *checker) atom(f Formula, vars []string, depth int) error {
	switch f := f.(type) {
	case Constant:
	case Called:
		return tools(f.Tool)
	case Now:
		return tools(f.Tool)
	case CalledWith:
		return c.conds(f.Tool, f.Args, nil, depth)
	case CalledWithResult:
		return errors.Join(c.conds(f.Tool, f.Args, nil, depth), c.value(f.Result, depth))
	case NowWith:
		return c.conds(f.Tool, f.Args, vars, depth)
	case CalledN:
		return errors.Join(tools(f.Tool), comparison(f.Op, f.N))
	case Before:
		return tools(f.A, f.B)
	case After:
		return tools(f.A, f.B)
	case AllBefore:
		return errors.Join(c.count(len(f.Tools), depth), tools(f.Target), tools(f.Tools...))
	case BranchCalled:
		return tools(f.Right)
	case InstanceBefore:
		return errors.Join(tools(f.A, f.B), number(f.N, 1), number(f.M, 1))
	case InOrder:
		return errors.Join(c.count(len(f.Tools), depth), tools(f.Tools...))
	case WithinSteps:
		return errors.Join(tools(f.A, f.B), number(f.K, 0))
	case Match:
		if f.Pattern == nil {
			return fmt.Errorf("@%s has no pattern", f.Name)
		}
		return patternName(f.Name)
	case Bind:
		if f.Pattern == nil {
			return fmt.Errorf("@%s has no pattern", f.Name)
		}
		return errors.Join(patternName(f.Name), sameVars(f.Vars, vars, f))
	case Not, Implies, Each, Some:
	case And:
		return operands("&", f.All)
	case Or:
		return operands("|", f.Any)
	case Unary:
		if !strings.ContainsRune("GFXYOH", rune(f.Op)) {
			return fmt.Errorf("%q is no operator of one formula", f.Op)
		}
	case Binary:
		if !strings.ContainsRune("UWRS", rune(f.Op)) {
			return fmt.Errorf("%q is no operator between formulas", f.Op)
		}
	case CountBefore:
		if counts(f) > maxNested {
			return fmt.Errorf("count_before within itself more than %d deep", maxNested)
		}
		if !settled(f.F) && f.N > maxCount {
			return fmt.Errorf("count_before: up to %d where later calls can change what is counted", maxCount)
		}
		return comparison(f.Op, f.N)
	case At:
		return number(f.Index, 0)
	case nil:
		return errors.New("a part is missing")
	default:
		return fmt.Errorf("%T is no formula", f)
	}
	return nil
}

// counts is how deep f has count_before in count_before.
func counts(f Formula) int {
	n := 0
	for _, k := range kids(f) {
		n = max(n, counts(k))
	}
	if _, ok := f.(CountBefore); ok {
		n++
	}
	return n
}

func tools(names ...string) error {
	if slices.Contains(names, "") {
		return errTool
	}
	return nil
}

func operands(op string, fs []Formula) error {
	if len(fs) < 2 {
		return fmt.Errorf("%q needs two formulas or more", op)
	}
	return nil
}

func number(n, least int) error {
	if n < least || n > maxNumber {
		return fmt.Errorf("%d is not between %d and %d", n, least, maxNumber)
	}
	return nil
}

func comparison(op Op, n int) error {
	if op < EQ || op > LT {
		return errors.New("a comparison is one of == >= <= > <")
	}
	return number(n, 0)
}

func patternName(name string) error {
	if !isWord(name) {
		return fmt.Errorf("@%s: the name of a pattern is made of letters, digits and _", name)
	}
	return nil
}

// conds checks arguments; vars are the variables that all of them together must bind, if they bind any.
func (c *checker) conds(tool string, args []Cond, vars []string, depth int) error {
	var bound []string
	for i, a := range args {
		if slices.ContainsFunc(args[:i], func(b Cond) bool { return a.Name == b.Name }) {
			return fmt.Errorf("argument %q is named twice", a.Name)
		}
		if a.Var == "" {
			if err := c.value(a.Value, depth); err != nil {
				return err
			}
			continue
		}
		if a.Value != nil || !isWord(a.Var) {
			return fmt.Errorf("argument %q: a variable is $ and a name, and has no value of its own", a.Name)
		}
		bound = append(bound, a.Var)
	}
	if bound != nil {
		slices.Sort(bound)
		if err := sameVars(slices.Compact(bound), vars, NowWith{tool, args}); err != nil {
			return err
		}
	}
	return errors.Join(tools(tool), c.count(len(args), depth))
}

func sameVars(got, want []string, f Formula) error {
	if len(got) == 0 {
		return fmt.Errorf("%s has no variable", f)
	}
	if want == nil {
		return fmt.Errorf("$%s: variables stand in now_with and @name, within each(pattern, ...) or some(pattern, ...)", got[0])
	}
	for i, v := range got {
		if !isWord(v) || slices.Contains(got[:i], v) {
			return fmt.Errorf("%s: variables are words, each named once", f)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: has $%s, and the pattern of each or some has $%s: each pattern with variables needs all of them",
			f, strings.Join(got, ", $"), strings.Join(want, ", $"))
	}
	return nil
}

func (c *checker) value(v any, depth int) error {
	if err := c.count(1, depth); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil, bool, int, int64, string, []string:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v is no number that can be written", v)
		}
	case []any:
		for _, e := range v {
			if err := c.value(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := c.value(e, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%T is no value of an argument", v)
	}
	return nil
}
