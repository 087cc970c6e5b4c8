package shell

import "strings"

// strace writes its output to a command where the file name starts with "|" or "!".
func (in invocation) strace() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+a:Ab:cCdDe:E:fFhiI:kno:O:p:P:qrs:S:tTu:U:vVwxX:yYzZ",
		long: "abbrev: absolute-timestamps:: always-show-pid argv0: attach: columns: const-print-style: daemonize:: daemonised:: " +
			"daemonized:: debug decode-fds:: decode-pids: detach-on: env: failed-only fault: follow-forks help inject: " +
			"instruction-pointer interruptible: kill-on-exit kvm: namespace:: no-abbrev output: output-append-mode " +
			"output-separately quiet:: raw: read: relative-timestamps:: seccomp-bpf secontext:: signal: signals: silence:: " +
			"silent:: stack-trace:: stack-traces:: stack-trace-frame-limit: status: string-limit: strings-in-hex:: " +
			"successful-only summary summary-columns: summary-only summary-sort-by: summary-syscall-overhead: " +
			"summary-wall-clock syscall-limit: syscall-number syscall-times:: timestamps:: tips:: trace: trace-path: " +
			"trace-fds: user: verbose: version write:",
		none: "h help V version",
	})
	var inners []inner
	as := inner{}
	for opt := range s.options() {
		switch opt.name {
		case "o", "output":
			if strings.HasPrefix(opt.value.Text, "|") || strings.HasPrefix(opt.value.Text, "!") {
				inners = append(inners, inner{Script: trimmed(opt.value, 1)})
			} else if opt.value.State != Exact && knownPrefix(opt.value) == "" {
				return nil, in.dynamic(opt.value, `it may start with "|" and be a command; write "./" before it`)
			}
		case "E", "env":
			if !as.assign(opt.value) {
				as.Env = append(as.Env, Assign{Name: opt.value.Text, Unset: true})
			}
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if len(rest) > 0 {
		as.Argv = rest
		inners = append(inners, as)
	}
	return inners, nil
}

// trimmed is w without its first n bytes.
func trimmed(w Word, n int) *Word {
	return &Word{Text: w.Text[n:], State: w.State, Splits: w.Splits}
}

// gdb runs a program with --args, or when a command says so; its commands can be shell commands.
func (in invocation) gdb() ([]inner, *Error) {
	s := in.scan(optionTable{
		style: oneDashStyle,
		long: "args async: batch batch-silent b: baud: c: cd: cmd: command: configuration core: d: data-directory: D: " +
			"directory: early-init-command: early-init-eval-command: eix: eiex: eval-command: ex: epoch exec: f fullname " +
			"help i: iex: init-command: init-eval-command: interpreter: ix: l: m mapped n nh nowindows nw nx p: pid: ps q " +
			"quiet r readnever readnow return-child-result s: se: silent statistics symbols: t: tty: tui ui: version w " +
			"windows write x: e: h v",
	})
	var inners []inner
	runs := false
	for opt := range s.options() {
		switch opt.name {
		case "args":
			rest := s.argv[s.next:]
			if len(rest) > 0 && len(s.operands) == 0 {
				inners = append(inners, inner{Argv: rest})
			}
			return inners, nil
		case "ex", "eval-command", "iex", "init-eval-command", "eiex", "early-init-eval-command":
			text, err := in.exact(opt.value, "command")
			if err != nil {
				return nil, err
			}
			text = strings.TrimSpace(text)
			if script, ok := gdbShell(text); ok {
				inners = append(inners, inner{Script: new(exact(script))})
			}
			runs = runs || strings.HasPrefix(text, "r") || strings.HasPrefix(text, "start")
		case "help", "version", "configuration", "h", "v":
			return inners, nil
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if runs && len(rest) > 0 {
		inners = append(inners, inner{Argv: rest[:1]})
	}
	return inners, nil
}

// gdbShell gives the shell text in a command of gdb.
func gdbShell(command string) (string, bool) {
	if text, ok := strings.CutPrefix(command, "!"); ok {
		return text, true
	}
	verb, text, _ := strings.Cut(command, " ")
	if verb == "shell" || verb == "make" || len(verb) > 2 && strings.HasPrefix("shell", verb) {
		if verb == "make" {
			text = command
		}
		return text, true
	}
	if verb == "pipe" || verb == "|" {
		_, text, ok := strings.Cut(text, "|")
		return text, ok
	}
	return "", false
}

// valgrind's options have their values glued, so that no option can hide the program.
func (in invocation) valgrind() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+"})
	at := 1
	for ; at < len(in.argv); at++ {
		w := in.argv[at]
		dashed, err := s.dashed(w)
		if err != nil {
			return nil, err
		}
		if !dashed {
			break
		}
		switch w.Text {
		case "--help", "-h", "--version", "--help-debug", "--help-dyn-options":
			return nil, nil
		case "--":
			return in.command(in.argv[at+1:], inner{})
		}
	}
	return in.command(in.argv[at:], inner{})
}
