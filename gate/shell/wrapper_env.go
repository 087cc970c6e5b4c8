package shell

import "strings"

// env takes options, then a lone "-", then assignments, then the command; -S puts the words of a text in its own place.
func (in invocation) env() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+a:C:iS:u:v0",
		long: "argv0: ignore-environment null unset: chdir: default-signal:: ignore-signal:: block-signal:: " +
			"list-signal-handling debug split-string: help version",
		none: "help version",
	})
	as := inner{}
	clear := func() {
		if n := len(as.Env); n == 0 || as.Env[n-1].Name != "*" {
			as.Env = append(as.Env, Assign{Name: "*", Unset: true})
		}
	}
	splits := 0
	for opt := range s.options() {
		switch opt.name {
		case "i", "ignore-environment":
			clear()
		case "u", "unset":
			name, err := in.exact(opt.value, "variable")
			if err != nil {
				return nil, err
			}
			as.Env = append(as.Env, Assign{Name: name, Unset: true})
		case "C", "chdir":
			as.Dir = new(opt.value)
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
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if len(rest) > 0 && rest[0].is("-") {
		clear()
		rest = rest[1:]
	}
	for len(rest) > 0 {
		if manyWords(rest[0]) && strings.Contains(knownPrefix(rest[0]), "=") {
			return nil, in.dynamic(rest[0], severalWords(rest[0]))
		}
		if !as.assign(rest[0]) {
			break
		}
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
				return nil, in.badSplit()
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
				return nil, in.badSplit()
			}
			open = true
		case c == '$' && quote != '\'':
			n := strings.IndexByte(text[i:], '}')
			if i+1 == len(text) || text[i+1] != '{' || n < 3 {
				return nil, in.badSplit()
			}
			word, open, state = append(word, text[i:i+n+1]...), true, Unknown
			i += n
		default:
			word, open = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, in.badSplit()
	}
	end()
	return words, nil
}

func (in invocation) badSplit() *Error {
	return in.refuse(in.name + " cannot split this text; write the words without -S")
}

// nice also knows the old form: nice -5.
func (in invocation) nice() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+n:", long: "adjustment: help version", none: "help version"})
	skipOld := func() {
		for s.next < len(s.argv) && s.argv[s.next].State == Exact && oldNice(s.argv[s.next].Text) {
			s.next++
		}
	}
	skipOld()
	for range s.options() {
		skipOld()
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	return in.command(rest, inner{})
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

// exec is the shell's own; its words take the place of the shell.
func (in invocation) exec() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+cla:"})
	as := inner{SameShell: true}
	for opt := range s.options() {
		if opt.name == "c" {
			as.Env = append(as.Env, Assign{Name: "*", Unset: true})
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	return in.command(rest, as)
}
