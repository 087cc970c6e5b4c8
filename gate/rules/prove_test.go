package rules

import "testing"

func TestACallThatRunsOnlyIfAnotherSucceededNeedsNoRecord(t *testing.T) {
	l := in(t, `rules: [{id: a, before: {first: {tool: pytest, succeeded: true}, then: git_push}}]`)
	for line, want := range map[string]string{
		"pytest && git push":                             "allow",
		"pytest && ! ls && git push":                     "allow",
		"! pytest || git push":                           "allow",
		"! pytest && git push":                           "deny",
		"! ls | pytest && git push":                      "deny",
		"ls | pytest && git push":                        "allow",
		"! timeout 9 pytest && git push":                 "deny",
		"timeout 9 pytest && git push":                   "allow",
		"time { ! pytest; } && git push":                 "deny",
		"time pytest && git push":                        "allow",
		"! { ls; pytest; } && git push":                  "deny",
		"! { pytest && ls; } && git push":                "deny",
		"echo 'done!' && pytest && git push":             "allow",
		`git commit -m "works!" && pytest && git push`:   "allow",
		"bash -c '! pytest && git push'":                 "deny",
		"bash -c 'pytest && git push'":                   "allow",
		"bash -c '! pytest' && git push":                 "deny",
		"set -e; pytest; git push":                       "allow",
		"set -e; ! pytest; git push":                     "deny",
		"pytest || exit 1; git push":                     "allow",
		"! pytest || exit 1; git push":                   "deny",
		"ls || pytest && git push":                       "deny",
		"ls || pytest && cat x && git push":              "deny",
		"ls || cat x && pytest && git push":              "allow",
		"ls || { pytest && cat x; } && git push":         "deny",
		"ls || { cat x; pytest; } && git push":           "deny",
		"if ls; then pytest && git push; fi":             "allow",
		"if ls || cat x; then pytest && git push; fi":    "deny", // it is not followed so far
		"if ! ls; then pytest && git push; fi":           "deny", // nor this
		"(cd a && pytest && git push)":                   "allow",
		"cd a && pytest -q --lf 2>&1 >log && git push":   "allow",
		"pytest && X=$(git rev-parse HEAD) && git push":  "allow",
		"! X=$(pytest && true) && git push":              "deny",
		"pytest && ssh host git push; git push":          "deny",
		"pytest && git add . && git commit -m 'fix: !x'": "allow",
	} {
		if got := l.judge(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
