package gate

import (
	"path"
	"strings"
)

// A listener collects what a text makes a program do.
type listener struct {
	runs   []string // lines for a shell
	spawns []string // likewise, out of a program in a full language
	files  []string // touched in some way
	writes []string
	more   []string // files with more of the language
	vague  string   // what can run a program, and is not followed
}

func (h *listener) unsure(text string) {
	if h.vague == "" {
		h.vague = text
	}
}

// to notes an argument that is a file, or with a "!" or "|" before it a command.
func (h *listener) to(arg string, sign string, writes bool) {
	arg = strings.TrimSpace(arg)
	switch {
	case arg == "":
	case strings.HasPrefix(arg, sign):
		h.runs = append(h.runs, strings.TrimSpace(arg[len(sign):]))
	case writes:
		h.writes = append(h.writes, arg)
	default:
		h.files = append(h.files, arg)
	}
}

// ed reads the commands of ed. Text that is inserted ends with a line that is a dot.
func (h *listener) ed(text string) {
	inserting := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if inserting {
			inserting = line != "."
			continue
		}
		command := strings.TrimLeft(line, "0123456789.,;$+-'% \t")
		if strings.HasPrefix(line, "'") && len(command) > 0 {
			command = command[1:] // a mark
		}
		for command != "" && (command[0] == '/' || command[0] == '?') { // an address that is searched
			end := strings.IndexByte(command[1:], command[0])
			if end < 0 {
				break
			}
			command = strings.TrimLeft(command[end+2:], "0123456789.,;$+- \t")
		}
		if command == "" {
			continue
		}
		switch command[0] {
		case '!':
			h.runs = append(h.runs, command[1:])
		case 'a', 'i', 'c':
			inserting = len(command) == 1
		case 'r', 'e', 'E', 'f':
			h.to(command[1:], "!", false)
		case 'w', 'W':
			h.to(strings.TrimPrefix(command[1:], "q"), "!", true)
		case 'g', 'G', 'v', 'V':
			if strings.ContainsAny(command, "!") || strings.Contains(command, "/w") || strings.Contains(command, "/r") {
				h.unsure(command)
			}
		}
	}
}

// vim reads commands of ex. Those that do no more than edit and save are known; any other may run anything.
func (h *listener) vim(text string) {
	if strings.Trim(text, "0123456789$") == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "?") {
		return
	}
	for command := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == '\n' }) {
		command = strings.TrimLeft(command, ": \t%0123456789.,$'<>+-")
		for _, modifier := range []string{"silent!", "silent", "sil!", "sil", "keepjumps", "keepalt", "noautocmd", "keeppatterns"} {
			command = strings.TrimLeft(strings.TrimPrefix(command, modifier+" "), " ")
		}
		end := 0
		for end < len(command) && strings.IndexByte(lettersOnly, command[end]) >= 0 {
			end++
		}
		verb, rest := command[:end], strings.TrimPrefix(command[end:], "!")
		if program, ok := strings.CutPrefix(command, "!"); ok {
			h.runs = append(h.runs, program)
			continue
		}
		if strings.Contains(rest, "`") || strings.Contains(rest, `\=`) || strings.Contains(rest, "system(") {
			h.unsure(command)
		}
		switch verb {
		case "w", "wq", "x", "up", "write", "sav", "saveas", "wa", "wqa", "xa", "xit", "exit", "update", "wall":
			h.to(rest, "!", true)
		case "e", "r", "edit", "read", "sp", "vs", "tabe", "new", "vnew", "split", "vsplit", "tabedit", "view", "diffsplit", "vert", "args", "n", "badd", "f", "file":
			h.to(rest, "!", false)
		case "q", "qa", "quit", "qall", "cq", "bd", "bn", "bp", "d", "delete", "j", "join", "m", "move", "t", "co", "copy", "s", "y", "p", "print", "P", "nu", "noh",
			"nohlsearch", "syntax", "syn", "filetype", "colorscheme", "colo", "sort", "sor", "retab", "echo", "help", "h", "u", "undo", "redo", "diffthis", "difft", "wincmd", "version", "ver", "":
			if (verb == "s" || verb == "echo") && strings.Contains(rest, "=") && strings.Contains(rest, "(") {
				h.unsure(command)
			}
		case "set", "setlocal", "se", "setl":
			for _, option := range []string{"prg", "shell", "sh=", "expr", "exrc", "ex", "func", "mp=", "gp=", "kp=", "fde", "verbosefile", "backup", "bdir", "dir", "udir"} {
				if strings.Contains(rest, option) && !strings.Contains(rest, "expandtab") {
					h.unsure(command)
				}
			}
		case "g", "v", "global", "vglobal":
			if tail := rest[strings.LastIndexByte(rest, '/')+1:]; strings.Trim(tail, " ") != "d" && strings.Trim(tail, " ") != "p" && !strings.HasPrefix(tail, "s") {
				h.unsure(command)
			}
		default:
			h.unsure(command)
		}
	}
}

// less knows the places to begin at; whatever else may run a program.
func (h *listener) less(text string) {
	text = strings.TrimPrefix(text, "+")
	switch first := text[0:min(1, len(text))]; {
	case text == "", strings.Trim(text, "0123456789gGFpP%") == "":
	case first == "/" || first == "?" || first == "&":
	case first == "!": // the shell follows it
	case strings.HasPrefix(text, ":e"), strings.HasPrefix(text, "E"):
		h.to(strings.TrimPrefix(strings.TrimPrefix(text, ":e"), "E"), "!", false)
	default:
		h.unsure(text)
		h.files = append(h.files, strings.TrimLeft(text, "so: "))
	}
}

// debugger reads the commands of gdb and lldb.
func (h *listener) debugger(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		if at := strings.IndexByte(verb, '/'); at > 0 {
			verb = verb[:at]
		}
		switch verb {
		case "", "r", "run", "start", "starti", "bt", "backtrace", "where", "info", "i", "p", "print", "x", "b", "break", "tbreak", "c", "continue", "cont", "q",
			"quit", "exit", "n", "next", "s", "step", "ni", "si", "finish", "fin", "up", "down", "frame", "f", "thread", "t", "list", "l", "disas", "disassemble",
			"display", "delete", "d", "clear", "watch", "kill", "k", "help", "h", "echo", "printf", "whatis", "ptype", "until", "advance", "attach", "detach",
			"process", "image", "breakpoint", "register", "memory", "expression", "e", "v", "po", "handle", "catch", "rwatch", "awatch", "target", "tty":
			if strings.Contains(rest, "|") && (verb == "p" || verb == "print") && strings.Contains(rest, "$_shell") || strings.Contains(rest, "$_shell(") {
				h.unsure(line)
			}
		case "set", "settings":
			if containsAny(rest, "logging", "exec-wrapper", "auto-load", "startup", "environment", "history filename", "cwd") && !strings.HasSuffix(rest, "off") {
				h.unsure(line)
			}
		case "file", "symbol-file", "core-file", "exec-file", "core", "add-symbol-file", "cd", "directory":
			h.files = append(h.files, rest)
		case "shell", "!", "make", "pipe", "|": // the shell follows it for gdb
			if verb == "shell" || verb == "!" {
				h.runs = append(h.runs, rest)
			} else {
				h.unsure(line)
			}
		case "platform":
			if command, ok := strings.CutPrefix(rest, "shell "); ok {
				h.runs = append(h.runs, command)
			}
		default:
			if command, ok := strings.CutPrefix(line, "!"); ok {
				h.runs = append(h.runs, command)
				continue
			}
			h.unsure(line)
		}
	}
}

// sqlite reads SQL with commands that begin with a dot.
func (h *listener) sqlite(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, ".") {
			if lower := strings.ToLower(line); containsAny(lower, "load_extension", "edit(", "fts3_tokenizer") {
				h.unsure(line)
			}
			continue
		}
		verb, rest, _ := strings.Cut(line[1:], " ")
		rest = strings.Trim(strings.TrimSpace(rest), `'"`)
		begins := func(whole string, least int) bool { return len(verb) >= least && strings.HasPrefix(whole, verb) }
		switch {
		case begins("shell", 2), begins("system", 3):
			h.runs = append(h.runs, rest)
		case begins("read", 3):
			if strings.HasPrefix(rest, "|") {
				h.runs = append(h.runs, rest[1:])
			} else {
				h.more = append(h.more, rest)
			}
		case begins("restore", 3), begins("open", 2), begins("import", 2), begins("cd", 2):
			if _, command, ok := strings.Cut(rest, "|"); ok {
				command, _, _ = strings.Cut(command, `"`)
				h.runs = append(h.runs, command)
			}
			for word := range strings.FieldsSeq(rest) {
				h.files = append(h.files, word)
			}
			if verb == "cd" {
				h.unsure(line)
			}
		case begins("output", 1), begins("once", 2), begins("backup", 2), begins("save", 2), begins("clone", 3), begins("log", 3), begins("trace", 3):
			if rest != "" && rest != "off" && rest != "stdout" && rest != "stderr" {
				last := rest[strings.LastIndexByte(rest, ' ')+1:]
				if strings.HasPrefix(rest, "|") {
					last = rest
				}
				h.to(last, "|", true)
			}
		case begins("load", 3), begins("excel", 3), verb == "edit", begins("archive", 2), verb == "ar", begins("www", 2), begins("sessions", 4), verb == "testctrl":
			h.unsure(line)
		}
	}
}

// psql reads SQL with commands that begin with a backslash, which may stand behind SQL on the same line.
func (h *listener) psql(text string) {
	if lower := strings.ToLower(text); strings.Contains(lower, "program") && strings.Contains(lower, "copy") {
		h.unsure("COPY … PROGRAM")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for at := strings.IndexByte(line, '\\'); at >= 0; {
			command := line[at+1:]
			verb, rest, _ := strings.Cut(command, " ")
			if strings.HasPrefix(command, "!") {
				h.runs = append(h.runs, command[1:])
				break
			}
			if strings.Contains(rest, "`") {
				h.unsure(command)
			}
			switch strings.TrimRight(verb, "+S") {
			case "i", "ir", "include", "include_relative":
				h.more = append(h.more, rest)
			case "lo_import", "cd":
				h.to(rest, "|", false)
				h.unsure(command)
			case "o", "out", "g", "gx", "w", "write", "s", "lo_export":
				if !strings.HasPrefix(strings.TrimSpace(rest), "(") {
					h.to(rest, "|", true)
				}
			case "copy":
				for word := range strings.FieldsSeq(rest) {
					h.files = append(h.files, word)
				}
			case "e", "edit", "ef", "ev", "setenv":
				h.unsure(command)
			case "watch":
			}
			next := strings.IndexByte(command, '\\')
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
}

// mysql reads SQL with commands of the client, which stand at the beginning of a line or behind a backslash.
func (h *listener) mysql(text string) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimSpace(line)
		command := line
		if at := strings.IndexByte(line, '\\'); at >= 0 && at+1 < len(line) {
			switch line[at+1] {
			case '!':
				h.runs = append(h.runs, line[at+2:])
			case '.':
				h.more = append(h.more, line[at+2:])
			case 'T':
				h.to(line[at+2:], "|", true)
			case 'P', 'e':
				h.unsure(line)
			}
		}
		verb, rest, _ := strings.Cut(command, " ")
		switch strings.ToLower(verb) {
		case "system":
			h.runs = append(h.runs, rest)
		case "source":
			h.more = append(h.more, rest)
		case "tee":
			h.to(rest, "|", true)
		case "pager", "edit":
			h.unsure(line)
		}
	}
}

// transfer reads the commands of ftp and its like: "!" runs a program, and any word may be a file of this machine.
func (h *listener) transfer(text string) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimSpace(strings.TrimLeft(line, "-@ \t"))
		if command, ok := strings.CutPrefix(line, "!"); ok {
			h.runs = append(h.runs, command)
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		for word := range strings.FieldsSeq(rest) {
			h.files = append(h.files, path.Clean(strings.Trim(word, `'"`)))
		}
		switch verb {
		case "shell", "local", "source", "macdef", "proxy", "edit", "alias", "slcd", "lcd":
			h.unsure(line)
		case "get", "mget", "recv", "mirror", "pget", "get1":
			for word := range strings.FieldsSeq(rest) {
				if word[0] != '-' {
					h.writes = append(h.writes, path.Base(word))
				}
			}
			if verb != "get" && verb != "recv" {
				h.unsure(line)
			}
		}
	}
}

// bang reads the commands of dc: the rest of a line behind a "!" that compares nothing runs.
func (h *listener) bang(text string) {
	for line := range strings.Lines(text) {
		if at := strings.IndexByte(line, '!'); at >= 0 && at+1 < len(line) && strings.IndexByte("<>=\n", line[at+1]) < 0 {
			h.runs = append(h.runs, strings.TrimSpace(line[at+1:]))
		}
	}
}

// plot reads the commands of gnuplot.
func (h *listener) plot(text string) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "!"); ok {
			h.runs = append(h.runs, command)
		}
		if containsAny(line, "system", "shell", "`", `"<`, `'<`, `'|`, `"|`, "load ", "call ") {
			h.unsure(line)
		}
	}
}
