package shell

import "strings"

func shellOpener(name string) unwrapper {
	switch name {
	case "bash", "rbash", "sh", "dash", "ash",
		"zsh", "rzsh", "ksh", "ksh93", "rksh", "mksh", "lksh", "oksh", "pdksh", "yash", "zsh5":
		return invocation.shell
	case "fish":
		return invocation.fish
	case "csh", "tcsh", "bsd-csh":
		return invocation.csh
	case "pwsh", "powershell", "pwsh-preview":
		return invocation.powershell
	case "busybox", "toybox":
		return invocation.multicall
	}
	if strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy") {
		if strings.Trim(strings.TrimPrefix(strings.TrimPrefix(name, "python"), "pypy"), "0123456789.") == "" {
			return invocation.python
		}
	}
	return nil
}

// shell follows the option loop of the Bourne shells: options before and after -c, then the script; -s and no operand at
// all mean standard input; any other operand is a file.
func (in invocation) shell() ([]inner, *Error) {
	at, err := in.shellLongOptions()
	if err != nil {
		return nil, err
	}
	script, fromInput := false, false
options:
	for at < len(in.argv) {
		w := in.argv[at]
		if plus := w.State == Exact && !w.Splits && w.Text != "" && w.Text[0] == '+'; !plus {
			dashed, err := in.scan(optionTable{short: "+"}).dashed(w)
			if err != nil && script {
				return nil, in.dynamicScript("write the script out")
			}
			if err != nil {
				return nil, err.aboutScript()
			}
			if !dashed && w.Text != "-" {
				break
			}
		}
		at++
		if w.Text == "-" || w.Text == "--" {
			break
		}
		text, err := in.exact(w, "options")
		if err != nil {
			return nil, err.aboutScript()
		}
		if in.longShellOption(text) {
			if text == "--emulate" {
				at++
			}
			continue
		}
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case 'c':
				if text[0] == '+' && in.foreign() {
					return nil, in.unknown(text)
				}
				script = true
			case 's':
				fromInput = true
			case 'b':
				if in.isZsh() {
					break options
				}
			case 'o', 'O', 'A', 'T':
				if text[i] != 'o' && !in.optionNamed(text[i]) {
					continue
				}
				if in.foreign() && i+1 < len(text) { // the name may be glued to the letter
					i = len(text)
					continue
				}
				at++ // the name of the option
			default:
				if !in.shellLetter(text[i]) {
					return nil, in.unknown(text)
				}
			}
		}
	}
	rest := in.argv[min(at, len(in.argv)):]
	switch {
	case script && len(rest) == 0:
		return nil, in.refuse(in.name + " -c has no script; write one after it")
	case script:
		return in.shellText(rest[0], rest[1:])
	case !fromInput && len(rest) == 0 && in.tellsOfItself():
		return nil, nil
	case fromInput || len(rest) == 0:
		return []inner{{FromStdin: true, Params: append([]Word{in.argv[0]}, rest...)}}, in.plainInput()
	}
	return in.shellFile(rest)
}

// tellsOfItself reports whether the first word makes the shell print what it is and end. An sh can be one that does not
// know the word and reads its input.
func (in invocation) tellsOfItself() bool {
	return len(in.argv) > 1 && (in.argv[1].is("--version") || in.argv[1].is("--help")) && (in.name == "bash" || in.isZsh())
}

// shellText is the result for a script that is a word.
func (in invocation) shellText(script Word, params []Word) ([]inner, *Error) {
	if in.foreign() && script.State == Exact && !commonText(script.Text) {
		return nil, in.foreignText(script.Text)
	}
	return []inner{{Script: &script, Params: params}}, nil
}

// plainInput refuses input that a shell other than the one we know would read differently.
func (in invocation) plainInput() *Error {
	if in.foreign() && in.stdin.Known && !commonText(in.stdin.Text) {
		return in.foreignText(in.stdin.Text)
	}
	return nil
}

func (in invocation) foreignText(text string) *Error {
	return &Error{
		Kind:    Unsupported,
		Message: in.name + " reads such a script differently from bash; give the script to bash",
		Source:  text,
	}
}

// shellFile is the result for a script file: nothing that can be followed, unless the file is another descriptor.
func (in invocation) shellFile(rest []Word) ([]inner, *Error) {
	file := rest[0]
	if prefix := knownPrefix(file); manyWords(file) && (prefix == "" || strings.HasPrefix(prefix, "/dev") || strings.HasPrefix(prefix, "/proc")) {
		return nil, in.dynamic(file, severalWords(file)).aboutScript()
	}
	switch text := file.Text; {
	case text == "/dev/stdin", text == "/dev/fd/0", text == "/proc/self/fd/0":
		return []inner{{FromStdin: true, Params: rest}}, in.plainInput()
	case file.State != Exact && strings.HasPrefix(text, "<("), strings.HasPrefix(text, "/dev/fd/"), strings.HasPrefix(text, "/proc/"), text == "/dev/tty":
		return nil, in.dynamicScript("write the commands on the line itself, or into a file first")
	}
	return nil, nil
}

// shellLongOptions skips bash's long options, which have one dash or two and come before all others.
func (in invocation) shellLongOptions() (int, *Error) {
	at := 1
	if in.name != "bash" && in.name != "rbash" && in.name != "sh" {
		return at, nil
	}
	for at < len(in.argv) && in.argv[at].State == Exact && !in.argv[at].Splits {
		text := in.argv[at].Text
		name := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "-")
		if name == text || text == "--" {
			return at, nil
		}
		switch name {
		case "rcfile", "init-file":
			if at+1 < len(in.argv) && manyWords(in.argv[at+1]) {
				return 0, in.dynamic(in.argv[at+1], severalWords(in.argv[at+1])).aboutScript()
			}
			at += 2
		case "debug", "debugger", "dump-po-strings", "dump-strings", "help", "login", "noediting", "noprofile", "norc",
			"posix", "pretty-print", "restricted", "verbose", "version", "wordexp":
			at++
		default:
			if strings.HasPrefix(text, "--") {
				return 0, in.unknown(text)
			}
			return at, nil
		}
	}
	return at, nil
}

// longShellOption reports whether text is a long option of a shell that has them among the short ones.
func (in invocation) longShellOption(text string) bool {
	return in.isZsh() && strings.HasPrefix(text, "--") && strings.Trim(text[2:], "abcdefghijklmnopqrstuvwxyz-_") == ""
}

// optionNamed reports whether the letter takes the next word in this shell.
func (in invocation) optionNamed(letter byte) bool {
	switch in.name {
	case "bash", "rbash", "sh":
		return letter == 'O'
	case "mksh", "lksh", "oksh", "pdksh":
		return letter == 'T' || letter == 'A'
	case "ksh", "ksh93", "rksh":
		return letter == 'A'
	}
	return false
}

// shellLetter reports whether the shell may have an option of this letter that takes no word.
func (in invocation) shellLetter(letter byte) bool {
	if !in.foreign() {
		return strings.IndexByte("abefhiklmnprtuvxBCDEHIPTV", letter) >= 0
	}
	return 'a' <= letter && letter <= 'z' || 'A' <= letter && letter <= 'Z' || '0' <= letter && letter <= '9'
}

func (in invocation) isZsh() bool { return strings.Contains(in.name, "zsh") }

// foreign reports whether the shell's options and, where more than plain words are used, its language are other than
// bash's.
func (in invocation) foreign() bool {
	switch in.name {
	case "bash", "rbash", "sh", "dash", "ash":
		return false
	}
	return true
}

// commonText reports whether every shell reads text as the same commands: words without a special character, joined by
// ; && || | and newlines.
func commonText(text string) bool {
	start := true // of a word
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_-./:,+", c) >= 0:
			start = false
		case c == '=', c == '@', c == '%':
			if start {
				return false
			}
		case c == ' ', c == '\t', c == '\n', c == ';', c == '|', c == '&':
			if c == '&' && (i+1 == len(text) || text[i+1] != '&') && (i == 0 || text[i-1] != '&') {
				return false
			}
			start = true
		default:
			return false
		}
	}
	return true
}

// aboutScript is e, if there is one, as a refusal of a script.
func (e *Error) aboutScript() *Error {
	if e != nil {
		e.Kind = DynamicScript
	}
	return e
}
