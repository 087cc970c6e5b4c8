package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Become makes this process another program of the house, which links what the door must not. It lies beside the door or
// in ../libexec/gatehouse from there. Where it is missing cmd's own help is still given.
func Become(cmd *cobra.Command, program string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path, err := near(self, program, cmd.Root().Name())
	if err != nil {
		if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
			return cmd.Help()
		}
		return err
	}
	if err := syscall.Exec(path, append([]string{program}, args...), os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// near finds a program near self, the door. PATH is not looked at: it is the agent's to set.
func near(self, program, door string) (string, error) {
	dir := filepath.Dir(self)
	places := []string{filepath.Join(dir, program), filepath.Join(filepath.Dir(dir), "libexec/gatehouse", program)}
	for _, place := range places {
		info, err := os.Stat(place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
			return "", fmt.Errorf("%s is no program", place)
		}
		return place, nil
	}
	return "", fmt.Errorf("the program %s is not there, neither as %s; install the package anew, or build both into one directory: "+
		"go build -o DIRECTORY/ ./cmd/%s ./cmd/%s", program, strings.Join(places, " nor as "), door, program)
}
