package policy

import (
	"strings"
	"testing"
)

var place = Place{Project: "/home/u/p", Home: "/home/u"}

// patterns makes a list of texts separated by blanks.
func patterns(t testing.TB, text string, permits bool) (list Patterns) {
	t.Helper()
	for _, one := range strings.Fields(text) {
		if why := wrong(one); why != "" {
			t.Fatalf("%s %s", one, why)
		}
		list = append(list, Pattern{Text: one, permits: permits})
	}
	return list
}

func TestPatternsMatchAsInAGitignore(t *testing.T) {
	for _, test := range []struct{ patterns, yes, no string }{
		{".env*", "/home/u/p/.env /home/u/p/a/b/.env.local /etc/.env /home/u/p/.envs/x /.env", "/home/u/p/env /home/u/p/a.env"},
		{".git/", "/home/u/p/.git /home/u/p/.git/config /x/sub/.git/hooks/pre-commit", "/home/u/p/.gitignore /home/u/p/x.git/a"},
		{".git/hooks/**", "/home/u/p/.git/hooks/pre-commit /home/u/p/.git/hooks/a/b", "/home/u/p/.git/hooks /home/u/p/sub/.git/hooks/x /home/u/.git/hooks/x"},
		{"**/.git/hooks/**", "/home/u/p/.git/hooks/x /home/u/p/sub/.git/hooks/x /.git/hooks/x", "/home/u/p/.git/hooks"},
		{"**/*.pem", "/home/u/p/a.pem /a.pem /x/y/z.pem /x/d.pem/file", "/x/pem /x/a.pem2"},
		{"${HOME}/.ssh/**", "/home/u/.ssh/id /home/u/.ssh/a/b", "/home/u/.ssh /home/v/.ssh/id /home/u/p/.ssh/id"},
		{"${HOME}/.ssh/", "/home/u/.ssh /home/u/.ssh/id", "/home/u/.sshx"},
		{"${PROJECT}/x", "/home/u/p/x /home/u/p/x/y", "/home/u/p/a/x /x"},
		{"${PROJECT}", "/home/u/p /home/u/p/a", "/home/u /home/u/p2"},
		{"/etc/passwd", "/etc/passwd /home/u/p/etc/passwd", "/home/u/etc/passwd"},
		{"/secrets.txt", "/secrets.txt /home/u/p/secrets.txt", "/home/u/p/a/secrets.txt"},
		{"migrations/**", "/home/u/p/migrations/1.sql", "/home/u/p/a/migrations/1.sql /home/u/p/migrations"},
		{"a/**/z", "/home/u/p/a/z /home/u/p/a/b/z /home/u/p/a/b/c/z/d", "/home/u/p/a/b /home/u/p/z"},
		{"a/**/b/**/c", "/home/u/p/a/b/c /home/u/p/a/x/b/y/z/c /home/u/p/a/b/b/c", "/home/u/p/a/c /home/u/p/a/x/c"},
		{"**", "/a /a/b", ""},
		{"*", "/a /a/b /home/u/p", "/"},
		{"src/*.c", "/home/u/p/src/a.c /home/u/p/src/.c", "/home/u/p/src/a/b.c /home/u/p/a.c"},
		{"*.l?g", "/x/a.log /x/.lög", "/x/a.lg /x/a.loog"},
		{"[a-c]x[!0-9]", "/p/axz /p/cx- /p/bx]", "/p/dxz /p/ax5 /p/ax"},
		{"[]a]", "/p/] /p/a", "/p/b"},
		{`\*x`, "/p/*x", "/p/ax"},
		{`\!x`, "/p/!x", "/p/x"},
		{"caf*", "/p/café /p/caf", "/p/ca"},
		{"a*b*c", "/p/abc /p/aXbXc /p/abbc /p/abcbc", "/p/ab /p/acb"},
		{".env* !.env.example", "/p/.env /p/.env.local", "/p/.env.example /p/.env.example/x"},
		{"!.env .env*", "/p/.env", "/p/x"},
		{"** !secrets/**", "/home/u/p/a /home/u/p/secrets", "/home/u/p/secrets/x"},
		{"/", "/ /a/b", ""},
	} {
		list := patterns(t, test.patterns, false)
		for _, name := range strings.Fields(test.yes) {
			if list.Match(name, place) == nil {
				t.Errorf("%s does not match %s", test.patterns, name)
			}
		}
		for _, name := range strings.Fields(test.no) {
			if p := list.Match(name, place); p != nil {
				t.Errorf("%s matches %s", p.Text, name)
			}
		}
	}
}

func TestBelowIsWhatGitIgnores(t *testing.T) {
	for _, test := range []struct{ patterns, yes, no string }{
		{"home", "/home/u/p/home /home/u/p/a/home/x", "/home/u/p/a /home/u/p/x/homes"},
		{"/home", "/home/u/p/home/x", "/home/u/p/a /home/u/p/a/home"},
		{"**/u/**", "/home/u/p/u/x", "/home/u/p/a"},
		{".env/", "/home/u/p/.env/x /home/u/p/a/.env/x", "/home/u/p/.env /home/u/p/a/.env"},
		{"build/out/", "/home/u/p/build/out/x", "/home/u/p/build/out /home/u/p/a/build/out/x"},
		{"*.log !keep.log", "/home/u/p/a.log", "/home/u/p/keep.log"},
		{"a/b", "/home/u/p/a/b /home/u/p/a/b/c", "/home/u/p/x/a/b"},
		{"* / ! [", "/home/u/p/x", "/home/u/p /home/u /etc/x"},
		{"/ ! [a", "", "/home/u/p/x /home/u/p/[a"},
	} {
		var list Patterns
		for _, text := range strings.Fields(test.patterns) {
			list = append(list, Pattern{Text: text})
		}
		for _, name := range strings.Fields(test.yes) {
			if ignored, _ := list.Below("/home/u/p", name); !ignored {
				t.Errorf("%s does not match %s", test.patterns, name)
			}
		}
		for _, name := range strings.Fields(test.no) {
			if ignored, decided := list.Below("/home/u/p", name); ignored || decided != strings.HasSuffix(name, "keep.log") {
				t.Errorf("%s decides on %s: %v, %v", test.patterns, name, ignored, decided)
			}
		}
	}
	if ignored, _ := (Patterns{{Text: "x"}}).Below("/", "/a/x"); !ignored {
		t.Error("nothing lies below the root")
	}
	if (Patterns{{}}).Match("/a", place) != nil {
		t.Error("an empty pattern matches")
	}
}

func TestWhereADirectoryIsNotKnownAPatternForbidsMoreAndPermitsLess(t *testing.T) {
	for _, text := range []string{"${HOME}/.ssh/**", "${PROJECT}/x", "a/b"} {
		name := map[string]string{"${HOME}/.ssh/**": "/any/.ssh/id", "${PROJECT}/x": "/any/x", "a/b": "/any/a/b"}[text]
		if patterns(t, text, false).Match(name, Place{}) == nil {
			t.Errorf("%s does not forbid %s", text, name)
		}
		if patterns(t, text, true).Match(name, Place{}) != nil {
			t.Errorf("%s permits %s", text, name)
		}
	}
}

func TestReachesSaysWhetherATreeCanHoldAMatch(t *testing.T) {
	for _, test := range []struct{ pattern, yes, no string }{
		{".env*", "/home/u/p /tmp", ""},
		{"**/*.pem", "/home/u/p", ""},
		{"${HOME}/.ssh/**", "/ /home /home/u /home/u/.ssh /home/u/.ssh/a", "/home/u/p /etc"},
		{".git/hooks/**", "/home/u/p /home/u/p/.git /home/u/p/.git/hooks", "/home/u/p/src /home/u/p/.git/objects /etc"},
		{"a/*/c", "/home/u/p/a/b /home/u/p/a/b/c/d", "/home/u/p/a/b/d"},
		{"a/**/c", "/home/u/p/a/b/d", "/home/u/p/b"},
		{"/etc/shadow", "/etc / /home/u/p/etc", "/home/u/p/src /usr"},
		{"!a", "", "/a"},
	} {
		list := patterns(t, test.pattern, false)
		for _, dir := range strings.Fields(test.yes) {
			if list.Reaches(dir, place) == nil {
				t.Errorf("%s does not reach below %s", test.pattern, dir)
			}
		}
		for _, dir := range strings.Fields(test.no) {
			if list.Reaches(dir, place) != nil {
				t.Errorf("%s reaches below %s", test.pattern, dir)
			}
		}
	}
}

func TestMayMatchComparesTwoGlobs(t *testing.T) {
	for _, test := range []struct{ pattern, yes, no string }{
		{".env*", `/home/u/p/* /home/u/p/.e* /home/u/p/??nv /home/u/p/.env /x/*v*`, `/home/u/p/x* /home/u/p/src/?`},
		{"**/*.pem", `/home/u/p/* /p/*.p?m /p/a*`, `/p/*.c`},
		{"${HOME}/.ssh/**", `/home/u/*/id /home/*/.ssh/x /home/u/.s*/id*`, `/home/u/p/* /etc/* /home/u/*`},
		{".git/hooks/**", `/home/u/p/*/hooks/x /home/u/p/.git/*/*`, `/home/u/p/src/* /home/u/p/.git/*`},
		{"a/*.c", `/home/u/p/a/b*`, `/home/u/p/a/b*.h`},
		{`\*x`, `/p/\*x /p/*`, `/p/\*y`},
	} {
		list := patterns(t, test.pattern, false)
		for _, glob := range strings.Fields(test.yes) {
			if list.MayMatch(glob, place) == nil {
				t.Errorf("%s and %s do not overlap", test.pattern, glob)
			}
		}
		for _, glob := range strings.Fields(test.no) {
			if list.MayMatch(glob, place) != nil {
				t.Errorf("%s and %s overlap", test.pattern, glob)
			}
		}
	}
}
