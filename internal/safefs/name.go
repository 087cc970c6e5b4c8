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
	hint := problem(name)
	if hint == "" {
		return nil
	}
	if len(name) > maxName {
		name = name[:maxComponent] + "…"
	}
	return refuse(name, Name, hint)
}

// validPath is ValidName for an absolute path.
func validPath(path string) error {
	name, absolute := strings.CutPrefix(path, "/")
	if !absolute {
		return refuse(path, Name, "the path must be absolute")
	}
	if hint := problem(name); hint != "" && name != "" {
		return refuse(path, Name, "the path must be clean: "+hint)
	}
	return nil
}

// problem says what is wrong with a name, if anything.
func problem(name string) string {
	switch {
	case name == "":
		return "a name must not be empty"
	case len(name) > maxName:
		return fmt.Sprintf("a name may have %d bytes", maxName)
	case strings.IndexByte(name, 0) >= 0:
		return "a name must not contain a NUL byte"
	case strings.Count(name, "/") >= maxDepth:
		return fmt.Sprintf("a name may have %d components", maxDepth)
	}
	for component := range strings.SplitSeq(name, "/") {
		switch {
		case component == "":
			return "a name must be relative, without empty components"
		case component == "." || component == "..":
			return "a name must not contain the components . and .."
		case len(component) > maxComponent:
			return fmt.Sprintf("a component of a name may have %d bytes", maxComponent)
		}
	}
	return ""
}

// base is the last component of a valid name.
func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
