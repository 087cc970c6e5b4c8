package policy

import (
	"testing"

	"gatehouse/gate/call"
)

func TestWrappersThatOnlySetSurroundingsNeedNoEntry(t *testing.T) {
	for _, test := range []struct {
		line  string
		allow []string
		open  []string // the calls that are not covered
	}{
		{"timeout 5 git status", []string{"git status"}, nil},
		{"env A=1 nice -n 5 stdbuf -oL timeout 5 git status", []string{"git status"}, nil},
		{"time ls -1 .", []string{"ls"}, nil},
		{"command ls", []string{"ls"}, nil},
		{"command -v ls", []string{"ls"}, []string{"command"}},
		{"command -v ls", []string{"command -v"}, nil},
		{"env", []string{"ls"}, []string{"env"}},
		{"env", []string{"env"}, nil},
		{"timeout 60 rm -r dist", []string{"timeout"}, []string{"rm"}},
		{"env sh -c 'touch made'", []string{"env"}, []string{"sh", "touch"}},
		{"./env ls", []string{"ls"}, []string{"./env"}},
		{"/usr/bin/env ls", []string{"ls"}, nil},
		{"/tmp/timeout 5 ls", []string{"ls"}, []string{"/tmp/timeout"}},
		{"sh -c 'ls; rm x'", []string{"ls", "rm"}, []string{"sh"}},
		{"sh -c 'ls; rm x'", []string{"sh -c", "ls"}, []string{"rm"}},
		{"ls | xargs rm", []string{"ls", "rm"}, []string{"xargs"}},
		{"find . -exec rm {} +", []string{"find"}, []string{"rm"}},
		{"sudo ls", []string{"ls"}, []string{"sudo"}},
		{"ssh box rm x", []string{"ssh box"}, nil},
		{"python3 -m pytest -q", []string{"python3 -m pytest"}, nil},
		{"python3 -m pytest -q", []string{"{call: python3, only: [-m pytest]}"}, nil},
		{"python3 -m pytest -q", []string{"python3 -m"}, []string{"pytest"}},
		{"python3 -m pytest -q", []string{"python3", "pytest"}, nil},
		{"python3 -m pytest -q", []string{"pytest"}, []string{"python3"}},
		{"timeout 9 python3 -m pytest", []string{"python3 -m pytest"}, nil},
		{"python3 -m pytest; pytest", []string{"python3 -m pytest"}, []string{"pytest"}},
		{"sudo -n systemctl status x", []string{"sudo systemctl status"}, nil},
		{"sudo systemctl stop x", []string{"sudo systemctl status"}, []string{"sudo", "systemctl"}},
		{"sudo systemctl status x; systemctl status x", []string{"sudo systemctl status"}, []string{"systemctl"}},
		{"sudo systemctl $X status", []string{"sudo systemctl status"}, []string{"sudo", "systemctl"}},
		{"sudo ls", []string{"sudo"}, []string{"ls"}},
		{"sudo sh -c 'ls'", []string{"sudo sh"}, []string{"ls"}},
		{"npx prettier --check .", []string{"npx prettier"}, nil},
		{"timeout 60 npm test", []string{"timeout 60 npm test"}, nil},
		{"timeout 60 npm ci", []string{"timeout 60 npm test"}, []string{"npm"}},
		{"ls | xargs grep x", []string{"ls", "xargs grep"}, nil},
		{"ls | xargs /tmp/grep x", []string{"ls", "xargs grep"}, []string{"xargs", "/tmp/grep"}},
		{`eval ls \; rm x`, []string{"eval ls"}, []string{"ls", "rm"}},
		{"find . -exec rm {} +", []string{"find ."}, []string{"rm"}},
		{"(( i++ ))", nil, nil},
		{"[[ -f x && ! -d y ]]", nil, nil},
		{"[ -f x ]", nil, []string{"test"}},
		{"env [[ -f x ]]", nil, []string{"[["}},
		{"> out", nil, nil},
		{"2>> 'a b' < \"in\" &> x", nil, nil},
		{"redirect", nil, []string{"redirect"}},
		{"redirect > out", nil, []string{"redirect"}},
		{"> out redirect", nil, []string{"redirect"}},
		{`"re"direct > x`, nil, []string{"redirect"}},
		{`> x re\direct`, nil, []string{"redirect"}},
		{"R=redirect; > x $R", nil, []string{"redirect"}},
		{"> x $'redirect'", nil, []string{"redirect"}},
	} {
		list := calls(t, test.line)
		p := listed(t, test.allow, nil)
		var open []string
		for i, c := range p.Cover(list, onPath) {
			if !c.OK() {
				open = append(open, list[i].Argv[0])
				if c.Why == "" {
					t.Errorf("%s: no reason for %s", test.line, list[i].Argv[0])
				}
			}
		}
		if len(open) != len(test.open) {
			t.Errorf("%s with %q: not covered %q, want %q", test.line, test.allow, open, test.open)
			continue
		}
		for i := range open {
			if open[i] != test.open[i] {
				t.Errorf("%s with %q: not covered %q, want %q", test.line, test.allow, open, test.open)
			}
		}
	}
}

func TestASubcommandThatNobodyKnowsMayBeAnAlias(t *testing.T) {
	c := &calls(t, "git p origin")[0]
	for _, test := range []struct {
		allow, deny []string
		covered     bool
	}{
		{[]string{"git"}, nil, true},
		{[]string{"git"}, []string{"git push"}, false},
		{[]string{"git", "git p"}, []string{"git push"}, true},
		{[]string{"git"}, []string{"rm"}, true},
	} {
		e, why := listed(t, test.allow, test.deny).Allowed(c, Host{})
		if (e != nil) != test.covered {
			t.Errorf("allow %q deny %q: %v, %s", test.allow, test.deny, e, why)
		}
	}
}

func TestEveryCallOfALineIsAnswered(t *testing.T) {
	p := listed(t, []string{"ls"}, nil)
	if got := p.Cover([]call.Call{}, Host{}); len(got) != 0 {
		t.Errorf("no calls: %v", got)
	}
	var zero Cover
	if zero.OK() {
		t.Error("the zero cover lets a call pass")
	}
}
