//go:build !linux || !(amd64 || arm64)

package flags

import "errors"

// confine refuses: how to hold a program here has not been worked out.
func confine([]string) error {
	return errors.New("confine: not on this system; save the help text yourself and use --help-text")
}
