package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// listed judges names of files that come from a list which is no word of the call, and names that an archive or a server
// chooses: nobody can tell them, so they may be any.
func (j *judge) listed(i int, name string) {
	c := &j.calls[i]
	unknown := func(kind call.EffectKind) { j.unplaced(i, &call.Effect{Kind: kind}) }
	if choosesNames(c) {
		j.anyName(i)
	}
	switch name {
	case "cpio":
		switch {
		case hasOption(c, "-t") || hasOption(c, "--list"):
		case hasOption(c, "-p") || hasOption(c, "--pass-through"), hasOption(c, "-i"), hasOption(c, "--extract"):
			unknown(call.Write)
		case hasOption(c, "-o"), hasOption(c, "--create"):
			if from := j.pipedInto(i); from < 0 || !j.treesJudged(i, from) {
				unknown(call.Read)
			}
		}
	case "bsdtar", "ar", "unrar", "7z", "7za", "7zr", "ptar", "lsar", "unar", "uudecode":
		if j.unpacks(c, name) {
			unknown(call.Write)
		}
	case "gzip", "gunzip":
		if (name == "gunzip" || hasOption(c, "-d") || hasOption(c, "--decompress")) && (hasOption(c, "-N") || hasOption(c, "--name")) {
			unknown(call.Write)
		}
	case "curl":
		for _, g := range options(c, "--url") {
			if file, ok := strings.CutPrefix(g.value, "@"); ok {
				j.reads(i, file)
				unknown(call.Read)
			}
		}
	case "wget":
		if hasOption(c, "-i") && slices.Contains(c.Argv, "-") || flagged(c, "-r", "-m", "-p", "-x") {
			unknown(call.Write)
		}
	case "scp", "rsync":
		for n := 1; n+1 < len(c.Argv); n++ {
			if host, file, ok := strings.Cut(c.Argv[n], ":"); ok && !strings.Contains(host, "/") && c.Argv[n][0] != '-' && strings.ContainsAny(file, "*?[") {
				unknown(call.Write)
				break
			}
		}
	case "git":
		j.gitLists(i)
	}
}

// choosesNames reports whether an archive or a server chooses the names that a call makes in a directory. What git brings was
// committed.
func choosesNames(c *call.Call) bool {
	switch c.Form.Path[0] {
	case "git", "docker_run":
		return false
	case "tar", "unzip", "zipfile", "tarfile", "gh":
		return true
	}
	return slices.ContainsFunc(c.Effects, func(e call.Effect) bool { return e.Kind == call.Read && e.Remote && e.Tree })
}

// anyName objects to names that nobody knows in a directory below which the policy or the gate keeps some.
func (j *judge) anyName(i int) {
	for n := range j.calls[i].Effects {
		e := &j.calls[i].Effects[n]
		if e.Kind != call.Write || !e.Tree || e.Remote || e.Sure == call.Unknown || e.Pattern || !path.IsAbs(e.Path) {
			continue
		}
		dir := j.view.at(e.Path).real
		kept := ""
		if hit := j.p.Paths.Deny.Reaches(dir, j.ground.place); hit != nil {
			kept = hit.Text
		} else if hit := j.p.Paths.ReadOnly.Reaches(dir, j.ground.place); hit != nil {
			kept = hit.Text
		} else if j.view.at(path.Join(dir, ".git")).exists {
			kept = ".git/config"
		}
		for hook := range j.hooksBelow(dir) {
			if kept == "" && j.view.at(path.Dir(hook)).exists && path.Dir(hook) != dir {
				kept = j.show(hook)
			}
		}
		if kept != "" {
			j.dynamic(Reason{Call: i, Text: fmt.Sprintf("the names that %s makes below %s are known only at run time, and %s may be among them", j.name(i), j.show(dir), kept),
				Hint: "unpack it into a directory outside of the project, or let a person look at it"})
			return
		}
	}
}

// treesJudged judges the files below the directories that a find looks through, whose names arrive at the call i.
func (j *judge) treesJudged(i, from int) bool {
	f := &j.calls[from]
	if f.Name != "find" && f.Name != "fd" {
		return false
	}
	judged := false
	over := j.passesOver(from, &call.Effect{Kind: call.Read})
	for n := range f.Effects {
		if t := f.Effects[n]; t.Kind == call.Read && !t.Remote && t.Sure != call.Unknown && !t.Pattern {
			t.Tree, t.Sure = true, call.Maybe
			if s := j.view.at(t.Path); s.exists {
				j.tree(i, &t, s.real, &over)
				judged = true
			}
		}
	}
	return judged
}

// unpacks reports whether a call takes files out of an archive under the names that they have there.
func (j *judge) unpacks(c *call.Call, name string) bool {
	first := ""
	if len(c.Argv) > 1 {
		first = c.Argv[1]
	}
	switch name {
	case "bsdtar", "ptar":
		return strings.Contains(first, "x") && !strings.HasPrefix(first, "--") || hasOption(c, "--extract")
	case "ar":
		return strings.Contains(strings.TrimPrefix(first, "-"), "x")
	case "7z", "7za", "7zr":
		return first == "x" || first == "e"
	case "unrar":
		return first == "x" || first == "e"
	case "uudecode":
		return !slices.ContainsFunc(c.Argv[1:], func(w string) bool { return strings.HasPrefix(w, "-o") || strings.HasPrefix(w, "--output") })
	case "unar":
		return true
	}
	return false
}

// gitLists is for the subcommands of git that take names from standard input or from a file, and for names in a commit
// that stand in no REV:PATH.
func (j *judge) gitLists(i int) {
	c := &j.calls[i]
	if !gitCall(c) || len(c.Form.Path) < 2 {
		return
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(c.Argv[1:], func(w string) bool {
			name, _, _ := strings.Cut(w, "=")
			return slices.Contains(names, name)
		})
	}
	switch sub := c.Form.Path[1]; {
	case has("--pathspec-from-file"):
		kind := call.Read
		if sub == "checkout" || sub == "restore" || sub == "rm" {
			kind = call.Write
		}
		j.unplaced(i, &call.Effect{Kind: kind})
	case sub == "cat-file" && has("--batch", "--batch-command"):
		if in := &j.commands[i].Stdin; in.Known {
			for line := range strings.Lines(in.Text) {
				if _, file, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && file != "" {
					j.inCommit(i, file, j.commands[i].Dir.Path)
				}
			}
			return
		}
		j.unplaced(i, &call.Effect{Kind: call.Read})
	case sub == "hash-object" && has("--stdin-paths"), sub == "update-index" && has("--stdin"):
		j.unplaced(i, &call.Effect{Kind: call.Read})
	case sub == "checkout-index":
		for _, g := range options(c, "--prefix") {
			p := path.Clean(j.commands[i].Dir.Path + "/" + g.value + "\x00")
			if path.IsAbs(g.value) {
				p = path.Clean(g.value + "\x00")
			}
			j.mayBecome(i, escape(strings.TrimSuffix(p, "\x00"))+"*")
		}
		if has("--stdin") {
			j.unplaced(i, &call.Effect{Kind: call.Write})
		}
	case sub == "archive" || sub == "show" || sub == "diff" || sub == "log" || sub == "grep":
		for n := range c.Form.Parts {
			part := &c.Form.Parts[n]
			if part.Role == call.Operand && n > 0 && sub == "archive" && plausible(part.Value) && !part.Dynamic {
				j.inCommit(i, part.Value, j.commands[i].Dir.Path)
			}
			if part.Role == call.Flag && part.Flag == "--remote" && !part.Dynamic {
				if dir, known := j.gitDir(i); known {
					j.transport(i, part.Value, dir)
				}
			}
		}
	case sub == "merge-index":
		for n := range c.Form.Parts {
			if part := &c.Form.Parts[n]; part.Role == call.Operand {
				j.runsLine(i, quoted([]string{part.Value}))
				break
			}
		}
	}
}
