package ltl

import "slices"

// words are the names of atoms, for suggestions.
const words = "called called_with called_with_result called_n before after all_before branch_called instance_before " +
	"in_order within_steps now now_with always eventually count_before at each some true false"

// atomReader returns what reads the inside of name( ... ), or nil for a name that there is not.
func (p *parser) atomReader(name string) func() (Formula, error) {
	switch name {
	case "called":
		return p.oneTool(func(t string) Formula { return Called{t} })
	case "now":
		return p.oneTool(func(t string) Formula { return Now{t} })
	case "always":
		return p.oneTool(func(t string) Formula { return Unary{'G', Called{t}} })
	case "eventually":
		return p.oneTool(func(t string) Formula { return Unary{'F', Called{t}} })
	case "before":
		return p.twoTools(func(a, b string) Formula { return Before{a, b} })
	case "after":
		return p.twoTools(func(a, b string) Formula { return After{a, b} })
	case "called_with":
		return func() (Formula, error) {
			tool, args, err := p.toolAndArgs()
			return CalledWith{tool, args}, err
		}
	case "now_with":
		return func() (Formula, error) {
			tool, args, err := p.toolAndArgs()
			return NowWith{tool, args}, err
		}
	case "called_with_result":
		return p.calledWithResult
	case "called_n":
		return p.calledN
	case "count_before":
		return p.countBefore
	case "all_before":
		return p.allBefore
	case "branch_called":
		return p.branchCalled
	case "in_order":
		return func() (Formula, error) {
			tools, err := p.tools()
			return InOrder{tools}, err
		}
	case "instance_before":
		return p.instanceBefore
	case "within_steps":
		return p.withinSteps
	case "at":
		return p.at
	case "each":
		return p.quantifier("each", func(pattern, body Formula) Formula { return Each{pattern, body} })
	case "some":
		return p.quantifier("some", func(pattern, body Formula) Formula { return Some{pattern, body} })
	default:
		return nil
	}
}

func (p *parser) oneTool(build func(string) Formula) func() (Formula, error) {
	return func() (Formula, error) {
		t, err := p.str("the name of a tool")
		return build(t), err
	}
}

func (p *parser) twoTools(build func(a, b string) Formula) func() (Formula, error) {
	return func() (Formula, error) {
		a, err := p.str("the name of a tool")
		if err != nil {
			return nil, err
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
		b, err := p.str("the name of a tool")
		return build(a, b), err
	}
}

// toolAndArgs reads "t", k=v, ...
func (p *parser) toolAndArgs() (string, []Cond, error) {
	tool, err := p.str("the name of a tool")
	if err != nil {
		return "", nil, err
	}
	args, err := p.args()
	return tool, args, err
}

// args reads , k=v, ...
func (p *parser) args() ([]Cond, error) {
	var args []Cond
	for p.is(",") {
		if err := p.next(); err != nil {
			return nil, err
		}
		name := p.token
		switch p.kind {
		case word:
			if err := p.next(); err != nil {
				return nil, err
			}
		case text:
			var err error
			if name, err = p.str("an argument"); err != nil {
				return nil, err
			}
		default:
			return nil, p.fail("expected an argument, found "+p.found(), "such as force=true")
		}
		if p.is("==") {
			return nil, p.fail("expected =, found "+p.found(), "")
		}
		if err := p.expect("="); err != nil {
			return nil, err
		}
		c := Cond{Name: name}
		var err error
		if p.kind == variable {
			c.Var = p.value
			err = p.next()
		} else {
			c.Value, err = p.jsonValue()
		}
		if err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	return args, nil
}

func (p *parser) calledWithResult() (Formula, error) {
	tool, err := p.str("the name of a tool")
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	result, err := p.jsonValue()
	if err != nil {
		return nil, err
	}
	args, err := p.args()
	return CalledWithResult{tool, result, args}, err
}

func (p *parser) calledN() (Formula, error) {
	tool, err := p.str("the name of a tool")
	if err != nil {
		return nil, err
	}
	op, n, err := p.comparison()
	return CalledN{tool, op, n}, err
}

func (p *parser) countBefore() (Formula, error) {
	f, err := p.implies()
	if err != nil {
		return nil, err
	}
	op, n, err := p.comparison()
	return CountBefore{f, op, n}, err
}

// comparison reads , >= 2
func (p *parser) comparison() (Op, int, error) {
	if err := p.expect(","); err != nil {
		return 0, 0, err
	}
	op := Op(max(0, slices.Index(opTexts[:], p.token)))
	if p.kind != sign || op == 0 {
		return 0, 0, p.fail("expected one of == >= <= > <, found "+p.found(), "such as >= 2")
	}
	if err := p.next(); err != nil {
		return 0, 0, err
	}
	n, err := p.integer()
	return op, n, err
}

func (p *parser) allBefore() (Formula, error) {
	tools, err := p.tools()
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	target, err := p.str("the name of a tool")
	return AllBefore{tools, target}, err
}

func (p *parser) branchCalled() (Formula, error) {
	right, err := p.str("the name of a tool")
	if err != nil || !p.is(",") {
		return BranchCalled{Right: right}, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	at := p.start
	wrong, err := p.str("the name of a tool")
	if err == nil && wrong == "" {
		err = &SyntaxError{Offset: at, Message: errTool.Error()}
	}
	return BranchCalled{right, wrong}, err
}

func (p *parser) instanceBefore() (Formula, error) {
	a, n, err := p.instance()
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	b, m, err := p.instance()
	return InstanceBefore{a, n, b, m}, err
}

// instance reads "t"[2]
func (p *parser) instance() (string, int, error) {
	tool, err := p.str("the name of a tool")
	if err != nil {
		return "", 0, err
	}
	if err := p.expect("["); err != nil {
		return "", 0, err
	}
	n, err := p.integer()
	if err != nil {
		return "", 0, err
	}
	return tool, n, p.expect("]")
}

func (p *parser) withinSteps() (Formula, error) {
	a, err := p.str("the name of a tool")
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	b, err := p.str("the name of a tool")
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	k, err := p.integer()
	return WithinSteps{a, b, k}, err
}

func (p *parser) at() (Formula, error) {
	n, err := p.integer()
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	f, err := p.implies()
	return At{n, f}, err
}

func (p *parser) quantifier(name string, build func(pattern, body Formula) Formula) func() (Formula, error) {
	return func() (Formula, error) {
		if p.vars != nil || p.binds {
			return nil, p.fail(name+" within each or some",
				`bind all variables in one pattern: now_with("t", a=$x, b=$y)`)
		}
		at := p.start
		p.binds = true
		pattern, err := p.primary()
		p.binds = false
		if err != nil {
			return nil, err
		}
		vars := varsOf(pattern)
		if len(vars) == 0 {
			return nil, &SyntaxError{at, name + " needs a pattern with variables first", `such as now_with("t", path=$x)`}
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
		at = p.start
		p.vars = vars
		body, err := p.implies()
		p.vars = nil
		if err == nil && !settled(body) {
			err = &SyntaxError{at, name + ": the body speaks of this call and those before it only",
				"use now, now_with, @name, Y, O, H, S, count_before, !, &, | and ->"}
		}
		return build(pattern, body), err
	}
}

// tools reads ["a", "b"]
func (p *parser) tools() ([]string, error) {
	if err := p.expect("["); err != nil {
		return nil, err
	}
	var tools []string
	for !p.is("]") {
		if len(tools) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.str("the name of a tool")
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	return tools, p.next()
}
