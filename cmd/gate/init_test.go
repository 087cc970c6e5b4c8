package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"gatehouse/gate/policy"
	"gatehouse/gate/spec"
)

// TestEveryPresetIsAPolicy draws a policy for each preset and each kind, alone and with strict, as if every program were
// there, and reads it: no preset may have an entry that is none, an example that fails, or anything worth a remark.
func TestEveryPresetIsAPolicy(t *testing.T) {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	names = append(names, "ops", "strict", "observe")
	for _, name := range names {
		for _, missing := range []bool{false, true} {
			presets := []string{name}
			if name != "strict" && name != "observe" {
				presets = append(presets, "strict")
			}
			d := &draft{project: &project{dir: "/home/a/p", git: true}, home: "/home/a", presets: presets, now: time.Now(),
				strict: true, missing: func(name string) bool { return missing && name != "cd" }}
			d.choose()
			text := d.gateYAML()
			p, err := policy.Parse("gate.yaml", []byte(text), spec.Bundled())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, remark := range p.Lint() {
				t.Errorf("%s: %s: %s", name, remark.At, remark.Text)
			}
			if missing != (len(p.Allow) == 1) {
				t.Errorf("%s: %d entries, with all programs missing: %v", name, len(p.Allow), missing)
			}
			if err := yaml.Unmarshal([]byte(d.rulesYAML()), new(any)); err != nil {
				t.Errorf("%s: rules.yaml: %v", name, err)
			}
		}
	}
}

func TestAProjectIsFoundByWhatLiesInIt(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".git/HEAD", "ref: refs/heads/main\n")
	write("go.mod", "module x\n")
	write("web/package.json", `{"scripts": {"test": "vitest", "pretest": "x", "deploy": "y", "it's": "z", "a\nb": "z"}}`)
	write("web/node_modules/left/package.json", "{}")
	write("node_modules/package.json", "{}")
	write(".github/workflows/ci.yml", "")
	write("src/deep/Cargo.toml", "")
	p, err := findProject(filepath.Join(dir, "src/deep"))
	if err != nil {
		t.Fatal(err)
	}
	d := &draft{project: p, home: "/home/a", missing: func(string) bool { return false }}
	d.choose()
	if diff := cmp.Diff([]string{"Go (go.mod)", "Node.js (web/package.json)"}, d.found); diff != "" {
		t.Errorf("found (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]script{{"deploy", "y"}, {"test", "vitest"}}, p.scripts("web/package.json"), cmp.AllowUnexported(script{})); diff != "" {
		t.Errorf("scripts (-want +got)\n%s", diff)
	}
	text := d.gateYAML()
	for _, want := range []string{"\n  - npm run test", "\n  # - npm run deploy ", `    - ".github/workflows/**"` + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTargetsAreThoseThatStandForSomethingToDo(t *testing.T) {
	for name, test := range map[string]struct {
		makefile string
		want     []string
	}{
		"the phony ones":   {".PHONY: all \\\n test\nall: a.o\na.o: a.c\ntest: all\nrun: all\n", []string{"all", "test"}},
		"without phonies":  {"all: a.o\nlint fmt:\n\tx\nbuild/x: y\nCC := gcc\nX ::= y\n%.o: %.c\n$(X): y\n", []string{"all", "lint", "fmt"}},
		"hostile names":    {".PHONY: a;b $(x) ok -f `c`\n", []string{"ok"}},
		"no makefile text": {"\x00\x01", nil},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(test.makefile), 0o644); err != nil {
			t.Fatal(err)
		}
		p := &project{dir: dir}
		if diff := cmp.Diff(test.want, p.targets("Makefile")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestRootFitsWhereTheProjectLies(t *testing.T) {
	for name, test := range map[string]struct {
		project project
		home    string
		want    string
	}{
		"below home":        {project{dir: "/home/a/src/p", git: true}, "/home/a", "  root: project             # the nearest directory with a .git; nothing outside of it\n  within: ${HOME} "},
		"elsewhere":         {project{dir: "/srv/p", git: true}, "/home/a", "  within: /srv "},
		"right below root":  {project{dir: "/app", git: true}, "/home/a", "  root: /app "},
		"without git":       {project{dir: "/home/a/p"}, "/home/a", "  root: /home/a/p\n"},
		"at home, no git":   {project{dir: "/home/a"}, "/home/a", "  root: project "},
		"a home-like start": {project{dir: "/home/ab/p", git: true}, "/home/a", "  within: /home/ab "},
	} {
		d := &draft{project: &test.project, home: test.home, missing: func(string) bool { return false }}
		d.choose()
		text := d.gateYAML()
		if !strings.Contains(text, test.want) {
			t.Errorf("%s: no %q in\n%s", name, test.want, text[strings.Index(text, "\npaths:"):])
		}
		if _, err := policy.Parse("gate.yaml", []byte(text), spec.Bundled()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScalarsAreReadBackAsTheyAre(t *testing.T) {
	for _, text := range []string{
		"git status", "true", "no", "-f", "--force", "npm run build:prod", "a: b", "a #b", "#x", "*", "${HOME}/**", ".env*", "", " a", "a ", "12",
		"it's", `a"b\c`, "a\nb", "é", "@x", "x@y", "/srv/p", "~", "null", "[a]", "{a}", "a,b", "0x10", "1e3", "y", "a:", ":a",
	} {
		var got map[string][]string
		if err := yaml.Unmarshal(fmt.Appendf(nil, "k: [%s, z]\n", scalar(text)), &got); err != nil {
			t.Errorf("%q as %s: %v", text, scalar(text), err)
			continue
		}
		if len(got["k"]) != 2 || got["k"][0] != text {
			t.Errorf("%q as %s: read as %q", text, scalar(text), got["k"])
		}
	}
}
