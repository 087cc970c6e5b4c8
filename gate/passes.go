package gate

import (
	"path"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
)

// passesOver says what a call passes over on its way through a tree.
func (j *judge) passesOver(i int, e *call.Effect, byGit bool) passes {
	c := &j.calls[i]
	from := c
	switch c.Meta.Wrapper {
	case "find":
		if n := j.wrapperOf(i); n >= 0 && e.Arg != "" {
			from = &j.calls[n]
		}
	case "xargs", "parallel":
		if n := j.wrapperOf(i); n >= 0 {
			if n = j.pipedInto(n); n >= 0 {
				from = &j.calls[n]
			}
		}
	}
	switch from.Name {
	case "find":
		return findPasses(from)
	case "rg", "fd", "fdfind", "ag":
		return searchPasses(from)
	case "grep", "egrep", "fgrep", "zgrep", "tar", "rsync":
		return grepPasses(from)
	}
	if own := extensions(from); own != "" {
		return passes{dir: hooks, file: func(p string) bool { return !strings.Contains(own, path.Ext(p)+" ") || path.Ext(p) == "" }}
	}
	switch {
	case byGit || strings.HasPrefix(from.Name, "git_"):
		return j.gitPasses(from)
	case e.Kind == call.Read:
		return passes{dir: hooks}
	}
	return passes{}
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
func named(globs []string, p string, fold bool) bool {
	for _, g := range globs {
		g = strings.TrimSuffix(strings.TrimPrefix(g, "./"), "/")
		if !strings.ContainsAny(g, "([/") && globMatch(g, path.Base(p), fold) {
			return true
		}
	}
	return false
}

func grepPasses(c *call.Call) passes {
	exclude, dirs, include := values(c, "--exclude"), values(c, "--exclude-dir"), values(c, "--include")
	if c.Name == "tar" || c.Name == "rsync" {
		dirs = exclude
	}
	return passes{
		dir:  func(p string) bool { return named(dirs, p, false) || hooks(p) },
		file: func(p string) bool { return named(exclude, p, false) || len(include) > 0 && !maybeNamed(include, p) },
	}
}

// maybeNamed is named for globs that choose what is touched: one that is not understood matches.
func maybeNamed(globs []string, p string) bool {
	for _, g := range globs {
		if strings.Contains(g, "/") || globMatch(g, path.Base(p), false) {
			return true
		}
	}
	return false
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
	var out []string
	for _, g := range values(c, "--glob") {
		if g, not := strings.CutPrefix(g, "!"); not {
			out = append(out, g)
		}
	}
	if c.Name != "rg" {
		out = append(out, values(c, "--exclude", "--ignore")...)
	}
	over := func(p string) bool { return !all && path.Base(p)[0] == '.' || named(out, p, false) }
	return passes{dir: func(p string) bool { return over(p) || hooks(p) }, file: over}
}

// findPasses is what find passes over by -name, where its tests are all joined by and.
func findPasses(c *call.Call) passes {
	var names []string
	fold := false
	for n := 1; n < len(c.Argv); n++ {
		switch c.Argv[n] {
		case "-o", "-or", "!", "-not", ",", "(":
			return passes{dir: hooks}
		case "-name", "-iname":
			if n+1 < len(c.Argv) {
				fold = fold || c.Argv[n] == "-iname"
				names = append(names, c.Argv[n+1])
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			n = len(c.Argv)
		}
	}
	return passes{dir: hooks, file: func(p string) bool {
		for _, g := range names {
			if !globMatch(g, path.Base(p), fold) {
				return true
			}
		}
		return false
	}}
}

// gitPasses is what git does not look at: its own directory, and what .gitignore files name, unless it is told to.
func (j *judge) gitPasses(c *call.Call) passes {
	for _, name := range []string{"force", "no_ignore", "ignored", "only_ignored"} {
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
			if list.Below(dir, p) != nil {
				return true
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
