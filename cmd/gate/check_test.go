package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse/gate"
)

// TestPrivateScripts runs what a user types on a machine that has only the programs of the script, in bin, and gate.
func TestPrivateScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/private",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			bin, home := filepath.Join(env.WorkDir, "bin"), filepath.Join(env.WorkDir, "home")
			for _, dir := range []string{bin, home} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
			programs, err := filepath.Glob(filepath.Join(bin, "*"))
			if err != nil {
				return err
			}
			for _, name := range programs {
				if err := os.Chmod(name, 0o755); err != nil {
					return err
				}
			}
			self, err := lookIn(env.Getenv("PATH"), "gate")
			if err != nil {
				return err
			}
			if err := os.Symlink(self, filepath.Join(bin, "gate")); err != nil {
				return err
			}
			env.Setenv("PATH", bin)
			env.Setenv("HOME", home)
			return nil
		},
	})
}

func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
			return file, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func TestExpectationsAreReadStrictly(t *testing.T) {
	list, err := parseExpectations("f", []byte("# c\n\nallow: a: b\n Deny : x | y\nASK: z\n"))
	want := []expectation{{"f:3", gate.Allow, "a: b"}, {"f:4", gate.Deny, "x | y"}, {"f:5", gate.Ask, "z"}}
	if diff := cmp.Diff(want, list, cmp.AllowUnexported(expectation{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	_, err = parseExpectations("f", []byte("allow x\nalow: x\nallow:\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("problems: %v, want three lines", err)
	}
	for _, want := range []string{"f:1: ", "f:2: ", "did you mean allow?", "f:3: "} {
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("problems without %q: %v", want, err)
		}
	}
}

func TestARequestOfJSONLinesIsOneThing(t *testing.T) {
	line, empty := "ls", ""
	for name, test := range map[string]struct {
		request checkRequest
		ok      bool
	}{
		"a line":           {checkRequest{Line: &line}, true},
		"an empty line":    {checkRequest{Line: &empty}, true},
		"words":            {checkRequest{Argv: []string{"ls"}}, true},
		"a tool":           {checkRequest{Tool: &toolJSON{Name: "Edit"}}, true},
		"nothing":          {checkRequest{Cwd: "/"}, false},
		"no words":         {checkRequest{Argv: []string{}}, false},
		"a line and words": {checkRequest{Line: &line, Argv: []string{"ls"}}, false},
		"a relative cwd":   {checkRequest{Line: &line, Cwd: "src"}, false},
		"an absolute cwd":  {checkRequest{Line: &line, Cwd: "/a/../b"}, true},
	} {
		r, err := test.request.request()
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
		if name == "an absolute cwd" && r.Cwd != "/b" {
			t.Errorf("%s: %q", name, r.Cwd)
		}
	}
}

func TestWordsAreQuotedAsAShellReadsThem(t *testing.T) {
	for want, words := range map[string][]string{
		`ls -l`:               {"ls", "-l"},
		`rm 'my build' ''`:    {"rm", "my build", ""},
		`echo 'it'\''s' '~x'`: {"echo", "it's", "~x"},
	} {
		if got := quoteWords(words); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
