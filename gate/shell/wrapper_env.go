package shell

import "strings"

// env takes options, then a lone "-", then assignments, then the command; -S puts the words of a text in its own place.
func (in invocation) env() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+a:C:iS:u:v0",
		long: "argv0: ignore-environment null unset: chdir: default-signal:: ignore-signal:: block-signal:: " +
			"list-signal-handling debug split-string: help version",
	})
	as := inner{}
	clear := func() {
		if n := len(as.Env); n == 0 || as.Env[n-1].Name != "*" {
			as.Env = append(as.Env, Assign{Name: "*", Unset: true})
		}
	}
	splits := 0
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch opt.name {
		case "help", "version":
			return nil, nil
		case "i", "ignore-environment":
			clear()
		case "u", "unset":
			name, err := in.exact(opt.value, "variable")
			if err != nil {
				return nil, err
			}
			as.Env = append(as.Env, Assign{Name: name, Unset: true})
		case "C", "chdir":
			dir := opt.value
			as.Dir = &dir
		case "S", "split-string":
			text, err := in.exact(opt.value, "words")
			if err != nil {
				return nil, err
			}
			words, err := in.splitEnv(text)
			if err != nil {
				return nil, err
			}
			if splits++; splits > maxInners {
				return nil, in.tooMuch()
			}
			s.argv = append(append([]Word{in.argv[0]}, words...), s.argv[s.next:]...)
			s.next = 1
		}
	}
	rest := s.rest()
	if len(rest) > 0 && rest[0].Text == "-" && rest[0].State == Exact {
		clear()
		rest = rest[1:]
	}
	for len(rest) > 0 {
		if manyWords(rest[0]) && strings.Contains(knownPrefix(rest[0]), "=") {
			return nil, in.dynamic(rest[0], severalWords(rest[0]))
		}
		env, ok := assignment(rest[0])
		if !ok {
			break
		}
		as.Env = append(as.Env, env)
		rest = rest[1:]
	}
	return in.command(rest, as)
}

// splitEnv splits the text of env -S as env does.
func (in invocation) splitEnv(text string) ([]Word, *Error) {
	var (
		words []Word
		word  []byte
		open  bool // a word has begun
		state = Exact
		quote byte
	)
	end := func() {
		if open {
			words = append(words, Word{Text: string(word), State: state})
		}
		word, open, state = nil, false, Exact
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'' && quote != '"', c == '"' && quote != '\'':
			open = true
			if quote == 0 {
				quote = c
			} else {
				quote = 0
			}
		case quote == 0 && strings.IndexByte(" \t\n\v\f\r", c) >= 0:
			end()
		case c == '#' && !open && quote == 0:
			i = len(text)
		case c == '\\':
			i++
			if i == len(text) {
				return nil, in.badSplit(text)
			}
			e := text[i]
			at := strings.IndexByte("fnrtv", e)
			switch {
			case quote == '\'' && e != '\\' && e != '\'':
				word = append(word, '\\', e)
			case e == '_' && quote == 0:
				end()
				continue
			case e == '_':
				word = append(word, ' ')
			case e == 'c' && quote == 0:
				i = len(text)
				continue
			case at >= 0 && quote != '\'':
				word = append(word, "\f\n\r\t\v"[at])
			case strings.IndexByte("#$\"'\\", e) >= 0:
				word = append(word, e)
			default:
				return nil, in.badSplit(text)
			}
			open = true
		case c == '$' && quote != '\'':
			n := strings.IndexByte(text[i:], '}')
			if i+1 == len(text) || text[i+1] != '{' || n < 3 {
				return nil, in.badSplit(text)
			}
			word, open, state = append(word, text[i:i+n+1]...), true, Unknown
			i += n
		default:
			word, open = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, in.badSplit(text)
	}
	end()
	return words, nil
}

func (in invocation) badSplit(string) *Error {
	return in.refuse(in.name + " cannot split this text; write the words without -S")
}

// nice also knows the old form: nice -5.
func (in invocation) nice() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+n:", long: "adjustment: help version"})
	for {
		for s.next < len(s.argv) && s.argv[s.next].State == Exact && oldNice(s.argv[s.next].Text) {
			s.next++
		}
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			return in.command(s.rest(), inner{})
		}
		if opt.name == "help" || opt.name == "version" {
			return nil, nil
		}
	}
}

func oldNice(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if digits == text {
		return false
	}
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	return digits != "" && '0' <= digits[0] && digits[0] <= '9'
}

// keyword is for the shell's own words that run a command, and for the time program.
func (in invocation) keyword() ([]inner, *Error) {
	switch in.name {
	case "command":
		return in.run(runner{optionTable: optionTable{short: "+pvV"}, none: "v V", as: inner{SameShell: true}})
	case "builtin":
		return in.run(runner{optionTable: optionTable{short: "+"}, as: inner{SameShell: true}})
	case "exec":
		s := in.scan(optionTable{short: "+cla:"})
		as := inner{SameShell: true}
		for {
			opt, ok, err := s.option()
			if err != nil {
				return nil, err
			}
			if !ok {
				return in.command(s.rest(), as)
			}
			if opt.name == "c" {
				as.Env = append(as.Env, Assign{Name: "*", Unset: true})
			}
		}
	}
	return in.run(runner{optionTable: optionTable{short: "+af:hlo:pqvV", // -l is BSD's
		long: "append format: output: portability quiet verbose version help"}, none: "V version h help"})
}
