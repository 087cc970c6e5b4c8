package shell

// scriptCommand is for the script program: a text for the shell, or a shell that reads standard input.
func (in invocation) scriptCommand() ([]inner, *Error) {
	s := in.scan(optionTable{short: "aB:c:eE:fI:O:o:qm:T:t::Vh", long: "append command: echo: return flush force log-io: " +
		"log-in: log-out: log-timing: logging-format: output-limit: quiet timing:: help version",
		none: "h help V version"})
	var text *Word // of the last -c
	for opt := range s.options() {
		if opt.name == "c" || opt.name == "command" {
			text = &opt.value
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if text != nil {
		return []inner{{Script: text}}, nil
	}
	if len(rest) > 1 {
		return nil, in.refuse("versions of script differ in what they make of these words; give the command with -c")
	}
	return []inner{{FromStdin: true}}, nil
}

// expect is a language of its own.
func (in invocation) expect() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+b:c:dDf:hinNv"})
	for opt := range s.options() {
		if opt.name == "c" {
			return nil, in.refuse("expect -c runs a Tcl program that is not followed; run the command without expect")
		}
	}
	return nil, s.err
}
