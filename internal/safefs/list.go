package safefs

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// List returns the names in the directory, sorted by their bytes. It refuses a directory with more than max names as
// soon as it has seen so many (Size), and one that changes meanwhile (InFlux), since a name that moves can be missed.
func (d *Dir) List(max int) ([]string, error) {
	fd, err := openSelf(d.at.fd)
	if err != nil {
		return nil, failed("list", d.name, err)
	}
	defer unix.Close(fd)
	before, err := fstat(fd)
	if err != nil {
		return nil, failed("stat", d.name, err)
	}
	names, err := readNames(fd, max+1)
	if err != nil {
		return nil, failed("list", d.name, err)
	}
	if len(names) > max {
		return nil, refuse(d.name, Size, fmt.Sprintf("the directory has more than %d entries", max))
	}
	after, err := fstat(fd)
	if err != nil {
		return nil, failed("stat", d.name, err)
	}
	if after != before {
		return nil, refuse(d.name, InFlux, "the directory changed while it was listed")
	}
	slices.Sort(names)
	return names, nil
}
