package vendorgate

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"gatehouse/internal/durable"
)

// trusted reports why what lies at name, or what a link there leads to, may have been written by somebody else.
func trusted(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return durable.Owned(name, info)
}

// trustedAt is trusted, and for the way there.
func trustedAt(name string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	return errors.Join(trusted(real), durable.OwnedAbove(real))
}

// trustedRef is trusted for the file of a branch, and for the directories in which that lies.
func (r *Repository) trustedRef(branch string) error {
	for name := branch; name != "refs"; name = path.Dir(name) {
		err := trusted(r.refPath(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return nil
}
