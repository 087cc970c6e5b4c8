package manifest

import (
	"slices"
	"strings"
)

// A restoreStep is one thing to do for a change.
type restoreStep struct {
	op     restoreOp
	change *Change
	last   bool // the change is made when this is done
}

type restoreOp string

const (
	removeOp restoreOp = "remove"
	mkdirOp  restoreOp = "mkdir"
	writeOp  restoreOp = "write"
	linkOp   restoreOp = "link"
	chmodOp  restoreOp = "chmod"
)

// restoreSteps puts in order what changes, which are sorted by path, take: first what is new or different, parents
// before what is in them, then what goes, then the modes of directories, which may forbid to write in them. Only what
// is in the way of something of another type goes before it.
func restoreSteps(changes []Change) []restoreStep {
	var steps []restoreStep
	gone := make(map[*Change]bool)
	remove := func(c *Change) {
		gone[c] = true
		steps = append(steps, restoreStep{removeOp, c, c.New == nil})
	}
	for i := range changes {
		c := &changes[i]
		if c.New == nil {
			continue
		}
		if c.Kind == Retyped && (c.Old.Type == Dir || c.New.Type == Dir) {
			below := changes[position(changes, c.Path+"/"):position(changes, c.Path+"0")] // 0 comes after /
			for j := range slices.Backward(below) {
				if below[j].New == nil {
					remove(&below[j])
				}
			}
			remove(c)
		}
		switch {
		case c.New.Type == File:
			steps = append(steps, restoreStep{writeOp, c, true})
		case c.New.Type == Symlink:
			steps = append(steps, restoreStep{linkOp, c, true})
		case c.Kind != ModeBit:
			steps = append(steps, restoreStep{mkdirOp, c, false})
		}
	}
	for i := range changes {
		if c := &changes[i]; c.New == nil && !gone[c] && c.Old.Type != Dir {
			remove(c)
		}
	}
	for i := range slices.Backward(changes) {
		if c := &changes[i]; c.New == nil && !gone[c] {
			remove(c)
		}
	}
	for i := range slices.Backward(changes) {
		if c := &changes[i]; c.New != nil && c.New.Type == Dir {
			steps = append(steps, restoreStep{chmodOp, c, true})
		}
	}
	return steps
}

// position is where path is, or would be, among changes.
func position(changes []Change, path string) int {
	i, _ := slices.BinarySearchFunc(changes, path, func(c Change, path string) int { return strings.Compare(c.Path, path) })
	return i
}
