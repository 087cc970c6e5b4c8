package flags

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is harvested from the programs of this machine is what somebody read in their help: no name is missing and none is
// invented. Testdata/real/README.md explains the lists.
func TestHarvestAgainstListsReadByEye(t *testing.T) {
	files, err := filepath.Glob("testdata/real/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Errorf("there are only %d lists", len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		command := strings.Fields(lines[0])
		if version := versionOf(command[0]); !strings.HasPrefix(version, lines[1]) {
			t.Logf("%s: nothing is known of %s with the version %q", file, command[0], version)
			continue
		}
		compare(t, lines[2:], harvest(t, command[0], command[1:]...))
	}
}

// versionOf is the first line that a program says of itself, "" if there is none.
func versionOf(path string) string {
	out, _ := exec.Command(path, "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

func compare(t *testing.T, list []string, e *Entry) {
	t.Helper()
	what := call(e.File.Path, e.Sub)
	hasManual := slices.ContainsFunc(e.Sources, func(s string) bool { return strings.HasPrefix(s, "man ") })
	listed := map[string]bool{}
	manual := false
	for _, line := range list {
		if line == "man:" {
			manual = true
			continue
		}
		names := strings.Fields(line)
		value := "none"
		switch names[len(names)-1] {
		case "=":
			value = "required"
		case "[=]":
			value = "optional"
		case "?":
			value = ""
		}
		for _, name := range names {
			if name[0] != '-' {
				continue
			}
			listed[name] = true
			f := e.Help.Find(name)
			switch {
			case f == nil && (!manual || hasManual):
				t.Errorf("%s: %s is missing", what, name)
			case f != nil && value != "" && f.Value.String() != value:
				t.Errorf("%s: the value of %s is %s, not %s", what, name, f.Value, value)
			}
		}
	}
	more := Parse(hidden(filepath.Base(e.File.Path), strings.Join(e.Sub, " ")))
	for _, f := range e.Help.Flags {
		for _, name := range f.Names {
			if !listed[name] && more.Find(name) == nil {
				t.Errorf("%s: %s is invented", what, name)
			}
		}
	}
}
