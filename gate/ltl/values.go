package ltl

import (
	"fmt"
	"strconv"
	"strings"
)

// jsonValue reads a value as in JSON, but for the strings.
func (p *parser) jsonValue() (any, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(fmt.Sprintf("nested deeper than %d", maxDepth), "")
	}
	defer func() { p.depth-- }()
	switch {
	case p.kind == text:
		return p.str("a value")
	case p.kind == numeral:
		var v any
		n, err := strconv.ParseInt(p.token, 10, 64)
		v = n
		if err != nil {
			x, err := strconv.ParseFloat(p.token, 64)
			if err != nil {
				return nil, p.fail(p.token+" is no number", "")
			}
			v = normal(x)
		}
		return v, p.next()
	case p.kind == word:
		var v any
		switch strings.ToLower(p.token) {
		case "true":
			v = true
		case "false":
			v = false
		case "null", "none":
		default:
			return nil, p.fail("expected a value, found "+p.found(), "write text in quotes")
		}
		return v, p.next()
	case p.is("["):
		list := []any{}
		err := p.members("]", func() error {
			v, err := p.jsonValue()
			list = append(list, v)
			return err
		})
		return list, err
	case p.is("{"):
		object := map[string]any{}
		err := p.members("}", func() error {
			at := p.start
			k, err := p.str("the name of a member")
			if err != nil {
				return err
			}
			if _, again := object[k]; again {
				return &SyntaxError{Offset: at, Message: fmt.Sprintf("member %q is named twice", k)}
			}
			if err := p.expect(":"); err != nil {
				return err
			}
			object[k], err = p.jsonValue()
			return err
		})
		return object, err
	default:
		return nil, p.fail("expected a value, found "+p.found(), "")
	}
}

// members reads a list up to its closing sign.
func (p *parser) members(closing string, member func() error) error {
	for first := true; ; first = false {
		if first {
			if err := p.next(); err != nil {
				return err
			}
			if p.is(closing) {
				return p.next()
			}
		}
		if err := member(); err != nil {
			return err
		}
		if p.is(closing) {
			return p.next()
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
}
