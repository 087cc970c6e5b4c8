package policy

import (
	"testing"

	"gatehouse/gate/call"
)

func TestADenyEntryStandsWhateverTheOrderAndSpelling(t *testing.T) {
	for _, test := range []struct {
		entry          string
		yes, maybe, no []string
	}{
		{"rm", []string{"rm x", "/bin/rm x", "./rm x", "sudo rm x", "find . -exec rm {} +", "ssh box rm -r /", "docker exec c sh -c 'ls; rm x'"},
			nil, []string{"rmdir x", "ssh box ls", "grep rm x", "git rm x"}},
		{"rm -rf", []string{"rm -rf x", "rm -fr x", "rm -r -f x", "rm x --recursive --force", "rm -r --force d", "rm -R -f x", "rm -rfv x", "rm -rZf x"},
			[]string{"rm -r $X", `rm -r "$X"`, "rm -r *", "ls | xargs rm -r"},
			[]string{"rm -r x", "rm -f x", "rm -- -rf", "rm -r x/*", `rm -r "d/$X"`, "rm -r -- $X", "rm -r -- *", "find . -exec rm -r {} +"}},
		{"git push", []string{"git push", "git -C d push", "git --no-pager push x", "git $'push' --force"},
			nil, []string{"git status push", "git stash push", "git log", "git commit -m 'git push'"}},
		{"git push --force", []string{"git push -f", "git push origin main --force", "git push --forc", "git push -uf o m"},
			[]string{`git push "$X"`, "git push $X", "ls | xargs git push", "git push *"},
			[]string{"git push", "git push --force-with-lease", "git push --no-force", "git push origin -- --force", `git push "o/$X"`, "git status --force"}},
		{"{call: git push, flags: [--force]}", []string{"git push -f", "git push --force"}, []string{"git push $X"}, []string{"git push"}},
		{"{call: git branch, flags: [-D, --force]}", []string{"git branch -D x", "git branch -f x", "git branch --force x"}, nil,
			[]string{"git branch -d x", "git branch"}},
		{"{call: git commit, flags: [--no-verify]}", []string{"git commit -n -m x", "git commit -nm x", "git commit --no-verify", "git commit --no-ver"},
			[]string{"git commit $X"}, []string{"git commit -m x", "git commit --verify", "git commit -m -n", `git commit -m "$X"`, `git commit -m "$(cat x)"`}},
		{"{call: git, flags: [-c]}", []string{"git -c a.b=c status"}, nil, []string{"git commit -c HEAD", "git status"}},
		{"{call: git, flags: [--force]}", []string{"git push --force", "git add -f x"}, nil, []string{"git status"}},
		{"git reset --hard", []string{"git -C sub reset --hard", "git reset HEAD --hard", "git reset --har"}, nil, []string{"git reset", "git reset --soft"}},
		{"git clean -f", []string{"git clean -f -n", "git clean -nfd"}, nil, []string{"git clean -n"}},
		{"{call: find, flags: [-delete]}", []string{"find . -delete", "find . -name x -delete"}, nil, []string{"find . -name -delete", "find ."}},
		{"{call: sort, flags: [-o]}", []string{"sort -uo a b", "sort --output=a b", "sort -oa b", "sort --out a"}, nil, []string{"sort a", "sort -- -o"}},
		{"{call: grep, flags: [--recursive]}", []string{"grep --recursi x .", "grep -R x .", "grep -rn x ."}, nil, []string{"grep -n x f", `grep -e "--recursive" f`}},
		{"{call: sort, flags: [--compress-program]}", []string{"sort --compress-program=x f", "sort --compress-prog x f"}, nil, []string{"sort -c f"}},
		{"{call: docker run, flags: [--network=host]}", []string{"docker run --network=host i", "docker run --network host i"},
			[]string{`docker run --network "$X" i`}, []string{"docker run --network=none i", "docker run i"}},
		{"kubectl delete", []string{"kubectl delete ns x", "K=1 kubectl delete ns x", "kubectl -n x delete pod y"}, nil, []string{"kubectl get delete"}},
		{"npm publish", []string{"npm publish", "npm --tag x publish"}, []string{"npm $X", "npm $X publish", `npm "$X"`, "ls | xargs npm"},
			[]string{"npm test publish", "npm", `npm test "$X"`}},
		{"python3", []string{"python3 x", "python x", "python3.11 x", "/opt/python3 x"}, nil, []string{"pip x"}},
		{"notify send", []string{"notify send x", "notify --fast send", "notify --channel x send", "notify -v send"},
			[]string{`notify "$X"`, `notify "$X" send`, "notify $X send"},
			[]string{"notify list send", "notify list", "notify --channel=x list send", `notify list "$X"`, "notify"}},
		{"{call: notify, flags: [-f]}", []string{"notify -f", "notify -vf", "notify x -fx"}, []string{"notify $X"}, []string{"notify -- -f", "notify --f2x", "notify x"}},
		{"{call: notify, flags: [--force]}", []string{"notify --force", "notify --force=1", "notify --for"}, nil, []string{"notify --forces", "notify -force-not"}},
		{"{call: notify, flags: [--level=high]}", []string{"notify --level=high", "notify --level high x"}, []string{`notify --level "$X"`, `notify --level="$X"`},
			[]string{"notify --level low", "notify --level=low", "notify high", "notify --level"}},
		{"git push --force", []string{"git-push --force", "/usr/lib/git-core/git-push -f"}, nil, []string{"git-push", "git-pull --force"}},
		{"rm build", []string{"rm build", "rm -r build", "rm ./build", "rm build/ x"}, []string{"rm $X", "rm buil*"}, []string{"rm x build"}},
		{"rm src/", []string{"rm src/a", "rm ./src/a/b", "rm src"}, []string{"rm src/*"}, []string{"rm a"}},
		{"docker rm -f", []string{"docker rm -f a", "docker container rm -f a", "docker --context x container rm a --force"}, nil, []string{"docker container ls -a", "docker container rm a"}},
		{"docker container rm -f", []string{"docker container rm -f a", "docker rm --force a"}, nil, []string{"docker rm a"}},
		{"docker rmi", []string{"docker rmi a", "docker image rm a", "podman x; docker image remove -f a"}, nil, []string{"docker image ls", "docker rm a"}},
		{"docker image rm -f", []string{"docker rmi -f a", "docker image rm -f a"}, nil, []string{"docker rmi a", "docker images"}},
		{"docker ps", []string{"docker container ls", "docker ps -a"}, nil, []string{"docker container rm a"}},
		{"docker compose down -v", []string{"docker-compose down -v", "docker compose down --volumes", "docker-compose -f x down -v"}, nil, []string{"docker-compose up -d", "docker-compose down"}},
		{"docker-compose down", []string{"docker compose -f x down", "docker-compose down"}, nil, []string{"docker compose up"}},
		{"cargo publish", []string{"cargo publish", "cargo +nightly publish", "cargo +nightly -v publish --dry-run"}, nil, []string{"cargo +nightly build", "cargo build publish"}},
		{"git branch -D", []string{"git branch -D a", "git branch -d -f a", "git branch -df a", "git branch --force --delete a"}, nil, []string{"git branch -d a", "git branch -f a b", "git branch -m -f a b"}},
		{"sudo", []string{"sudo ls", "sudo -u x ls"}, nil, []string{"ls sudo"}},
		{"sh -c", []string{"sh -c ls", "sh -ec ls"}, nil, []string{"sh x.sh"}},
		{"[[", []string{"[ x ]", "test x", "[[ x ]]"}, nil, []string{"ls"}},
		{"shutdown", []string{"shutdown now"}, nil, []string{"aws ec2 run-instances --instance-initiated-shutdown-behavior stop"}},
	} {
		t.Run(test.entry, func(t *testing.T) {
			p := listed(t, nil, []string{test.entry})
			for want, lines := range map[Match][]string{Yes: test.yes, Maybe: test.maybe, No: test.no} {
				for _, line := range lines {
					if got := p.deniedLine(calls(t, line)); got != want {
						t.Errorf("%s: %d, want %d", line, got, want)
					}
				}
			}
		})
	}
}

// deniedLine is the strongest answer for a call of the line.
func (p *Policy) deniedLine(calls []call.Call) (worst Match) {
	for i := range calls {
		_, m := p.Denied(&calls[i], onPath)
		worst = max(worst, m)
	}
	return worst
}

func TestAGlobIsAnOptionOnlyWhereAFileIsNamedSo(t *testing.T) {
	p := listed(t, nil, []string{"rm -r"})
	c := &calls(t, "rm *")[0]
	for _, there := range []bool{true, false} {
		asked := -1
		_, got := p.Denied(c, Host{Dashed: func(_ *call.Call, word int) bool { asked = word; return there }})
		if want := map[bool]Match{true: Maybe, false: No}[there]; got != want || asked != 1 {
			t.Errorf("files with a dash %v: %d for word %d, want %d for word 1", there, got, asked, want)
		}
	}
}

func TestACallThatNobodyTookApartIsRefused(t *testing.T) {
	p := listed(t, []string{"git"}, []string{"git push"})
	c := &call.Call{Argv: []string{"git", "status"}}
	if e, why := p.Allowed(c, Host{}); e != nil || why == "" {
		t.Errorf("allowed by %v, why %q", e, why)
	}
	if _, m := p.Denied(c, Host{}); m != Yes {
		t.Errorf("denied %d, want Yes", m)
	}
}
