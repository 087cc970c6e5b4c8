package shell

import "strings"

// tmux runs what some of its commands take as their last words: one word is shell text, several are a command.
func (in invocation) tmux() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+2c:CDdf:hlL:NqS:T:uUvV", none: "V h"})
	var inners []inner
	for opt := range s.options() {
		switch opt.name {
		case "c":
			return in.script(opt.value, inner{})
		case "f":
			return nil, in.refuse("tmux -f reads commands from a file that is not followed; leave it out")
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if len(rest) == 0 {
		return []inner{{FromStdin: true, Background: true}}, nil
	}
	for len(rest) > 0 {
		end := 0
		for end < len(rest) && !strings.HasSuffix(rest[end].Text, ";") {
			end++
		}
		command := rest[:end:end]
		if end < len(rest) {
			if last := strings.TrimSuffix(rest[end].Text, ";"); last != "" {
				command = append(command, Word{Text: last, State: rest[end].State, Splits: rest[end].Splits})
			}
			end++
		}
		rest = rest[end:]
		if len(command) == 0 {
			continue
		}
		more, err := in.tmuxCommand(command)
		if err != nil {
			return nil, err
		}
		inners = append(inners, more...)
	}
	return inners, nil
}

func (in invocation) tmuxCommand(command []Word) ([]inner, *Error) {
	name, err := in.exact(command[0], "tmux command")
	if err != nil {
		return nil, err
	}
	for _, w := range command {
		if strings.Contains(w.Text, "#(") {
			return nil, in.refuse("tmux runs the command in #(…), which is not followed; leave it out")
		}
	}
	short := ""
	switch name {
	case "new-session", "new":
		short = "+AdDEPXc:e:F:f:n:s:t:x:y:"
	case "new-window", "neww":
		short = "+abdkPSc:e:F:n:t:"
	case "split-window", "splitw":
		short = "+bdefhIPvZc:e:F:l:p:t:"
	case "respawn-pane", "respawnp", "respawn-window", "respawnw":
		short = "+kc:e:t:"
	case "display-popup", "popup":
		short = "+BCEb:c:d:e:h:s:S:t:T:w:x:y:"
	case "run-shell", "run":
		short = "+bCc:d:t:E"
	case "pipe-pane", "pipep":
		short = "+IOot:"
	case "send-keys", "send":
		return in.tmuxKeys(command)
	case "attach-session", "attach", "a", "at", "capture-pane", "capturep", "display-message", "display", "has-session", "has",
		"kill-pane", "killp", "kill-server", "kill-session", "kill-window", "killw", "list-buffers", "lsb", "list-clients",
		"lsc", "list-commands", "lscm", "list-keys", "lsk", "list-panes", "lsp", "list-sessions", "ls", "list-windows", "lsw",
		"rename-session", "rename", "rename-window", "renamew", "resize-pane", "resizep", "resize-window", "resizew",
		"save-buffer", "saveb", "select-layout", "selectl", "select-pane", "selectp", "select-window", "selectw",
		"show-buffer", "showb", "show-environment", "showenv", "show-messages", "showmsgs", "show-options", "show",
		"start-server", "start", "swap-pane", "swapp", "swap-window", "swapw", "switch-client", "switchc", "wait-for", "wait",
		"detach-client", "detach", "clear-history", "clearhist", "next-window", "next", "previous-window", "prev":
		return nil, nil
	default:
		return nil, in.refuse("what the tmux command " + name + " runs is not followed; run the command without tmux")
	}
	sub := invocation{name: "tmux " + name, argv: command, stdin: in.stdin}
	s := sub.scan(optionTable{short: short})
	as := inner{Background: true, Wrapper: "tmux"}
	for opt := range s.options() {
		switch {
		case opt.name == "C" && strings.HasPrefix(name, "run"):
			return nil, in.refuse("tmux run-shell -C runs a tmux command that is not followed; write it as a command of its own")
		case opt.name == "c" || opt.name == "d" && opt.set && strings.HasSuffix(name, "popup"):
			as.Dir = new(opt.value)
		case opt.name == "e":
			as.assign(opt.value)
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	switch {
	case len(rest) == 1:
		return in.script(rest[0], as)
	case len(rest) == 0:
		return nil, nil // an empty window, which nothing is typed into yet
	}
	return in.command(rest, as)
}

// tmuxKeys is for keys typed into a window, where a shell may read them.
func (in invocation) tmuxKeys(command []Word) ([]inner, *Error) {
	sub := invocation{name: "tmux send-keys", argv: command, stdin: in.stdin}
	s := sub.scan(optionTable{short: "+FHKlMRXN:t:c:", none: "X"}) // -X is a command of the copy mode
	for opt := range s.options() {
		if opt.name == "H" {
			return nil, in.refuse("tmux send-keys -H types encoded keys; write them as text")
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	text := Word{State: Exact}
	var typed strings.Builder
	for _, w := range rest {
		switch {
		case w.State != Exact || w.Splits:
			text.State = Unknown
			typed.WriteString(w.Text)
		case w.Text == "Enter" || w.Text == "C-m" || w.Text == "KPEnter" || w.Text == "C-j":
			typed.WriteByte('\n')
		case w.Text == "Space":
			typed.WriteByte(' ')
		case isKey(w.Text):
		default:
			typed.WriteString(w.Text)
		}
	}
	if text.Text = strings.TrimSpace(typed.String()); text.Text == "" {
		return nil, nil
	}
	return in.script(text, inner{Wrapper: "tmux", Background: true, UnknownDir: true})
}

// isKey reports whether tmux takes text for a key that types nothing.
func isKey(text string) bool {
	for _, prefix := range []string{"C-", "M-", "S-", "^"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok && rest != "" && (len(rest) == 1 || isKey(rest)) {
			return true
		}
	}
	switch text {
	case "Up", "Down", "Left", "Right", "Escape", "Tab", "BTab", "BSpace", "Home", "End", "PageUp", "PageDown", "PgUp", "PgDn",
		"PPage", "NPage", "IC", "DC", "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12":
		return true
	}
	return false
}

// screen has its own option loop, with options that take a word only if one is there.
func (in invocation) screen() ([]inner, *Error) {
	as := inner{Background: true}
	at := 1
	var asCommand, attach, detach, start bool
	next := func() *Error {
		at++
		if at < len(in.argv) && manyWords(in.argv[at]) {
			return in.dynamic(in.argv[at], "it may become several words; quote it")
		}
		return nil
	}
options:
	for ; at < len(in.argv); at++ {
		dashed, err := in.scan(optionTable{}).dashed(in.argv[at])
		if err != nil {
			return nil, err
		}
		if !dashed {
			break
		}
		text, err := in.exact(in.argv[at], "options")
		if err != nil {
			return nil, err
		}
		switch text {
		case "--":
			at++
			break options
		case "-ls", "-list", "-wipe", "-v", "-version", "--version", "--help", "-help":
			return nil, nil
		case "-Logfile":
			if err := next(); err != nil {
				return nil, err
			}
			continue
		}
	letters:
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case 'c', 'e', 'h', 'p', 's', 'S', 't', 'T':
				if text[i] == 'c' {
					return nil, in.refuse("screen -c reads commands from a file that is not followed; leave it out")
				}
				if i+1 == len(text) {
					if err := next(); err != nil {
						return nil, err
					}
				}
				break letters
			case 'r', 'x':
				attach = true
			case 'R': // attaches, or starts a session
				as.Maybe = true
			case 'd', 'D':
				detach = true
			case 'm':
				start = true
			case 'X':
				asCommand = true
			case 'f', 'l':
				if i+1 < len(text) && strings.IndexByte("na", text[i+1]) >= 0 {
					i++
				}
			case '4', '6', 'a', 'A', 'i', 'L', 'O', 'q', 'Q', 'U':
			default:
				return nil, in.unknown(text)
			}
		}
	}
	rest := in.argv[min(at, len(in.argv)):]
	switch {
	case asCommand:
		return in.screenCommand(rest)
	case attach, detach && !start && !as.Maybe:
		return nil, nil // the word after -r is the name of a session
	case len(rest) == 0:
		return []inner{{FromStdin: true, Background: true}}, nil
	}
	return in.command(rest, as)
}

func (in invocation) screenCommand(rest []Word) ([]inner, *Error) {
	if len(rest) == 0 {
		return nil, nil
	}
	name, err := in.exact(rest[0], "screen command")
	if err != nil {
		return nil, err
	}
	switch name {
	case "quit", "kill", "detach", "hardcopy", "title", "sessionname", "log", "logfile", "select", "next", "prev", "info",
		"windows", "version", "scrollback", "resize":
		return nil, nil
	case "stuff":
		if len(rest) != 2 {
			return nil, nil
		}
		text := rest[1]
		text.Text = strings.NewReplacer(`\n`, "\n", `\r`, "\n", `\015`, "\n", `\012`, "\n", "^M", "\n", "\r", "\n").Replace(text.Text)
		text.Text = strings.TrimSpace(text.Text)
		return in.script(text, inner{Background: true, UnknownDir: true})
	}
	return nil, in.refuse("what the screen command " + name + " runs is not followed; run the command without screen")
}
