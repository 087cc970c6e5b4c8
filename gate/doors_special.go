package gate

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

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
