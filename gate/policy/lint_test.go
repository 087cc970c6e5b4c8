package policy

import (
	"strings"
	"testing"
)

func TestLintSaysWhatIsNotLikelyMeant(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"allow: [git status, git status]", `gate.yaml:2: allow "git status" adds nothing: "git status" (gate.yaml:2) covers it`},
		{"allow: [git, git push -f]", `allow "git push -f" adds nothing: "git" (`},
		{"allow: [git push -f, git]", `allow "git push -f" adds nothing: "git" (`},
		{"allow: [ls -la, ls -l -a]", "adds nothing"},
		{"allow: [npm test, npm t]", "adds nothing"},
		{"allow: [git push -f]\ndeny: [git push --force]", `allow "git push -f" never counts: deny "git push --force"`},
		{"allow: [rm -r x]\ndeny: [{call: rm, flags: [-R]}]", "never counts: deny"},
		{"allow: [for]", "it is a word of the shell"},
		{"deny: [while]", "it is a word of the shell"},
		{"deny: [rm, rm]", `deny "rm" stands twice; it is also on line 2`},
		{"allow: [python3]", "lets any program in that language run"},
		{"allow: [bash]", "lets any script file run unseen"},
		{"allow: [sudo ls]", "as another user"},
		{"allow: [timeout]", "a wrapper of this kind is seen through"},
		{"allow: [ssh]", "lets it run whatever it is told to"},
		{"env: {allow: ['*']}", "lets every variable be set"},
		{"env: {allow: [PATH]}", "lets a line choose the program"},
		{"env: {allow: [CI, CI]}", "has CI twice"},
		{"paths: {deny: [a, a]}", `paths.deny has "a" twice`},
		{"paths: {deny: ['!a', b]}", "takes back nothing"},
		{"allow: [git status, git status --short, {call: git log, exact: true}]", "adds nothing"},

		{"allow: [git status, git push, npm run a, npm run b, sed -n, python3 -m x, env, touch a/, touch b/]\ndeny: [{call: git push, flags: [-f]}]", ""},
		{"allow: [{call: git status, exact: true}, git status --short]", ""},
		{"allow: [{call: ls, trust: root-owned}, ls -l]", ""},
		{"allow: [docker run --network=none, docker ps]\ndeny: [docker run --network=host]", ""},
	} {
		p := parse(t, "version: 1\n"+test.text+"\n")
		var got []string
		for _, problem := range p.Lint() {
			got = append(got, problem.At+": "+problem.Text)
		}
		all := strings.Join(got, "\n")
		if test.want == "" && all != "" || !strings.Contains(all, test.want) || test.want != "" && len(got) != 1 && !strings.Contains(test.text, "-la") {
			t.Errorf("%s\n got %s\nwant %s", test.text, all, test.want)
		}
	}
}
