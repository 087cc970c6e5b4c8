package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// metacharacters mean something to one shell or another, or to programs that put their arguments into one.
const metacharacters = "`$;|&<>(){}[]*?!~#\"'\\\t\n\r"

// forbidden says why a value may not stand in a slot, "" if it may. No shell reads it; but programs that tools start do
// put their arguments into one, and a value that looks like an option would be one. listed is set for a value that the
// owner wrote out in an enum: that may begin with a dash.
func forbidden(value string, listed bool) string {
	switch {
	case value == "" && !listed:
		return "is empty"
	case !plainText(value):
		return "holds control characters"
	case strings.ContainsAny(value, metacharacters):
		i := strings.IndexAny(value, metacharacters)
		return fmt.Sprintf("holds %q, which shells know", value[i:i+1])
	case strings.HasPrefix(value, "-") && !listed:
		return "begins with a dash and would be an option"
	}
	return ""
}

// escapes says why a path does not stay in the working directory by its text alone.
func escapes(value string) string {
	if filepath.IsAbs(value) {
		return "is an absolute path; name it from the working directory"
	}
	for part := range strings.SplitSeq(value, "/") {
		if part == ".." {
			return "leads out of the working directory"
		}
	}
	return ""
}

// inside follows the links of a relative path from dir, both as they are on the disk now, and reports an error if it ends
// outside. What is not there yet is inside if the directory that would hold it is.
func inside(dir, value string) error {
	at := filepath.Join(dir, value)
	for {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			if real != dir && !strings.HasPrefix(real, strings.TrimSuffix(dir, "/")+"/") {
				return failed(PathOutside, "%q leads to %s, outside of %s", value, real, dir)
			}
			return nil
		}
		// A link that leads nowhere could be followed by whoever makes the file.
		if info, statErr := os.Lstat(at); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return failed(PathOutside, "%q is a link that leads nowhere", value)
		}
		if !os.IsNotExist(err) {
			return failed(PathOutside, "%q cannot be followed: %w", value, err)
		}
		if at == dir {
			return failed(NoDirectory, "%w", err)
		}
		at = filepath.Dir(at)
	}
}
