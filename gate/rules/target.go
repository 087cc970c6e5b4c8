package rules

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gatehouse/gate/ltl"
)

// A pattern says which calls a rule is about: those that one of its targets matches.
type pattern []target

// A target is one kind of call.
type target struct {
	tools     []string // names; those with a * are patterns
	with      []equals
	where     []globs
	exists    wanted
	succeeded wanted
	sure      bool // what is not known does not count
}

// An equals is an argument and the value that it must have.
type equals struct {
	arg   string
	value any    // bool, int64, float64, string, []any; nil: the argument is not there
	name  string // of a variable; then there is no value
}

// A globs is an argument and the patterns of which one must match a text in it. The argument "*" is any.
type globs struct {
	arg      string
	patterns []string
	use      use // then it is about files, whatever argument names them
}

// A use is what a call does with a file. The zero use is that it is not asked for.
type use uint8

const (
	touches use = 1 + iota
	reads
	writes
)

// wanted is what a condition asks for. The zero wanted is that it does not ask.
type wanted uint8

const (
	either wanted = iota
	yes
	no
)

// match says whether p is about e.
func (p pattern) match(e *Event, env *Surroundings) ltl.Truth {
	found := ltl.No
	for i := range p {
		switch p[i].match(e, env) {
		case ltl.Yes:
			return ltl.Yes
		case ltl.Maybe:
			found = ltl.Maybe
		}
	}
	return found
}

// names reports whether e is a call of one of the tools of p, whatever its arguments are.
func (p pattern) names(e *Event) bool {
	return slices.ContainsFunc(p, func(t target) bool { return t.names(e) })
}

// vars returns the variables of p, sorted.
func (p pattern) vars() []string {
	var all []string
	for _, t := range p {
		for _, c := range t.with {
			if c.name != "" && !slices.Contains(all, c.name) {
				all = append(all, c.name)
			}
		}
	}
	slices.Sort(all)
	return all
}

func (t *target) names(e *Event) bool {
	for _, name := range t.tools {
		if name == "*" {
			return true
		}
		if isGlob(name) {
			g := toolGlob(name)
			if globMatch(g, e.Name) || slices.ContainsFunc(e.Also, func(s string) bool { return globMatch(g, s) }) {
				return true
			}
		} else if e.goesBy(name) {
			return true
		}
	}
	return false
}

// match says whether t is about e, variables taken as whatever they may be.
func (t *target) match(e *Event, env *Surroundings) ltl.Truth {
	if !t.names(e) {
		return ltl.No
	}
	found := t.conditions(e, env)
	switch {
	case found == ltl.Maybe && t.sure:
		return ltl.No
	case found == ltl.Yes && e.Doubt:
		return ltl.Maybe
	default:
		return found
	}
}

// conditions says whether all that t asks of a call of its tools holds.
func (t *target) conditions(e *Event, env *Surroundings) ltl.Truth {
	found := t.status(e)
	if found == ltl.No {
		return ltl.No
	}
	for i := range t.with {
		if found = both(found, t.with[i].match(t, e, env)); found == ltl.No {
			return ltl.No
		}
	}
	for i := range t.where {
		if found = both(found, t.where[i].match(e, env, t.anyTool())); found == ltl.No {
			return ltl.No
		}
	}
	if t.exists != either {
		found = both(found, t.onDisk(e, env))
	}
	return found
}

// status says whether the call ended as it was asked for. A call without a status may have ended in either way.
func (t *target) status(e *Event) ltl.Truth {
	switch {
	case t.succeeded == either:
		return ltl.Yes
	case e.Status == nil:
		return ltl.Maybe
	default:
		return truth((*e.Status == 0) == (t.succeeded == yes))
	}
}

// anyTool reports whether t names all tools.
func (t *target) anyTool() bool { return slices.Contains(t.tools, "*") }

func (c *equals) match(t *target, e *Event, env *Surroundings) ltl.Truth {
	got, there := e.arg(c.arg)
	unsure := e.unsure(c.arg, t.anyTool())
	if c.name != "" {
		switch {
		case len(elements(got)) > 0 && !unsure:
			return ltl.Yes
		case unsure:
			return ltl.Maybe
		default:
			return ltl.No
		}
	}
	if (!there || got == nil || empty(got)) && (c.value == nil || c.value == false || empty(c.value)) || there && same(got, c.value) || c.path(e, env) {
		if _, list := listed(got); unsure && !list {
			return ltl.Maybe // a list that holds it keeps it, whatever else it will hold
		}
		return ltl.Yes
	}
	if unsure {
		return ltl.Maybe
	}
	return ltl.No
}

// path reports whether the argument names the file that the value names.
func (c *equals) path(e *Event, env *Surroundings) bool {
	want, ok := c.value.(string)
	if !ok || want == "" {
		return false
	}
	for i := range e.Files {
		if f := &e.Files[i]; f.Arg == c.arg && f.Sure && !f.Pattern && f.Path == env.absolute(want) {
			return true
		}
	}
	return false
}

// same compares the value of an argument with the one that is wanted: a list has it as an element, truth is that of its
// usual spellings, a number is its text, and a list that is wanted names the values of which it may be one.
func same(got, want any) bool {
	list, isList := listed(got)
	if wanted, ok := listed(want); ok {
		if !isList {
			return got != nil && slices.ContainsFunc(wanted, func(v any) bool { return same(got, v) })
		}
		return slices.EqualFunc(list, wanted, same)
	}
	if isList {
		return slices.ContainsFunc(list, func(v any) bool { return same(v, want) })
	}
	if b, ok := want.(bool); ok {
		t, known := truthOf(got)
		return known && t == b
	}
	if b, ok := got.(bool); ok {
		t, known := truthOf(want)
		return known && t == b
	}
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	if n, ok := number(got); ok {
		if m, ok := number(want); ok {
			return n == m
		}
	}
	a, b := spelled(got), spelled(want)
	if a == "" && b == "" {
		_, text := got.(string)
		_, other := want.(string)
		return text && other || reflect.DeepEqual(got, want)
	}
	return a == b
}

// empty reports whether v is a list of nothing.
func empty(v any) bool {
	list, ok := listed(v)
	return ok && len(list) == 0
}

func listed(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return list, true
	default:
		return nil, false
	}
}

// truthOf reads the spellings of true and false.
func truthOf(v any) (truth, known bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		switch strings.ToLower(v) {
		case "true", "yes", "on", "1":
			return true, true
		case "false", "no", "off", "0", "":
			return false, true
		}
		return false, false
	case nil:
		return false, true
	default:
		n, ok := number(v)
		return n != 0, ok
	}
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	default:
		return 0, false
	}
}

// spelled is a single value as text.
func spelled(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return ""
	}
}

// elements returns the values that a variable can stand for, as text.
func elements(v any) []string {
	if list, ok := listed(v); ok {
		var all []string
		for _, x := range list {
			if s := spelled(x); s != "" {
				all = append(all, s)
			}
		}
		return all
	}
	if s := spelled(v); s != "" {
		return []string{s}
	}
	return nil
}

func truth(b bool) ltl.Truth {
	if b {
		return ltl.Yes
	}
	return ltl.No
}

// both is a and b.
func both(a, b ltl.Truth) ltl.Truth {
	switch {
	case a == ltl.No || b == ltl.No:
		return ltl.No
	case a == ltl.Maybe || b == ltl.Maybe:
		return ltl.Maybe
	default:
		return ltl.Yes
	}
}
