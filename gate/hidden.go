package gate

import (
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// hidden judges the files that no effect of a spec names: the program itself where it is called by its path, what git
// reads out of a commit, what stands behind file://, what a word of a program without a spec holds, and what a diff
// changes that nobody could read.
func (j *judge) hidden(i int) {
	c := &j.calls[i]
	dir := j.commands[i].Dir.Path
	maybe := func(kind call.EffectKind, p string) {
		if !path.IsAbs(p) {
			if dir == "" || p == "" {
				return
			}
			p = path.Join(dir, p)
		}
		j.at(i, &call.Effect{Kind: kind, Path: path.Clean(p), Sure: call.Maybe}, path.Clean(p))
	}
	if strings.Contains(c.Argv[0], "/") {
		j.execute(i, c.Argv[0], dir)
	}
	runs := slices.ContainsFunc(c.Effects, func(e call.Effect) bool {
		return (e.Kind == call.Run || e.Kind == call.Code) && e.Path == "" && e.Text == ""
	})
	for _, w := range c.Argv[1:] {
		if runs && dir != "" && plausible(w) && w[0] != '-' && !strings.ContainsAny(w, " \t\n") {
			j.execute(i, w, dir) // make .env, go run ./secrets/x.go
		}
		if !strings.ContainsAny(w, " \t\n") || strings.Contains(w, "://") {
			for file := range fileURLs(w) {
				maybe(call.Read, file)
			}
		}
		if strings.HasPrefix(c.Name, "git") && w[:min(1, len(w))] != "-" {
			if _, file, ok := strings.Cut(w, ":"); ok && file != "" && !strings.Contains(w, "://") {
				j.inCommit(i, file, dir)
			}
		}
		if (!c.Meta.SpecMatched || c.Name == "go" && c.Argv[1] == "tool") && !strings.ContainsAny(w, " \t\n") {
			j.inWord(i, w, dir)
		}
	}
	switch c.Name {
	case "curl":
		j.curl(i)
	case "git_init", "git_clone":
		if template(c) {
			for _, to := range append(written(c), dir) {
				maybe(call.Write, path.Join(to, ".git/hooks/pre-commit"))
			}
		}
	}
	if v, _ := c.Args.Get("unknown_paths"); v == true && !unplacedEffect(c) {
		for _, name := range []string{"check", "dry_run"} {
			if is, _ := c.Args.Get(name); is == true {
				return
			}
		}
		switch c.Name {
		case "echo", "printf", "basename", "dirname": // their words are no files
			return
		}
		j.unplaced(i, &call.Effect{Kind: call.Write})
	}
}

// fileURLs yields what the addresses of kind file: in a word may name: with and without a host, a query or escapes, for
// programs read them differently.
func fileURLs(w string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := w; ; {
			at := strings.Index(strings.ToLower(rest), "file")
			if at < 0 {
				return
			}
			rest = strings.TrimPrefix(rest[at+len("file"):], "b") // aws has fileb://
			name, is := strings.CutPrefix(rest, ":")
			if !is {
				continue
			}
			name = strings.ReplaceAll(name, `\`, "/")
			if plain, err := url.PathUnescape(name); err == nil && plain != name && !yield(plain) {
				return
			}
			short, _, _ := strings.Cut(name, "?")
			short, _, _ = strings.Cut(short, "#")
			for _, n := range []string{name, short} {
				host, behind := strings.CutPrefix(n, "//")
				slash := strings.IndexByte(host, '/')
				if !yield(n) || behind && !yield(host) || behind && slash >= 0 && !yield(host[slash:]) {
					return
				}
			}
		}
	}
}

// curl judges the files that curl finds in addresses of its own kind: it expands braces and brackets itself, takes what has
// no scheme for --proto-default, and #1 in a file's name for what a brace stood for.
func (j *judge) curl(i int) {
	c := &j.calls[i]
	local := slices.ContainsFunc(values(c, "--proto-default"), func(v string) bool { return !strings.HasPrefix(strings.ToLower(v), "http") })
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		scheme, _, ok := strings.Cut(part.Value, "://")
		switch {
		case part.Role == call.Operand && (ok && strings.ContainsAny(scheme, "{[") || !ok && local ||
			strings.ContainsAny(part.Value, "{[") && slices.Collect(fileURLs(part.Value)) != nil):
			j.unplaced(i, &call.Effect{Kind: call.Read, Path: part.Value})
		case part.Role == call.Flag && (part.Flag == "-o" || part.Flag == "--output" || slices.Contains(part.Names, "--output")) &&
			numbered(part.Value):
			j.unplaced(i, &call.Effect{Kind: call.Write, Path: part.Value})
		}
	}
}

// numbered reports whether #1 or the like stands in a text.
func numbered(text string) bool {
	at := strings.IndexByte(text, '#')
	return at >= 0 && at+1 < len(text) && text[at+1] >= '0' && text[at+1] <= '9'
}

// template reports whether git fills a new repository, its hooks too, from a directory that the call names.
func template(c *call.Call) bool {
	if v, _ := c.Args.Get("template"); v != nil && v != "" {
		return true
	}
	v, _ := c.Args.Get("config")
	list, _ := v.([]string)
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(strings.ToLower(s), "init.templatedir=") })
}

// written lists the paths that a call writes.
func written(c *call.Call) (paths []string) {
	for n := range c.Effects {
		if e := &c.Effects[n]; e.Kind == call.Write && !e.Remote && e.Path != "" {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

func unplacedEffect(c *call.Call) bool {
	for n := range c.Effects {
		if e := &c.Effects[n]; e.Sure == call.Unknown && e.Kind != call.Any && onFile(e) {
			return true
		}
	}
	return false
}

// execute holds a file that may be run against the denied ones.
func (j *judge) execute(i int, name, dir string) {
	if !path.IsAbs(name) {
		if dir == "" {
			return
		}
		name = path.Join(dir, name)
	}
	j.denied(i, path.Clean(name))
}

// inCommit holds the path behind REV: against the denied files; it starts from the top of the repository.
func (j *judge) inCommit(i int, file, dir string) {
	j.denied(i, path.Join(j.ground.place.Project, file))
	if dir != "" {
		j.denied(i, path.Join(dir, file))
	}
}

// inWord holds what can be a path in a word that nobody understands against the denied files.
func (j *judge) inWord(i int, w, dir string) {
	if dir == "" {
		return
	}
	try := func(name string) {
		if plausible(name) {
			if !path.IsAbs(name) {
				name = path.Join(dir, name)
			}
			j.denied(i, path.Clean(name))
		}
	}
	if len(w) > 2 && w[0] == '-' && w[1] != '-' {
		try(w[2:])
	}
	for name := range names(w) {
		try(name)
	}
}

// denied objects to a path that is denied, by its name or by where it leads, and to nothing else.
func (j *judge) denied(i int, p string) {
	for _, place := range j.places(p) {
		if pattern := j.p.Paths.Deny.Match(place, j.ground.place); pattern != nil {
			j.add(Reason{Stage: StagePaths, Call: i, Rule: pattern.Text, At: pattern.At,
				Text: j.show(place) + " is among the paths that no call may touch" + via(p, place)})
			return
		}
	}
}

// links notes the symbolic links that the line makes, so that what goes through them later is judged by where it leads.
func (j *judge) links() {
	for i := range j.calls {
		if j.over(0) {
			return
		}
		c := &j.calls[i]
		if c.Name != "ln" || c.Meta.Remote {
			continue
		}
		if v, _ := c.Args.Get("symbolic"); v != true {
			continue
		}
		var operands []string
		for n := range c.Form.Parts {
			if part := &c.Form.Parts[n]; part.Role == call.Operand && !part.Dynamic {
				operands = append(operands, part.Value)
			}
		}
		for n := range c.Effects {
			e := &c.Effects[n]
			if e.Kind != call.Write || e.Sure == call.Unknown || e.Pattern {
				continue
			}
			for _, to := range operands {
				from := j.view.at(path.Dir(e.Path)).real + "/" + path.Base(e.Path)
				if len(operands) > 2 && path.Base(to) != path.Base(e.Path) || from == to || path.Join(j.commands[i].Dir.Path, to) == e.Path {
					continue
				}
				if j.linked == nil {
					j.linked = &view{ctx: j.ctx, disk: j.view.disk, budget: j.view.budget, links: make(map[string]string)}
				}
				if j.linked.links[from] == "" {
					j.linked.links[from] = to
				}
			}
		}
	}
}
