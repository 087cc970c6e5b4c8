package gate

import (
	"fmt"
	"path"
	"slices"

	"gatehouse/gate/policy"
)

// A ground is where files may be touched at all.
type ground struct {
	place policy.Place
	roots []string // absolute, links followed as well as as they are written; none: nowhere
	why   string   // why there is none
	shown string   // for people
}

// findGround says which directories bound the files of the request.
func (j *judge) findGround() ground {
	project := j.project()
	g := ground{place: policy.Place{Project: project, Home: j.g.home}}
	if g.place.Project == "" {
		g.place.Project = j.cwd
	}
	paths := &j.p.Paths
	switch paths.Root {
	case policy.Absolute:
		g.roots = slices.Clone(paths.Roots)
	case policy.Cwd:
		g.roots = []string{j.cwd}
	default:
		switch {
		case project != "":
			g.roots = []string{project}
		case j.cwd == "/" || j.cwd == j.g.home:
			g.why = fmt.Sprintf("%s is no project", j.cwd)
		case j.s.from.Mode == ModeAccepted && !below(j.cwd, paths.Within.Expand(g.place)):
			g.why = fmt.Sprintf("%s is no project below %s", j.cwd, paths.Within.Text)
		default:
			g.roots = []string{j.cwd} // a directory that is no repository yet
		}
	}
	for _, root := range slices.Clone(g.roots) {
		if real := j.view.at(root).real; real != root {
			g.roots = append(g.roots, real)
		}
	}
	if len(g.roots) > 0 {
		g.shown = g.roots[0]
	}
	return g
}

// project is the nearest directory above the working directory that has a .git, "" if there is none that counts: one
// must lie below the directory that the policy names, which is never itself one, nor is /.
func (j *judge) project() string {
	within := j.p.Paths.Within.Expand(policy.Place{Home: j.g.home})
	for dir := j.cwd; dir != "/" && dir != j.g.home; dir = path.Dir(dir) {
		if within != "" && !below(dir, within) {
			return ""
		}
		if j.view.at(path.Join(dir, ".git")).exists {
			return dir
		}
	}
	return ""
}

// inside reports whether a path is on the ground.
func (g *ground) inside(p string) bool {
	for _, root := range g.roots {
		if within(p, root) {
			return true
		}
	}
	return false
}

// everywhere reports whether the ground has no bounds.
func (g *ground) everywhere() bool { return slices.Contains(g.roots, "/") }
