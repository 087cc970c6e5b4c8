package policy

import "testing"

func TestVariablesThatChooseAProgramMustBeNamedInFull(t *testing.T) {
	p := parse(t, "version: 1\nenv: {allow: ['*', PATH, GIT_AUTHOR_NAME]}\n")
	narrow := parse(t, "version: 1\nenv: {allow: [CI, 'LC_*', 'GIT_*']}\n")
	for _, test := range []struct {
		p    *Policy
		name string
		want bool
	}{
		{p, "CI", true}, {p, "PATH", true}, {p, "GIT_AUTHOR_NAME", true}, {p, "GIT_SSH", false}, {p, "LD_PRELOAD", false},
		{p, "BASH_ENV", false}, {p, "PYTHONPATH", false}, {p, "NODE_OPTIONS", false}, {p, "EDITOR", false}, {p, "PAGER", false},
		{p, "https_proxy", false}, {p, "NODE_ENV", true}, {p, "LUA_INIT_5_4", false}, {p, "CMAKE_C_COMPILER_LAUNCHER", false},
		{narrow, "CI", true}, {narrow, "CI2", false}, {narrow, "LC_ALL", true}, {narrow, "LANG", false}, {narrow, "GIT_DIR", false},
		{narrow, "GIT_EXTERNAL_DIFF", false}, {narrow, "", false},
	} {
		ok, why := test.p.EnvAllowed(test.name)
		if ok != test.want || ok == (why != "") {
			t.Errorf("%q: %v %q, want %v", test.name, ok, why, test.want)
		}
	}
}

func TestHarmlessVariablesAreNotDangerous(t *testing.T) {
	for _, name := range []string{
		"CI", "LANG", "LC_ALL", "TZ", "NO_COLOR", "NODE_ENV", "CGO_ENABLED", "GOOS", "GOARCH", "RUST_BACKTRACE", "DOCKER_BUILDKIT", "DEBUG",
		"FORCE_COLOR", "TERM", "COLUMNS", "RUST_LOG", "GOMAXPROCS", "PORT",
	} {
		if Dangerous(name) {
			t.Errorf("%s is dangerous", name)
		}
	}
}
