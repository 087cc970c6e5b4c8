package shell

import "strings"

// sed can run commands: "1e date", s/x/y/e.
func (in invocation) sed() ([]inner, *Error) {
	s := in.scan(optionTable{short: "bsnrzuEe:f:l:i::V:hs", long: "binary regexp-extended debug expression: file: follow-symlinks " +
		"in-place:: line-length: null-data zero-terminated posix quiet silent separate sandbox unbuffered help version",
		none: "sandbox help version"})
	var text strings.Builder
	for _, w := range s.programs("e expression", "f file") {
		if w.State != Exact || w.Splits {
			continue // a value inside a program known only at run time is left to the caller's marks
		}
		text.WriteString(w.Text + "\n")
	}
	p := sedProgram{text: text.String()}
	if !p.read() || p.dynamic {
		return nil, in.refuse("this program of sed can run commands that are not followed; write it without e")
	}
	var inners []inner
	for _, command := range p.commands {
		inners = append(inners, inner{Script: new(exact(command)), Repeated: true, Maybe: true})
	}
	return inners, nil
}

// A sedProgram is read for its e commands only.
type sedProgram struct {
	text     string
	at       int
	commands []string
	dynamic  bool // the input is run
}

// read reports false for a program that it cannot make out.
func (p *sedProgram) read() bool {
	for {
		p.skip(" \t\n;}")
		if p.at >= len(p.text) {
			return true
		}
		if !p.address() {
			return false
		}
		p.skip(" \t!")
		if p.at >= len(p.text) || !p.command() {
			return false
		}
	}
}

func (p *sedProgram) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

// address reads the addresses before a command.
func (p *sedProgram) address() bool {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case '0' <= c && c <= '9', strings.IndexByte("$,+~ \t", c) >= 0:
			p.at++
		case c == 'I' || c == 'M': // flags of a pattern
			if p.at == 0 || p.text[p.at-1] != '/' && p.text[p.at-1] != 'I' && p.text[p.at-1] != 'M' {
				return true
			}
			p.at++
		case c == '/':
			if !p.until('/', true) {
				return false
			}
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			if !p.until(p.text[p.at], true) {
				return false
			}
		default:
			return true
		}
	}
	return true
}

// until goes past the delimiter that ends what begins with the one at hand; in a pattern, brackets hide it.
func (p *sedProgram) until(delimiter byte, pattern bool) bool {
	open := false // a bracket was opened that nothing closes
	endless := "" // the kinds of classes that nothing closes
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '\\':
			p.at++
		case c == delimiter:
			p.at++
			return true
		case c == '\n' && pattern:
			return false
		case c == '[' && pattern && !open:
			end := p.at + 1
			if end < len(p.text) && p.text[end] == '^' {
				end++
			}
			if end < len(p.text) && p.text[end] == ']' {
				end++
			}
			for end < len(p.text) && p.text[end] != ']' && p.text[end] != '\n' {
				if p.text[end] == '[' && end+1 < len(p.text) && strings.IndexByte(":.=", p.text[end+1]) >= 0 {
					if class := p.text[end+1 : end+2]; !strings.Contains(endless, class) {
						if close := strings.Index(p.text[end+2:], class+"]"); close >= 0 {
							end += 3 + close
						} else {
							endless += class
						}
					}
				}
				end++
			}
			if open = end >= len(p.text) || p.text[end] != ']'; !open {
				p.at = end
			}
		}
	}
	return false
}

func (p *sedProgram) line() string {
	end := strings.IndexByte(p.text[p.at:], '\n')
	if end < 0 {
		end = len(p.text) - p.at
	}
	text := p.text[p.at : p.at+end]
	p.at += end
	return text
}

func (p *sedProgram) command() bool {
	c := p.text[p.at]
	p.at++
	switch c {
	case '{', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'l', 'L', 'n', 'N', 'p', 'P', 'q', 'Q', 'x', 'F', 'z':
		p.skip("0123456789 \t")
	case '#', 'r', 'R', 'w', 'W':
		p.line()
	case ':', 'v': // a label ends with a blank or a semicolon
		p.skip(" \t")
		for p.at < len(p.text) && strings.IndexByte(" \t\n;", p.text[p.at]) < 0 {
			p.at++
		}
	case 'b', 't', 'T':
		for p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != ';' && p.text[p.at] != '}' {
			p.at++
		}
	case 'a', 'i', 'c':
		for strings.HasSuffix(p.line(), `\`) && p.at < len(p.text) {
			p.at++
		}
	case 'e':
		if command := strings.TrimSpace(p.line()); command != "" {
			p.commands = append(p.commands, command)
		} else {
			p.dynamic = true
		}
	case 's', 'y':
		if p.at >= len(p.text) {
			return false
		}
		delimiter := p.text[p.at]
		if !p.until(delimiter, c == 's') {
			return false
		}
		p.at--
		if !p.until(delimiter, false) {
			return false
		}
		if c == 's' {
			p.flags()
		}
	default:
		return false
	}
	return true
}

// flags reads what stands behind s/x/y/.
func (p *sedProgram) flags() {
	for p.at < len(p.text) && strings.IndexByte("gpeIiMm0123456789w", p.text[p.at]) >= 0 {
		p.at++
		switch p.text[p.at-1] {
		case 'e':
			p.dynamic = true
		case 'w':
			p.line()
			return
		}
	}
}
