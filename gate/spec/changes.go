package spec

import (
	"slices"

	"gatehouse/gate/call"
)

// changes are what the earlier calls of a line may have done to files.
type changes struct {
	anything bool
	paths    []string
	trees    []string
}

func (c *changes) note(effects []call.Effect) {
	for i := range effects {
		e := &effects[i]
		if e.Remote {
			continue
		}
		switch e.Kind {
		case call.Read, call.Chdir, call.Net, call.Process, call.Root:
			continue
		case call.Any, call.Run, call.Code, call.System:
			c.anything = true
			continue
		}
		switch {
		case e.Sure == call.Sure && device(e.Path):
		case e.Sure == call.Unknown, e.Pattern:
			c.anything = true
		case e.Tree:
			c.trees = append(c.trees, e.Path)
		default:
			c.paths = append(c.paths, e.Path)
		}
	}
}

// touched reports whether the file may not be what it was before the line ran.
func (c *changes) touched(path string) bool {
	return c.anything || slices.Contains(c.paths, path) ||
		slices.ContainsFunc(c.trees, func(tree string) bool { return tree == path || under(path, tree) })
}
