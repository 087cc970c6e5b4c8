package shell

import (
	"slices"
	"strings"
)

// flock takes a lock file, then a command, or -c and one text.
func (in invocation) flock() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+sexnoFuw:E:hV?", long: "shared exclusive unlock nonblocking nonblock nb timeout: wait: " +
		"conflict-exit-code: close no-fork verbose fcntl start: length: help version", none: "h help V version"})
	as := inner{}
	for opt := range s.options() {
		switch opt.name {
		case "n", "nonblock", "nb", "nonblocking", "w", "timeout", "wait":
			as.Maybe = true
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	_, rest, err := in.operand(rest)
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	if rest[0].is("-c") || rest[0].is("--command") {
		if len(rest) != 2 {
			return nil, in.refuse("flock -c takes one text; quote it")
		}
		return in.script(rest[1], as)
	}
	return in.command(rest, as)
}

// chrt takes a priority, which newer versions let the policies without one leave out.
func (in invocation) chrt() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+abdD:efiphmoP:T:rRvV", long: "all-tasks batch deadline ext fifo idle pid help max other " +
		"rr sched-runtime: sched-period: sched-deadline: reset-on-fork verbose version", none: "p pid m max h help V version"})
	rest, ok := s.skip()
	if !ok {
		return nil, s.err
	}
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
	return runner{optionTable: optionTable{short: "+hVv3BFILRSTXZp:",
		long: "help version verbose addr-no-randomize fdpic-funcptrs mmap-page-zero addr-compat-layout read-implies-exec " +
			"32bit short-inode whole-seconds sticky-timeouts 3gb 4gb uname-2.6 list show:: pid:",
		none: "h help V version list p pid"}, login: true}.open(in)
}

// unshare makes paths mean others where it has a new root.
func (in invocation) unshare() ([]inner, *Error) {
	newRoot := slices.ContainsFunc(in.argv[1:], func(w Word) bool {
		return strings.HasPrefix(w.Text, "-R") || strings.HasPrefix(w.Text, "--root")
	})
	return runner{optionTable: optionTable{short: "+fhVmuinpCTUrR:w:S:G:cl:",
		long: "help version mount:: uts:: ipc:: net:: pid:: user:: cgroup:: time:: fork kill-child:: mount-proc:: " +
			"mount-binfmt:: map-user: map-users: map-group: map-groups: map-root-user map-current-user map-auto " +
			"map-subids propagation: setgroups: keep-caps setuid: setgid: root: wd: monotonic: boottime: owner: " +
			"load-interp: forward-signals", none: "h help V version"}, as: inner{UnknownDir: newRoot}, dir: "w wd", login: true}.open(in)
}
