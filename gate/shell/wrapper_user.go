package shell

import (
	"slices"
	"strings"
)

// sudo takes options and assignments in any order before the command.
func (in invocation) sudo() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+Aa:BbC:c:D:Eeg:Hh::iKklNnPp:R:r:SsT:t:U:u:Vv",
		long: "askpass auth-type: background bell close-from: login-class: chdir: preserve-env:: edit group: set-home " +
			"help host: login remove-timestamp reset-timestamp list no-update non-interactive preserve-groups prompt: " +
			"chroot: role: stdin shell type: command-timeout: other-user: user: version validate",
		none: "e edit l list v validate V version K remove-timestamp help",
	})
	as := inner{}
	shell, login := false, false
	var rest []Word
	for {
		for opt := range s.options() {
			switch opt.name {
			case "h": // alone, a request for help; before a word, a host
				if opt.set {
					break
				}
				if s.next >= len(s.argv) || strings.Contains(s.argv[s.next].Text, "=") {
					return nil, nil
				}
				if _, _, err := in.operand(s.argv[s.next:]); err != nil {
					return nil, err
				}
				s.next++
			case "s", "shell":
				shell = true
			case "i", "login":
				shell, login = true, true
			case "b", "background":
				as.Background = true
			case "D", "chdir":
				as.Dir = new(opt.value)
			case "R", "chroot":
				as.UnknownDir = true
			}
		}
		var ok bool
		if rest, ok = s.rest(); !ok {
			return nil, s.err
		}
		if len(rest) == 0 || s.argv[s.next-1].Text == "--" || strings.HasPrefix(rest[0].Text, "/") || !as.assign(rest[0]) {
			break
		}
		s.next++
	}
	as.UnknownDir = as.UnknownDir || login && as.Dir == nil
	if in.name == "sudoedit" {
		return nil, nil
	}
	if len(rest) == 0 && shell {
		as.FromStdin = true
		return []inner{as}, nil
	}
	if shell {
		rest = dollarsUnknown(rest)
	}
	return in.command(rest, as)
}

// dollarsUnknown is for programs that hand words to a shell or to systemd with all special characters escaped but $.
func dollarsUnknown(words []Word) []Word {
	var changed []Word
	for i, w := range words {
		if w.State == Exact && strings.Contains(w.Text, "$") {
			if changed == nil {
				changed = append(changed, words...)
			}
			changed[i] = Word{Text: w.Text, Splits: true}
		}
	}
	if changed == nil {
		return words
	}
	return changed
}

func (in invocation) doas() ([]inner, *Error) {
	r := runner{optionTable: optionTable{short: "+C:Lnsu:", none: "C L"}}
	for _, w := range in.argv[1:] {
		if strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "s") {
			r.login = true
		}
	}
	return r.open(in)
}

// pkexec goes to the home of the user, unless it is told not to.
func (in invocation) pkexec() ([]inner, *Error) {
	keepDir := slices.ContainsFunc(in.argv[1:], func(w Word) bool { return w.Text == "--keep-cwd" })
	return runner{optionTable: optionTable{short: "+u:", long: "user: disable-internal-agent keep-cwd version help",
		none: "version help"}, as: inner{UnknownDir: !keepDir}, login: true}.open(in)
}

// su and runuser give the words after the user to the user's shell, -c first.
func (in invocation) su() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "c:fg:G:lmpPs:Tu:hVw:",
		long: "command: session-command: fast login preserve-environment shell: group: supp-group: pty no-pty user: " +
			"whitelist-environment: help version",
		none: "h help V version",
	})
	as := inner{}
	argv := []Word{exact("sh")}
	asUser := false
	for opt := range s.options() {
		switch opt.name {
		case "c", "command", "session-command":
			argv = []Word{argv[0], exact("-c"), opt.value}
		case "l", "login":
			as.UnknownDir = true
		case "s", "shell":
			argv[0] = opt.value
		case "u", "user":
			asUser = in.name == "runuser"
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if asUser {
		return in.command(rest, as)
	}
	if len(rest) > 0 && rest[0].is("-") {
		as.UnknownDir = true
		rest = rest[1:]
	}
	_, rest, err := in.operand(rest)
	if err != nil {
		return nil, err
	}
	return in.asShell(append(argv, rest...), as)
}

// asShell is the result for a wrapper that starts a shell with the words argv.
func (in invocation) asShell(argv []Word, as inner) ([]inner, *Error) {
	name, err := in.exact(argv[0], "shell")
	if err != nil {
		return nil, err
	}
	open := shellOpener(baseName(name))
	if open == nil {
		return in.command(argv, as)
	}
	inners, err := open(invocation{name: baseName(name), argv: argv, stdin: in.stdin})
	for i := range inners {
		inners[i].UnknownDir = as.UnknownDir
		inners[i].Remote = as.Remote
		inners[i].Repeated = as.Repeated
		inners[i].Background = as.Background
	}
	return inners, err
}

// newgrp starts a shell; sg GROUP COMMAND gives it a text, with or without -c before it.
func (in invocation) newgrp() ([]inner, *Error) {
	rest := in.argv[1:]
	if len(rest) > 0 && rest[0].Text == "-" {
		rest = rest[1:]
	}
	_, rest, err := in.operand(rest)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 && rest[0].Text == "-c" {
		rest = rest[1:]
	}
	if in.name == "newgrp" || len(rest) == 0 {
		return []inner{{FromStdin: true}}, nil
	}
	return in.script(rest[0], inner{})
}

// chroot makes paths mean others, unless the new root is the old one.
func (in invocation) chroot() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+", long: "groups: userspec: skip-chdir help version", none: "help version"})
	as := inner{UnknownDir: true}
	keepDir := false
	for opt := range s.options() {
		keepDir = keepDir || opt.name == "skip-chdir"
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	root, rest, err := in.operand(rest)
	if err != nil {
		return nil, err
	}
	if root.is("/") {
		as.UnknownDir = false
		if !keepDir {
			as.Dir = &root
		}
	}
	if len(rest) == 0 {
		as.FromStdin = true
		return []inner{as}, nil
	}
	return in.command(rest, as)
}
