package gate

import (
	"fmt"
	"slices"
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
			if j.over(8) {
				return
			}
			if !v.Unset && !seen[v.Name] && !(v.Name == "IFS" && readsFields(c)) {
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

// readsFields reports whether the command is one that takes its input apart by IFS, which it finds set for itself alone.
func readsFields(c *call.Call) bool {
	return c.Argv[0] == "read" || c.Argv[0] == "mapfile" || c.Argv[0] == "readarray"
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
	case "let":
		for _, w := range c.Argv[1:] {
			j.computed(i, w, seen)
		}
		return
	case "alias":
		j.aliases(i, c)
		return
	case "readonly", "local", "read", "printf", "mapfile", "readarray", "getopts", "unset", "wait", "test", "[":
	default:
		return
	}
	for _, w := range namedVariables(c.Argv) {
		name, _, assigns := strings.Cut(w, "=")
		name = strings.TrimSuffix(name, "+")
		if at := strings.IndexByte(name, '['); at >= 0 {
			j.computed(i, w[at:], seen)
			name = name[:at]
		}
		if slices.Contains(c.Meta.DynamicArgs, w) && !identifier(name) && !(c.Argv[0] == "printf" && strings.HasPrefix(w, "-v")) {
			j.dynamic(Reason{Call: i, Text: fmt.Sprintf("%s works on a variable whose name is known only at run time (%q)", c.Argv[0], w),
				Hint: "write the name out"})
			continue
		}
		if seen[name] || !identifier(name) || c.Argv[0] == "test" || c.Argv[0] == "[" {
			continue
		}
		if c.Argv[0] == "unset" {
			if name == "PATH" {
				seen[name] = true
				j.add(Reason{Stage: StageEnv, Call: i, Rule: name, Text: "without PATH the shell runs files of the working directory"})
			}
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

// aliases objects to an alias of a name that the line goes on to use: a client's shell may have turned aliases on.
func (j *judge) aliases(i int, c *call.Call) {
	for _, w := range c.Argv[1:] {
		name, _, ok := strings.Cut(w, "=")
		if !ok && !slices.Contains(c.Meta.DynamicArgs, w) {
			continue
		}
		for n := i + 1; n < len(j.calls); n++ {
			if later := &j.calls[n]; ok && later.Argv[0] == name || !ok && later.Meta.Operator != "wrap" {
				j.add(Reason{Stage: StageEnv, Call: i, Rule: name, Text: fmt.Sprintf("with this alias %s is another command where aliases are on", later.Argv[0]),
					Hint: "write the command out"})
				return
			}
		}
	}
}

// computed objects to the variables that an arithmetic expression gives a value.
func (j *judge) computed(i int, expr string, seen map[string]bool) {
	for _, name := range assignedIn(expr) {
		if !seen[name] {
			seen[name] = true
			j.variable(i, name)
		}
	}
}

// namedVariables lists the words of a builtin that name variables, with what is assigned to them.
func namedVariables(argv []string) (names []string) {
	valued, naming := "", byte(0) // options with a value, and the one of them whose value is a variable
	operands := true
	switch argv[0] {
	case "printf":
		valued, naming, operands = "v", 'v', false
	case "test", "[":
		for n := 1; n+1 < len(argv); n++ {
			if argv[n] == "-v" || argv[n] == "-R" {
				names = append(names, argv[n+1])
			}
		}
		return names
	case "wait":
		valued, naming, operands = "p", 'p', false
	case "read":
		valued, naming = "adinNptu", 'a'
	case "mapfile", "readarray":
		valued = "dnOsucC"
	case "getopts":
		if len(argv) < 3 {
			return nil
		}
		return argv[2:3]
	}
	for n := 1; n < len(argv); n++ {
		w := argv[n]
		if w == "--" {
			if operands {
				names = append(names, argv[n+1:]...)
			}
			return names
		}
		if len(w) < 2 || w[0] != '-' && w[0] != '+' {
			if !operands {
				return names
			}
			names = append(names, w)
			continue
		}
		for k := 1; k < len(w); k++ {
			if strings.IndexByte(valued, w[k]) < 0 {
				continue
			}
			value := w[k+1:]
			if value == "" && n+1 < len(argv) {
				n++
				value = argv[n]
			}
			if w[k] == naming {
				names = append(names, value)
			}
			break
		}
	}
	return names
}

// assignedIn lists the variables that programs obey to which a text assigns if it is evaluated as arithmetic.
func assignedIn(text string) (names []string) {
	for at := 0; at < len(text); {
		if !letter(text[at]) {
			at++
			continue
		}
		from := at
		for at < len(text) && (letter(text[at]) || '0' <= text[at] && text[at] <= '9') {
			at++
		}
		name := text[from:at]
		if !policy.Dangerous(name) {
			continue
		}
		before, after := strings.TrimRight(text[:from], " \t\n"), strings.TrimLeft(text[at:], " \t\n")
		op := strings.TrimLeft(after, "+-*/%<>&^|")
		if strings.HasSuffix(before, "++") || strings.HasSuffix(before, "--") || strings.HasPrefix(after, "++") || strings.HasPrefix(after, "--") ||
			strings.HasPrefix(op, "=") && !strings.HasPrefix(op, "==") && after != "" && !strings.HasPrefix(after, "<=") && !strings.HasPrefix(after, ">=") {
			names = append(names, name)
		}
	}
	return names
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
		if !seen[name] && name != "IFS" { // the shell has split by it
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
	operand := func(x syntax.ArithmExpr) {
		if w, ok := x.(*syntax.Word); ok {
			note(onlyLit(w))
		}
	}
	evaluates := false     // something on the line is evaluated as arithmetic
	var evaluated []string // what that can meet: values of variables, which are evaluated in their turn
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if !n.Naked {
				note(n.Name)
			}
			evaluates = evaluates || n.Index != nil
			evaluated = append(evaluated, texts(n.Value)...)
		case *syntax.WordIter:
			note(n.Name)
			for _, w := range n.Items {
				evaluated = append(evaluated, texts(w)...)
			}
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				note(n.Param)
				if n.Excl {
					evaluated, evaluates = append(evaluated, mentioned(script)...), true
				}
			}
			evaluates = evaluates || n.Excl || n.Index != nil || n.Slice != nil
		case *syntax.DeclClause:
			for _, a := range n.Args {
				for _, t := range texts(a.Value) {
					evaluates = evaluates || strings.HasPrefix(t, "-") && strings.ContainsAny(t, "in")
				}
			}
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			evaluates = true
		case *syntax.TestClause:
			evaluates = true
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				for _, x := range []syntax.TestExpr{n.X, n.Y} {
					if w, ok := x.(*syntax.Word); ok {
						evaluated = append(evaluated, texts(w)...)
					}
				}
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				operand(n.X)
			}
		case *syntax.BinaryArithm:
			switch n.Op {
			case syntax.Eql, syntax.Neq, syntax.Leq, syntax.Geq:
				return true
			}
			if strings.HasSuffix(n.Op.String(), "=") {
				operand(n.X)
			}
		}
		return true
	})
	if evaluates {
		for _, text := range evaluated {
			names = append(names, assignedIn(text)...)
		}
	}
	return names
}

// mentioned lists such variables that a text names, each as if it were assigned to.
func mentioned(text string) (names []string) {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return r > 127 || !letter(byte(r)) && (r < '0' || r > '9') }) {
		if policy.Dangerous(w) {
			names = append(names, w+"=")
		}
	}
	return names
}

func onlyLit(w *syntax.Word) *syntax.Lit {
	if len(w.Parts) != 1 {
		return nil
	}
	lit, _ := w.Parts[0].(*syntax.Lit)
	return lit
}

// texts lists the texts that stand in a word.
func texts(w *syntax.Word) (list []string) {
	if w == nil {
		return nil
	}
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			list = append(list, n.Value)
		case *syntax.SglQuoted:
			list = append(list, n.Value)
		}
		return true
	})
	return list
}
