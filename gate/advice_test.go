package gate

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatARefusalAdvises holds what stands behind a refusal: whoever follows it must not be refused again for nothing.
func TestWhatARefusalAdvises(t *testing.T) {
	h := newHost(t, `version: 1
allow: [cd, git status, make test, sed -n, find, xargs, "./tool.sh", poetry run, {call: python3, only: [-m unittest, -m json.tool]}]
check_flags: spec
paths: {root: [/]}
`).files("cmd/app/main.go", "tool.sh")
	for _, name := range []string{"git", "make", "poetry", "python3"} {
		program(t, filepath.Join(h.bin, name))
	}
	h.rows([]row{
		{"git statsu", "deny entry did you mean git status?"},
		{"git stash", "deny entry no allow entry covers git stash; a person"},
		{"maek test", "deny binary did you mean make?"},
		{"sed 5p tool.sh", `deny entry wants "-n"`},
		{"python3 -c x", `deny entry wants one of "-m unittest", "-m json.tool" behind it`},
		{"python3 -m unittest -v", "allow"}, // a module is no program of this machine
		{"python3 -m json.tool tool.sh", "allow"},
		{"./gen.sh", "deny binary there is no program ./gen.sh"},
		{"./tool.sh", "deny binary ./tool.sh is not executable"},
		{"git -c core.hooksPath=/dev/null status", "deny binary switches them off, which is for a person"},
		{"sed -n 1p cmd/apps/main.go", "deny paths did you mean cmd/app/main.go?"},
		{"find . -name '*.go' -print0 | xargs -0 sed -n 1p", "allow"},
	})
	if d := h.check("cd nowhere && sed -n 1p a && sed -n 1p b"); len(d.Reasons) != 1 {
		t.Errorf("one directory that is not there is missed %d times", len(d.Reasons))
	}
}

// TestARuleWithdrawsAFix: rules stand in a file of their own, and taking one must not break the policy.
func TestARuleWithdrawsAFix(t *testing.T) {
	h := newHost(t, "version: 1\nallow: [git status, git push]\ncheck_flags: off\n"+
		"deny:\n- {call: git push, flags: [--force], fix: {run: git push --force-with-lease}}\n")
	put(t, filepath.Join(h.live, "rules.yaml"), "rules: [{id: never-forced, never: {tool: git_push, with: {force_with_lease: true}}}]\n")
	h.rows([]row{{"git status", "allow"}, {"git push --force", "deny entry"}, {"git push --force-with-lease", "deny rules"}})
	for _, r := range h.check("git push --force").Reasons {
		if r.Fix != "" {
			t.Errorf("%q is offered, and would be refused", r.Fix)
		}
	}
	withheld := h.open().Withheld()
	if len(withheld) != 1 || !strings.HasSuffix(withheld[0].At, "gate.yaml:5") || !strings.Contains(withheld[0].Text, "never-forced") {
		t.Errorf("%+v", withheld)
	}
}
