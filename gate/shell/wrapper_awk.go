package shell

import "strings"

// awk runs commands by system(), by pipes to and from texts.
func (in invocation) awk() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+F:f:v:bcCd::D::e:E:gGhi:IkL::l:Mm:nNOo::p::PrsStVW:", long: "field-separator: file: assign: " +
		"characters-as-bytes traditional copyright dump-variables:: debug:: source: exec: gen-pot help include: csv " +
		"lint:: load: bignum use-lc-numeric non-decimal-data optimize pretty-print:: profile:: posix re-interval " +
		"no-optimize sandbox lint-old version trace", none: "S sandbox"})
	var inners []inner
	for _, w := range s.programs("e source", "f file E exec") {
		if w.State != Exact || w.Splits {
			continue
		}
		p := awkProgram{text: w.Text}
		if p.read(); p.dynamic {
			return nil, in.dynamicScript("write the command that this program runs as one text, or run it on the line itself")
		}
		for _, command := range p.commands {
			inners = append(inners, inner{Script: new(exact(command)), Repeated: true, Maybe: true})
		}
	}
	return inners, nil
}

// programs gives the texts of a program in awk or sed: the values of the options text, or the first operand where
// no option of file says that the program stands in one. With an unknown option the call is judged by its own words.
func (s *scanner) programs(text, file string) []Word {
	var programs []Word
	fromFile := false
	for opt := range s.options() {
		switch {
		case hasField(text, opt.name):
			programs = append(programs, opt.value)
		case hasField(file, opt.name):
			fromFile = true
		}
	}
	rest, ok := s.rest()
	switch {
	case !ok:
		return nil
	case len(programs) == 0 && !fromFile && len(rest) > 0:
		return rest[:1]
	}
	return programs
}

// An awkProgram is read for the commands in it only.
type awkProgram struct {
	text     string
	at       int
	commands []string
	dynamic  bool // a command is computed
	unsure   bool // a slash may be a division or begin a pattern
}

// An awkToken is one token of a program; of a text, its value.
type awkToken struct {
	kind byte // 's' text, 'n' name or number, 'r' pattern, 0 the end, else the character itself; '|' one bar, 'o' two
	text string
}

// read looks for system(TEXT), print … | TEXT and TEXT | getline, where the text stands alone.
func (p *awkProgram) read() {
	var before, last awkToken
	for {
		token := p.token(last)
		switch {
		case token.kind == 0:
			if p.unsure && strings.ContainsAny(p.text, `"`) && (strings.Contains(p.text, "system") || strings.Contains(p.text, "|")) {
				p.dynamic = true
			}
			return
		case token.kind == 'n' && token.text == "system":
			p.call()
			token = awkToken{kind: ')'}
		case token.kind == '@':
			p.dynamic = true // @load, @include and indirect calls
		case token.kind == '|':
			if p.at < len(p.text) && p.text[p.at] == '&' {
				p.at++
			}
			next := p.token(token)
			switch {
			case next.kind == 'n' && next.text == "getline":
				p.alone(last, before, awkToken{kind: ';'})
			case next.kind == 's':
				at := p.at
				p.alone(next, token, p.token(next))
				p.at = at
			default:
				p.dynamic = true
			}
			token = next
		}
		before, last = last, token
	}
}

// call reads the operand of system.
func (p *awkProgram) call() {
	if p.token(awkToken{kind: 'n'}).kind != '(' {
		p.dynamic = true
		return
	}
	text := p.token(awkToken{kind: '('})
	p.alone(text, awkToken{kind: '('}, p.token(text))
}

// alone takes the text as a command if what stands around it does not add to it.
func (p *awkProgram) alone(text, before, after awkToken) {
	if text.kind != 's' || strings.IndexByte("snr)$", before.kind) >= 0 && before.text != "print" || after.kind == 's' ||
		after.kind == 'n' || after.kind == '$' || after.kind == '(' {
		p.dynamic = true
		return
	}
	p.commands = append(p.commands, text.text)
}

// token reads the next token; last tells a division from a pattern.
func (p *awkProgram) token(last awkToken) awkToken {
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\\':
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		case c == '"':
			return p.str()
		case c == '/' && (last.kind == ')' || last.kind == '+' || last.kind == '-') && !p.unsure:
			p.unsure = true
			p.at--
		case c == '/' && last.kind != 'n' && last.kind != 's' && last.kind != ')' && last.kind != ']' && last.kind != '$':
			return p.pattern()
		case isNameByte(c) || c == '.':
			from := p.at - 1
			for p.at < len(p.text) && (isNameByte(p.text[p.at]) || p.text[p.at] == '.') {
				p.at++
			}
			return awkToken{kind: 'n', text: p.text[from:p.at]}
		case c == '|' && p.at < len(p.text) && p.text[p.at] == '|':
			p.at++
			return awkToken{kind: 'o'}
		case c == '\n':
			return awkToken{kind: ';'}
		default:
			return awkToken{kind: c}
		}
	}
	return awkToken{}
}

func isNameByte(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func (p *awkProgram) str() awkToken {
	var text []byte
	for ; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		c := p.text[p.at]
		if c == '\\' && p.at+1 < len(p.text) {
			p.at++
			switch e := p.text[p.at]; e {
			case '"', '\\', '/':
				c = e
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			default:
				return p.odd()
			}
		}
		text = append(text, c)
	}
	p.at++
	return awkToken{kind: 's', text: string(text)}
}

// odd is a text with an escape that is not decoded; as a command it counts as computed.
func (p *awkProgram) odd() awkToken {
	for ; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	return awkToken{kind: 'r'}
}

func (p *awkProgram) pattern() awkToken {
	for class := false; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				p.at++
				return awkToken{kind: 'r'}
			}
		case '\n':
			return awkToken{kind: 'r'}
		}
	}
	return awkToken{kind: 'r'}
}
