package shell

import "strings"

// watch joins its words for the shell, unless -x is given.
func (in invocation) watch() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+bced::ghq:n:prs:tvwxCf", long: "beep color no-color differences:: errexit exec chgexit " +
		"equexit: interval: precise no-rerun no-title no-wrap shotsdir: follow help version", none: "h help v version"})
	direct := false
	for opt := range s.options() {
		direct = direct || opt.name == "x" || opt.name == "exec"
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	as := inner{Repeated: true}
	if direct || len(rest) == 0 {
		return in.command(rest, as)
	}
	return in.script(joined(rest), as)
}

// entr puts the name of a changed file for /_.
func (in invocation) entr() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+acdnprsxz"})
	shell := false
	for opt := range s.options() {
		shell = shell || opt.name == "s"
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	as := inner{Repeated: true}
	if shell && len(rest) > 0 {
		as.Params = rest[1:]
		return in.script(rest[0], as)
	}
	return in.command(replaced(rest, func(text string) bool { return text == "/_" }, false), as)
}

// hyperfine gives each operand to a shell, with preparations around it.
func (in invocation) hyperfine() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "w:m:M:r:s:p:c:P:D:L:S:Niu:n:hV",
		long: "warmup: min-runs: max-runs: runs: setup: prepare: conclude: cleanup: reference: reference-name: " +
			"parameter-scan: parameter-step-size: parameter-list: style: shell: ignore-failure:: time-unit: " +
			"export-asciidoc: export-csv: export-json: export-markdown: export-orgmode: show-output output: input: sort: " +
			"command-name: min-benchmarking-time: debug-mode help version",
		none: "h help V version",
	})
	var scripts []Word
	parameters := false
	for opt := range s.options() {
		switch opt.name {
		case "setup", "s", "prepare", "p", "conclude", "cleanup", "c", "reference":
			scripts = append(scripts, opt.value)
		case "S", "shell":
			name, err := in.exact(opt.value, "shell")
			if err != nil {
				return nil, err
			}
			if shellOpener(baseName(name)) == nil && name != "default" && name != "none" {
				return nil, in.refuse("hyperfine runs its commands with a program that is not known as a shell; leave --shell out")
			}
		case "P", "parameter-scan", "L", "parameter-list":
			parameters = true
			more := 1 // L VAR VALUES, P VAR MIN MAX
			if opt.name[0] == 'P' || opt.name == "parameter-scan" {
				more = 2
			}
			for range more {
				if _, _, err := s.separate(opt.name, "--"+opt.name); err != nil {
					return nil, err
				}
			}
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	var inners []inner
	for _, text := range append(scripts, rest...) {
		if parameters && strings.Contains(text.Text, "{") {
			text.State = Unknown
		}
		inners = append(inners, inner{Script: &text, Repeated: true})
	}
	return inners, nil
}
