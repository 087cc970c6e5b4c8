package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// guardText refuses characters that the parser reads otherwise than a shell, and text for shells that read it otherwise.
func guardText(text string, d dialect) *Error {
	for _, bad := range [...]struct {
		char byte
		name string
	}{{'\r', "a carriage return"}, {0, "a NUL"}} {
		if i := strings.IndexByte(text, bad.char); i >= 0 {
			return &Error{Kind: Unsupported, Message: bad.name + " in a line is read differently by shells; take it out, or write it as $'\\r'",
				Source: excerpt(text, i)}
		}
	}
	if backslashes := len(text) - len(strings.TrimRight(text, "\\")); backslashes%2 == 1 {
		return &Error{Kind: Unsupported, Message: "a backslash at the very end is read differently by shells; take it out",
			Source: excerpt(text, len(text)-1)}
	}
	if i := splitOperator(text); i >= 0 {
		return &Error{Kind: Unsupported, Message: "a line that is continued inside an operator is read differently by shells; write the operator on one line",
			Source: excerpt(text, i)}
	}
	switch d {
	case posix, korn:
		if i := strings.Index(text, "$'"); i >= 0 {
			return &Error{Kind: Unsupported, Message: "$'…' is read differently by sh and bash; use plain quotes, or bash -c",
				Source: excerpt(text, i)}
		}
	case plain:
		for i := 0; i < len(text); i++ {
			b := text[i]
			if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9') &&
				strings.IndexByte(" _./:@%+,-=;&|\n'", b) < 0 {
				return &Error{Kind: Unsupported, Message: "this shell reads the text in its own way; use plain words, or bash -c",
					Source: excerpt(text, i)}
			}
		}
	}
	return nil
}

// splitOperator returns where a backslash and a newline stand between two characters that bash, which takes both away
// first, may read as one operator or expansion; -1 for nowhere. Quotes are not looked at.
func splitOperator(text string) int {
	const continued = "\\\n"
	for from := 0; ; {
		i := strings.Index(text[from:], continued)
		if i < 0 {
			return -1
		}
		i += from
		from = i + len(continued)
		rest := strings.TrimLeft(text[from:], continued)
		if i == 0 || rest == "" {
			continue
		}
		before, after := text[i-1], rest[0]
		switch {
		case before == '$' && after != ' ' && after != '\t' && after != '\n',
			strings.IndexByte("&|<>;(", before) >= 0 && strings.IndexByte("&|<>;(-", after) >= 0,
			before >= '0' && before <= '9' && (after == '<' || after == '>'):
			return i
		}
	}
}

// guardHeredocs refuses a text in which bash looks for the body of a here-document elsewhere than the parser. Bash reads the
// body at the next newline, even inside a construct that opens after the << on its line and closes on a later one;
// the parser reads it after the construct. So a command could pass as text of the document.
func guardHeredocs(file *syntax.File, text string) *Error {
	if !strings.Contains(text, "<<") {
		return nil
	}
	type pending struct{ op, body int }
	var docs []pending
	var bad *Error
	syntax.Walk(file, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) {
			p := pending{op: int(r.OpPos.Offset()), body: -1}
			if r.Hdoc != nil && len(r.Hdoc.Parts) > 0 {
				p.body = int(r.Hdoc.Pos().Offset())
			}
			docs = append(docs, p)
		}
		return true
	})
	if len(docs) == 0 {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.CaseClause, *syntax.ArrayExpr, *syntax.TestClause,
			*syntax.ExtGlob:
		default:
			return bad == nil
		}
		from, to := int(n.Pos().Offset()), min(int(n.End().Offset()), len(text))
		for _, p := range docs {
			before := from > p.op && (p.body >= 0 && from < p.body || p.body < 0 && sameLine(text[p.op:from]))
			if before && from < to && strings.IndexByte(text[from:to], '\n') >= 0 {
				bad = &Error{Kind: Unsupported, Message: "bash looks for the here-document inside what opens after it on its line; " +
					"begin that on a line of its own", Source: excerpt(text, p.op)}
			}
		}
		return bad == nil
	})
	return bad
}

// sameLine reports whether s has no newline but for those after a backslash.
func sameLine(s string) bool {
	return strings.IndexByte(strings.ReplaceAll(s, "\\\n", ""), '\n') < 0
}

// guardStdin refuses a script on standard input of which a command could read a part as its own input: what is left would
// be another script.
func (w *walker) guardStdin(in *inner, text string) {
	file, err := w.parse(text, dialectOf(in.Wrapper))
	if err != nil {
		return // the script is refused anyway
	}
	for i, s := range file.Stmts {
		if i == len(file.Stmts)-1 && !strings.Contains(w.trailing(s, text), "\n") {
			break
		}
		if !w.ignoresStdin(s) {
			w.fail(StdinScript, "a command in this script could read the rest of the script as its input; give the script with -c",
				excerpt(text, int(s.Pos().Offset())))
			return
		}
	}
}

// trailing is the text after the last statement, without the newline that ends it.
func (w *walker) trailing(s *syntax.Stmt, text string) string {
	end := min(int(s.End().Offset()), len(text))
	return strings.TrimSpace(text[end:])
}

// ignoresStdin reports whether s is a simple command that is known not to read its standard input.
func (w *walker) ignoresStdin(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Background {
		return false
	}
	for _, word := range call.Args {
		if _, plain := plainText(word); !plain {
			for _, part := range word.Parts {
				switch part.(type) {
				case *syntax.CmdSubst, *syntax.ProcSubst:
					return false
				}
			}
		}
	}
	if len(call.Args) == 0 {
		return len(s.Redirs) == 0
	}
	for _, r := range s.Redirs {
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
			return false
		}
	}
	switch call.Args[0].Lit() {
	case "echo", "printf", "cd", "set", "true", "false", ":", "test", "[", "mkdir", "rmdir", "rm", "mv", "cp", "ln", "touch", "chmod",
		"chown", "pwd", "ls", "exit", "unset", "umask", "ulimit", "sleep", "date", "whoami", "id", "uname", "hostname":
		return true
	}
	return false
}
