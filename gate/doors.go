package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// doors judges the ways in which programs run others, or take names and instructions from files, that are no part of what
// their specs say: each kind of door has its own answer.
//
//   - run: the value is a command, which is judged like a line of its own;
//   - tool: likewise, but a program of the system needs no entry of its own (the compiler that cmake is told to use);
//   - load: the value is a file of instructions, or a library: what is in it nobody sees;
//   - list: the value is a file with the names of files;
//   - flag: the option alone lets the program run what its input names;
//   - words: the words that follow are a command.
func (j *judge) doors(i int) {
	name := path.Base(j.calls[i].Argv[0])
	for door := range strings.FieldsSeq(doorsOf(name)) {
		kind, option, _ := strings.Cut(door, ":")
		j.door(i, kind, option)
	}
	j.special(i, name)
	j.listed(i, name)
	j.chosen(i)
	j.speech(i, name)
}

// doorsOf lists the doors of a program, each as KIND:OPTION.
func doorsOf(name string) string {
	switch name {
	case "rg":
		return "run:--pre run:--hostname-bin"
	case "less":
		return "load:-k load:--lesskey-file load:--lesskey-src load:--lesskey-content"
	case "man":
		return "load:-C load:--config-file"
	case "ssh", "slogin", "autossh":
		return "load:-F load:-I"
	case "scp":
		return "load:-F run:-D"
	case "sftp":
		return "load:-F run:-S run:-D load:-s"
	case "ssh-keygen":
		return "load:-D load:-w"
	case "ssh-add":
		return "load:-s load:-S"
	case "ssh-agent", "rlwrap":
		return "words:"
	case "nc", "netcat", "ncat", "nc.traditional":
		return "run:-c run:--sh-exec run:-e run:--exec load:--lua-exec"
	case "crontab", "logrotate", "run-parts":
		return "load: flag:-e"
	case "at", "batch":
		return "load:-f"
	case "fzf":
		return "run:--preview run:--pager"
	case "just":
		return "run:--shell words:--command words:-c"
	case "npm", "pnpm", "yarn":
		return "run:--script-shell run:--shell load:--node-options"
	case "pip", "pip3":
		return "load:--python"
	case "go":
		return "run:-vettool"
	case "svn":
		return "run:--diff-cmd run:--diff3-cmd run:--editor-cmd load:--config-dir"
	case "dpkg":
		return "run:--pre-invoke run:--post-invoke run:--status-logger"
	case "apt", "apt-get", "aptitude":
		return "load:-c load:--config-file"
	case "rpm":
		return "run:--pipe load:--macros load:--load load:--rcfile"
	case "nmap":
		return "load:--datadir load:--servicedb load:--versiondb"
	case "start-stop-daemon":
		return "run:--exec run:-x run:--startas run:-a"
	case "pandoc":
		return "run:--filter run:-F tool:--pdf-engine load:--lua-filter load:-L load:--defaults load:-d"
	case "pdflatex", "xelatex", "lualatex", "latex", "tex", "pdftex", "luatex", "xetex", "latexmk":
		return "flag:--shell-escape flag:-shell-escape flag:--enable-write18 flag:-enable-write18 load:-r run:-e"
	case "aria2c":
		return "run:--on-download-complete run:--on-download-error run:--on-download-start run:--on-download-stop run:--on-download-pause " +
			"run:--on-bt-download-complete listw:-i listw:--input-file load:--conf-path"
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp", "gfortran":
		return "run:-wrapper load:-fplugin load:-specs load:--specs load:-B load:@"
	case "ld", "gold", "ld.gold", "ld.bfd", "ld.lld":
		return "load:-plugin load:--plugin load:@"
	case "javac", "java", "rustc", "ar", "strip", "nm", "objcopy", "as", "javadoc":
		return "load:@"
	case "7z", "7za", "7zr", "convert", "magick", "mogrify", "montage", "identify":
		return "list:@"
	case "openssl":
		return "load:-engine load:-provider-path load:-config load:-modulesdir"
	case "gpg", "gpg2":
		return "load:--options load:--exec-path load:--agent-program load:--pinentry-program run:--photo-viewer load:--homedir"
	case "lynx", "w3m":
		return "load:-cmd_script load:-config load:-cfg"
	case "expect":
		return "flag:-"
	case "direnv":
		return "flag:allow flag:permit flag:grant"
	case "parallel":
		return "load:--profile load:-J"
	case "wget":
		return "listw:-i listw:--input-file madeup:--content-disposition madeup:--trust-server-names run:--use-askpass load:--config"
	case "curl":
		return "madeup:-J madeup:--remote-header-name"
	case "zip":
		return "list:-@"
	case "git":
		return "load:--exec-path"
	case "php":
		return "load:-c load:--php-ini"
	case "nvim":
		return "load:-l load:-S load:-u load:-s"
	case "vim", "vi", "ex", "view", "gvim", "vimdiff":
		return "load:-S load:-s load:-u load:-U run:--remote-expr"
	case "gdb":
		return "load:-x load:--command load:-command load:-ix load:--init-command load:-iex-file"
	case "lldb":
		return "load:-s load:--source load:-S load:--source-before-file"
	case "lftp":
		return "load:-f"
	case "sqlite3":
		return "load:-init load:--init"
	case "mysql", "mariadb":
		return "run:--pager load:--plugin-dir load:--default-auth"
	}
	return ""
}

// A given is an option of a door that stands in the words of a call.
type given struct {
	value string
	at    int // index of the word after the value
	known bool
}

// options finds an option in the words of a call in every spelling: -x V, -xV, -abx V, --long V, --long=V, and the long
// ones cut short. @ stands for words that begin so, "" for the operands.
func options(c *call.Call, option string) (list []given) {
	long := strings.HasPrefix(option, "--")
	argv := c.Argv
	known := func(n int) bool { return !slices.Contains(c.Meta.DynamicArgs, argv[n]) }
	for n := 1; n < len(argv); n++ {
		w := argv[n]
		next := func(glued string) {
			switch {
			case glued != "":
				list = append(list, given{glued, n + 1, known(n)})
			case n+1 < len(argv):
				list = append(list, given{argv[n+1], n + 2, known(n + 1)})
			}
		}
		switch {
		case w == "--" && option != "":
			return list
		case option == "":
			if w != "" && w[0] != '-' {
				list = append(list, given{w, n + 1, known(n)})
			}
		case option == "@":
			if len(w) > 1 && w[0] == '@' {
				list = append(list, given{w[1:], n + 1, known(n)})
			}
		case w == option:
			next("")
		case strings.HasPrefix(w, option+"="):
			next(w[len(option)+1:])
		case long:
			name, value, glued := strings.Cut(w, "=")
			if len(name) > 4 && strings.HasPrefix(option, name) {
				if glued {
					next(value)
				} else {
					next("")
				}
			}
		case len(option) == 2 && len(w) > 2 && w[0] == '-' && w[1] != '-':
			if strings.HasPrefix(w, option) {
				if !oneDash(argv[0]) || option == "-B" || option == "-D" {
					next(w[2:])
				}
			} else if !oneDash(argv[0]) && strings.HasSuffix(w, option[1:]) && strings.Trim(w[1:], lettersOnly) == "" {
				next("")
			}
		case len(option) > 2 && option[0] == '-' && strings.HasPrefix(w, option) && (option == "-fplugin" || option == "-specs"):
			next(strings.TrimPrefix(w[len(option):], "="))
		}
	}
	return list
}

// oneDash reports whether a program's long options have one dash, so that letters behind one are no options of their own.
func oneDash(program string) bool {
	switch path.Base(program) {
	case "gdb", "lldb", "gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran", "ld", "go", "java", "javac", "openssl", "ffmpeg", "ffprobe", "convert", "magick",
		"pdflatex", "xelatex", "lualatex", "latex", "tex", "php", "lynx", "w3m", "nmap", "erl", "find":
		return true
	}
	return false
}

const lettersOnly = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// door judges one door of a call.
func (j *judge) door(i int, kind, option string) {
	c := &j.calls[i]
	if kind == "flag" || kind == "madeup" {
		if !hasOption(c, option) {
			return
		}
		if kind == "flag" {
			j.vague(i, fmt.Sprintf("with %s %s can run programs that nobody sees here", option, j.name(i)))
		} else if c.Name != "curl" || hasOption(c, "-O") || hasOption(c, "--remote-name") || hasOption(c, "--remote-name-all") {
			j.unplaced(i, &call.Effect{Kind: call.Write, Arg: "output"})
		}
		return
	}
	if kind == "list" && option == "-@" {
		if slices.Contains(c.Argv, "-@") {
			j.unplaced(i, &call.Effect{Kind: call.Read})
		}
		return
	}
	for _, g := range options(c, option) {
		switch kind {
		case "run", "tool":
			if strings.TrimSpace(g.value) == "" {
				continue
			}
			if !g.known {
				j.vague(i, fmt.Sprintf("what %s runs (%q) is known only at run time", j.name(i), g.value))
				continue
			}
			if j.followed(i, g.value, false) && kind == "run" {
				continue // the shell has seen it
			}
			j.lenient(i, g.value, kind == "tool")
		case "load":
			if tameFile(g.value) || option == "" && (hasOption(c, "-l") || hasOption(c, "-r")) {
				continue
			}
			j.loads(i, option, g.value)
		case "list", "listw":
			j.reads(i, g.value)
			effect := call.Effect{Kind: call.Read}
			if kind == "listw" {
				effect.Kind = call.Write
			}
			j.unplaced(i, &effect)
		case "words":
			j.runsLine(i, quoted(c.Argv[g.at-1:]))
			return
		}
	}
}

func hasOption(c *call.Call, option string) bool {
	for _, w := range c.Argv[1:] {
		name, _, _ := strings.Cut(w, "=")
		if w == "--" && option != "-" {
			return false
		}
		if name == option || len(option) == 2 && option[0] == '-' && !oneDash(c.Argv[0]) && len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Trim(w[1:], lettersOnly) == "" &&
			strings.Contains(w, option[1:]) {
			return true
		}
	}
	return false
}

// tameFile reports whether a value says that there is no file.
func tameFile(value string) bool {
	switch value {
	case "", "NONE", "none", "DEFAULTS", "NORC", "/dev/null", "-":
		return true
	}
	return false
}

// loads objects to instructions that come from a file.
func (j *judge) loads(i int, option, file string) {
	j.reads(i, file)
	name := option
	if name == "" || name == "@" {
		name = "that file"
	}
	j.vague(i, fmt.Sprintf("%s takes instructions from %q (%s), and they can run programs", j.name(i), file, name))
}

// reads judges a file that a call reads by its name alone.
func (j *judge) reads(i int, file string) {
	if dir := j.commands[i].Dir.Path; file != "" && file != "-" && (path.IsAbs(file) || dir != "") {
		if !path.IsAbs(file) {
			file = path.Join(dir, file)
		}
		p := path.Clean(file)
		j.at(i, &call.Effect{Kind: call.Read, Path: p, Sure: call.Maybe}, p)
	}
}

// vague objects to what a call may run or touch where nobody can see it.
func (j *judge) vague(i int, text string) {
	j.dynamic(Reason{Call: i, Text: text, Hint: "do it with a command of its own"})
}

// lenient judges a text that a call runs; with system, a program that is installed for all users needs no entry.
func (j *judge) lenient(i int, text string, system bool) {
	before := len(j.reasons)
	j.runsLine(i, text)
	if !system {
		return
	}
	name, _, _ := strings.Cut(text, " ")
	file := name
	if !strings.Contains(name, "/") {
		file = j.findAnywhere(name)
	}
	if !isSystem(file) {
		return
	}
	j.reasons = slices.DeleteFunc(j.reasons, func(r Reason) bool {
		before--
		return before < 0 && r.Rule == "unlisted"
	})
}

// only judges a text that a call amounts to, and takes over what some stages say.
func (j *judge) only(i int, text string, stages ...Stage) {
	before := len(j.reasons)
	j.runsLine(i, text)
	j.reasons = slices.DeleteFunc(j.reasons, func(r Reason) bool {
		before--
		return before < 0 && !slices.Contains(stages, r.Stage)
	})
}

func isSystem(file string) bool { return path.IsAbs(file) && system(path.Clean(file)) }
