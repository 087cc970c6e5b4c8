package rules

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/gate/ltl"
	"gatehouse/internal/document"
)

// readFormula reads a formula that is written as nested {type, args}, as AgentLTL names them.
func (r *rule) readFormula(v document.Value) {
	r.Kind = LTL
	before := v.Doc.Problems()
	f := readNode(v)
	if v.Doc.Problems() > before {
		return
	}
	if err := ltl.Check(f); err != nil {
		v.Bad("%v", err)
		return
	}
	r.setFormula(v, f)
}

// arguments are the args of one {type, args}.
type arguments struct {
	v    document.Value
	kind string
	got  map[string]document.Value
	used []string
}

// readNode reads {type, args}. Wrong arguments are reported, and then the formula does not count.
func readNode(v document.Value) ltl.Formula {
	a := &arguments{v: v, got: make(map[string]document.Value)}
	v.Mapping([]document.Field{
		document.Need("type", func(v document.Value) { a.kind, _ = v.Text() }),
		document.May("args", func(v document.Value) {
			pairs(v, func(name string, v document.Value) { a.got[name] = v })
		}),
	})
	if a.kind == "" {
		return ltl.Constant{}
	}
	f := a.formula()
	if f == nil {
		v.Bad("there is no formula of the type %q; write it as ltl if it can be", a.kind)
		return ltl.Constant{}
	}
	for name, v := range a.got {
		if !slices.Contains(a.used, name) {
			v.Bad("%s has no such argument; it takes %s", a.kind, strings.Join(a.used, ", "))
		}
	}
	return f
}

func (a *arguments) formula() ltl.Formula {
	switch a.kind {
	case "Called":
		return ltl.Called{Tool: a.text("tool")}
	case "Now":
		return ltl.Now{Tool: a.text("tool")}
	case "CalledWith":
		return ltl.CalledWith{Tool: a.text("tool"), Args: a.conds("expected_args")}
	case "CalledWithResult":
		return ltl.CalledWithResult{Tool: a.text("tool"), Result: a.value("expected_result"), Args: a.conds("expected_args")}
	case "CalledNTimes":
		return ltl.CalledN{Tool: a.text("tool"), N: a.count("n"), Op: a.op(ltl.EQ)}
	case "Before":
		return ltl.Before{A: a.text("a"), B: a.text("b")}
	case "After":
		return ltl.After{A: a.text("a"), B: a.text("b")}
	case "AllBefore":
		return ltl.AllBefore{Tools: a.texts("tools"), Target: a.text("target")}
	case "BranchCalled":
		f := ltl.BranchCalled{Right: a.text("correct_tool"), Wrong: a.optional("wrong_tool")}
		a.optional("context")
		return f
	case "InstanceBefore":
		return ltl.InstanceBefore{A: a.text("tool_a"), N: a.count("n"), B: a.text("tool_b"), M: a.count("m")}
	case "CalledInOrder":
		return ltl.InOrder{Tools: a.texts("tools")}
	case "WithinSteps":
		return ltl.WithinSteps{A: a.text("tool_a"), B: a.text("tool_b"), K: a.count("n")}
	case "AtPosition":
		return ltl.At{Index: a.count("index"), F: a.node("operand")}
	case "CountBefore":
		return ltl.CountBefore{F: a.node("operand"), N: a.count("n"), Op: a.op(ltl.LT)}
	case "Not":
		return ltl.Not{F: a.node("operand")}
	case "And":
		return ltl.And{All: []ltl.Formula{a.node("left"), a.node("right")}}
	case "Or":
		return ltl.Or{Any: []ltl.Formula{a.node("left"), a.node("right")}}
	case "Implies":
		return ltl.Implies{If: a.node("left"), Then: a.node("right")}
	}
	if op, ok := map[string]byte{
		"Globally": 'G', "Eventually": 'F', "Next": 'X', "Previous": 'Y', "Once": 'O', "Historically": 'H',
	}[a.kind]; ok {
		return ltl.Unary{Op: op, F: a.node("operand")}
	}
	if op, ok := map[string]byte{"Until": 'U', "WeakUntil": 'W', "Release": 'R', "Since": 'S'}[a.kind]; ok {
		return ltl.Binary{Op: op, L: a.node("left"), R: a.node("right")}
	}
	return nil
}

// need returns an argument that has to be there.
func (a *arguments) need(name string) (document.Value, bool) {
	a.used = append(a.used, name)
	v, ok := a.got[name]
	if !ok {
		a.v.Bad("%s needs the argument %q", a.kind, name)
	}
	return v, ok
}

func (a *arguments) text(name string) string {
	if v, ok := a.need(name); ok {
		text, _ := v.Text()
		return text
	}
	return ""
}

func (a *arguments) optional(name string) string {
	a.used = append(a.used, name)
	if v, ok := a.got[name]; ok {
		text, _ := v.Text()
		return text
	}
	return ""
}

func (a *arguments) texts(name string) []string {
	var all []string
	if v, ok := a.need(name); ok {
		v.Items(func(v document.Value) {
			text, _ := v.Text()
			all = append(all, text)
		})
	}
	return all
}

func (a *arguments) count(name string) int {
	n := 0
	if v, ok := a.need(name); ok {
		readCount(v, &n, 0)
	}
	return n
}

func (a *arguments) value(name string) any {
	if v, ok := a.need(name); ok {
		return anyValue(v)
	}
	return nil
}

// anyValue also reads mappings, which the result of a call can be.
func anyValue(v document.Value) any {
	if v.Node.Kind != yaml.MappingNode {
		return readAny(v)
	}
	object := map[string]any{}
	pairs(v, func(name string, v document.Value) { object[name] = anyValue(v) })
	return object
}

func (a *arguments) op(otherwise ltl.Op) ltl.Op {
	switch text := a.optional("op"); text {
	case "":
		return otherwise
	case "==":
		return ltl.EQ
	case ">=":
		return ltl.GE
	case "<=":
		return ltl.LE
	case ">":
		return ltl.GT
	case "<":
		return ltl.LT
	default:
		a.got["op"].Bad("%q is no comparison", text)
		return otherwise
	}
}

func (a *arguments) conds(name string) []ltl.Cond {
	a.used = append(a.used, name)
	var all []ltl.Cond
	if v, ok := a.got[name]; ok {
		pairs(v, func(name string, v document.Value) { all = append(all, ltl.Cond{Name: name, Value: anyValue(v)}) })
	}
	return all
}

func (a *arguments) node(name string) ltl.Formula {
	if v, ok := a.need(name); ok {
		return readNode(v)
	}
	return ltl.Constant{}
}
