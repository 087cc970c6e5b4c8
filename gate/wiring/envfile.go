package wiring

import (
	"path/filepath"
	"slices"
	"strings"
)

// shellVariables are those with which an environment makes a shell, or any program, run something else before or in the
// place of a hook: with BASH_ENV naming a script that ends with 0, every command passes.
func shellVariables() []string {
	return []string{"BASH_ENV", "SHELLOPTS", "ZDOTDIR", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "GCONV_PATH", "LOCPATH"}
}

// envFile looks for variables in a file from which a client sets its own environment, and that of its hooks.
func (s *survey) envFile(path string, names []string) {
	data, err := readSome(path)
	if err != nil {
		return
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		name := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(name, "export"); ok {
			name = strings.TrimSpace(rest)
		}
		if end := strings.IndexAny(name, "=: \t"); end > 0 && slices.Contains(names, name[:end]) {
			s.weak("take it out", "%s:%d sets %s for the client and for its hooks", path, n, name[:end])
		}
	}
}

// upwards lists a directory and all above it.
func upwards(dir string) (dirs []string) {
	for ; dir != ""; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return dirs
}
