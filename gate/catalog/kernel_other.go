//go:build !linux

package catalog

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A catalogue is read, checked and frozen anywhere. Only Linux has what its tools are held with: an end for all that they
// started, places held by descriptor, and Landlock. Elsewhere no call begins, and nothing below is ever reached.

var errNoKernel = &Error{Code: NotConfined, Err: fmt.Errorf("tools of a catalogue run on Linux only: %w", errors.ErrUnsupported)}

func able() error                                        { return errNoKernel }
func dying() *syscall.SysProcAttr                        { return &syscall.SysProcAttr{Setpgid: true} }
func openAt(string) (*os.File, error)                    { return nil, errNoKernel }
func openPlain(string) (*os.File, error)                 { return nil, errNoKernel }
func openBeneath(string, string, bool) (*os.File, error) { return nil, errNoKernel }
func byDescriptor(f *os.File) string                     { return f.Name() }
func (c *Confine) supported() error                      { return errNoKernel }

// Stage refuses: no call starts one.
func Stage(string, []string) {
	fmt.Fprintln(os.Stderr, errNoKernel)
	os.Exit(2)
}
