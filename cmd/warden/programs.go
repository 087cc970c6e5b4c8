package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// programs are the programs as the units of this host run them, and where they come from.
type programs struct {
	warden, gate         string // as the units name them
	fromWarden, fromGate string // what is to be copied there; empty where they are in place
	// become are what gate mcp and warden exchange become. They are copied beside them; the package has them elsewhere, and
	// a build may have none.
	become []programCopy
}

type programCopy struct{ from, to string }

// localPrograms is where programs go that no package brought.
const localPrograms = "/usr/local/bin"

// findPrograms finds this program and the gate beside it. Where they lie in a directory for programs that only root can
// write, the units run them from there. From anywhere else, a build directory for instance, they are copied.
func findPrograms() (programs, error) {
	self, err := os.Executable()
	if err != nil {
		return programs{}, err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return programs{}, err
	}
	dir := filepath.Dir(self)
	gate := filepath.Join(dir, "gate")
	if info, err := os.Stat(gate); err != nil || !info.Mode().IsRegular() {
		return programs{}, fmt.Errorf("the program gate is not beside this one, in %s; build both into one directory: "+
			"go build -o DIRECTORY/ ./cmd/gate ./cmd/gate-mcp ./cmd/warden", dir)
	}
	in := slices.Contains(programDirectories(), dir)
	if in && filepath.Base(self) == "warden" && onlyRoots(self) == nil && onlyRoots(gate) == nil {
		return programs{warden: self, gate: gate}, nil
	}
	found := programs{
		warden: filepath.Join(localPrograms, "warden"), gate: filepath.Join(localPrograms, "gate"),
		fromWarden: self, fromGate: gate,
	}
	for _, name := range []string{"gate-mcp", exchangeProgram} {
		from := filepath.Join(dir, name)
		if info, err := os.Stat(from); err == nil && info.Mode().IsRegular() {
			found.become = append(found.become, programCopy{from, filepath.Join(localPrograms, name)})
		}
	}
	return found, nil
}

func programDirectories() []string {
	return []string{localPrograms, "/usr/local/sbin", "/usr/bin", "/usr/sbin"}
}

// installedPrograms is findPrograms for looking at a host on which they were installed: where this program is run from
// elsewhere, those in a directory for programs count, not itself.
func installedPrograms() (programs, error) {
	found, err := findPrograms()
	if err == nil && found.fromWarden == "" {
		return found, nil
	}
	for _, dir := range programDirectories() {
		installed := programs{warden: filepath.Join(dir, "warden"), gate: filepath.Join(dir, "gate")}
		if _, err := os.Stat(installed.warden); err == nil {
			return installed, nil
		}
	}
	return found, err
}

// onlyRoots reports who but root could change what lies at path, by it, by a link on the way to it, or by a directory
// above it. What is not there yet is for root to make.
func onlyRoots(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			if err := rootsOwn(at, info); err != nil {
				return err
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && real == path {
		return nil
	}
	if err != nil {
		return err
	}
	return onlyRoots(real)
}

func rootsOwn(path string, info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	mode := info.Mode()
	switch {
	case stat.Uid != 0:
		return fmt.Errorf("%s belongs to uid %d, who could change it at any time", path, stat.Uid)
	case mode&fs.ModeSymlink != 0:
		return nil // a link has no permissions of its own
	case mode.IsDir() && mode&fs.ModeSticky != 0:
		return nil // what root has there, others cannot replace
	case mode.Perm()&0o002 != 0:
		return fmt.Errorf("everybody can write %s; chmod o-w it", path)
	case mode.Perm()&0o020 != 0 && stat.Gid != 0:
		return fmt.Errorf("group %d can write %s; chmod g-w it", stat.Gid, path)
	case mode.Perm()&0o020 != 0 && hasACL(path): // the bit is then the limit of what the list gives to anybody
		return fmt.Errorf("an access control list lets others write %s; remove it with: setfacl -b %s", path, path)
	}
	return nil
}

func hasACL(path string) bool {
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}
