package gate

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
)

// lands judges the names that the files of a directory get where a call puts it: cp -r x/. . makes .git/config of x/config.
// Names that are denied anywhere are found where they are read.
func (j *judge) lands(i int) {
	c := &j.calls[i]
	switch c.Name {
	case "cp", "mv", "rsync":
	default:
		return
	}
	for n := range c.Effects {
		if e := &c.Effects[n]; e.Kind == call.Read && !e.Remote && e.Sure != call.Unknown {
			sources := []string{e.Path}
			if e.Pattern {
				sources, _ = j.view.glob(e.Path, j.globs)
			}
			for _, source := range sources {
				if s := j.view.at(source); s.dir {
					j.landsAt(i, s.real, path.Base(source))
				}
			}
		}
	}
}

func (j *judge) landsAt(i int, source, name string) {
	c := &j.calls[i]
	var places []string
	for n := range c.Effects {
		e := &c.Effects[n]
		switch {
		case e.Kind != call.Write || e.Remote || e.Sure == call.Unknown || e.Pattern || !path.IsAbs(e.Path):
		case c.Name == "rsync":
			places = append(places, e.Path, path.Join(e.Path, name)) // with and without a slash behind the source
		case strings.HasPrefix(e.Arg, "destination") && j.view.at(e.Path).dir && !flagged(c, "--no-target-directory"):
			places = append(places, path.Join(e.Path, name))
		default:
			places = append(places, e.Path)
		}
	}
	over := j.passesOver(i, &call.Effect{Kind: call.Read})
	over.links = linksStay
	for _, place := range places {
		var r Reason
		to := j.view.at(place).real
		j.view.find(source, func(p string) bool {
			if lands := to + p[len(source):]; lands != p {
				r = j.keeps(i, lands)
			}
			return r.Text != ""
		}, over)
		switch {
		case r.Rule == ruleHooks:
			j.dynamic(r)
		case r.Text != "":
			j.add(r)
		}
	}
}

// keeps is the reason against a new file at a path; without a text there is none.
func (j *judge) keeps(i int, p string) Reason {
	r := Reason{Stage: StagePaths, Call: i}
	for n, list := range [...]policy.Patterns{j.p.Paths.Deny, j.p.Paths.ReadOnly} {
		if hit := list.Match(p, j.ground.place); hit != nil {
			r.Rule, r.At = hit.Text, hit.At
			r.Text = fmt.Sprintf("%s would be made, which is among the paths that %s", j.show(p), [...]string{"no call may touch", "may only be read"}[n])
			return r
		}
	}
	if j.protected(p) {
		return protectReason(i, j.show(p))
	}
	if at := strings.LastIndex(p+"/", "/.git/"); at >= 0 && !j.view.at(p[:at]+"/.git").exists {
		return Reason{} // a repository of its own, which git does not trust
	}
	if orders, is := j.orders(i, p); is {
		return orders
	}
	if mayNameHooks(p) {
		return hooksReason(i, j.show(p))
	}
	return Reason{}
}
