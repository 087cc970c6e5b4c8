package gate

import (
	"fmt"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"

	"mvdan.cc/sh/v3/syntax"
)

// env checks the variables that the line sets.
func (j *judge) env() {
	seen := make(map[string]bool)
	for i := range j.calls {
		c := &j.calls[i]
		for _, v := range c.Meta.Env {
			if !v.Unset && !seen[v.Name] {
				seen[v.Name] = true
				j.variable(i, v.Name)
			}
		}
		if !c.Meta.Remote {
			j.builtinSets(i, c, seen)
		}
	}
	if j.r.Argv != nil || mentionsDangerous(j.r.Line) {
		j.assigned(seen)
	}
}

// variable objects to a variable that the policy does not let a command find set.
func (j *judge) variable(i int, name string) {
	if ok, why := j.p.EnvAllowed(name); !ok {
		r := Reason{Stage: StageEnv, Call: i, Rule: name, At: j.keyAt("env.allow"), Text: fmt.Sprintf("setting %s is not allowed", name)}
		if why != "" {
			r.Text += ": " + why
		}
		r.Hint = "leave the assignment out"
		if !policy.Dangerous(name) {
			r.Hint += ", or a person can list it under env.allow"
		}
		j.add(r)
	}
}

// builtinSets looks at the builtins that set variables: those that export like an assignment before a command, the
// others only where the variable is one that programs obey.
func (j *judge) builtinSets(i int, c *call.Call, seen map[string]bool) {
	exports := false
	switch c.Argv[0] {
	case "export":
		exports = true
	case "declare", "typeset":
		for _, w := range c.Argv[1:] {
			exports = exports || strings.HasPrefix(w, "-") && strings.Contains(w, "x")
		}
	case "readonly", "local", "read", "printf", "mapfile", "readarray", "getopts", "let", "unset", "wait":
	default:
		return
	}
	for _, w := range c.Argv[1:] {
		name, _, assigns := strings.Cut(w, "=")
		name = strings.TrimSuffix(name, "+")
		if seen[name] || !identifier(name) || c.Argv[0] == "unset" {
			continue
		}
		if exports && !assigns || c.Argv[0] == "readonly" && !assigns {
			continue // it only marks the variable
		}
		if exports || policy.Dangerous(name) {
			seen[name] = true
			j.variable(i, name)
		}
	}
}

// assigned looks for assignments of the variables that programs obey anywhere on the line, which need no command: most
// are exported before the line begins.
func (j *judge) assigned(seen map[string]bool) {
	names := dangerousAssigned(j.r.Line)
	for i := range j.calls {
		c := &j.calls[i]
		if c.Argv[0] != "eval" && !j.wraps(i) {
			continue
		}
		for _, w := range c.Argv[1:] {
			if mentionsDangerous(w) {
				names = append(names, dangerousAssigned(w)...)
			}
		}
		for _, r := range j.commands[i].Redirects {
			if mentionsDangerous(r.Body.Text) {
				names = append(names, dangerousAssigned(r.Body.Text)...)
			}
		}
	}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			j.variable(-1, name)
		}
	}
}

// mentionsDangerous reports whether the name of such a variable stands somewhere in a text.
func mentionsDangerous(text string) bool {
	for i := 0; i < len(text); {
		if !letter(text[i]) {
			i++
			continue
		}
		from, upper := i, false
		for i < len(text) && (letter(text[i]) || '0' <= text[i] && text[i] <= '9') {
			upper = upper || text[i] <= 'Z' && text[i] >= 'A'
			i++
		}
		if i-from > 2 && (upper || strings.HasPrefix(text[from:i], "npm_")) && policy.Dangerous(text[from:i]) {
			return true
		}
	}
	return false
}

func letter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func identifier(s string) bool {
	if s == "" || !letter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !letter(s[i]) && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

// dangerousAssigned lists such variables that a script assigns without a command behind the assignment. What is no script
// assigns nothing.
func dangerousAssigned(script string) (names []string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	note := func(lit *syntax.Lit) {
		if lit != nil && policy.Dangerous(lit.Value) {
			names = append(names, lit.Value)
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if !n.Naked {
				note(n.Name)
			}
		case *syntax.WordIter:
			note(n.Name)
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				note(n.Param)
			}
		case *syntax.BinaryArithm:
			switch n.Op {
			case syntax.Eql, syntax.Neq, syntax.Leq, syntax.Geq:
				return true
			}
			if strings.HasSuffix(n.Op.String(), "=") {
				if w, ok := n.X.(*syntax.Word); ok && len(w.Parts) == 1 {
					lit, _ := w.Parts[0].(*syntax.Lit)
					note(lit)
				}
			}
		}
		return true
	})
	return names
}
