//go:build !linux

package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFS flushes all file systems, where one alone cannot be asked for.
func syncFS(*os.File) error { return unix.Sync() }
