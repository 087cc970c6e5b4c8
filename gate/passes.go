package gate

import (
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
)

// passesOver says what a call passes over on its way through a tree.
func (j *judge) passesOver(i int, e *call.Effect) passes {
	c := &j.calls[i]
	over := passes{}
	switch c.Name {
	case "find":
		over = findPasses(c)
	case "rg", "fd", "fdfind", "ag":
		over = searchPasses(c)
	case "grep", "egrep", "fgrep", "zgrep":
		over = grepPasses(c)
	case "tar", "rsync":
		over = copyPasses(c)
	default:
		if own := extensions(c); own != "" {
			over = passes{dir: hooks, file: func(p string) bool { return !strings.Contains(own, path.Ext(p)+" ") || path.Ext(p) == "" }}
		} else if gitCall(c) {
			over = j.gitPasses(c)
		} else if e.Kind == call.Read {
			over.dir = hooks
		}
	}
	if over.links == linksLead {
		over.links = linksOf(c, e)
	}
	return over
}

// linksOf says what a call does with the links that it meets in a tree.
func linksOf(c *call.Call, e *call.Effect) links {
	follows := func(names ...string) links {
		if flagged(c, names...) {
			return linksFollowed
		}
		return linksStay
	}
	switch c.Name {
	case "grep", "egrep", "fgrep", "zgrep":
		if hasOption(c, "-R") || hasOption(c, "--dereference-recursive") {
			return linksFollowed // the spec takes it for -r
		}
		return linksStay
	case "rg", "ag":
		return follows("-L", "--follow", "-f")
	case "tar":
		return follows("-h", "--dereference")
	case "cp":
		return follows("-L", "--dereference")
	case "rsync":
		return follows("-L", "--copy-links", "-k", "--copy-dirlinks", "--copy-unsafe-links")
	case "zip":
		if !flagged(c, "-y", "--symlinks") {
			return linksFollowed
		}
		return linksStay
	case "diff":
		if !flagged(c, "--no-dereference") {
			return linksFollowed
		}
		return linksStay
	case "scp":
		return linksFollowed
	case "mv", "chmod", "chown", "docker_cp":
		return linksStay
	}
	if gitCall(c) || e.Kind == call.Delete {
		return linksStay
	}
	return linksLead
}

// hooks passes over the examples that git puts into each repository: that they are read is no harm.
func hooks(p string) bool { return strings.HasSuffix(p, "/.git/hooks") }

// values lists the values of the options of a call that have one of the names.
func values(c *call.Call, names ...string) (list []string) {
	if c.Form == nil {
		return nil
	}
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		if part.Role != call.Flag || !part.HasValue || part.Dynamic {
			continue
		}
		for _, name := range names {
			if part.Flag == name {
				list = append(list, part.Value)
			}
		}
	}
	return list
}

// named reports whether one of the globs matches the last part of a path. A glob that is not wholly understood matches
// nothing here, since what it matches is passed over.
func named(globs []string, p string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return !strings.ContainsAny(g, "([/") && globMatch(g, path.Base(p), false) })
}

// A choice is a glob that a call is given to leave files out, or to take them in.
type choice struct {
	glob string
	out  bool
}

// choices lists the choices among the options of a call, in their order.
func choices(c *call.Call, in, out []string) (list []choice) {
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		is := part.Role == call.Flag && part.HasValue
		switch {
		case is && goesBy(part, in):
			list = append(list, choice{glob: part.Value})
		case is && goesBy(part, out) && !part.Dynamic:
			list = append(list, choice{part.Value, true})
		}
	}
	return list
}

// matches reports whether a choice is for a file. Where it is not understood, it is only if it takes the file in.
func (c *choice) matches(p string) bool {
	if c.out {
		return named([]string{c.glob}, p)
	}
	return strings.ContainsAny(c.glob, "/{[($`") || globMatch(c.glob, path.Base(p), true)
}

// choose is the last choice that is for a file, which counts for ripgrep and grep; nil if none is.
func choose(list []choice, p string) *choice {
	for n := len(list) - 1; n >= 0; n-- {
		if list[n].matches(p) {
			return &list[n]
		}
	}
	return nil
}

func grepPasses(c *call.Call) passes {
	dirs := values(c, "--exclude-dir")
	for n := range dirs {
		dirs[n] = strings.TrimSuffix(strings.TrimPrefix(dirs[n], "./"), "/")
	}
	list := choices(c, []string{"--include"}, []string{"--exclude"})
	return passes{
		dir: func(p string) bool { return named(dirs, p) || hooks(p) },
		file: func(p string) bool {
			if last := choose(list, p); last != nil {
				return last.out
			}
			return len(list) > 0 && !list[0].out
		},
	}
}

// copyPasses is what tar and rsync leave out: by the first choice that is for a file, unless a filter takes it in.
func copyPasses(c *call.Call) passes {
	if flagged(c, "--include-from", "--filter", "--files-from", "-F", "-f") && c.Name == "rsync" {
		return passes{dir: hooks}
	}
	list := choices(c, []string{"--include"}, []string{"--exclude"})
	out := func(p string, dir bool) bool {
		for _, one := range list {
			if c.Name == "tar" {
				one.glob = strings.TrimPrefix(one.glob, "./")
			}
			glob, dirs := strings.CutSuffix(one.glob, "/")
			if one.glob = glob; dirs && !dir {
				continue
			}
			if one.matches(p) {
				return one.out
			}
		}
		return false
	}
	return passes{dir: func(p string) bool { return out(p, true) || hooks(p) }, file: func(p string) bool { return out(p, false) }}
}

// searchPasses is what ripgrep and its like do not search: hidden files, and what is named to be left out.
func searchPasses(c *call.Call) passes {
	all := false
	for _, w := range c.Argv[1:] {
		switch w {
		case "--hidden", "-.", "--unrestricted", "--no-ignore", "-u", "-uu", "-uuu":
			all = true
		case "-H", "-I":
			all = all || c.Name == "fd" || c.Name == "fdfind"
		case "-a":
			all = all || c.Name == "ag"
		default:
			all = all || len(w) > 2 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "u.")
		}
	}
	list := choices(c, []string{"--glob", "--iglob"}, []string{"--exclude", "--ignore"})
	for n := range list {
		if g, not := strings.CutPrefix(list[n].glob, "!"); not && !list[n].out {
			list[n] = choice{g, true}
		}
	}
	if c.Name == "rg" && flagged(c, "--type-add", "--ignore-file", "--config") {
		all = true // what these take in, ripgrep searches though it is hidden
	}
	takesIn := slices.ContainsFunc(list, func(c choice) bool { return !c.out })
	over := func(p string, unchosen bool) bool {
		if last := choose(list, p); last != nil {
			return last.out // what is taken in by its name is searched though it is hidden
		}
		return unchosen || !all && path.Base(p)[0] == '.'
	}
	return passes{
		dir:  func(p string) bool { return over(p, false) || hooks(p) },
		file: func(p string) bool { return over(p, takesIn) },
	}
}

// findPasses is what find passes over by the -name that stand before what it does, where its tests are all joined by and.
func findPasses(c *call.Call) passes {
	over := passes{dir: hooks}
	follows := flagged(c, "-L", "-follow")
	if follows {
		over.links = linksFollowed
	}
	for n, inside := 1, false; n < len(c.Argv); n++ {
		switch w := c.Argv[n]; {
		case inside:
			inside = w != ";" && w != "+"
		case w == "-exec" || w == "-execdir" || w == "-ok" || w == "-okdir":
			inside = true
		case slices.Contains([]string{"-o", "-or", "!", "-not", ",", "("}, w):
			return over
		}
	}
	var globs []string
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		if part.Role == call.Stranger {
			return over
		}
		if part.Role != call.Flag {
			continue
		}
		if acts(part.Flag) {
			break
		}
		switch {
		case part.Dynamic:
		case part.Flag == "-name", part.Flag == "-iname":
			globs = append(globs, part.Value)
		case part.Flag == "-type" && part.Value == "f" && !follows:
			over.links = linksStay
		}
	}
	over.file = func(p string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { return !globMatch(g, path.Base(p), true) })
	}
	return over
}

// acts reports whether a word of find does something, so that no test behind it counts for it.
func acts(flag string) bool {
	for _, name := range []string{"-exec", "-ok", "-print", "-fprint", "-ls", "-fls", "-delete"} {
		if strings.HasPrefix(flag, name) {
			return true
		}
	}
	return false
}

// gitPasses is what git does not look at: its own directory, and what .gitignore files name, unless it is told to.
func (j *judge) gitPasses(c *call.Call) passes {
	if others, _ := c.Args.Get("others"); others == true && !flagged(c, "--exclude-standard") {
		return passes{dir: repository}
	}
	for _, name := range []string{"force", "no_ignore", "no_index", "ignored", "only_ignored"} {
		if v, _ := c.Args.Get(name); v == true && c.Name != "git_clean" || v == true && name != "force" {
			return passes{dir: repository}
		}
	}
	for _, w := range c.Argv[1:] {
		if c.Name == "git_clean" && len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "xX") {
			return passes{dir: repository}
		}
	}
	ignored := make(map[string]policy.Patterns)
	over := func(p string) bool {
		for dir := path.Dir(p); ; dir = path.Dir(dir) {
			list, ok := ignored[dir]
			if !ok {
				list = ignoreFile(dir)
				ignored[dir] = list
			}
			if is, decided := list.Below(dir, p); decided {
				return is // by the nearest file that says so
			}
			if dir == "/" || dir == j.ground.place.Project {
				return false
			}
		}
	}
	return passes{dir: func(p string) bool { return repository(p) || over(p) }, file: over}
}

func repository(p string) bool { return path.Base(p) == ".git" }

// ignoreFile reads the .gitignore of a directory.
func ignoreFile(dir string) policy.Patterns {
	data, err := readRegular(path.Join(dir, ".gitignore"), 64<<10)
	if err != nil {
		return nil
	}
	var list policy.Patterns
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && line[0] != '#' {
			list = append(list, policy.Pattern{Text: line})
		}
	}
	return list
}

// extensions are the endings of the files that a tool for some languages opens below a directory, each with a blank
// behind it; "" for a tool that opens anything.
func extensions(c *call.Call) string {
	if c.Form == nil || len(c.Form.Path) == 0 {
		return ""
	}
	switch c.Form.Path[0] {
	case "ruff", "black", "isort", "flake8", "pylint", "mypy", "pyright", "pytest", "bandit":
		return ".py .pyi .ipynb .toml .cfg .ini "
	case "eslint", "prettier", "biome", "tsc", "jest", "vitest", "mocha", "stylelint", "standard":
		return ".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .json .css .scss .less .md .mdx .html .yaml .yml "
	case "go", "gofmt", "goimports", "golangci-lint", "staticcheck":
		return ".go .mod .sum "
	case "cargo", "rustfmt":
		return ".rs .toml "
	case "shellcheck", "shfmt":
		return ".sh .bash "
	}
	return ""
}
