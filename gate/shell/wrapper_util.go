package shell

import "strings"

// flock takes a lock file, then a command, or -c and one text.
func (in invocation) flock() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+sexnoFuw:E:hV?", long: "shared exclusive unlock nonblocking nonblock nb timeout: wait: " +
		"conflict-exit-code: close no-fork verbose fcntl start: length: help version"})
	as := inner{}
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch opt.name {
		case "h", "help", "V", "version":
			return nil, nil
		case "n", "nonblock", "nb", "nonblocking", "w", "timeout", "wait":
			as.Maybe = true
		}
	}
	_, rest, err := in.operand(s.rest())
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	if rest[0].State == Exact && (rest[0].Text == "-c" || rest[0].Text == "--command") {
		if len(rest) != 2 {
			return nil, in.refuse("flock -c takes one text; quote it")
		}
		return in.script(rest[1], as)
	}
	return in.command(rest, as)
}

// watch joins its words for the shell, unless -x is given.
func (in invocation) watch() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+bced::ghq:n:prs:tvwxCf", long: "beep color no-color differences:: errexit exec chgexit " +
		"equexit: interval: precise no-rerun no-title no-wrap shotsdir: follow help version"})
	direct := false
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch opt.name {
		case "h", "help", "v", "version":
			return nil, nil
		case "x", "exec":
			direct = true
		}
	}
	rest := s.rest()
	as := inner{Repeated: true}
	if direct || len(rest) == 0 {
		return in.command(rest, as)
	}
	return in.script(joined(rest), as)
}

// scheduled is for util-linux's runners, which can also act on running processes; then they run nothing.
func (in invocation) scheduled() ([]inner, *Error) {
	switch in.name {
	case "ionice":
		return in.run(runner{optionTable: optionTable{short: "+n:c:p:P:u:tVh",
			long: "classdata: class: pid: pgid: uid: ignore version help"}, none: "p pid P pgid u uid V h version help"})
	case "taskset":
		return in.run(runner{optionTable: optionTable{short: "+apchV", long: "all-tasks pid cpu-list help version"},
			operands: 1, none: "p pid h help V version"})
	case "prlimit":
		return in.run(runner{optionTable: optionTable{short: "+c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::p:o:vVh",
			long: "pid: output: as:: core:: cpu:: data:: fsize:: locks:: memlock:: msgqueue:: nice:: nofile:: nproc:: rss:: " +
				"rtprio:: rttime:: sigpending:: stack:: version help noheadings raw verbose"}, none: "p pid V version h help"})
	case "choom":
		return in.run(runner{optionTable: optionTable{short: "hn:p:V", long: "adjust: pid: help version"},
			none: "p pid h help V version"})
	}
	return in.chrt()
}

// chrt takes a priority, which newer versions let the policies without one leave out.
func (in invocation) chrt() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+abdD:efiphmoP:T:rRvV", long: "all-tasks batch deadline ext fifo idle pid help max other " +
		"rr sched-runtime: sched-period: sched-deadline: reset-on-fork verbose version"})
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if hasField("p pid m max h help V version", opt.name) {
			return nil, nil
		}
	}
	rest := s.rest()
	priority, after, err := in.operand(rest)
	if err != nil {
		return nil, err
	}
	if priority.State == Exact && strings.Trim(priority.Text, "0123456789") != "" {
		return in.command(rest, inner{})
	}
	return in.command(after, inner{})
}

// setarch takes an architecture before its options; linux32 and its like are one.
func (in invocation) setarch() ([]inner, *Error) {
	if in.name == "setarch" && len(in.argv) > 1 && !strings.HasPrefix(in.argv[1].Text, "-") {
		arch, rest, err := in.operand(in.argv[1:])
		if err != nil {
			return nil, err
		}
		if arch.State != Exact {
			return nil, in.dynamic(arch, "write the architecture out")
		}
		in.argv = append([]Word{in.argv[0]}, rest...)
	}
	return in.run(runner{optionTable: optionTable{short: "+hVv3BFILRSTXZp:",
		long: "help version verbose addr-no-randomize fdpic-funcptrs mmap-page-zero addr-compat-layout read-implies-exec " +
			"32bit short-inode whole-seconds sticky-timeouts 3gb 4gb uname-2.6 list show:: pid:"},
		none: "h help V version list p pid", login: true})
}

// scriptCommand is for the script program: a text for the shell, or a shell that reads standard input.
func (in invocation) scriptCommand() ([]inner, *Error) {
	s := in.scan(optionTable{short: "aB:c:eE:fI:O:o:qm:T:t::Vh", long: "append command: echo: return flush force log-io: " +
		"log-in: log-out: log-timing: logging-format: output-limit: quiet timing:: help version"})
	var text *Word // of the last -c
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch opt.name {
		case "h", "help", "V", "version":
			return nil, nil
		case "c", "command":
			text = &opt.value
		}
	}
	if text != nil {
		return []inner{{Script: text}}, nil
	}
	if len(s.rest()) > 1 {
		return nil, in.refuse("versions of script differ in what they make of these words; give the command with -c")
	}
	return []inner{{FromStdin: true}}, nil
}

// expect is a language of its own.
func (in invocation) expect() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+b:c:dDf:hinNv"})
	for {
		opt, ok, err := s.option()
		if err != nil || !ok {
			return nil, err
		}
		if opt.name == "c" {
			return nil, in.refuse("expect -c runs a Tcl program that is not followed; run the command without expect")
		}
	}
}

// entr puts the name of a changed file for /_.
func (in invocation) entr() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+acdnprsxz"})
	shell := false
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		shell = shell || opt.name == "s"
	}
	rest := s.rest()
	as := inner{Repeated: true}
	if shell && len(rest) > 0 {
		as.Params = rest[1:]
		return in.script(rest[0], as)
	}
	return in.command(replaced(rest, func(text string) bool { return text == "/_" }, false), as)
}

// replaced is words in which those that hold a placeholder are known only at run time.
func replaced(words []Word, holds func(string) bool, many bool) []Word {
	var changed []Word
	for i, w := range words {
		if !holds(w.Text) {
			continue
		}
		if changed == nil {
			changed = append(changed, words...)
		}
		changed[i] = Word{Text: w.Text, Splits: w.Splits || many}
	}
	if changed == nil {
		return words
	}
	return changed
}

// hyperfine gives each operand to a shell, with preparations around it.
func (in invocation) hyperfine() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "w:m:M:r:s:p:c:P:D:L:S:Niu:n:hV",
		long: "warmup: min-runs: max-runs: runs: setup: prepare: conclude: cleanup: reference: reference-name: " +
			"parameter-scan: parameter-step-size: parameter-list: style: shell: ignore-failure:: time-unit: " +
			"export-asciidoc: export-csv: export-json: export-markdown: export-orgmode: show-output output: input: sort: " +
			"command-name: min-benchmarking-time: debug-mode help version",
	})
	var scripts []Word
	parameters := false
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch opt.name {
		case "h", "help", "V", "version":
			return nil, nil
		case "setup", "s", "prepare", "p", "conclude", "cleanup", "c", "reference":
			scripts = append(scripts, opt.value)
		case "S", "shell":
			if name, err := in.exact(opt.value, "shell"); err != nil {
				return nil, err
			} else if shellOpener(baseName(name)) == nil && name != "default" && name != "none" {
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
	var inners []inner
	for _, text := range append(scripts, s.rest()...) {
		if parameters && strings.Contains(text.Text, "{") {
			text.State = Unknown
		}
		inners = append(inners, inner{Script: &text, Repeated: true})
	}
	return inners, nil
}
