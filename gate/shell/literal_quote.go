package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// literalQuotes refuses single quotes behind :- and its like in "${x:-'…'}" and in here-documents where it matters that
// they are no quotes there: bash expands what they seem to hold, and ends the braces inside of them. inside says whether
// the node stands in double quotes.
func (w *walker) literalQuotes(node syntax.Node, inside bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			if n.Hdoc != nil && !inside {
				w.literalQuotes(n.Hdoc, true)
				w.literalQuotes(n.Word, false)
				return false
			}
		case *syntax.DblQuoted:
			if !inside {
				for _, part := range n.Parts {
					w.literalQuotes(part, true)
				}
				return false
			}
		case *syntax.ParamExp:
			if inside && quotes(n) {
				for _, word := range patternWords(n) {
					w.literalQuotes(word, false)
				}
				return false
			}
		case *syntax.CmdSubst:
			if inside {
				for _, s := range n.Stmts {
					w.literalQuotes(s, false)
				}
				return false
			}
		case *syntax.SglQuoted:
			if inside && (n.Dollar || strings.ContainsAny(n.Value, "$`\\\"{}")) {
				w.fail(Unsupported, "single quotes do not quote inside of double quotes; leave them out", n.Value)
			}
		}
		return w.err == nil
	})
}

// quotes reports whether single quotes do quote in what stands behind a parameter: that is so for patterns.
func quotes(p *syntax.ParamExp) bool {
	if p.Repl != nil {
		return true
	}
	if p.Exp == nil {
		return false
	}
	switch p.Exp.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return true
	}
	return false
}

func patternWords(p *syntax.ParamExp) (words []*syntax.Word) {
	if p.Repl != nil {
		words = append(words, p.Repl.Orig, p.Repl.With)
	}
	if p.Exp != nil {
		words = append(words, p.Exp.Word)
	}
	return slices.DeleteFunc(words, func(word *syntax.Word) bool { return word == nil })
}
