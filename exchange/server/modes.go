package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkModes makes sure that nobody but the operator can change who is let in, or read what proves who a node is. A copy
// of a home that was made carelessly is refused rather than served.
func checkModes(dir string) error {
	dirs := []string{dir}
	for _, sub := range []string{"hosts", "nodes", "authority", "data"} {
		dirs = append(dirs, filepath.Join(dir, sub))
	}
	nodes, _ := filepath.Glob(filepath.Join(dir, "nodes", "*")) // the pattern is good unless dir has one, and then nothing is found
	dirs = append(dirs, nodes...)
	secrets := []string{filepath.Join(dir, "authority", "ca.key")}
	for _, node := range nodes {
		secrets = append(secrets, filepath.Join(node, "admin.seed"), filepath.Join(node, "node.pem"))
	}
	for _, name := range dirs {
		if err := checkMode(name, 0o022, "others can write to it", "chmod go-w"); err != nil {
			return err
		}
	}
	for _, name := range append(secrets, filepath.Join(dir, "exchange.json"), filepath.Join(dir, "ca.pem")) {
		forbidden, why, way := fs.FileMode(0o077), "others can read it, and it is a secret", "chmod 600"
		if base := filepath.Base(name); base == "exchange.json" || base == "ca.pem" {
			forbidden, why, way = 0o022, "others can write to it", "chmod go-w"
		}
		if err := checkMode(name, forbidden, why, way); err != nil {
			return err
		}
	}
	return nil
}

// checkMode refuses what is there and has one of the forbidden bits, is another user's, or a link.
func checkMode(name string, forbidden fs.FileMode, why, way string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link; put what it leads to in its place", name)
	case !ok || st.Uid != 0 && st.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("%s belongs to another user; chown it to root", name)
	case info.Mode().Perm()&forbidden != 0:
		return fmt.Errorf("%s has mode %04o: %s; %s %[1]s", name, info.Mode().Perm(), why, way)
	}
	return nil
}
