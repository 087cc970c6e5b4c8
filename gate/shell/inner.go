package shell

// An inner is a command or a script that a wrapper runs. Exactly one of Argv, Script and FromStdin is set.
//
// Its slices may be parts of the words of the wrapper. Argv[0] and Script need not be Exact: the walker refuses those that
// are not.
type inner struct {
	Argv   []Word // the words of the command
	Script *Word  // shell text, to be parsed
	// FromStdin says that the script arrives on standard input (sh, bash -s, at, sudo -i, ssh h bash -s): the walker
	// translates it where the input is known and refuses it with StdinScript where it is not.
	FromStdin bool

	Wrapper string // the name shown: base name of argv[0] unless another is usual ("python -m")
	// Params are $0, $1 … of a Script or of FromStdin, in order; nil where there are none.
	Params []Word

	Env []Assign // env A=1, sudo A=1, env -u A, env -i
	Dir *Word    // directory that the wrapper changes to first (env -C, sudo -D), relative to the command's own
	// UnknownDir is set where the directory cannot be told (find -execdir, chroot, sudo -i, su -).
	UnknownDir bool

	Remote     bool // runs elsewhere: ssh, docker exec
	XArgs      bool // operands arrive at run time: xargs, fd -x without {}
	Repeated   bool // may run any number of times: xargs, find -exec, watch, entr, hyperfine
	Maybe      bool // may not run at all: find -ok, xargs -r, flock -n
	Background bool // is not waited for: at, systemd-run, tmux new-session -d

	// SameShell is set for command and builtin, whose operand acts on the shell itself (command cd d), and for exec.
	SameShell bool
}
