package ltl

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The text of a formula: Parse gives back the same formula. Operands that are no atoms stand in parentheses.

// String returns the text of f.
func (f Constant) String() string { return strconv.FormatBool(f.Holds) }

// String returns the text of f.
func (f Called) String() string { return list("called", quote(f.Tool)) }

// String returns the text of f.
func (f CalledWith) String() string { return list("called_with", conds(f.Tool, f.Args)...) }

// String returns the text of f.
func (f CalledWithResult) String() string {
	parts := conds(f.Tool, f.Args)
	return list("called_with_result", slices.Insert(parts, 1, valueText(f.Result))...)
}

// String returns the text of f.
func (f CalledN) String() string { return list("called_n", quote(f.Tool), compare(f.Op, f.N)) }

// String returns the text of f.
func (f Before) String() string { return list("before", quote(f.A), quote(f.B)) }

// String returns the text of f.
func (f After) String() string { return list("after", quote(f.A), quote(f.B)) }

// String returns the text of f.
func (f AllBefore) String() string { return list("all_before", names(f.Tools), quote(f.Target)) }

// String returns the text of f.
func (f BranchCalled) String() string {
	if f.Wrong == "" {
		return list("branch_called", quote(f.Right))
	}
	return list("branch_called", quote(f.Right), quote(f.Wrong))
}

// String returns the text of f.
func (f InstanceBefore) String() string {
	return list("instance_before", quote(f.A)+"["+strconv.Itoa(f.N)+"]", quote(f.B)+"["+strconv.Itoa(f.M)+"]")
}

// String returns the text of f.
func (f InOrder) String() string { return list("in_order", names(f.Tools)) }

// String returns the text of f.
func (f WithinSteps) String() string {
	return list("within_steps", quote(f.A), quote(f.B), strconv.Itoa(f.K))
}

// String returns the text of f.
func (f Now) String() string { return list("now", quote(f.Tool)) }

// String returns the text of f.
func (f NowWith) String() string { return list("now_with", conds(f.Tool, f.Args)...) }

// String returns the text of f.
func (f Match) String() string { return "@" + f.Name }

// String returns the text of f.
func (f Bind) String() string { return "@" + list(f.Name, variables(f.Vars)...) }

// String returns the text of f.
func (f Not) String() string { return "!" + side(f.F) }

// String returns the text of f.
func (f And) String() string { return join(f.All, " & ") }

// String returns the text of f.
func (f Or) String() string { return join(f.Any, " | ") }

// String returns the text of f.
func (f Implies) String() string { return side(f.If) + " -> " + side(f.Then) }

// String returns the text of f.
func (f Unary) String() string { return string(f.Op) + "(" + f.F.String() + ")" }

// String returns the text of f.
func (f Binary) String() string { return operand(f.L) + " " + string(f.Op) + " " + operand(f.R) }

// String returns the text of f.
func (f CountBefore) String() string {
	return list("count_before", f.F.String(), compare(f.Op, f.N))
}

// String returns the text of f.
func (f At) String() string { return list("at", strconv.Itoa(f.Index), f.F.String()) }

// String returns the text of f.
func (f Each) String() string { return list("each", f.Pattern.String(), f.Body.String()) }

// String returns the text of f.
func (f Some) String() string { return list("some", f.Pattern.String(), f.Body.String()) }

func list(name string, args ...string) string { return name + "(" + strings.Join(args, ", ") + ")" }

func compare(op Op, n int) string { return op.String() + " " + strconv.Itoa(n) }

// operand returns f as an operand of U, W, R and S.
func operand(f Formula) string {
	switch f.(type) {
	case Not, And, Or, Implies, Unary, Binary:
		return "(" + f.String() + ")"
	default:
		return f.String()
	}
}

// side returns f as an operand of "!", "&", "|" and "->".
func side(f Formula) string {
	switch f.(type) {
	case And, Or, Implies, Binary:
		return "(" + f.String() + ")"
	default:
		return f.String()
	}
}

func join(fs []Formula, sep string) string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = side(f)
	}
	return strings.Join(parts, sep)
}

func names(tools []string) string {
	parts := make([]string, len(tools))
	for i, t := range tools {
		parts[i] = quote(t)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func variables(vars []string) []string {
	parts := make([]string, len(vars))
	for i, v := range vars {
		parts[i] = "$" + v
	}
	return parts
}

func conds(tool string, args []Cond) []string {
	parts := []string{quote(tool)}
	for _, c := range args {
		name := c.Name
		if !isWord(name) {
			name = quote(name)
		}
		if c.Var != "" {
			parts = append(parts, name+"=$"+c.Var)
		} else {
			parts = append(parts, name+"="+valueText(c.Value))
		}
	}
	return parts
}

// valueText writes a value as JSON, but for the strings.
func valueText(v any) string {
	switch v := normal(v).(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return quote(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = valueText(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quote(k)+": "+valueText(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return "null"
	}
}

// quote writes s between quotes. There are no escapes: a text with double quotes is written in pieces that stand side by
// side, "a"'"'"b".
func quote(s string) string {
	if !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	var b strings.Builder
	for len(s) > 0 {
		q, other := `"`, `"`
		if s[0] == '"' {
			q, other = `'`, `'`
		}
		piece := s
		if i := strings.Index(s, other); i >= 0 {
			piece = s[:i]
		}
		b.WriteString(q + piece + q)
		s = s[len(piece):]
	}
	return b.String()
}

func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !wordStart(c) && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func wordStart(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
