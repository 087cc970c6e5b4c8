package gate

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/internal/spelling"
)

// missing refuses a read of what is not there, and names what was likely meant.
func (j *judge) missing(i int, e *call.Effect, p string) {
	if !j.p.Paths.ReadsMustExist || !reads(e.Kind) || j.there(p) {
		return
	}
	c := &j.calls[i]
	if (asks(c) || j.probes(i)) && e.Kind != call.Chdir || e.Sure != call.Sure && !e.Pattern || j.commands[i].Sourced {
		return
	}
	if c.Meta.Conditional && c.Meta.Operator == "||" {
		return // it runs where what stood before has failed
	}
	r := Reason{Stage: StagePaths, Call: i, Rule: "reads_must_exist", At: j.keyAt("paths.reads_must_exist")}
	switch {
	case e.Pattern:
		r.Text = fmt.Sprintf("nothing matches %s", j.show(p))
	case e.Kind == call.Chdir:
		r.Text = fmt.Sprintf("there is no directory %s", j.show(p))
	default:
		r.Text = fmt.Sprintf("there is no %s", j.show(p))
	}
	if near := j.near(p); near != "" && !e.Pattern {
		r.Hint = fmt.Sprintf("did you mean %s?", j.show(near))
	} else {
		r.Hint = "look with ls what is there"
	}
	for up := p; up != "/"; up = path.Dir(up) {
		for n := range j.reasons {
			if have := &j.reasons[n]; have.Rule == r.Rule && strings.HasSuffix(have.Text, " "+j.show(up)) {
				return // a directory that is not there is missed by each call in it
			}
		}
	}
	j.add(r)
}

func reads(k call.EffectKind) bool {
	return k == call.Read || k == call.Code || k == call.Chdir || k == call.Run
}

// asks reports whether a missing file is an answer to what a call does rather than a fault in it.
func asks(c *call.Call) bool {
	switch path.Base(c.Argv[0]) {
	case "test", "[", "ln", "mv", "rm", "git", "stat": // git knows files that are gone
		return true
	}
	return false
}

// probes reports whether the line makes nothing of it that a file is missing: the complaint is thrown away, or something
// else is done then.
func (j *judge) probes(i int) bool {
	for _, r := range j.commands[i].Redirects {
		if (r.FD == 2 && strings.HasPrefix(r.Op, ">") || strings.HasPrefix(r.Op, "&>")) && r.Target.Text == "/dev/null" {
			return true
		}
	}
	c := &j.calls[i]
	for n := i + 1; n < len(j.calls); n++ {
		if next := &j.calls[n]; next.Meta.Depth == c.Meta.Depth {
			return next.Meta.Operator == "||"
		}
	}
	return false
}

// near returns a path beside p with almost the same name, or where p is as seen from a directory above.
func (j *judge) near(p string) string {
	dir, base := path.Split(p)
	dir = path.Clean(dir)
	if !j.ground.inside(dir) {
		return ""
	}
	if s := j.view.at(dir); s.exists && s.dir {
		if j.over(200) {
			return ""
		}
		names, _, err := j.view.disk.List(dir, 1000)
		if err != nil {
			return ""
		}
		best, at := "", 3
		for _, n := range names {
			if strings.EqualFold(n.Name(), base) {
				return path.Join(dir, n.Name())
			}
			if d := spelling.Distance(base, n.Name(), at); d < at && len(base) > 3 {
				best, at = path.Join(dir, n.Name()), d
			}
		}
		return best
	}
	if rest, ok := strings.CutPrefix(p, j.cwd+"/"); ok { // src/src/x.go, or a part of the directory named again
		for _, after := range []string{afterFirst(rest), path.Join(path.Base(j.cwd), rest)} {
			if q := path.Join(j.cwd, after); after != "" && j.view.at(q).exists {
				return q
			}
		}
	}
	if at := j.near(dir); at != "" { // the directory is misspelt
		if q := path.Join(at, base); j.view.at(q).exists {
			return q
		}
	}
	return ""
}

func afterFirst(rest string) string {
	_, after, _ := strings.Cut(rest, "/")
	return after
}
