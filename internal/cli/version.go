package cli

import (
	"fmt"
	"runtime/debug"
)

// Version describes this build as the Go toolchain recorded it: the version of the module, which it takes from the tag
// or the commit that was built, and the toolchain's own.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of unknown version"
	}
	version, commit := info.Main.Version, ""
	if version == "" {
		version = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			commit = fmt.Sprintf(", commit %.12s", s.Value)
		}
	}
	return fmt.Sprintf("%s (%s%s)", version, info.GoVersion, commit)
}
