//go:build !linux

package main

import "errors"

// inside is never set: cases that mount something are skipped.
const inside = "GATEHOUSE_PROOF_INSIDE"

func private() (code int, done bool) { return 0, false }

type mounts struct{}

func (*mounts) end() error                 { return nil }
func (*mounts) fullDisk(home) error        { return errors.ErrUnsupported }
func (*mounts) administrator(string) error { return errors.ErrUnsupported }
