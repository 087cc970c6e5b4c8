// Package defaultgate is the gate that ships with Gatehouse: a policy for a coding agent that is meant to be used as it
// is and changed from there.
//
// It lies beside this file in the layout of every vendored gate, manifest.json and files/, so that a first "gate init",
// a "warden try" and a repository that vendors it hold the same bytes. The manifest says what the modes are, which an
// embedded file does not. A test holds it equal to the files; after a change to them, "go generate ./vendor-gate/default"
// writes it anew.
//
// defaultgate knows manifest. It does not judge the policy: that is for the packages below gate.
package defaultgate

import (
	"embed"
	"fmt"
	"io/fs"

	"gatehouse/manifest"
)

//go:generate go test . -run ^TestManifestSaysWhatTheFilesAre$ -update

//go:embed manifest.json all:files
var vendored embed.FS

// Limits are larger than this gate.
func limits() manifest.Limits { return manifest.Limits{Entries: 100, File: 1 << 20, Total: 1 << 20} }

// Files holds the files of the gate by their paths, policy/gate.yaml and so on.
func Files() fs.FS {
	files, err := fs.Sub(vendored, "files")
	if err != nil {
		panic("internal error: " + err.Error()) // "files" is a valid path
	}
	return files
}

// Generation describes the gate as it is vendored.
func Generation() (*manifest.Generation, error) {
	data, err := vendored.ReadFile("manifest.json")
	if err != nil {
		return nil, err
	}
	g, err := manifest.ParseGeneration(data, limits())
	if err != nil {
		return nil, fmt.Errorf("read the default gate: %w", err)
	}
	return g, nil
}
