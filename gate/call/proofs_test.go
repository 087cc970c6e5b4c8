package call_test

import (
	"strings"
	"testing"

	"gatehouse/gate/call"
)

func TestWhichCallsRunOnlyIfAnEarlierOneSucceeded(t *testing.T) {
	for line, want := range map[string]string{ // a>b: b runs only if a succeeded; a>-: nothing does
		"a && b":                          "a>b b>-",
		"a && b && c":                     "a>bc b>c c>-",
		"a; b":                            "a>- b>-",
		"a || b":                          "a>- b>-",
		"a && b; c":                       "a>b b>- c>-",
		"a || b && c":                     "a>- b>- c>-",
		"a && b || c && d":                "a>b b>- c>- d>-",
		"! a && b":                        "a>- b>-",
		"! a || b":                        "a>b b>-",
		"a && ! b && c":                   "a>bc b>- c>-",
		"a && ! b || c":                   "a>b b>- c>-",
		"! a | b && c":                    "a>- b>- c>-",
		"a | b && c":                      "a>- b>c c>-",
		"set -o pipefail; a | b && c | d": "s>- a>cd b>cd c>- d>-",
		"set -e; a; b":                    "s>- a>b b>-",
		"set -e; ! a; b":                  "s>- a>- b>-",
		"a || exit 1; b":                  "a>b e>- b>-",
		"! a || exit 1; b":                "a>e e>- b>-",
		"! a && exit 1; b":                "a>b e>- b>-",
		"a && X=1 && b":                   "a>b b>-",
		"a && b $(c)":                     "a>cb c>- b>-",
		"{ a; } && b":                     "?",
		"! { a; } && b":                   "?",
		"a & b":                           "?",
	} {
		calls := translate(t, line)
		proofs, ok := call.Proofs(line, calls)
		var words []string
		for i, p := range proofs {
			word := calls[i].Argv[0][:1] + ">"
			for _, c := range calls[p.From:p.To] {
				word += c.Argv[0][:1]
			}
			if p.To == 0 {
				word += "-"
			}
			words = append(words, word)
		}
		got := strings.Join(words, " ")
		if !ok {
			got = "?"
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
}
