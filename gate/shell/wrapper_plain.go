package shell

// plainRunner is for the wrappers that are no more than their table; nil for others.
func plainRunner(name string) *runner {
	switch name {
	case "command":
		return &runner{optionTable: optionTable{short: "+pvV", none: "v V"}, as: inner{SameShell: true}}
	case "builtin":
		return &runner{optionTable: optionTable{short: "+"}, as: inner{SameShell: true}}
	case "time", "gtime":
		return &runner{optionTable: optionTable{short: "+af:hlo:pqvV", // -l is BSD's
			long: "append format: output: portability quiet verbose version help", none: "V version h help"}}
	case "timeout", "gtimeout":
		return &runner{optionTable: optionTable{short: "+fk:ps:v",
			long: "kill-after: signal: foreground preserve-status verbose help version", none: "help version"}, operands: 1}
	case "nohup", "gnohup":
		return &runner{optionTable: optionTable{short: "+", long: "help version", none: "help version"}}
	case "stdbuf", "gstdbuf":
		return &runner{optionTable: optionTable{short: "+i:o:e:",
			long: "input: output: error: help version", none: "help version"}}
	case "setsid":
		return &runner{optionTable: optionTable{short: "+cfwhV",
			long: "ctty fork wait help version", none: "h V help version"}}
	case "numactl":
		return &runner{optionTable: optionTable{short: "+ai:p:P:c:N:C:m:slbHtM:L:o:S:f:I:uTVdDw:",
			long: "all interleave: preferred: preferred-many: cpubind: cpunodebind: physcpubind: membind: localalloc balancing " +
				"hardware show shm: file: shmmode: strict shmid: length: offset: huge touch verify dump dump-nodes " +
				"weighted-interleave:", none: "H hardware s show"}}
	case "nsenter":
		return &runner{optionTable: optionTable{short: "+ahVt:m::u::i::n::N:p::C::U::T::S:G:r::w::W:ecFZ",
			long: "all help version target: mount:: uts:: ipc:: net:: net-socket: pid:: user:: cgroup:: time:: setuid: " +
				"setgid: root:: wd:: wdns: env no-fork join-cgroup preserve-credentials keep-caps follow-context " +
				"user-parent", none: "h help V version"}, as: inner{UnknownDir: true}, login: true}
	case "setpriv":
		return &runner{optionTable: optionTable{short: "+dhV",
			long: "dump nnp no-new-privs inh-caps: list-caps ruid: euid: rgid: egid: reuid: regid: clear-groups " +
				"keep-groups init-groups groups: bounding-set: securebits: pdeathsig: ambient-caps: selinux-label: " +
				"apparmor-profile: landlock-access: landlock-rule: ptracer: seccomp-filter: reset-env help version",
			none: "d dump list-caps help version h V"}}
	case "run0":
		return &runner{optionTable: optionTable{short: "+hVu:g:D:i",
			long: "help version no-ask-password machine: unit: property: description: slice: slice-inherit user: group: " +
				"nice: chdir: setenv: background: pty pipe shell-prompt-prefix: lightweight: area: via-shell empower " +
				"pty-late same-root-dir", none: "h help V version"}, dir: "D chdir", login: true}
	case "ltrace":
		return &runner{optionTable: optionTable{short: "+cfhiLrStTVbCa:A:D:e:F:l:n:o:p:s:u:w:x:X:",
			long: "align: config: debug: demangle indent: help library: output: version no-signals where:",
			none: "h help V version"}}
	case "systemd-inhibit":
		return &runner{optionTable: optionTable{short: "+h",
			long: "help version what: who: why: mode: list no-pager no-legend no-ask-password json:",
			none: "h help version list"}}
	case "caffeinate":
		return &runner{optionTable: optionTable{short: "+disumt:w:"}}
	case "dbus-run-session":
		return &runner{optionTable: optionTable{short: "+",
			long: "dbus-daemon: config-file: help version", none: "help version"}}
	case "fakeroot":
		return &runner{optionTable: optionTable{short: "+l:f:i:s:ub:hv",
			long: "lib: faked: unknown-is-real fd-base: help version", none: "h help v version"}, login: true}
	case "cpulimit":
		return &runner{optionTable: optionTable{short: "+p:e:P:l:c:bfqkrszimvh",
			long: "pid: exe: path: limit: cpu: background foreground quiet kill restore signal: lazy include-children " +
				"monitor-forks verbose help", none: "h help"}}
	case "eatmydata":
		return &runner{optionTable: optionTable{short: "+"}}
	case "unbuffer":
		return &runner{optionTable: optionTable{short: "+p"}}
	case "chronic":
		return &runner{optionTable: optionTable{short: "+ve"}}
	case "gosu", "su-exec":
		return &runner{optionTable: optionTable{short: "+"}, operands: 1}
	case "daemonize":
		return &runner{optionTable: optionTable{short: "+ac:e:E:l:o:p:u:v"}, dir: "c", as: inner{Background: true}}
	case "ionice":
		return &runner{optionTable: optionTable{short: "+n:c:p:P:u:tVh",
			long: "classdata: class: pid: pgid: uid: ignore version help", none: "p pid P pgid u uid V h version help"}}
	case "taskset":
		return &runner{optionTable: optionTable{short: "+apchV", long: "all-tasks pid cpu-list help version",
			none: "p pid h help V version"}, operands: 1}
	case "prlimit":
		return &runner{optionTable: optionTable{short: "+c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::p:o:vVh",
			long: "pid: output: as:: core:: cpu:: data:: fsize:: locks:: memlock:: msgqueue:: nice:: nofile:: nproc:: rss:: " +
				"rtprio:: rttime:: sigpending:: stack:: version help noheadings raw verbose", none: "p pid V version h help"}}
	case "choom":
		return &runner{optionTable: optionTable{short: "hn:p:V", long: "adjust: pid: help version",
			none: "p pid h help V version"}}
	}
	return nil
}
