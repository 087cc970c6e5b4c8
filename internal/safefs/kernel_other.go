//go:build !linux

package safefs

import (
	"errors"
	"fmt"
)

// Only Linux has what the promises of this package rest on: a descriptor of a thing that is not opened, and names that
// are resolved without links and mounts. Elsewhere OpenDir refuses, and nothing below is ever reached.

const holding = 0

var errNoKernel = fmt.Errorf("files that somebody else owns can be read safely on Linux only: %w", errors.ErrUnsupported)

func (o *Options) openRoot() (place, error)                    { return place{}, errNoKernel }
func (o *Options) openat(place, string, int, way) (int, error) { return -1, errNoKernel }
func openSelf(int) (int, error)                                { return -1, errNoKernel }
func look(int, string, uint64, way) (Info, error)              { return Info{}, errNoKernel }
func fstat(int) (Info, error)                                  { return Info{}, errNoKernel }
func readNames(int, int) ([]string, error)                     { return nil, errNoKernel }
func listAttributes(int) ([]byte, error)                       { return nil, errNoKernel }
func judgeMount(string, int) error                             { return errNoKernel }
func brokenDisk(error) bool                                    { return false }
