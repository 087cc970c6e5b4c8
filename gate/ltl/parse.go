package ltl

import (
	"fmt"
	"strconv"
	"strings"
)

// A SyntaxError says where a text stops being a formula.
type SyntaxError struct {
	Offset  int // in bytes, from 0
	Message string
	Hint    string // how to write it; may be empty
}

// Error gives the message with the position, counted from 1.
func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("formula, position %d: %s", e.Offset+1, e.Message)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Names finds the patterns that a host has named: a Pattern for @name, a Binder for @name($x). It returns nil for a name
// that it does not know.
type Names func(name string) any

// Parse reads a formula in which names, if there are any, are found by named, which may be nil. The error is a
// *SyntaxError.
func Parse(text string, named Names) (Formula, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{maxText, fmt.Sprintf("more than %d bytes", maxText), "split it into several formulas"}
	}
	p := &parser{scanner: scanner{text: text}, named: named}
	return p.whole()
}

type parser struct {
	scanner
	named Names
	check checker
	depth int
	vars  []string // bound here; nil outside of the body of each and some
	binds bool     // this is the pattern of each or some
}

func (p *parser) whole() (Formula, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.kind == end {
		return nil, p.fail("a formula is missing", `such as G(!now("rm"))`)
	}
	f, err := p.implies()
	if err != nil {
		return nil, err
	}
	if p.kind != end {
		hint := ""
		switch up := strings.ToUpper(p.token); {
		case p.kind == word && strings.Contains(" U W R S ", " "+up+" "):
			hint = "U, W, R and S stand between atoms or formulas in parentheses: (f) " + up + " g"
		case p.token == "=" || p.token == ">" || p.token == "<":
			hint = `"f implies g" is written f -> g`
		case p.token == ")":
			hint = "it closes nothing"
		case p.kind == word && strings.EqualFold(p.token, "and"):
			hint = "write &"
		case p.kind == word && strings.EqualFold(p.token, "or"):
			hint = "write |"
		}
		return nil, p.fail("expected an operator or the end, found "+p.found(), hint)
	}
	return f, nil
}

// implies reads f -> g, which is right associative.
func (p *parser) implies() (Formula, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(fmt.Sprintf("nested deeper than %d", maxDepth), "use lists and fewer parentheses")
	}
	defer func() { p.depth-- }()
	left, err := p.chain("|", func() (Formula, error) { return p.chain("&", p.unary) })
	if err != nil || !p.is("->") {
		return left, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	right, err := p.implies()
	if err != nil {
		return nil, err
	}
	return p.made(Implies{left, right})
}

// chain reads one operand or several with op between them.
func (p *parser) chain(op string, operand func() (Formula, error)) (Formula, error) {
	first, err := operand()
	if err != nil || !p.is(op) {
		return first, err
	}
	all := []Formula{first}
	for p.is(op) {
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.is(op) {
			return nil, p.fail("expected a formula, found "+p.found(), "write one "+op)
		}
		f, err := operand()
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if op == "&" {
		return p.made(And{all})
	}
	return p.made(Or{all})
}

// unary reads the prefix operators, and f U g and the like, which bind closer than these.
func (p *parser) unary() (Formula, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(fmt.Sprintf("nested deeper than %d", maxDepth), "use lists and fewer parentheses")
	}
	defer func() { p.depth-- }()
	op := byte(0)
	switch {
	case p.is("!"):
		op = '!'
	case p.kind == word && len(p.token) == 1 && strings.Contains("GFXYOH", strings.ToUpper(p.token)):
		op = strings.ToUpper(p.token)[0]
	}
	if op != 0 {
		if err := p.next(); err != nil {
			return nil, err
		}
		f, err := p.unary()
		if err != nil {
			return nil, err
		}
		if op == '!' {
			return p.made(Not{f})
		}
		return p.made(Unary{op, f})
	}
	left, err := p.primary()
	if err != nil || p.kind != word || len(p.token) != 1 || !strings.Contains("UWRS", strings.ToUpper(p.token)) {
		return left, err
	}
	op = strings.ToUpper(p.token)[0]
	if err := p.next(); err != nil {
		return nil, err
	}
	right, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.made(Binary{op, left, right})
}

func (p *parser) primary() (Formula, error) {
	switch {
	case p.is("("):
		if err := p.next(); err != nil {
			return nil, err
		}
		f, err := p.implies()
		if err != nil {
			return nil, err
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
		return f, nil
	case p.is("@"):
		return p.pattern()
	case p.kind == word:
		name, at := strings.ToLower(p.token), p.start
		switch name {
		case "true", "false":
			if err := p.next(); err != nil {
				return nil, err
			}
			return p.made(Constant{name == "true"})
		}
		read := p.atomReader(name)
		if read == nil {
			return nil, p.fail(fmt.Sprintf("%q is no word of formulas", p.token), p.suggest(name))
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		f, err := read()
		if err != nil {
			return nil, err
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
		return p.madeAt(at, f)
	case p.is("~"):
		return nil, p.fail("expected a formula, found "+p.found(), "write ! for not")
	case p.kind == text:
		return nil, p.fail("expected a formula, found "+p.found(), "for a call of that tool write now("+quote(p.value)+") or called("+quote(p.value)+")")
	default:
		return nil, p.fail("expected a formula, found "+p.found(), "")
	}
}

// made checks what f is by itself; its parts have been.
func (p *parser) made(f Formula) (Formula, error) { return p.madeAt(p.start, f) }

func (p *parser) madeAt(offset int, f Formula) (Formula, error) {
	vars := p.vars
	if p.binds {
		vars = varsOf(f)
	}
	err := p.check.count(1, p.depth)
	if err == nil {
		err = p.check.atom(f, vars, p.depth)
	}
	if err != nil {
		return nil, &SyntaxError{Offset: offset, Message: err.Error()}
	}
	return f, nil
}

// pattern reads @name and @name($x, $y).
func (p *parser) pattern() (Formula, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	name := p.token
	if p.kind != word {
		return nil, p.fail("expected the name of a pattern, found "+p.found(), "")
	}
	var found any
	if p.named != nil {
		found = p.named(name)
	}
	if found == nil {
		return nil, p.fail(fmt.Sprintf("there is no pattern @%s", name), "")
	}
	at := p.start
	if err := p.next(); err != nil {
		return nil, err
	}
	if !p.is("(") {
		pattern, ok := found.(Pattern)
		if !ok {
			return nil, &SyntaxError{at, fmt.Sprintf("@%s has variables", name), fmt.Sprintf("write @%s($x)", name)}
		}
		return p.madeAt(at, Match{name, pattern})
	}
	binder, ok := found.(Binder)
	if !ok {
		return nil, p.fail(fmt.Sprintf("@%s has no variables", name), "write @"+name)
	}
	var vars []string
	for {
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.kind != variable {
			return nil, p.fail("expected a variable such as $x, found "+p.found(), "")
		}
		vars = append(vars, p.value)
		if err := p.next(); err != nil {
			return nil, err
		}
		if !p.is(",") {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return p.madeAt(at, Bind{name, vars, binder})
}

func (p *parser) integer() (int, error) {
	n, err := strconv.Atoi(p.token)
	if p.kind != numeral || err != nil {
		return 0, p.fail("expected a whole number, found "+p.found(), "")
	}
	if n > maxNumber {
		return 0, p.fail(fmt.Sprintf("%d is the greatest number of calls", maxNumber), "")
	}
	return n, p.next()
}
