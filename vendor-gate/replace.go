package vendorgate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// replacements is where git replace notes that another object is to be shown in the place of one.
const replacements = "refs/replace/"

// replacedObjects returns the objects that git replace has replaced. What is read here are the objects themselves, and
// who looks at them with git sees others.
func replacedObjects(git string) (map[plumbing.Hash]bool, error) {
	replaced := make(map[plumbing.Hash]bool)
	loose, err := os.ReadDir(filepath.Join(git, replacements))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range loose {
		replaced[plumbing.NewHash(e.Name())] = true
	}
	packed, err := os.ReadFile(filepath.Join(git, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for {
		_, rest, found := bytes.Cut(packed, []byte(" "+replacements))
		if !found {
			return replaced, nil
		}
		name, _, _ := strings.Cut(string(rest[:min(len(rest), 2*len(plumbing.ZeroHash))]), "\n")
		replaced[plumbing.NewHash(name)] = true
		packed = rest
	}
}

// checkReplaced refuses an object of which git shows another content.
func (o *objects) checkReplaced(kind plumbing.ObjectType, id plumbing.Hash) error {
	if !o.replaced[id] {
		return nil
	}
	return fmt.Errorf("%s %s is replaced: git shows another object than the one that would be in force; git replace -d %[2]s "+
		"takes that back", kind, id)
}
