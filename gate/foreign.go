package gate

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// foreign asks about what the shell would evaluate though it comes from outside of the line: where a value that a command
// printed or a file held is computed with, a text such as a[$(cmd)] runs cmd. What only ever prints numbers is no such value.
func (j *judge) foreign() {
	scripts := []string{j.r.Line}
	for i := range j.calls {
		c := &j.calls[i]
		if c.Meta.Remote || c.Argv[0] != "eval" && !j.wraps(i) {
			continue
		}
		for _, w := range c.Argv[1:] {
			if strings.ContainsAny(w, " \t\n;") {
				scripts = append(scripts, w)
			}
		}
	}
	for _, script := range scripts {
		if !evaluates(script) {
			continue
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
		if err != nil {
			continue
		}
		f := foreigners{names: make(map[string]bool), keyed: make(map[string]bool)}
		for range 2 { // a loop brings a value back to its beginning
			f.found = ""
			syntax.Walk(file, f.visit)
		}
		if f.found != "" {
			j.dynamic(Reason{Call: -1, Source: script, Text: fmt.Sprintf("%s is known only at run time, and the shell would evaluate it: a text in it such as a[$(cmd)] runs", f.found),
				Hint: `compute with expr or awk, or compare with [ "$x" -gt 1 ], which evaluates nothing`})
			return
		}
	}
}

// evaluates reports whether something in a script may be evaluated as arithmetic or as the name of a variable.
func evaluates(script string) bool {
	for _, sign := range []string{"((", "$[", "${!", "let ", "-eq", "-ne", "-lt", "-gt", "-le", "-ge", "@P}", "-v ", "-i "} {
		if strings.Contains(script, sign) && (strings.Contains(script, "$(") || strings.Contains(script, "`") || strings.Contains(script, "read") || strings.Contains(script, "mapfile")) {
			return true
		}
	}
	sliced := strings.Contains(script, "${") && strings.Contains(script, ":")
	return (sliced || strings.Contains(script, "[$")) && (strings.Contains(script, "$(") || strings.Contains(script, "`") || strings.Contains(script, "read"))
}

// foreigners are the variables of a script whose values come from outside of it.
type foreigners struct {
	names map[string]bool
	keyed map[string]bool // arrays whose subscripts are texts
	found string          // what is evaluated though it is foreign
}

func (f *foreigners) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name != nil && (n.Value != nil && f.isForeign(n.Value) || n.Array != nil && slices.ContainsFunc(n.Array.Elems, func(e *syntax.ArrayElem) bool { return f.isForeign(e.Value) })) {
			f.names[n.Name.Value] = true
		}
		if n.Name != nil && !f.keyed[n.Name.Value] {
			f.arithmetic(n.Index)
		}
	case *syntax.DeclClause:
		for _, a := range n.Args {
			if a.Naked && a.Name == nil && strings.HasPrefix(onlyText(a.Value), "-") && strings.Contains(onlyText(a.Value), "i") {
				for _, named := range n.Args {
					if named.Name != nil && named.Value != nil {
						f.evaluated(named.Value)
					}
				}
			}
			if text := onlyText(a.Value); a.Naked && a.Name == nil && strings.HasPrefix(text, "-") && strings.Contains(text, "A") {
				for _, named := range n.Args {
					if named.Name != nil {
						f.keyed[named.Name.Value] = true
					}
				}
			}
		}
	case *syntax.WordIter:
		if slices.ContainsFunc(n.Items, f.isForeign) {
			f.names[n.Name.Value] = true
		}
	case *syntax.CallExpr:
		f.call(n)
	case *syntax.ArithmExp:
		f.arithmetic(n.X)
	case *syntax.ArithmCmd:
		f.arithmetic(n.X)
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			f.arithmetic(x)
		}
	case *syntax.CStyleLoop:
		f.arithmetic(n.Init)
		f.arithmetic(n.Cond)
		f.arithmetic(n.Post)
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			f.test(n.X)
			f.test(n.Y)
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			f.test(n.X)
		}
	case *syntax.ParamExp:
		if n.Param != nil && !f.keyed[n.Param.Value] {
			f.arithmetic(n.Index)
		}
		if n.Slice != nil {
			f.arithmetic(n.Slice.Offset)
			f.arithmetic(n.Slice.Length)
		}
		if n.Param != nil && f.names[n.Param.Value] && (n.Excl && n.Index == nil && n.Names == 0 || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && onlyText(n.Exp.Word) == "P") {
			f.note("$" + n.Param.Value)
		}
	}
	return true
}

func (f *foreigners) note(what string) {
	if f.found == "" {
		f.found = what
	}
}

// call looks at the builtins that give variables values from outside.
func (f *foreigners) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	switch name := onlyText(c.Args[0]); name {
	case "read", "mapfile", "readarray":
		for _, w := range c.Args[1:] {
			if text := onlyText(w); identifier(text) {
				f.names[text] = true
			}
		}
	}
}

func (f *foreigners) test(x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); ok {
		f.evaluated(w)
	}
}

// arithmetic looks for foreign values in an expression.
func (f *foreigners) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		f.evaluated(x)
	case *syntax.ParenArithm:
		f.arithmetic(x.X)
	case *syntax.UnaryArithm:
		f.arithmetic(x.X)
	case *syntax.BinaryArithm:
		f.arithmetic(x.X)
		f.arithmetic(x.Y)
	}
}

func (f *foreigners) evaluated(w *syntax.Word) {
	if name := onlyText(w); f.names[name] {
		f.note(name)
		return
	}
	if f.isForeign(w) {
		f.note("what a command prints here")
	}
}

// isForeign reports whether a word holds what a command prints, or a variable that does.
func (f *foreigners) isForeign(w *syntax.Word) (is bool) {
	if w == nil {
		return false
	}
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			is = is || !numeric(n.Stmts)
			return false
		case *syntax.ArithmExp:
			return false
		case *syntax.ParamExp:
			if n.Length || n.Param == nil {
				return false
			}
			is = is || f.names[n.Param.Value]
		}
		return !is
	})
	return is
}

// numeric reports whether what statements print is known to be numbers: that of the last command of a pipeline is.
func numeric(stmts []*syntax.Stmt) bool {
	if len(stmts) != 1 {
		return false
	}
	cmd := stmts[0].Cmd
	for {
		b, ok := cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if b.Op == syntax.AndStmt || b.Op == syntax.OrStmt {
			return numeric([]*syntax.Stmt{b.X}) && numeric([]*syntax.Stmt{b.Y})
		}
		cmd = b.Y.Cmd
	}
	c, ok := cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	has := func(texts ...string) bool {
		return slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool { return slices.Contains(texts, onlyText(w)) })
	}
	args := len(c.Args) - 1
	switch onlyText(c.Args[0]) {
	case "wc":
		return args == 0 || args == 1 && len(onlyText(c.Args[1])) > 1 && onlyText(c.Args[1])[0] == '-'
	case "grep", "egrep", "fgrep", "rg":
		return has("-c", "--count", "-ci", "-ic", "-cE", "-Ec", "-cv", "-vc", "-cF", "-Fc") && !has("-H", "-r", "-R", "--with-filename")
	case "jq":
		return has("length", ". | length", ".|length")
	case "nproc", "expr", "bc", "dc", "seq", "true", "false":
		return true
	case "date":
		return slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool {
			t := onlyText(w)
			return len(t) > 2 && t[0] == '+' && strings.Trim(t[1:], "%sNYmdHMSjuwyU") == ""
		})
	case "id":
		return has("-u", "-g", "-ru")
	case "stat":
		return has("-c%s", "%s", "--format=%s", "%Y", "-c%Y", "--format=%Y")
	case "git":
		return has("rev-list") && has("--count")
	case "tput":
		return has("cols", "lines")
	case "echo", "printf":
		for _, w := range c.Args[1:] {
			if strings.Trim(onlyText(w), "-+0123456789") != "" || onlyText(w) == "" {
				return false
			}
		}
		return true
	}
	return false
}

// onlyText is the text of a word that is nothing but text; "" for any other.
func onlyText(w *syntax.Word) string {
	if w == nil || len(w.Parts) != 1 {
		return ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.SglQuoted:
		return p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 {
			if lit, ok := p.Parts[0].(*syntax.Lit); ok {
				return lit.Value
			}
		}
	}
	return ""
}
