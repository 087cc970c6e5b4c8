package call

import "strings"

// plain takes the script apart into pipelines, if it is nothing but pipelines joined by operators: the texts of its own
// commands must stand in it one after the other, with operators between them and nothing else but blanks, comments,
// here-documents, plain assignments and the "!" before a pipeline. So a group, a function or an if are never overlooked.
func (s script) plain() ([]*unit, bool) {
	p := plainReader{script: s, rest: s.text}
	for op := ""; ; {
		p.blanks(true)
		if p.rest == "" {
			return p.units, op != "&&" && op != "||" && op != "|" && p.next == len(s.calls)
		}
		if !p.command(op) {
			return nil, false
		}
		p.blanks(false)
		if p.rest == "" {
			return p.units, p.next == len(s.calls)
		}
		if op = p.operator(); op == "" {
			return nil, false
		}
	}
}

type plainReader struct {
	script
	rest  string
	next  int // the first call that was not met yet
	units []*unit
	heres []Redirect // here-documents whose text follows
}

// command reads one command, or an assignment, after op.
func (p *plainReader) command(op string) bool {
	negated := op != "|" && p.negation()
	before := len(p.units)
	if !p.simple(op) {
		return false
	}
	if negated && len(p.units) > before {
		u := p.units[before]
		if u.ends || u.sets != nil {
			return false
		}
		u.negated, u.only = true, opposite(u.only)
	}
	return true
}

// negation takes the "!" before a pipeline, and reports whether its status is turned around.
func (p *plainReader) negation() bool {
	if !strings.HasPrefix(p.rest, "! ") && !strings.HasPrefix(p.rest, "!\t") {
		return false
	}
	p.rest = p.rest[1:]
	p.blanks(false)
	return true
}

// opposite are the statuses of a negated pipeline that would have those of only.
func opposite(only []int) []int {
	if only == nil {
		return []int{0, 1}
	}
	var all []int
	for _, n := range only {
		if n == 0 {
			all = append(all, 1)
		} else {
			all = append(all, 0)
		}
	}
	return all
}

// simple reads one command, or an assignment.
func (p *plainReader) simple(op string) bool {
	st := stage{from: p.next, call: p.next}
	for st.call < len(p.calls) && p.calls[st.call].Meta.Depth > p.depth {
		st.call++
	}
	if st.call == len(p.calls) || !p.cut(p.calls[st.call].Meta.Source) {
		return op != "|" && p.assignment(op)
	}
	c := &p.calls[st.call]
	st.to = st.call + 1
	for st.to < len(p.calls) && p.calls[st.to].Meta.Depth > p.depth && !(p.calls[st.to].Meta.Operator == "$()" && p.calls[st.to].Meta.Depth == p.depth+1) {
		st.to++
	}
	p.next = st.to
	switch c.Argv[0] {
	case "return", "exec", "trap", "eval", "source", ".", "kill", "logout", "break", "continue", "coproc", "alias", "unalias", "shopt":
		return false // they change what the rest does
	}
	if c.Meta.Background || c.Meta.Repeated {
		return false
	}
	for _, r := range c.Meta.Redirects {
		if r.Op == "<<" || r.Op == "<<-" {
			p.heres = append(p.heres, r)
		}
	}
	if op == "|" {
		u := p.units[len(p.units)-1]
		u.stages, u.only, u.ends, u.sets = append(u.stages, st), statuses(c), false, nil
		if u.negated {
			u.only = opposite(u.only)
		}
		return true
	}
	u := &unit{op: op, stages: []stage{st}, only: statuses(c), ends: c.Argv[0] == "exit"}
	if c.Argv[0] == "set" {
		u.sets = c.Argv[1:]
	}
	p.units = append(p.units, u)
	return true
}

// assignment reads NAME=VALUE without anything that the shell would expand: it always succeeds.
func (p *plainReader) assignment(op string) bool {
	name, rest, found := strings.Cut(p.rest, "=")
	if !found || name == "" || '0' <= name[0] && name[0] <= '9' || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return false
	}
	end := strings.IndexAny(rest, " \t\n;&|")
	if end < 0 {
		end = len(rest)
	}
	if strings.ContainsAny(rest[:end], "<>()$`'\"\\~") {
		return false
	}
	p.rest = rest[end:]
	p.units = append(p.units, &unit{op: op, only: []int{0}})
	return true
}

// cut takes text off what is left, where a word ends with it.
func (p *plainReader) cut(text string) bool {
	rest, ok := strings.CutPrefix(p.rest, text)
	if !ok || text == "" || rest != "" && !strings.ContainsRune(" \t\n;&|", rune(rest[0])) {
		return false
	}
	p.rest = rest
	return true
}

// operator takes what joins two commands: "" is anything else.
func (p *plainReader) operator() string {
	for _, op := range []string{"&&", "||", "|&", "|", ";;", ";", "\n"} {
		rest, ok := strings.CutPrefix(p.rest, op)
		switch {
		case !ok:
			continue
		case op == ";;":
			return ""
		case op == "\n":
			return ";" // blanks takes it, and the here-documents after it
		}
		p.rest = rest
		if op == "|&" {
			op = "|"
		}
		return op
	}
	return ""
}

// blanks takes blanks and comments, and with lines also the ends of lines, with the here-documents that begin there.
func (p *plainReader) blanks(lines bool) {
	for p.rest != "" {
		switch {
		case p.rest[0] == ' ' || p.rest[0] == '\t':
			p.rest = p.rest[1:]
		case strings.HasPrefix(p.rest, "\\\n"):
			p.rest = p.rest[2:]
		case p.rest[0] == '#':
			p.rest = p.rest[len(p.rest)-len(after(p.rest, "\n")):]
		case lines && p.rest[0] == '\n':
			p.rest = p.rest[1:]
			p.documents()
		default:
			return
		}
	}
}

// after is what stands in s from sep on, "" if it is not there.
func after(s, sep string) string {
	if i := strings.Index(s, sep); i >= 0 {
		return s[i:]
	}
	return ""
}

// documents takes the texts of the here-documents that the last line began.
func (p *plainReader) documents() {
	for _, r := range p.heres {
		for p.rest != "" {
			var line string
			line, p.rest, _ = strings.Cut(p.rest, "\n")
			if r.Op == "<<-" {
				line = strings.TrimLeft(line, "\t")
			}
			if line == r.Target {
				break
			}
		}
	}
	p.heres = nil
}
