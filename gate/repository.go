package gate

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// repositories judges which repository each call of git works on. The configuration of a repository names programs that
// git runs, and so do its hooks; who allows git status trusts the repository of the project, not one that lies around in
// it. So the project's own passes; any other, nested or named by an option, passes if neither its configuration nor its
// hooks name a program, and is a value of run time if they do, if the line makes it, or if it cannot be read.
func (j *judge) repositories() {
	for i := range j.calls {
		c := &j.calls[i]
		if c.Meta.Remote || !gitCall(c) {
			continue
		}
		if j.over(4) {
			return
		}
		j.settings(i)
		dir, known := j.gitDir(i)
		if !known {
			j.dynamic(Reason{Call: i, Text: fmt.Sprintf("which repository %s works on is known only at run time", j.name(i)), Hint: "write the directory out"})
			continue
		}
		if repo := j.repository(i, dir); repo != "" && repo != j.ownRepository() {
			j.mayRun(i, repo)
		}
		for n := range c.Form.Parts {
			part := &c.Form.Parts[n]
			switch {
			case part.Role == call.Flag && (part.Flag == "--git-dir" || part.Flag == "--work-tree"):
				j.elsewhere(i, part, dir)
			case part.Role == call.Operand && other(c) && part.Value != "" && !part.Dynamic:
				j.transport(i, part.Value, dir)
			}
		}
	}
}

func gitCall(c *call.Call) bool {
	return c.Form != nil && len(c.Form.Path) > 0 && c.Form.Path[0] == "git"
}

// gitDir is the directory in which git looks for its repository.
func (j *judge) gitDir(i int) (dir string, known bool) {
	d := &j.commands[i].Dir
	if d.Path == "" || d.Path[0] != '/' {
		return "", false
	}
	dir = d.Path
	c := &j.calls[i]
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		if part.Role != call.Flag || part.Flag != "-C" || part.Value == "" {
			continue
		}
		if part.Dynamic {
			return "", false
		}
		if dir = path.Join(dir, part.Value); path.IsAbs(part.Value) {
			dir = path.Clean(part.Value)
		}
	}
	return j.view.at(dir).real, true
}

// repository finds the one that git takes in a directory: the nearest above it, as a .git or as a directory that is itself
// laid out like one. "" if there is none.
func (j *judge) repository(i int, dir string) string {
	top := j.view.at(j.ground.place.Project).real
	for {
		p := path.Join(dir, ".git")
		if dir == top && j.view.at(p).dir && j.ownRepository() != "" && !j.view.at(path.Join(dir, "HEAD")).exists {
			return j.ownRepository() // as is likely; whether git takes it for one makes no difference
		}
		if repo := j.gitFile(p); repo != "" {
			return repo
		}
		if !j.view.at(p).exists && j.bringsAbout(i, p) {
			return p
		}
		if j.laidOut(dir) || j.willBeLaidOut(i, dir) {
			return dir
		}
		if dir == "/" {
			return ""
		}
		dir = path.Dir(dir)
	}
}

// gitFile is the repository that a .git is or leads to.
func (j *judge) gitFile(p string) string {
	s := j.view.at(p)
	switch {
	case s.lost || !s.exists:
		return ""
	case s.dir:
		if j.laidOut(s.real) {
			return s.real
		}
		return ""
	}
	data, err := readRegular(s.real, maxGitFile)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
	if err != nil || !ok {
		return ""
	}
	return j.common(j.view.follow(path.Dir(s.real), strings.TrimSpace(to)).real)
}

// common is the repository that a work tree of its own belongs to: where its configuration and hooks are.
func (j *judge) common(repo string) string {
	data, err := readRegular(path.Join(repo, "commondir"), maxGitFile)
	if to := strings.TrimSpace(string(data)); err == nil && to != "" {
		return j.view.follow(repo, to).real
	}
	return repo
}

const maxGitFile = 8 << 10

// laidOut reports whether git takes a directory for a repository.
func (j *judge) laidOut(dir string) bool {
	for _, name := range layout {
		if !j.view.at(path.Join(dir, name)).exists {
			return false
		}
	}
	return true
}

var layout = [...]string{"HEAD", "objects", "refs"}

// willBeLaidOut reports whether a directory may be a repository by what the line does before the call i.
func (j *judge) willBeLaidOut(i int, dir string) bool {
	for _, name := range layout {
		if p := path.Join(dir, name); !j.view.at(p).exists && !j.bringsAbout(i, p) {
			return false
		}
	}
	return true
}

// bringsAbout reports whether a call before the call i may make a path, by other means than git's: what git clones or begins
// has a configuration that git wrote.
func (j *judge) bringsAbout(i int, p string) bool {
	j.view.budget.spend(i / 2)
	for n := range i {
		c := &j.calls[n]
		if c.Meta.Remote || gitCall(c) {
			continue
		}
		for k := range c.Effects {
			e := &c.Effects[k]
			if e.Kind == call.Write && !e.Remote && e.Path != "" && (e.Path == p || below(e.Path, p) || (e.Tree || c.Name == "mv" || c.Name == "cp" || c.Name == "ln") && below(p, e.Path)) {
				return true
			}
		}
	}
	return false
}

// ownRepository is that of the project; "" if it has none. A project that lies in another one's work tree has none of its
// own: whoever works in the latter can have made it.
func (j *judge) ownRepository() string {
	if j.ownRepo == nil {
		own := path.Join(j.ground.place.Project, ".git")
		if s := j.view.at(own); s.dir {
			own = s.real
		} else {
			own = j.gitFile(own)
		}
		for dir := path.Dir(j.ground.place.Project); own != "" && dir != "/" && dir != j.g.home && below(dir, j.g.home); dir = path.Dir(dir) {
			if j.view.at(path.Join(dir, ".git")).exists && j.gitFile(path.Join(dir, ".git")) != own {
				own = ""
			}
		}
		j.ownRepo = &own
	}
	return *j.ownRepo
}

// mayRun objects to a repository that can make git run a program.
func (j *judge) mayRun(i int, repo string) {
	why := ""
	if own := j.ownRepository(); own != "" && below(repo, own+"/modules") {
		why = j.namesProgram(repo, true) // of a submodule
	} else {
		why = j.namesProgram(repo, false)
	}
	if j.madeByLine(i, repo) {
		why = "the line itself makes it"
	}
	if why != "" {
		j.dynamic(Reason{Call: i, Rule: "git-repository", Text: fmt.Sprintf("%s is not the project's own repository, and %s, so that git may run any program there", j.show(repo), why),
			Hint: "a person can look at it and run this"})
	}
}

// madeByLine reports whether a call before the call i writes into a repository by other means than git's.
func (j *judge) madeByLine(i int, repo string) bool {
	for n := range i {
		c := &j.calls[n]
		if gitCall(c) || c.Meta.Remote || c.Name == "mkdir" || c.Name == "rm" {
			continue
		}
		for k := range c.Effects {
			e := &c.Effects[k]
			if !writes(e.Kind) || e.Kind == call.Delete || e.Remote || e.Sure == call.Unknown {
				continue
			}
			at := j.view.at(path.Clean("/" + e.Path)).real
			if (c.Name == "mv" || c.Name == "cp" || c.Name == "ln") && below(repo, at) && !j.view.at(repo).exists {
				return true
			}
			if within(at, repo) && !benign(behind(at, repo)) || e.Tree && within(repo, at) || !j.view.at(at).exists && within(repo, at) {
				return true
			}
		}
	}
	return false
}

// benign reports whether a file of a repository is one that git takes no instructions from.
func benign(rel string) bool {
	return strings.HasPrefix(rel, "info/") || strings.HasSuffix(rel, "_EDITMSG") || strings.HasSuffix(rel, "_MSG")
}

// namesProgram says how a repository makes git run a program, "" if it does not.
func (j *judge) namesProgram(repo string, submodule bool) string {
	for _, name := range []string{"config", "config.worktree"} {
		file := path.Join(repo, name)
		s := j.view.at(file)
		if !s.exists {
			continue
		}
		data, err := readRegular(s.real, maxConfig+1)
		if err != nil || len(data) > maxConfig || s.lost {
			return "its " + name + " cannot be read"
		}
		if key := runningKey(string(data), submodule); key != "" {
			return fmt.Sprintf("its %s sets %s", name, key)
		}
	}
	names, more, err := j.view.disk.List(path.Join(repo, "hooks"), 200)
	if more {
		return "it has many hooks"
	}
	if err != nil {
		return ""
	}
	for _, n := range names {
		if strings.HasSuffix(n.Name(), ".sample") {
			continue
		}
		if info, err := n.Info(); err == nil && (info.Mode()&fs.ModeSymlink != 0 || info.Mode().Perm()&0o111 != 0 && !info.IsDir()) {
			return "it has the hook " + n.Name()
		}
	}
	return ""
}

const maxConfig = 256 << 10

// runningKey returns a setting of a configuration file of git that can make git run a program or work on files elsewhere;
// "" if there is none. What it does not understand it returns as well.
func runningKey(text string, submodule bool) string {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for strings.HasPrefix(line, "[") {
			head, rest, ok := strings.Cut(line[1:], "]")
			if strings.Count(head, `"`)%2 == 1 {
				return "a section that is not understood"
			}
			if !ok {
				return "a section that is not understood"
			}
			name, sub, _ := strings.Cut(head, " ")
			section = strings.ToLower(strings.TrimSpace(name))
			if sub = strings.Trim(strings.TrimSpace(sub), `"`); sub != "" {
				section += "." + sub
			}
			line = strings.TrimSpace(rest)
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if strings.HasSuffix(line, `\`) {
			return section + "." + key + " over several lines"
		}
		name := section + "." + key
		if name == "core.worktree" && submodule {
			continue
		}
		if shell.GitRuns(name, strings.Trim(strings.TrimSpace(value), `"`)) || strings.HasPrefix(section, "alias") || name == "core.worktree" {
			return name
		}
	}
	return ""
}

// elsewhere judges a repository or a work tree that an option names.
func (j *judge) elsewhere(i int, part *call.Part, dir string) {
	if part.Dynamic {
		j.dynamic(Reason{Call: i, Text: fmt.Sprintf("which repository %s works on is known only at run time", j.name(i)), Hint: "write the directory out"})
		return
	}
	s := j.view.follow(dir, part.Value)
	if part.Flag == "--git-dir" {
		repo := s.real
		if !s.dir {
			repo = j.gitFile(s.real)
		} else if inner := j.gitFile(path.Join(s.real, ".git")); inner != "" && !j.laidOut(s.real) {
			repo = inner
		}
		if repo = j.common(repo); repo != "" && repo != j.ownRepository() {
			j.mayRun(i, repo)
		}
		return
	}
	if s.real != j.view.at(j.ground.place.Project).real {
		j.dynamic(Reason{Call: i, Rule: "git-repository", Text: fmt.Sprintf("with the work tree %s git reads and writes the files of the repository under other names", j.show(s.real)),
			Hint: "leave --work-tree out"})
	}
}

// other reports whether a call can name another repository by its path.
func other(c *call.Call) bool {
	if len(c.Form.Path) < 2 {
		return false
	}
	switch c.Form.Path[1] {
	case "push", "fetch", "pull", "clone", "ls-remote", "archive", "remote", "submodule", "fetch-pack", "send-pack", "upload-pack", "receive-pack",
		"upload-archive", "config", "bundle":
		return true
	}
	return false
}

// transport judges the repository at the other end of a push or a fetch, where that is a directory: git runs there too.
func (j *judge) transport(i int, address, dir string) {
	if command, is := strings.CutPrefix(address, "ext::"); is {
		if !slices.ContainsFunc(j.calls[i].Effects, func(e call.Effect) bool { return e.Kind == call.Net && e.Text == address }) {
			j.runsLine(i, command)
		}
		return
	}
	address = strings.TrimPrefix(address, "file://")
	if strings.Contains(address, "://") || strings.Contains(strings.SplitN(address, "/", 2)[0], ":") {
		return
	}
	s := j.view.follow(dir, address)
	for _, p := range []string{s.real, s.real + ".git"} {
		repo := j.gitFile(path.Join(p, ".git"))
		if repo == "" && j.laidOut(p) {
			repo = p
		}
		if repo != "" && repo != j.ownRepository() {
			j.mayRun(i, repo)
		}
	}
}

// settings refuses git config where it sets what makes git run a program: that would hold for every later call, of which
// nobody would see it.
func (j *judge) settings(i int) {
	c := &j.calls[i]
	if c.Form.Path[len(c.Form.Path)-1] != "config" && !slices.Contains(c.Form.Path, "config") {
		return
	}
	object := func(what string) {
		j.add(Reason{Stage: StageProtect, Call: i, Rule: ruleGit, Text: what, Hint: "for one call there is git -c; to keep it, a person has to set it"})
	}
	var words []string
	for _, w := range c.Argv[1:] {
		switch w {
		case "-e", "--edit", "edit":
			object("an editor can put anything into the configuration of git, also programs that it runs")
			return
		case "--rename-section", "rename-section":
			object("a renamed section of git's configuration can become one that names programs")
			return
		case "--unset", "--unset-all", "unset", "--get", "--get-all", "--get-regexp", "get", "-l", "--list", "list", "--remove-section", "remove-section":
			return
		}
	}
	operands := 0
	for n := range c.Form.Parts {
		if part := &c.Form.Parts[n]; part.Role == call.Operand {
			if operands++; part.Dynamic && operands == 1 {
				object("which setting of git this writes is known only at run time")
				return
			}
			words = append(words, part.Value)
		}
	}
	if len(words) < 2 {
		return
	}
	if words[0] == "set" {
		words = words[1:]
	}
	name, value := strings.ToLower(words[0]), ""
	if len(words) > 1 {
		value = words[1]
	}
	switch command, shell := strings.CutPrefix(value, "!"); {
	case strings.HasPrefix(name, "alias.") && shell:
		object("an alias that begins with ! is a program that git runs (" + command + ")")
	case strings.HasPrefix(name, "alias."):
		j.runsLine(i, "git "+value)
	case tame(name, value):
	case gitRuns(name, value), name == "core.worktree":
		object(fmt.Sprintf("%s names a program that git then runs, or where it looks for one", words[0]))
	}
}

func gitRuns(name, value string) bool { return shell.GitRuns(name, value) }

// tame reports whether a program is the pager or the editor that people have anyway, and nothing else.
func tame(name, value string) bool {
	if !strings.HasSuffix(name, "pager") && !strings.HasSuffix(name, "editor") && !strings.HasPrefix(name, "pager.") {
		return false
	}
	switch value {
	case "", "cat", "less", "more", "true", "false", "vi", "vim", "nano", "emacs", ":":
		return true
	}
	return false
}

// instructs reports whether git takes instructions from the file at a path that is written: the configuration and the
// hooks of a repository, or what tells where these are.
func (j *judge) instructs(p string) bool {
	if base := path.Base(p); base == ".gitconfig" && path.Dir(p) == j.g.home || strings.HasSuffix(p, "/.config/git/config") {
		return true
	}
	at := strings.LastIndex(p+"/", "/.git/")
	if at < 0 {
		return j.bare(p)
	}
	rest := strings.TrimPrefix(p[min(len(p), at+len("/.git")):], "/")
	if rest == "" {
		return true
	}
	first, _, _ := strings.Cut(rest, "/")
	switch first {
	case "config", "config.worktree", "hooks", "commondir", "gitdir":
		return true
	case "modules", "worktrees":
		base := path.Base(rest)
		return base == "config" || base == "config.worktree" || strings.Contains(rest, "/hooks") || base == "commondir" || base == "gitdir"
	}
	return false
}

// bare reports whether a path is such a file in a directory that is laid out like a repository.
func (j *judge) bare(p string) bool {
	dir := path.Dir(p)
	switch path.Base(p) {
	case "config", "config.worktree", "commondir":
	case "HEAD", "objects", "refs":
		return j.view.at(dir+"/config").exists && others(j, dir, path.Base(p))
	default:
		if at := strings.LastIndex(p, "/hooks/"); at > 0 {
			dir = p[:at]
			break
		}
		return false
	}
	return j.laidOut(dir)
}

// others reports whether but for one name a directory is laid out like a repository.
func others(j *judge, dir, name string) bool {
	for _, n := range layout {
		if n != name && !j.view.at(dir+"/"+n).exists {
			return false
		}
	}
	return true
}
