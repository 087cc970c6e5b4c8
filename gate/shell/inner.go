package shell

// An inner is a command or a script that a wrapper runs. Exactly one of Argv, Script and FromStdin is set.
//
// unwrap (wrapper.go) is called by the walker for every command that it emits, after the command itself, like this:
//
//	inners, err := unwrap(argv, stdin)   // func unwrap(argv []Word, stdin Stdin) ([]inner, *Error)
//
// argv[0] is Exact; its base name selects the table. argv must not be changed or kept; the slices in an inner may be
// parts of it. A command that is no wrapper, and a wrapper that runs nothing, give nil, nil without allocating.
// A word that is not Exact and stands where an option or the command's name would be, so that what runs cannot be
// told, is an *Error of kind DynamicName (or DynamicScript for a script's text); the walker checks itself
// that Argv[0] is Exact and that Script is Exact, so unwrap may pass them on as they are.
type inner struct {
	Argv   []Word // the words of the command
	Script *Word  // shell text, to be parsed; the walker refuses it with DynamicScript unless it is Exact
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
	XArgs      bool // operands arrive at run time: xargs, parallel without :::, fd -x, find -exec
	Repeated   bool // may run any number of times: xargs, find -exec, watch, entr, hyperfine
	Maybe      bool // may not run at all: find -ok, xargs -r, flock -n
	Background bool // is not waited for: at, systemd-run, tmux new-session -d

	// SameShell is set for command and builtin, whose operand acts on the shell itself (command cd d), and for exec.
	SameShell bool
}
