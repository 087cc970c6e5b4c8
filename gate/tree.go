package gate

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
)

// tree judges an effect on everything below a directory: by the files that are there, and by those that links there lead
// to. A pattern that nothing on the disk matches refuses nothing. What is passed over is said by the call, unless its names
// come from another one.
func (j *judge) tree(i int, e *call.Effect, dir string, from *passes) {
	c := &j.calls[i]
	if e.Kind == call.Read && (namesOnly(c) || e.Arg == "packages") || gitCall(c) && writes(e.Kind) && e.Kind != call.Delete && e.Sure != call.Sure {
		return // git brings back what was committed
	}
	if from == nil {
		over := j.passesOver(i, e)
		from = &over
	}
	reaches := j.p.Paths.Deny.Reaches(dir, j.ground.place) != nil
	var kept policy.Patterns
	if writes(e.Kind) && j.p.Paths.ReadOnly.Reaches(dir, j.ground.place) != nil {
		kept, reaches = j.p.Paths.ReadOnly, true
	}
	if !reaches && (from.links == linksStay || len(j.p.Paths.Deny) == 0) {
		return
	}
	var hit *policy.Pattern
	var denied bool
	match := func(p string) bool {
		hit = j.p.Paths.Deny.Match(p, j.ground.place)
		if hit == nil && from.splits {
			hit = j.pieceOf(i, p)
		}
		if denied = hit != nil; !denied {
			hit = kept.Match(p, j.ground.place)
		}
		return hit != nil
	}
	found, ok := j.view.find(dir, match, *from)
	switch {
	case found != "":
		text := fmt.Sprintf("%s goes through %s, where %s may not be touched", j.name(i), j.show(dir), j.show(found))
		if !denied {
			text = fmt.Sprintf("%s changes all of %s, where %s may only be read", j.name(i), j.show(dir), j.show(found))
		}
		j.add(Reason{Stage: StagePaths, Call: i, Rule: hit.Text, At: hit.At, Text: text, Hint: aroundTree(c, found)})
	case !ok && (reaches || from.links == linksFollowed):
		j.add(Reason{Stage: StagePaths, Call: i, Text: fmt.Sprintf("%s holds more files than the gate looks through for denied ones", j.show(dir)),
			Hint: "name a smaller directory"})
	}
}

// pieceOf is the denied pattern that matches one of the names which xargs makes of a path with blanks or quotes in it.
func (j *judge) pieceOf(i int, p string) *policy.Pattern {
	pieces := strings.FieldsFunc(p, func(r rune) bool { return strings.ContainsRune(" \t\n'\"\\", r) })
	for _, piece := range pieces[1:] {
		if to := j.absolute(i, piece); to != "" {
			if hit := j.p.Paths.Deny.Match(to, j.ground.place); hit != nil {
				return hit
			}
		}
	}
	return nil
}

// namesOnly reports whether a call reads names below a directory and no content.
func namesOnly(c *call.Call) bool {
	switch c.Name {
	case "ls", "find", "du", "tree", "fd", "fdfind", "stat", "exa", "eza", "git_ls_files", "git_status":
		return true
	}
	return false
}

// aroundTree says how to leave a file out.
func aroundTree(c *call.Call, found string) string {
	base := path.Base(found)
	switch c.Name {
	case "grep", "egrep", "fgrep", "tar", "du", "zgrep":
		return fmt.Sprintf("leave it out with --exclude=%s, or name the directories that are meant", quoteWord(base))
	case "rg":
		return fmt.Sprintf("leave it out with -g %s, or name the directories that are meant", quoteWord("!"+base))
	case "rsync":
		return fmt.Sprintf("leave it out with --exclude=%s", quoteWord(base))
	}
	return "name the files or directories that are meant"
}

func quoteWord(s string) string {
	if strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return quoted([]string{s})
	}
	return s
}
