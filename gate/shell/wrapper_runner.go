package shell

// A runner is a wrapper whose options only change how the words after them are run.
type runner struct {
	optionTable
	operands int    // words before the command: the duration of timeout
	dir      string // options whose value is the command's directory
	as       inner  // what holds for the command
	login    bool   // without a command, the user's shell runs and reads standard input
}

// open is the unwrapper of a runner.
func (r runner) open(in invocation) ([]inner, *Error) {
	s := in.scan(r.optionTable)
	for opt := range s.options() {
		if hasField(r.dir, opt.name) && opt.set {
			r.as.Dir = new(opt.value)
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	for range r.operands {
		var err *Error
		if _, rest, err = in.operand(rest); err != nil {
			return nil, err
		}
	}
	if len(rest) == 0 && r.login {
		r.as.FromStdin = true
		return []inner{r.as}, nil
	}
	return in.command(rest, r.as)
}

// runnerOpener is for the wrappers of processes, terminals and times that need more than a table.
func runnerOpener(name string) unwrapper {
	switch name {
	case "sudo", "sudoedit":
		return invocation.sudo
	case "doas":
		return invocation.doas
	case "su", "runuser":
		return invocation.su
	case "sg", "newgrp":
		return invocation.newgrp
	case "env", "genv":
		return invocation.env
	case "nice", "gnice":
		return invocation.nice
	case "chroot", "gchroot":
		return invocation.chroot
	case "flock":
		return invocation.flock
	case "watch":
		return invocation.watch
	case "chrt":
		return invocation.chrt
	case "setarch", "linux32", "linux64", "i386", "i486", "i586", "i686", "x86_64", "uname26":
		return invocation.setarch
	case "strace":
		return invocation.strace
	case "gdb":
		return invocation.gdb
	case "valgrind":
		return invocation.valgrind
	case "xargs", "gxargs":
		return invocation.xargs
	case "parallel":
		return invocation.parallel
	case "find", "gfind":
		return invocation.find
	case "fd", "fdfind":
		return invocation.fd
	case "script":
		return invocation.scriptCommand
	case "expect":
		return invocation.expect
	case "tmux":
		return invocation.tmux
	case "screen":
		return invocation.screen
	case "systemd-run":
		return invocation.systemdRun
	case "at", "batch", "crontab":
		return invocation.later
	case "hyperfine":
		return invocation.hyperfine
	case "entr":
		return invocation.entr
	case "exec":
		return invocation.exec
	case "unshare":
		return invocation.unshare
	case "pkexec":
		return invocation.pkexec
	}
	return nil
}
