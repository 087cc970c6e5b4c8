package house

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unicode/utf8"
)

// workplace finds paths of the place where somebody worked on the project. They mean nothing to anybody else.
var workplace = regexp.MustCompile(`(^|[^A-Za-z0-9_./-])/` + `work/|(^|[^./])\.\./` + `shared\b`)

func TestTextNamesNoWorkplace(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !utf8.Valid(data) {
			return nil
		}
		files++
		for n, line := range bytes.Split(data, []byte("\n")) {
			if found := workplace.Find(line); found != nil {
				t.Errorf("%s:%d: names a workplace: %q", name, n+1, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("looked at %d files; this is not the module", files)
	}
}

func TestWorkplacePattern(t *testing.T) {
	for text, want := range map[string]bool{
		"see /" + "work/main": true, "`/" + "work/x`": true, "/" + "work/": true, "../" + "shared/DESIGN.md": true,
		"/home/work/x": false, "a/work/b": false, "/workspace": false, "work/": false,
		"../sharedness": false, "../../" + "shared/.git": false,
	} {
		if got := workplace.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
