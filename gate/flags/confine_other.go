//go:build !linux || !(amd64 || arm64)

package flags

import "errors"

// Confine refuses: how to hold a program here has not been worked out.
func Confine([]string) error {
	return errors.New("confine: not on this system; save the help text yourself and use --help-text")
}
