package safefs

import (
	"fmt"
	"strings"
)

// Limits of a name. Linux itself knows the first two.
const (
	maxName      = 4095
	maxComponent = 255
	maxDepth     = 64
)

// ValidName returns a *RefusedError with the reason Name unless name is a relative path that can mean only one thing:
// components that are neither empty nor "." nor "..", without NUL, within the limits. These are rules about bytes;
// whether a name is fit to be shown or stored is another question.
func ValidName(name string) error {
	switch {
	case name == "":
		return refuse(name, Name, "a name must not be empty")
	case len(name) > maxName:
		return refuse(name[:maxComponent]+"…", Name, fmt.Sprintf("a name may have %d bytes", maxName))
	case strings.IndexByte(name, 0) >= 0:
		return refuse(name, Name, "a name must not contain a NUL byte")
	}
	depth := 0
	for component := range strings.SplitSeq(name, "/") {
		depth++
		switch {
		case component == "":
			return refuse(name, Name, "a name must be relative, without empty components")
		case component == "." || component == "..":
			return refuse(name, Name, "a name must not contain the components . and ..")
		case len(component) > maxComponent:
			return refuse(name, Name, fmt.Sprintf("a component of a name may have %d bytes", maxComponent))
		case depth > maxDepth:
			return refuse(name, Name, fmt.Sprintf("a name may have %d components", maxDepth))
		}
	}
	return nil
}

// validPath is ValidName for an absolute path.
func validPath(path string) error {
	name, absolute := strings.CutPrefix(path, "/")
	if !absolute {
		return refuse(path, Name, "the path must be absolute")
	}
	if name == "" {
		return nil
	}
	if err := ValidName(name); err != nil {
		return refuse(path, Name, "the path must be clean: "+err.(*RefusedError).Hint)
	}
	return nil
}

// base is the last component of a valid name.
func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
