package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
	"gatehouse/gate/shell"
	"gatehouse/internal/spelling"
)

// systemPath is where programs are looked for if nobody says where.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// binaries checks that the program of each call is on this machine and is the one that its entry means.
func (j *judge) binaries() {
	for i := range j.calls {
		c := &j.calls[i]
		if c.Meta.Remote || !runsProgram(c) {
			continue
		}
		entry := j.covers[i].Entry
		particular := entry != nil && (entry.Trust || entry.SHA256 != "")
		if !particular && (j.p.CheckFlags == policy.Off || c.Meta.Sourced) {
			continue
		}
		file, known := j.program(i)
		switch {
		case !known && particular:
			j.add(Reason{Stage: StageBinary, Call: i, Rule: entry.Text, At: entry.At,
				Text: fmt.Sprintf("which file %s is depends on what the line does to PATH or the directory", c.Argv[0])})
		case !known:
		case looksItself(c.Meta.Wrapper):
			if particular {
				j.add(Reason{Stage: StageBinary, Call: i, Rule: entry.Text, At: entry.At,
					Text: fmt.Sprintf("%s looks for %s in places of its own, and the entry wants a file that is known", c.Meta.Wrapper, c.Argv[0])})
			}
		case file == "" && (strings.Contains(c.Argv[0], "/") && j.madeBefore(i, c.Argv[0])):
			if particular {
				j.add(Reason{Stage: StageBinary, Call: i, Rule: entry.Text, At: entry.At,
					Text: fmt.Sprintf("%s is made by this very line, and the entry wants a file that is known", c.Argv[0])})
			}
		case file == "":
			j.add(j.noProgram(i, c.Argv[0]))
		case particular:
			if why := j.particular(file, entry); why != "" {
				j.add(Reason{Stage: StageBinary, Call: i, Rule: entry.Text, At: entry.At, Text: why})
			}
		}
	}
}

// looksItself reports whether a wrapper finds what it runs in places that are its own business: the modules of Python, the
// environment of a project, its node_modules.
func looksItself(wrapper string) bool {
	switch wrapper {
	case "python -m", "poetry", "uv", "uvx", "npx", "bunx", "pnpm", "npm", "bundle", "conda", "direnv":
		return true
	}
	return false
}

// runsProgram reports whether bash runs a program for the call, rather than doing it itself.
func runsProgram(c *call.Call) bool {
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		return true
	}
	return !builtin(name) || c.Meta.Wrapper != "" && c.Meta.Operator == "wrap" && outside(c.Meta.Wrapper)
}

// outside reports whether a wrapper runs a program and never a builtin of the shell.
func outside(wrapper string) bool {
	switch wrapper {
	case "env", "timeout", "nice", "nohup", "xargs", "find", "sudo", "setsid", "stdbuf", "ionice", "chrt", "taskset":
		return true
	}
	return false
}

// builtin reports whether bash has a command of this name itself.
func builtin(name string) bool {
	switch name {
	case ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete", "compopt",
		"continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg",
		"getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd",
		"pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "time", "times",
		"trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait", "redirect", "[[":
		return true
	}
	return false
}

// program returns the file that a call runs, "" if there is none; known is false where that cannot be told.
func (j *judge) program(i int) (file string, known bool) {
	c := &j.calls[i]
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			dir := &j.commands[i].Dir
			if !dir.Exact() {
				return "", false
			}
			name = dir.Path + "/" + name
		}
		name = path.Clean(name)
		if !j.executable(name) {
			return "", true
		}
		return name, true
	}
	list, known := j.pathOf(&j.commands[i])
	if !known {
		return "", false
	}
	return j.find(name, list), true
}

// pathOf is the PATH that a command is looked for in.
func (j *judge) pathOf(c *shell.Command) (list string, known bool) {
	for i := len(c.Env) - 1; i >= 0; i-- {
		a := &c.Env[i]
		switch {
		case a.Name == "*":
			return systemPath, true
		case a.Name != "PATH":
		case a.Unset:
			return systemPath, true
		default:
			return a.Value.Text, !a.Append && a.Value.State == shell.Exact
		}
	}
	if j.r.Env != nil {
		if list, ok := j.r.Env("PATH"); ok {
			return list, true
		}
	}
	return systemPath, true
}

// findAnywhere is find for the PATH of the request.
func (j *judge) findAnywhere(name string) string {
	list, _ := j.pathOf(&shell.Command{})
	return j.find(name, list)
}

// find returns the first program of that name in a list of directories.
func (j *judge) find(name, list string) string {
	key := name + "\x00" + list
	if file, ok := j.found[key]; ok {
		return file
	}
	file := ""
	for dir := range strings.SplitSeq(list, ":") {
		if dir == "" || dir[0] != '/' {
			dir = path.Join(j.cwd, dir)
		}
		if p := path.Join(dir, name); j.executable(p) {
			file = p
			break
		}
	}
	if j.found == nil {
		j.found = make(map[string]string)
	}
	j.found[key] = file
	return file
}

func (j *judge) executable(p string) bool {
	s := j.view.at(p)
	return s.runs && !s.lost
}

// particular says why a file is not the one that an entry wants, "" if it is.
func (j *judge) particular(file string, e *policy.Entry) string {
	if e.Trust {
		if who := j.loose(file); who != "" {
			return fmt.Sprintf("%s is not root's alone: %s can be written by others", file, who)
		}
	}
	if e.SHA256 != "" {
		sum, err := digest(file)
		if err != nil {
			return fmt.Sprintf("%s cannot be compared with the entry's digest: %v", file, err)
		}
		if sum != e.SHA256 {
			return fmt.Sprintf("%s is another build than the entry names: its sha256 is %s", file, sum)
		}
	}
	return ""
}

// loose returns what on the way to a file others than root can write: the file, a directory above it, or those of the
// file that it leads to.
func (j *judge) loose(file string) string {
	real := j.view.at(file).real
	for _, p := range []string{file, real} {
		for {
			info, err := j.view.disk.Lstat(p)
			if err != nil {
				return p
			}
			st, ok := info.Sys().(*syscall.Stat_t)
			if !ok || st.Uid != 0 || info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0 {
				return p
			}
			if p == "/" {
				break
			}
			p = path.Dir(p)
		}
	}
	return ""
}

func digest(file string) (string, error) {
	f, err := openRegular(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// noProgram says that the program of the call i is not there, and what was likely meant.
func (j *judge) noProgram(i int, name string) Reason {
	r := Reason{Stage: StageBinary, Call: i, Text: name + " is not on PATH", Hint: "a person would have to install it, or add its directory to PATH"}
	if !strings.Contains(name, "/") {
		if other := j.otherProgram(name); other != "" {
			r.Hint = "did you mean " + other + "?"
		}
		return r
	}
	file := name
	if dir := &j.commands[i].Dir; file[0] != '/' && dir.Exact() {
		file = path.Join(dir.Path, file)
	}
	s := j.view.at(path.Clean(file))
	switch {
	case path.Clean(file) == "/dev/null": // as core.hooksPath
		r.Text, r.Hint = name+" is no program", "where it stands for hooks it switches them off, which is for a person to do"
	case s.exists && !s.dir:
		r.Text, r.Hint = name+" is not executable", "chmod +x makes it so"
	default:
		r.Text, r.Hint = "there is no program "+name, "look with ls what is there"
	}
	return r
}

// otherProgram names a program that is there and was likely meant: Python by its other name, or one of the policy's.
func (j *judge) otherProgram(name string) string {
	for _, other := range []string{name + "3", strings.TrimSuffix(name, "3")} {
		if other != name && j.findAnywhere(other) != "" {
			return other
		}
	}
	for n := range j.p.Allow {
		other, _, _ := strings.Cut(j.p.Allow[n].Text, " ")
		if typo(name, other) && j.findAnywhere(other) != "" {
			return other
		}
	}
	return ""
}

// typo reports whether a name is likely another one with letters in another order, or with one letter wrong.
func typo(name, other string) bool {
	if name == other || len(name) < 3 || len(other) < 3 {
		return false
	}
	a, b := []byte(name), []byte(other)
	slices.Sort(a)
	slices.Sort(b)
	return string(a) == string(b) || min(len(name), len(other)) > 4 && spelling.Distance(name, other, 2) < 2
}
