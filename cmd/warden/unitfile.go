package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gatehouse/systemd"
)

// An origin says who wrote a unit file last. The zero origin is not known to be ours.
type origin int

const (
	foreign origin = iota
	edited         // ours once
	ours
	nobodys // there is no file
	masked  // a link to /dev/null: somebody does not want the unit
)

func (o origin) String() string {
	switch o {
	case edited:
		return "it was edited since warden install wrote it (edits belong into a drop-in: systemctl edit UNIT)"
	case masked:
		return "it is masked, so somebody does not want it (undo that with: systemctl unmask UNIT)"
	default:
		return "it is not of warden install's making"
	}
}

// readUnit reads a unit file and tells by the digest in its first line whether it is as it was written.
func readUnit(path string) ([]byte, origin, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nobodys, nil
	}
	if err != nil {
		return nil, foreign, err
	}
	if target, err := os.Readlink(path); err == nil && target == os.DevNull {
		return nil, masked, nil
	}
	if !info.Mode().IsRegular() {
		return nil, foreign, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, foreign, err
	}
	switch {
	case systemd.Unedited(data):
		return data, ours, nil
	case bytes.HasPrefix(data, []byte("# Written by warden install")):
		return data, edited, nil
	default:
		return data, foreign, nil
	}
}

// unitFilesOf lists the files in a directory for unit files that have names of ours, drop-ins included.
func unitFilesOf(dir string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"gatehouse-*.*", "gatehouse-*.d/*.conf"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil && !info.IsDir() {
				found = append(found, path)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
