package harness

import (
	"context"
	"path"
	"slices"
	"strings"

	"gatehouse/gate"
	"gatehouse/gate/call"
)

// typed objects to programs that take commands from whoever types, where the client shows no hook what is typed.
func (h *hook) typed(ctx context.Context, g Judge, r gate.Request) gate.Request {
	if !h.client.typesUnseen || r.Tool != nil || !mayTalk(r) {
		return r
	}
	for _, c := range g.Check(ctx, r).Calls {
		if !talks(&c) {
			continue
		}
		r.Objections = append(r.Objections, gate.Reason{Action: gate.Deny, Stage: gate.StageShell, Call: c.Meta.Index, Source: c.Meta.Source,
			Text: path.Base(c.Argv[0]) + " would wait for commands that are typed into it, and nobody would judge them",
			Hint: "give it a script, or the commands as an argument (-c, -e)"})
		break
	}
	return r
}

// mayTalk is a quick look at whether such a program is named at all. Where a name may be spelled with quotes or
// expansions, it is not quick to tell.
func mayTalk(r gate.Request) bool {
	text := r.Line + strings.Join(r.Argv, " ")
	if strings.ContainsAny(text, "\\'\"$`{~*?[") {
		return true
	}
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" \t\n;&|()<>/=", c) }) {
		if _, ok := talkerOf(word); ok {
			return true
		}
	}
	return false
}

// talkerOf finds a program by its base name, whatever the version behind it.
func talkerOf(name string) (talker, bool) {
	for _, name := range []string{name, strings.TrimRight(name, "0123456789.")} {
		if i := slices.IndexFunc(talkers, func(t talker) bool { return t.name == name }); i >= 0 {
			return talkers[i], true
		}
	}
	return talker{}, false
}

// A talker is a program that takes commands from a terminal.
type talker struct {
	name string
	// given are the options with which it does something else; one letter stands for any cluster with that letter.
	given string
	// alone is set if an operand does not end the talk: what it names is a file or a place, not a script.
	alone bool
}

// talkers are those that agents meet. A program that is not here and takes commands all the same (one that opens an
// editor or a pager) is not noticed.
var talkers = []talker{
	{name: "sh", given: "c"}, {name: "bash", given: "c"}, {name: "dash", given: "c"}, {name: "zsh", given: "c"}, {name: "ksh", given: "c"},
	{name: "fish", given: "c"}, {name: "csh", given: "c"}, {name: "tcsh", given: "c"},
	{name: "python", given: "cmV"}, {name: "pypy", given: "cmV"}, {name: "ipython", given: "cm"}, {name: "node", given: "epvc"}, {name: "bun"}, {name: "deno"},
	{name: "ruby", given: "ev"}, {name: "irb"}, {name: "pry"}, {name: "perl", given: "eEv"}, {name: "php", given: "rvim"}, {name: "lua", given: "ev"},
	{name: "R", given: "ef"}, {name: "julia", given: "eE"}, {name: "ghci", alone: true}, {name: "erl"}, {name: "iex", alone: true}, {name: "jshell"},
	{name: "scala", given: "e"}, {name: "tclsh"}, {name: "guile", given: "c"}, {name: "sbcl"}, {name: "ocaml"},
	{name: "psql", given: "cfl", alone: true}, {name: "mysql", given: "e", alone: true}, {name: "mariadb", given: "e", alone: true}, {name: "sqlite3"},
	{name: "mongosh", alone: true}, {name: "redis-cli"}, {name: "ssh"}, {name: "telnet", alone: true}, {name: "ftp", alone: true},
	{name: "sftp", given: "b", alone: true}, {name: "nc", alone: true}, {name: "ncat", alone: true}, {name: "socat", alone: true},
	{name: "gdb", given: "x", alone: true}, {name: "lldb", alone: true}, {name: "screen", alone: true}, {name: "tmux", alone: true},
	{name: "ed", alone: true}, {name: "ex", alone: true}, {name: "vi", alone: true}, {name: "vim", alone: true}, {name: "nvim", alone: true},
	{name: "emacs", alone: true}, {name: "nano", alone: true}, {name: "less", alone: true}, {name: "more", alone: true},
	{name: "su", given: "c", alone: true}, {name: "dc", given: "ef"},
}

// talks reports whether a call would take commands from the terminal.
func talks(c *call.Call) bool {
	for i := range c.Elsewhere {
		if talks(&c.Elsewhere[i]) {
			return true
		}
	}
	if len(c.Argv) == 0 {
		return false
	}
	t, ok := talkerOf(path.Base(c.Argv[0]))
	return ok && !fed(c) && t.listens(c.Argv[1:], len(c.Elsewhere) > 0)
}

// listens reports whether the program takes commands from the terminal with these arguments.
func (t talker) listens(args []string, elsewhere bool) bool {
	operands := 0
	for i, word := range args {
		switch {
		case word == "-" || word == "-i" || word == "--interactive" || word == "-s" && strings.HasSuffix(t.name, "sh") && t.name != "ssh":
			return true
		case word == "--":
			operands += len(args) - i - 1
			return t.waits(operands, elsewhere)
		case word == "--help" || word == "--version" || word == "--eval" || word == "--command" || word == "--execute" || word == "--print":
			return false
		case strings.HasPrefix(word, "--eval=") || strings.HasPrefix(word, "--command=") || strings.HasPrefix(word, "--execute="):
			return false
		case strings.HasPrefix(word, "--"):
		case strings.HasPrefix(word, "-"):
			if strings.ContainsAny(word[1:], t.given) && t.given != "" {
				return slices.Contains(args[i:], "-i")
			}
		default:
			operands++
			if !t.alone && t.name != "ssh" && t.name != "sqlite3" {
				return false // a script; what follows is its own
			}
		}
	}
	return t.waits(operands, elsewhere)
}

// waits reports whether so many operands leave it waiting for commands.
func (t talker) waits(operands int, elsewhere bool) bool {
	switch {
	case t.name == "ssh":
		return !elsewhere
	case t.name == "sqlite3":
		return operands < 2
	case t.alone:
		return true
	default:
		return operands == 0
	}
}

// fed reports whether the standard input of a call comes from the line itself or from a file.
func fed(c *call.Call) bool {
	for _, r := range c.Meta.Redirects {
		if (r.FD == nil || *r.FD == 0) && strings.HasPrefix(r.Op, "<") && r.Op != "<>" && r.Op != "<&" &&
			r.Target != "/dev/tty" && r.Target != "/dev/stdin" && r.Target != "/proc/self/fd/0" {
			return true
		}
	}
	// Behind a pipe it is what the line makes. A shell that gets its commands so is refused for that elsewhere.
	return c.Meta.Operator == "|"
}
