package vendorgate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/gcfg"
	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// settings is what git's configuration files say, in the order in which git reads them: a later one wins. Names are
// section.key or section.subsection.key with section and key in lower case.
type settings []setting

type setting struct{ name, value string }

// maxIncludes is how deep git follows include.path.
const maxIncludes = 10

// loadSettings reads the files of the system, of the user and of the repository. It follows include.path, but not
// includeIf: where that could be about signing, nothing is committed (conditional).
func loadSettings(git string) (settings, error) {
	files := []string{"/etc/gitconfig"}
	home, err := os.UserHomeDir()
	if err == nil {
		config := os.Getenv("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(home, ".config")
		}
		files = append(files, filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig"))
	}
	var s settings
	for _, name := range files {
		if err := s.load(name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("configuration of git, with HOME=%s: %w", home, err)
		}
	}
	if err := s.load(filepath.Join(git, "config"), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

func (s *settings) load(name string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: more than %d files include each other", name, maxIncludes)
	}
	f, err := openTrusted(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var included error
	err = gcfg.ReadWithCallback(f, func(section, subsection, key, value string, blank bool) error {
		if key == "" {
			return nil
		}
		full := strings.ToLower(section) + "."
		if subsection != "" {
			full += subsection + "."
		}
		full += strings.ToLower(key)
		if blank {
			value = "true"
		}
		if full == "include.path" {
			if included = s.load(relativeTo(name, value), depth+1); errors.Is(included, fs.ErrNotExist) {
				included = nil // as git does
			}
			return included
		}
		if isConditional(full) {
			value = relativeTo(name, value)
		}
		*s = append(*s, setting{full, value})
		return nil
	})
	if err != nil && included == nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func isConditional(name string) bool {
	return strings.HasPrefix(name, "includeif.") && strings.HasSuffix(name, ".path")
}

// conditional names a file that is included under a condition and has the setting, empty for none.
func (s settings) conditional(setting string, depth int) (file string, err error) {
	for _, condition := range s {
		if !isConditional(condition.name) {
			continue
		}
		var included settings
		if err := included.load(condition.value, depth+1); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", err
		}
		if _, ok := included.get(setting); ok {
			return condition.value, nil
		}
		if deeper, err := included.conditional(setting, depth+1); deeper != "" || err != nil {
			return deeper, err
		}
	}
	return "", nil
}

// openTrusted opens a file that nobody else can have written, and judges what it has opened: behind a name may be
// something else by then.
func openTrusted(name string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(real, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err == nil {
		err = errors.Join(durable.Owned(real, info), durable.OwnedAbove(real))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// relativeTo resolves path as it stands in the configuration file name.
func relativeTo(name, path string) string {
	if path = expandHome(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(name), path)
}

func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if home, err := os.UserHomeDir(); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return path
}

func (s settings) get(name string) (value string, ok bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].name == name {
			return s[i].value, true
		}
	}
	return "", false
}

func (s settings) boolean(name string, unset bool) (bool, error) {
	value, ok := s.get(name)
	if !ok {
		return unset, nil
	}
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0", "":
		return false, nil
	default:
		return false, fmt.Errorf("configuration: %s is %q, neither true nor false", name, value)
	}
}
