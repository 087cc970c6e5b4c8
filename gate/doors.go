package gate

import (
	"fmt"
	"os"
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
			j.unplaced(i, &call.Effect{Kind: call.Write})
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

// special holds the doors that have a shape of their own.
func (j *judge) special(i int, name string) {
	c := &j.calls[i]
	switch name {
	case "make", "gmake":
		j.makefile(i)
	case "socat":
		j.socat(i)
	case "fzf":
		for _, g := range options(c, "--bind") {
			for _, verb := range []string{"execute", "become", "reload", "transform", "preview"} {
				if strings.Contains(g.value, verb) {
					j.vague(i, "a key that is bound to "+verb+" runs a program")
					break
				}
			}
		}
	case "cargo":
		for _, g := range options(c, "--config") {
			key, _, ok := strings.Cut(g.value, "=")
			if !ok || strings.ContainsAny(key, "/\\") || containsAny(key, "wrapper", "runner", "linker", "rustc", "rustdoc", "credential", "alias", "env", "include", "source", "ar") {
				j.vague(i, fmt.Sprintf("the setting %q can make cargo run any program", g.value))
			}
		}
	case "hg":
		for _, g := range options(c, "--config") {
			j.vague(i, fmt.Sprintf("the setting %q can make hg run any program", g.value))
		}
		for _, option := range []string{"-R", "--repository", "--repo", "--cwd"} {
			for _, g := range options(c, option) {
				if s := j.view.follow(j.commands[i].Dir.Path, g.value); s.real != j.ground.place.Project && j.view.at(s.real+"/.hg/hgrc").exists {
					j.vague(i, g.value+" is not the project's own repository, and its hgrc can name programs")
				}
			}
		}
	case "svn":
		for _, g := range options(c, "--config-option") {
			if containsAny(g.value, "cmd", "tunnels", "helpers", "editor") {
				j.vague(i, fmt.Sprintf("the setting %q names a program that svn runs", g.value))
			}
		}
	case "apt", "apt-get", "aptitude":
		for _, option := range []string{"-o", "--option"} {
			for _, g := range options(c, option) {
				if containsAny(strings.ToLower(g.value), "invoke", "dpkg", "dir::", "pre-install", "command", "bin::", "solver", "proxy-auto") {
					j.vague(i, fmt.Sprintf("the setting %q can make apt run any program", g.value))
				}
			}
		}
	case "rpm", "rpmbuild", "rpmspec":
		for _, w := range c.Argv[1:] {
			if strings.Contains(w, "%(") || strings.Contains(w, "%{lua") {
				j.vague(i, "a macro of rpm runs what stands in it")
			}
		}
	case "gs", "ghostscript", "gsx":
		for _, w := range c.Argv[1:] {
			if strings.Contains(w, "%pipe%") || w == "-dNOSAFER" || strings.HasPrefix(w, "-dDELAYSAFER") {
				j.vague(i, w+" lets Ghostscript run programs")
			}
		}
	case "convert", "magick", "mogrify", "montage", "identify", "composite":
		for _, w := range c.Argv[1:] {
			format, file, ok := strings.Cut(w, ":")
			file = strings.TrimPrefix(file, "@")
			switch {
			case !ok || file == "" || strings.Contains(format, "/"):
			case format == "msl" || format == "ephemeral" || format == "mvg" || format == "url" || format == "vid":
				j.vague(i, format+": takes instructions from a file, or deletes it")
			default:
				j.reads(i, file)
			}
		}
	case "ffmpeg", "ffprobe":
		if slices.Contains(c.Argv, "concat") || slices.ContainsFunc(c.Argv, func(w string) bool { return strings.HasPrefix(w, "concat:") }) {
			j.unplaced(i, &call.Effect{Kind: call.Read})
		}
		for _, w := range c.Argv[1:] {
			if at := strings.LastIndexByte(w, ':'); at > 0 {
				j.reads(i, w[at+1:]) // subfile,,start,0,,:FILE
			}
		}
	case "http", "https", "xh", "xhs":
		for _, w := range operands(c) {
			if _, file, ok := strings.Cut(w, "@"); ok {
				file, _, _ = strings.Cut(file, ";")
				j.reads(i, file) // FIELD@FILE, FIELD=@FILE, @FILE
			}
		}
	case "exiftool":
		for _, w := range c.Argv[1:] {
			if _, file, ok := strings.Cut(w, "<="); ok {
				j.reads(i, file)
			}
		}
	case "yq", "jq":
		for _, w := range c.Argv[1:] {
			j.included(i, w)
		}
	case "gh":
		if len(c.Argv) > 3 && c.Argv[1] == "alias" && c.Argv[2] == "set" && (slices.ContainsFunc(c.Argv, func(w string) bool { return strings.HasPrefix(w, "!") }) || hasOption(c, "-s") || hasOption(c, "--shell")) {
			j.vague(i, "this alias is a program that gh runs later")
		}
		if len(c.Argv) > 4 && c.Argv[1] == "config" && c.Argv[2] == "set" && !tame(c.Argv[3], c.Argv[4]) && containsAny(c.Argv[3], "pager", "editor", "browser") {
			j.vague(i, fmt.Sprintf("%s names a program that gh then runs", c.Argv[3]))
		}
	case "npm", "pnpm":
		if n := slices.Index(c.Argv, "config"); n > 0 || slices.Contains(c.Argv, "set") {
			for _, w := range c.Argv[1:] {
				if key, _, _ := strings.Cut(w, "="); containsAny(key, "script-shell", "node-options") || key == "shell" || key == "editor" || key == "git" || key == "viewer" {
					j.vague(i, fmt.Sprintf("%s names a program that npm then runs", key))
				}
			}
		}
		if n := slices.Index(c.Argv, "--"); n > 0 && slices.Contains(c.Argv[:n], "explore") && n+1 < len(c.Argv) {
			j.runsLine(i, quoted(c.Argv[n+1:]))
		}
	case "go":
		if len(c.Argv) > 2 && c.Argv[1] == "env" && slices.Contains(c.Argv, "-w") {
			j.vague(i, "go env -w keeps a setting for every later call, and settings can name programs")
		}
	case "cmake":
		j.cmake(i)
	case "podman", "nerdctl":
		j.only(i, quoted(append([]string{"docker"}, c.Argv[1:]...)), StagePaths, StageProtect)
	case "psql":
		for _, option := range []string{"-o", "--output", "-L", "--log-file"} {
			for _, g := range options(c, option) {
				if command, ok := strings.CutPrefix(g.value, "|"); ok {
					j.runsLine(i, command)
				}
			}
		}
	case "vim", "vi", "ex", "view", "nvim":
		for _, w := range c.Argv[1:] {
			if file, ok := strings.CutPrefix(w, "-V"); ok && strings.TrimLeft(file, "0123456789") != "" {
				j.puts(i, strings.TrimLeft(file, "0123456789"))
			}
		}
	case "rename", "prename", "file-rename":
		for _, w := range c.Argv[1:] {
			if containsAny(w, "system", "exec", "`", "qx", "open", "unlink", "eval") && strings.ContainsAny(w, "(`{\"'") {
				j.vague(i, "the expression of "+name+" can run programs")
			}
		}
	case "capsh":
		if n := slices.Index(c.Argv, "--"); n > 0 {
			j.runsLine(i, "bash "+quoted(c.Argv[n+1:]))
		}
	case "ansible":
		if slices.ContainsFunc(c.Argv, func(w string) bool { return w == "localhost" || w == "127.0.0.1" || w == "local" }) {
			for _, g := range options(c, "-a") {
				j.runsLine(i, g.value)
			}
		}
	case "nmap":
		for _, g := range options(c, "--script") {
			if strings.ContainsAny(g.value, "/.") {
				j.loads(i, "--script", g.value)
			}
		}
	case "parallel":
		for _, option := range []string{"-S", "--sshlogin"} {
			for _, g := range options(c, option) {
				if strings.ContainsAny(g.value, " /") {
					j.vague(i, "parallel runs this to reach a host")
				}
			}
		}
	case "php":
		for _, g := range options(c, "-d") {
			if key, file, ok := strings.Cut(g.value, "="); ok && containsAny(key, "file", "path", "dir", "extension", "sendmail") {
				j.reads(i, file)
				j.vague(i, fmt.Sprintf("the setting %s makes PHP load files or run programs", key))
			}
		}
	case "ssh", "slogin", "autossh", "scp", "sftp", "rsync":
		if slices.ContainsFunc(operands(c)[:min(1, len(operands(c)))], thisMachine) || (name == "scp" || name == "rsync") && slices.ContainsFunc(operands(c), thisMachine) {
			j.vague(i, name+" leads to this very machine, where nobody would judge the paths")
		}
		for _, g := range options(c, "-o") {
			if strings.HasPrefix(strings.ToLower(g.value), "xauthlocation") {
				j.vague(i, "XAuthLocation names a program that ssh runs")
			}
		}
		if name == "rsync" && hasOption(c, "--daemon") {
			j.vague(i, "what a daemon of rsync serves and runs is in its configuration")
		}
	}
	if strings.HasPrefix(name, "ansible") {
		for _, option := range []string{"--vault-password-file", "--vault-id"} {
			for _, g := range options(c, option) {
				if s := j.view.follow(j.commands[i].Dir.Path, g.value[strings.LastIndexByte(g.value, '@')+1:]); j.executable(s.real) {
					j.vague(i, g.value+" is a program, and ansible runs it")
				}
			}
		}
	}
}

// thisMachine reports whether an address, [USER@]HOST with or without a path, names the machine that the gate runs on.
func thisMachine(address string) bool {
	if _, after, ok := strings.Cut(address, "://"); ok {
		address, _, _ = strings.Cut(after, "/")
	}
	host := address[strings.IndexByte(address, '@')+1:]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _, _ = strings.Cut(inner, "]")
	} else if strings.Count(host, ":") == 1 || strings.Contains(host, "::") && !strings.HasPrefix(host, "::") {
		host, _, _ = strings.Cut(host, ":")
	}
	own, err := os.Hostname()
	switch host = strings.ToLower(host); host {
	case "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "0.0.0.0", "::1", "::":
		return true
	}
	return strings.HasPrefix(host, "127.") || err == nil && host != "" && host == strings.ToLower(own)
}

// included judges the files that a program of yq or jq takes in: load("FILE"), import "FILE" as $x.
func (j *judge) included(i int, program string) {
	for _, verb := range []string{"load", "import", "include"} {
		for rest := program; ; {
			_, after, ok := strings.Cut(rest, verb)
			if !ok {
				break
			}
			rest = after
			if _, name, ok := strings.Cut(rest, `"`); ok {
				name, _, _ = strings.Cut(name, `"`)
				for _, end := range []string{"", ".jq", ".json"} {
					j.reads(i, name+end)
				}
			}
		}
	}
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// makefile objects to recipes that come from the line: whoever allows make trusts the makefile of the project.
func (j *judge) makefile(i int) {
	c := &j.calls[i]
	dir := j.commands[i].Dir.Path
	var files []string
	for _, option := range []string{"-C", "--directory"} {
		for _, g := range options(c, option) {
			dir = j.view.follow(dir, g.value).real
		}
	}
	for _, option := range []string{"-f", "--file", "--makefile"} {
		for _, g := range options(c, option) {
			if g.value == "-" || g.value == "/dev/stdin" || strings.HasPrefix(g.value, "<(") {
				j.vague(i, "the recipes that make runs come from the line")
				return
			}
			files = append(files, g.value)
		}
	}
	if files == nil {
		files = []string{"Makefile", "makefile", "GNUmakefile"}
	}
	for _, f := range files {
		if !path.IsAbs(f) {
			f = path.Join(dir, f)
		}
		if j.writtenBefore(i, path.Clean(f)) && dir != "" {
			j.vague(i, "the line itself writes the recipes that make runs")
			return
		}
	}
	for _, w := range c.Argv[1:] {
		name, value, ok := strings.Cut(w, "=")
		if ok && value != "" && toolVariable(strings.TrimRight(name, ":?+")) {
			j.lenient(i, value, true)
		}
		if ok && (strings.Contains(value, "$(shell") || strings.Contains(value, "${shell") || strings.HasSuffix(name, "!")) {
			j.vague(i, "make runs what the variable "+name+" says")
		}
	}
}

// toolVariable reports whether recipes run what a variable of make says by custom.
func toolVariable(name string) bool {
	switch name {
	case "CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "FC", "LEX", "YACC", "RM", "INSTALL", "PYTHON", "PYTHON3", "GO", "CARGO", "NODE", "NPM", "PIP",
		"RUSTC", "JAVAC", "GCC", "CLANG", "BASH", "SUDO", "DOCKER", "PAGER", "EDITOR":
		return true
	}
	return false
}

// socat judges its addresses: TYPE:what,options.
func (j *judge) socat(i int) {
	for _, w := range j.calls[i].Argv[1:] {
		for address := range strings.SplitSeq(w, "!!") {
			kind, rest, ok := strings.Cut(address, ":")
			if !ok {
				continue
			}
			what, _, _ := strings.Cut(rest, ",")
			switch kind = strings.ToUpper(kind); kind {
			case "EXEC", "SYSTEM", "SHELL":
				j.runsLine(i, what)
			case "FILE", "OPEN", "GOPEN", "CREATE", "CREAT", "PIPE", "FIFO":
				j.reads(i, what)
				if p := j.view.follow(j.commands[i].Dir.Path, what).real; kind[0] == 'C' || strings.Contains(rest, "creat") || strings.Contains(rest, "wronly") || strings.Contains(rest, "append") {
					j.at(i, &call.Effect{Kind: call.Write, Path: p, Sure: call.Sure}, p)
				}
			}
		}
	}
}

// cmake judges the commands of its own tool, and the programs that a definition names.
func (j *judge) cmake(i int) {
	c := &j.calls[i]
	if len(c.Argv) > 3 && c.Argv[1] == "-E" {
		rest := c.Argv[3:]
		switch c.Argv[2] {
		case "env":
			j.runsLine(i, "env "+quoted(rest))
		case "time":
			j.runsLine(i, quoted(rest))
		case "chdir":
			if len(rest) > 1 {
				j.runsLine(i, "env -C "+quoted(rest))
			}
		case "tar":
			if strings.Contains(rest[0], "x") {
				j.unplaced(i, &call.Effect{Kind: call.Write})
			}
		}
		return
	}
	for _, g := range options(c, "-D") {
		name, value, ok := strings.Cut(g.value, "=")
		name, _, _ = strings.Cut(name, ":")
		if ok && value != "" && containsAny(name, "COMPILER", "LAUNCHER", "_COMMAND", "_EXECUTABLE", "_PROGRAM", "LINKER", "RULE_LAUNCH") && !strings.HasPrefix(value, "-") {
			j.lenient(i, strings.ReplaceAll(value, ";", " "), true)
		}
	}
}
