package shell

import "strings"

// fish runs every -c, and every -C before them.
func (in invocation) fish() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+hPilNnvc:C:p:d:f:D:o:",
		long: "command: init-command: features: debug: debug-output: debug-stack-frames: interactive login no-config " +
			"no-execute print-rusage-self print-debug-categories profile: profile-startup: private help version",
		none: "h help v version",
	})
	var inners []inner
	for opt := range s.options() {
		switch opt.name {
		case "c", "command", "C", "init-command":
			more, err := in.shellText(opt.value, nil)
			if err != nil {
				return nil, err
			}
			inners = append(inners, more...)
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err.aboutScript()
	}
	for i := range inners {
		inners[i].Params = rest
	}
	switch {
	case len(inners) > 0:
		return inners, nil
	case len(rest) == 0 || rest[0].Text == "-":
		return []inner{{FromStdin: true, Params: rest}}, in.plainInput()
	}
	return in.shellFile(rest)
}

// csh takes the word right after the one with the c in it.
func (in invocation) csh() ([]inner, *Error) {
	at, fromInput := 1, false
	for at < len(in.argv) {
		dashed, err := in.scan(optionTable{}).dashed(in.argv[at])
		if err != nil {
			return nil, err.aboutScript()
		}
		if !dashed && in.argv[at].Text != "-" {
			break
		}
		text, err := in.exact(in.argv[at], "options")
		if err != nil {
			return nil, err.aboutScript()
		}
		at++
		fromInput = fromInput || strings.Contains(text, "s")
		if strings.Trim(text, "-bdefilmnqstvVxXFcD") != "" {
			return nil, in.unknown(text)
		}
		if strings.Contains(text, "c") {
			if at == len(in.argv) {
				return nil, in.refuse(in.name + " -c has no script; write one after it")
			}
			return in.shellText(in.argv[at], in.argv[at+1:])
		}
		if strings.Contains(text, "b") || text == "-" || text == "--" {
			break
		}
	}
	if at >= len(in.argv) || fromInput {
		return []inner{{FromStdin: true, Params: in.argv[at:]}}, in.plainInput()
	}
	return in.shellFile(in.argv[at:])
}

// powershell takes all words after -Command as one text; its options may be abbreviated and have any case.
func (in invocation) powershell() ([]inner, *Error) {
	for at := 1; at < len(in.argv); at++ {
		text, err := in.exact(in.argv[at], "options")
		if err != nil {
			return nil, err.aboutScript()
		}
		if !strings.HasPrefix(text, "-") {
			if strings.HasSuffix(strings.ToLower(text), ".ps1") || in.name != "powershell" {
				return nil, nil // a file
			}
			return in.shellText(joined(in.argv[at:]), nil)
		}
		switch name := strings.ToLower(strings.TrimLeft(text, "-")); name {
		case "c", "command", "cwa", "commandwithargs":
			if at+1 == len(in.argv) {
				return nil, in.refuse(in.name + " " + text + " has no script; write one after it")
			}
			if in.argv[at+1].Text == "-" {
				return []inner{{FromStdin: true}}, in.plainInput()
			}
			if strings.HasPrefix(name, "cwa") || name == "commandwithargs" {
				return in.shellText(in.argv[at+1], in.argv[at+2:])
			}
			return in.shellText(joined(in.argv[at+1:]), nil)
		case "f", "file", "h", "help", "?", "v", "version":
			if at+1 < len(in.argv) && in.argv[at+1].Text == "-" {
				return []inner{{FromStdin: true}}, in.plainInput()
			}
			return nil, nil
		case "executionpolicy", "ex", "ep", "workingdirectory", "wd", "outputformat", "of", "o", "inputformat", "if", "inp",
			"configurationname", "config", "settingsfile", "settings", "windowstyle", "w", "custompipename":
			at++
		case "noprofile", "nop", "noninteractive", "noni", "nologo", "nol", "noexit", "noe", "login", "l", "interactive",
			"i", "mta", "sta", "noprofileloadtime":
		case "encodedcommand", "e", "ec", "enc":
			return nil, in.dynamicScript("it is encoded; write it as plain text after -Command")
		default:
			return nil, in.unknown(text)
		}
	}
	return []inner{{FromStdin: true}}, in.plainInput()
}

// multicall is for programs that are many: busybox rm a.
func (in invocation) multicall() ([]inner, *Error) {
	if len(in.argv) == 1 {
		return nil, nil
	}
	first, err := in.exact(in.argv[1], "name of the applet")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(first, "-") {
		if first == "--list" || first == "--list-full" || first == "--install" || first == "--help" || first == "--long" {
			return nil, nil
		}
		return nil, in.unknown(first)
	}
	return in.command(in.argv[1:], inner{})
}

// python shows the module of -m as a command; a program of -c, a file and standard input are no shell text.
func (in invocation) python() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+bBc:dEhiIJm:nOPqRsStuvVW:xX:?",
		long:  "check-hash-based-pycs: help help-all help-env help-xoptions version",
		none:  "c",
	})
	for opt := range s.options() {
		if opt.name != "m" {
			continue
		}
		if opt.value.State != Exact {
			return nil, in.dynamic(opt.value, "write the module out")
		}
		return []inner{{Argv: append([]Word{opt.value}, s.argv[s.next:]...), Wrapper: "python -m"}}, nil
	}
	return nil, s.err
}
