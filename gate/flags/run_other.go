//go:build !linux

package flags

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// run refuses: a program is asked for its flags only where it can be confined.
func (h *Harvester) run(_ context.Context, args []string, _ ...string) (output, error) {
	return output{}, fmt.Errorf("run %s confined: %w outside Linux; write check_flags: spec into gate.yaml", args[0], errors.ErrUnsupported)
}

// Confined refuses.
func Confined([]string) { os.Exit(125) }
