package gate

import (
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// comesFrom finds the directories that operands come from which find or xargs brings: those that the find on the same
// line looks through. Their files are judged instead, but for those that it passes over.
func (j *judge) comesFrom(i int, e *call.Effect) (trees []call.Effect, over passes, ok bool) {
	c := &j.calls[i]
	source, splits := -1, false
	switch {
	case c.Meta.Wrapper == "find" && strings.Contains(e.Path, "{}") && strings.Trim(path.Base(e.Path), "{}") == "":
		source = j.wrapperOf(i)
	case (c.Meta.Wrapper == "xargs" || c.Meta.Wrapper == "parallel") && (e.Path == "" || e.Path == "$operands"): // the shell names them so
		if by := j.wrapperOf(i); by >= 0 && takesLines(&j.calls[by]) {
			source = j.pipedInto(by)
			splits = j.calls[by].Name == "xargs" && !flagged(&j.calls[by], "--null", "--delimiter")
		}
	}
	if source < 0 {
		return nil, over, false
	}
	from := &j.calls[source]
	for n := range from.Effects {
		if t := &from.Effects[n]; t.Kind == call.Read && !t.Remote && t.Arg != "redirect_from" {
			if t.Sure == call.Unknown || t.Pattern {
				return nil, over, false
			}
			trees = append(trees, *t)
		}
	}
	if len(trees) == 0 && from.Name == "git_ls_files" && j.commands[source].Dir.Exact() {
		trees = []call.Effect{{Kind: call.Read, Path: j.commands[source].Dir.Path, Tree: true}}
	}
	over = j.passesOver(source, &call.Effect{Kind: call.Read})
	over.splits = splits
	if e.Kind == call.Delete {
		over.links = linksStay
	}
	return trees, over, len(trees) > 0
}

// takesLines reports whether xargs or parallel takes its names from the pipe, and does not cut them at other signs.
func takesLines(c *call.Call) bool {
	for _, d := range values(c, "--delimiter") {
		if d != `\n` && d != `\0` && d != "\n" {
			return false
		}
	}
	return !flagged(c, "--arg-file", "--colsep") && !redirected(c)
}

// printsNames reports whether a call prints the names of files that its spec says it reads, and nothing else.
func (j *judge) printsNames(i int) bool {
	switch c := &j.calls[i]; c.Name {
	case "find":
		if flagged(c, "-printf", "-ls") {
			return false
		}
		for n := i + 1; n < len(j.calls) && j.calls[n].Meta.Depth > c.Meta.Depth; n++ {
			if !listsFiles(&j.calls[n]) { // what -exec runs prints as well
				return false
			}
		}
		return true
	case "fd":
		return !flagged(c, "--exec", "--exec-batch", "--format", "--base-directory", "--list-details")
	case "git_ls_files":
		return !flagged(c, "--format")
	case "grep", "rg", "git_grep":
		return listsFiles(c)
	}
	return false
}

// listsFiles reports whether a search prints the names of files and nothing else.
func listsFiles(c *call.Call) bool {
	for _, name := range []string{"files_with_matches", "files_without_match", "files", "name_only"} {
		if v, _ := c.Args.Get(name); v == true {
			return !flagged(c, "--label", "--path-separator")
		}
	}
	return false
}

// flagged reports whether a call has an option that goes by one of the names.
func flagged(c *call.Call, names ...string) bool {
	return c.Form != nil && slices.ContainsFunc(c.Form.Parts, func(part call.Part) bool {
		return part.Role == call.Flag && goesBy(&part, names)
	})
}

func goesBy(part *call.Part, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return part.Flag == name || slices.Contains(part.Names, name) })
}

// wrapperOf is the call that runs the call i, -1 if it is not found.
func (j *judge) wrapperOf(i int) int {
	for n := i - 1; n >= 0; n-- {
		if j.calls[n].Meta.Depth < j.calls[i].Meta.Depth {
			return n
		}
	}
	return -1
}

// pipedInto is the call that prints the names which arrive at the call i, through what only chooses among lines; -1 if
// that is not known.
func (j *judge) pipedInto(i int) int {
	for n := j.stageBefore(i); n >= 0; n = j.stageBefore(n) {
		c := &j.calls[n]
		if c.Meta.Operator == "|" && chooses(c) {
			continue
		}
		others := func(before call.Call) bool { return before.Meta.Pipeline == c.Meta.Pipeline } // they print into it as well
		if j.printsNames(n) && !slices.ContainsFunc(j.calls[:n], others) {
			return n
		}
		break
	}
	return -1
}

// stageBefore is the call whose output the call i gets, where that is all that it gets; -1 if it is not.
func (j *judge) stageBefore(i int) int {
	m := &j.calls[i].Meta
	if m.Operator != "|" || m.Pipeline == 0 {
		return -1
	}
	for n := i - 1; n >= 0; n-- {
		switch before := &j.calls[n].Meta; {
		case before.Depth > m.Depth && (before.Operator == "wrap" || before.Operator == "$()"):
		case before.Depth == m.Depth && before.Pipeline == m.Pipeline:
			return n
		default:
			return -1
		}
	}
	return -1
}

// redirected reports whether a call reads or writes something else than the pipes that it stands between.
func redirected(c *call.Call) bool {
	return slices.ContainsFunc(c.Meta.Redirects, func(r call.Redirect) bool {
		return r.FD == nil || *r.FD != 2 || !strings.HasPrefix(r.Op, ">")
	})
}

// chooses reports whether a filter passes on some of the lines that it gets, each as it is, and nothing else.
func chooses(c *call.Call) bool {
	var harmless string // options that say which lines, and in which order
	patterns := 0
	switch c.Name {
	case "sort":
		harmless = "-b -d -f -g -h -i -k -M -n -r -R -s -S -t -u -V -z"
	case "uniq":
		harmless = "-d -f -i -s -u -w -z"
	case "head", "tail":
		harmless = "-n -q -z"
	case "grep":
		harmless, patterns = "-a -E -e -F -f -G -h -i -m -P -s -v -w -x -z", 1
		if flagged(c, "-e", "-f") {
			patterns = 0
		}
	default:
		return false
	}
	names := strings.Fields(harmless)
	for n := range c.Form.Parts {
		switch part := &c.Form.Parts[n]; {
		case part.Role == call.Flag && goesBy(part, names) && !part.Open:
		case part.Role == call.Operand && patterns > 0 && !part.Open:
			patterns--
		case part.Role != call.Dashes:
			return false // a file of its own, or lines that are new
		}
	}
	return !redirected(c)
}
