package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// cmdSubst follows $(…) or `…` and gives what it becomes, where that is known.
func (w *walker) cmdSubst(p *syntax.CmdSubst, c ctx, st state) Word {
	if p.TempFile || p.ReplyVar {
		w.fail(Unsupported, "this form of substitution is not followed; use $(…)", w.nodeText(p))
		return Word{}
	}
	mark := len(w.out)
	w.substituted(p.Stmts, c, st)
	if len(p.Stmts) != 1 || w.err != nil || !isCall(p.Stmts[0]) {
		return Word{}
	}
	if out := w.outputOf(p.Stmts[0], mark, c); out.Known {
		return exact(strings.TrimRight(out.Text, "\n"))
	}
	if len(w.out) == mark+1 && st.dir.dir.Exact() {
		if cmd := &w.out[mark]; len(cmd.Words) == 1 && cmd.Words[0].Text == "pwd" && len(cmd.Redirects) == 0 {
			return exact(st.dir.dir.Path)
		}
	}
	return Word{}
}

// isCall reports whether s is a simple command with a name. What an assignment alone runs, in its value, writes nothing.
func isCall(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0
}

// isNumber reports whether the commands of p, listed since mark, are one that writes a single number: $(nproc) is never split.
func (w *walker) isNumber(p *syntax.CmdSubst, mark int) bool {
	if len(p.Stmts) != 1 || !isCall(p.Stmts[0]) || len(w.out) != mark+1 || w.out[mark].Sourced {
		return false
	}
	cmd := &w.out[mark]
	for _, r := range cmd.Redirects {
		if r.FD != 2 || r.FDName != "" {
			return false
		}
	}
	return cmd.Words[0].Text == "nproc" && (len(cmd.Words) == 1 || len(cmd.Words) == 2 && cmd.Words[1].Text == "--all")
}

// procSubst follows <(…) and >(…), which run beside the command that they are for.
func (w *walker) procSubst(p *syntax.ProcSubst, c ctx, st state) {
	c.bg = true
	w.substituted(p.Stmts, c, st)
}

func (w *walker) substituted(list []*syntax.Stmt, c ctx, st state) {
	if !w.enter() {
		return
	}
	defer w.leave()
	c.op, c.pipe = "$()", 0
	c.depth++
	c.env, c.xargs, c.single, c.noFunc = nil, false, false, false
	c.redirs = nil
	st.flags &^= errexit
	w.subshell(list, c, st)
}

// outputOf is what the statement s writes to its standard output, if it was but one call of echo, printf or cat since mark.
func (w *walker) outputOf(s *syntax.Stmt, mark int, c ctx) Stdin {
	if w.err != nil || len(w.out) != mark+1 || s.Background || s.Negated {
		return Stdin{}
	}
	if !isCall(s) {
		return Stdin{}
	}
	cmd := &w.out[mark]
	if cmd.Repeated != c.rep || cmd.Wrapper != c.wrapper {
		return Stdin{}
	}
	for _, r := range cmd.Redirects {
		if r.Op != "<<" && r.Op != "<<-" && r.Op != "<<<" && !(r.FD == 2 && r.FDName == "") {
			return Stdin{}
		}
	}
	args := cmd.Words[1:]
	switch cmd.Words[0].Text {
	case "echo":
		text, ok := echoText(args, w.dialect)
		return Stdin{Known: ok, Text: text}
	case "printf":
		text, ok := printfText(args)
		return Stdin{Known: ok, Text: text}
	case "cat":
		if len(args) == 0 || len(args) == 1 && args[0].State == Exact && args[0].Text == "-" {
			return cmd.Stdin
		}
	case ":", "true":
		return Stdin{Known: true}
	}
	return Stdin{}
}

// echoText is what echo writes.
func echoText(args []Word, d dialect) (string, bool) {
	newline, escapes := "\n", false
	for len(args) > 0 && d == bash {
		opt := args[0].Text
		if args[0].State != Exact || len(opt) < 2 || opt[0] != '-' || strings.Trim(opt[1:], "neE") != "" {
			break
		}
		if strings.Contains(opt, "n") {
			newline = ""
		}
		if i := strings.LastIndexAny(opt, "eE"); i > 0 {
			escapes = opt[i] == 'e'
		}
		args = args[1:]
	}
	var out strings.Builder
	for i, a := range args {
		if a.State != Exact || a.Splits || (escapes || d != bash) && strings.IndexByte(a.Text, '\\') >= 0 {
			return "", false
		}
		if i == 0 && d != bash && strings.HasPrefix(a.Text, "-") {
			return "", false
		}
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(a.Text)
	}
	return out.String() + newline, true
}

// printfText is what printf writes, for formats with %s, %d of numbers, %% and the plain escapes.
func printfText(args []Word) (string, bool) {
	for _, a := range args {
		if a.State != Exact || a.Splits {
			return "", false
		}
	}
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0].Text, "-") {
		return "", false
	}
	format, rest := args[0].Text, args[1:]
	var out strings.Builder
	for {
		left := len(rest)
		for i := 0; i < len(format); i++ {
			b := format[i]
			if b != '%' && b != '\\' || i+1 == len(format) {
				if b == '%' {
					return "", false
				}
				out.WriteByte(b)
				continue
			}
			i++
			switch {
			case b == '\\' && strings.IndexByte("nt\\", format[i]) >= 0:
				out.WriteByte("\n\t\\"[strings.IndexByte("nt\\", format[i])])
			case b == '%' && format[i] == '%':
				out.WriteByte('%')
			case b == '%' && (format[i] == 's' || format[i] == 'd'):
				text := ""
				if len(rest) > 0 {
					text, rest = rest[0].Text, rest[1:]
				}
				if format[i] == 'd' {
					if n, err := strconv.Atoi(text); err != nil || strconv.Itoa(n) != text {
						return "", false
					}
				}
				out.WriteString(text)
			default:
				return "", false
			}
		}
		if len(rest) == 0 || len(rest) == left || out.Len() > 1<<20 {
			return out.String(), len(rest) == 0 || len(rest) == left && left == len(args)-1
		}
	}
}
