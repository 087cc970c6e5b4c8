package gate

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/call"
)

// unplaced judges an effect on a file that nobody can name before the line runs.
func (j *judge) unplaced(i int, e *call.Effect) {
	if e.Kind == call.Any || e.Kind == call.Run {
		return // data of a program that no spec describes, or which only runs; its entry covers that
	}
	if e.Kind == call.Chdir {
		j.dynamic(Reason{Call: i, Text: fmt.Sprintf("the directory %s is known only at run time, and so are the paths that follow", what(e)),
			Hint: "write the directory out"})
		return
	}
	if !j.limits(i, e) || j.substituted(i, e) {
		return
	}
	if j.copied(i, e) {
		return
	}
	if trees, over, ok := j.comesFrom(i, e); ok {
		for _, t := range trees {
			one := *e
			one.Path, one.Tree, one.Sure = t.Path, false, call.Maybe
			j.at(i, &one, t.Path)
			if s := j.view.at(t.Path); s.exists {
				j.tree(i, &one, s.real, &over)
			}
		}
		return
	}
	text := fmt.Sprintf("which file %s %s is known only at run time", j.name(i), verb(e.Kind))
	hint := "write the path out"
	switch {
	case e.Kind == call.Write && e.Path == "" && e.Arg == "":
		text = fmt.Sprintf("which files %s touches is known only at run time", j.name(i))
	case strings.HasPrefix(e.Arg, "redirect"):
		text = fmt.Sprintf("where the redirection to %s leads is known only at run time", what(e))
	case e.Path != "":
		text = fmt.Sprintf("%s is a path that is known only at run time, and %s %s it", what(e), j.name(i), verb(e.Kind))
	}
	j.dynamic(Reason{Call: i, Text: text, Hint: hint})
}

// substituted reports whether a path stands for a process substitution, <(…), whose calls are judged themselves.
func (j *judge) substituted(i int, e *call.Effect) bool {
	if !strings.HasPrefix(e.Path, "<(") && !strings.HasPrefix(e.Path, ">(") {
		return false
	}
	source := j.calls[i].Meta.Source
	if at := strings.Index(source, e.Path); at > 0 && strings.IndexByte(" \t<>=", source[at-1]) >= 0 {
		return true
	}
	if !strings.HasPrefix(e.Arg, "redirect") || !strings.HasSuffix(e.Path, ")") {
		return false
	}
	// The redirection can stand behind a loop that the call is in. Each time that the text is on the line, it has to be
	// what it looks like and no part of a quoted word.
	pieces := strings.Split(j.r.Line, e.Path)
	for n, piece := range pieces[:len(pieces)-1] {
		if piece == "" || strings.IndexByte(" \t<>", piece[len(piece)-1]) < 0 || strings.Count(piece, "'")%2+strings.Count(piece, `"`)%2 > 0 ||
			strings.HasPrefix(pieces[n+1], `"`) || strings.HasPrefix(pieces[n+1], "'") || strings.HasPrefix(pieces[n+1], "$") {
			return false
		}
	}
	return len(pieces) > 1
}

func what(e *call.Effect) string {
	if e.Path == "" {
		return "that it works in"
	}
	return fmt.Sprintf("%q", e.Path)
}

func verb(k call.EffectKind) string {
	switch k {
	case call.Delete:
		return "deletes"
	case call.Write, call.Append:
		return "writes"
	case call.Code:
		return "runs"
	default:
		return "reads"
	}
}

// copied judges what cp, mv, ln and install put into a directory where a pattern says which files: the names are those that
// the pattern finds. It reports false if that is not the case.
func (j *judge) copied(i int, e *call.Effect) bool {
	c := &j.calls[i]
	if e.Kind != call.Write || e.Path != "" || !e.Tree {
		return false
	}
	switch c.Name {
	case "cp", "mv", "ln", "install":
	default:
		return false
	}
	into, tree := "", false
	var names []string
	for n := range c.Effects {
		from := &c.Effects[n]
		switch {
		case from == e:
		case from.Remote || from.Sure == call.Unknown && (from.Path != "" || from.Kind != call.Write):
			return false // another word that nobody knows
		case from.Kind == call.Write && from.Arg == "destination" && from.Sure == call.Sure && !from.Pattern && into == "":
			into = from.Path
		case from.Arg == "destination" || from.Arg == "destination_dir" || from.Arg == "paths":
			return false
		case from.Kind == call.Read && from.Pattern:
			found, ok := j.view.glob(from.Path, j.globs)
			if !ok {
				return false
			}
			if j.made.below(before(from.Path)) {
				return false // the pattern will find more
			}
			names = append(append(names, found...), from.Path) // as bash passes it on where it finds nothing
			tree = tree || from.Tree
		}
	}
	if into == "" || j.parents(c) {
		return false
	}
	for _, name := range names {
		to := path.Join(into, path.Base(name))
		j.at(i, &call.Effect{Kind: call.Write, Path: to, Sure: call.Sure, Tree: tree}, to)
	}
	return true
}

// before is the directory that a pattern names without a special character.
func before(pattern string) string {
	if at := strings.IndexAny(pattern, "*?[{(\\"); at >= 0 {
		pattern = pattern[:at]
	}
	return pattern[:strings.LastIndexByte(pattern, '/')+1]
}

// parents reports whether a call keeps the directories of what it copies, or names its files anew.
func (j *judge) parents(c *call.Call) bool {
	for n := range c.Form.Parts {
		switch part := &c.Form.Parts[n]; {
		case part.Role == call.Stranger:
			return true
		case part.Role == call.Flag && (part.Flag == "--parents" || part.Flag == "--suffix" || part.Flag == "--backup" || part.Dynamic):
			return true
		}
	}
	return false
}
