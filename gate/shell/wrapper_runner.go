package shell

import "strings"

// A runner is a wrapper whose options only change how the words after them are run.
type runner struct {
	optionTable
	operands int    // words before the command: the duration of timeout
	none     string // options with which nothing is run, between spaces
	dir      string // options whose value is the command's directory
	as       inner  // what holds for the command
	login    bool   // without a command, the user's shell runs and reads standard input
}

// run reads the command line of a runner.
func (in invocation) run(r runner) ([]inner, *Error) {
	s := in.scan(r.optionTable)
	for {
		opt, ok, err := s.option()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if hasField(r.none, opt.name) {
			return nil, nil
		}
		if hasField(r.dir, opt.name) && opt.set {
			dir := opt.value
			r.as.Dir = &dir
		}
	}
	rest := s.rest()
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

// hasField reports whether name is one of the words of list.
func hasField(list, name string) bool {
	for rest := list; name != ""; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || rest[i-1] == ' ') && (end == len(rest) || rest[end] == ' ') {
			return true
		}
		rest = rest[i+1:]
	}
	return false
}

func runnerOpener(name string) func(invocation) ([]inner, *Error) {
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
	case "chrt", "taskset", "ionice", "prlimit", "choom":
		return invocation.scheduled
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
	case "command", "builtin", "exec", "time", "gtime":
		return invocation.keyword
	case "timeout", "gtimeout", "nohup", "gnohup", "stdbuf", "gstdbuf", "setsid", "numactl", "unshare", "nsenter", "setpriv",
		"pkexec", "ltrace", "systemd-inhibit", "caffeinate", "dbus-run-session", "run0", "fakeroot", "eatmydata", "cpulimit",
		"unbuffer", "chronic", "gosu", "su-exec", "daemonize":
		return invocation.plainRunner
	}
	return packageOpener(name)
}

// plainRunner holds the wrappers that are no more than their table.
func (in invocation) plainRunner() ([]inner, *Error) {
	switch in.name {
	case "timeout", "gtimeout":
		return in.run(runner{optionTable: optionTable{short: "+fk:ps:v",
			long: "kill-after: signal: foreground preserve-status verbose help version"}, operands: 1, none: "help version"})
	case "nohup", "gnohup":
		return in.run(runner{optionTable: optionTable{short: "+", long: "help version"}, none: "help version"})
	case "stdbuf", "gstdbuf":
		return in.run(runner{optionTable: optionTable{short: "+i:o:e:", long: "input: output: error: help version"}, none: "help version"})
	case "setsid":
		return in.run(runner{optionTable: optionTable{short: "+cfwhV", long: "ctty fork wait help version"}, none: "h V help version"})
	case "numactl":
		return in.run(runner{optionTable: optionTable{short: "+ai:p:P:c:N:C:m:slbHtM:L:o:S:f:I:uTVdDw:",
			long: "all interleave: preferred: preferred-many: cpubind: cpunodebind: physcpubind: membind: localalloc balancing " +
				"hardware show shm: file: shmmode: strict shmid: length: offset: huge touch verify dump dump-nodes " +
				"weighted-interleave:"}, none: "H hardware s show"})
	case "unshare":
		return in.run(runner{optionTable: optionTable{short: "+fhVmuinpCTUrR:w:S:G:cl:",
			long: "help version mount:: uts:: ipc:: net:: pid:: user:: cgroup:: time:: fork kill-child:: mount-proc:: " +
				"mount-binfmt:: map-user: map-users: map-group: map-groups: map-root-user map-current-user map-auto " +
				"map-subids propagation: setgroups: keep-caps setuid: setgid: root: wd: monotonic: boottime: owner: " +
				"load-interp: forward-signals"}, none: "h help V version", as: inner{UnknownDir: in.entersRoot()}, dir: "w wd", login: true})
	case "nsenter":
		return in.run(runner{optionTable: optionTable{short: "+ahVt:m::u::i::n::N:p::C::U::T::S:G:r::w::W:ecFZ",
			long: "all help version target: mount:: uts:: ipc:: net:: net-socket: pid:: user:: cgroup:: time:: setuid: " +
				"setgid: root:: wd:: wdns: env no-fork join-cgroup preserve-credentials keep-caps follow-context " +
				"user-parent"}, none: "h help V version", as: inner{UnknownDir: true}, login: true})
	case "setpriv":
		return in.run(runner{optionTable: optionTable{short: "+dhV",
			long: "dump nnp no-new-privs inh-caps: list-caps ruid: euid: rgid: egid: reuid: regid: clear-groups " +
				"keep-groups init-groups groups: bounding-set: securebits: pdeathsig: ambient-caps: selinux-label: " +
				"apparmor-profile: landlock-access: landlock-rule: ptracer: seccomp-filter: reset-env help version"},
			none: "d dump list-caps help version h V"})
	case "pkexec":
		return in.run(runner{optionTable: optionTable{short: "+u:", long: "user: disable-internal-agent keep-cwd version help"},
			none: "version help", as: inner{UnknownDir: !in.hasWord("--keep-cwd")}, login: true})
	case "run0":
		return in.run(runner{optionTable: optionTable{short: "+hVu:g:D:i",
			long: "help version no-ask-password machine: unit: property: description: slice: slice-inherit user: group: " +
				"nice: chdir: setenv: background: pty pipe shell-prompt-prefix: lightweight: area: via-shell empower " +
				"pty-late same-root-dir"}, none: "h help V version", dir: "D chdir", login: true})
	case "ltrace":
		return in.run(runner{optionTable: optionTable{short: "+cfhiLrStTVbCa:A:D:e:F:l:n:o:p:s:u:w:x:X:",
			long: "align: config: debug: demangle indent: help library: output: version no-signals where:"}, none: "h help V version"})
	case "systemd-inhibit":
		return in.run(runner{optionTable: optionTable{short: "+h",
			long: "help version what: who: why: mode: list no-pager no-legend no-ask-password json:"}, none: "h help version list"})
	case "caffeinate":
		return in.run(runner{optionTable: optionTable{short: "+disumt:w:"}})
	case "dbus-run-session":
		return in.run(runner{optionTable: optionTable{short: "+", long: "dbus-daemon: config-file: help version"}, none: "help version"})
	case "fakeroot":
		return in.run(runner{optionTable: optionTable{short: "+l:f:i:s:ub:hv",
			long: "lib: faked: unknown-is-real fd-base: help version"}, none: "h help v version", login: true})
	case "cpulimit":
		return in.run(runner{optionTable: optionTable{short: "+p:e:P:l:c:bfqkrszimvh",
			long: "pid: exe: path: limit: cpu: background foreground quiet kill restore signal: lazy include-children " +
				"monitor-forks verbose help"}, none: "h help"})
	case "eatmydata":
		return in.run(runner{optionTable: optionTable{short: "+"}})
	case "unbuffer":
		return in.run(runner{optionTable: optionTable{short: "+p"}})
	case "chronic":
		return in.run(runner{optionTable: optionTable{short: "+ve"}})
	case "gosu", "su-exec":
		return in.run(runner{optionTable: optionTable{short: "+"}, operands: 1})
	case "daemonize":
		return in.run(runner{optionTable: optionTable{short: "+ac:e:E:l:o:p:u:v"}, dir: "c", as: inner{Background: true}})
	}
	return nil, nil
}

// entersRoot reports whether an option changes the root directory, so that paths mean others.
func (in invocation) entersRoot() bool {
	for _, w := range in.argv[1:] {
		if strings.HasPrefix(w.Text, "-R") || strings.HasPrefix(w.Text, "--root") {
			return true
		}
	}
	return false
}

func (in invocation) hasWord(text string) bool {
	for _, w := range in.argv[1:] {
		if w.Text == text {
			return true
		}
	}
	return false
}
