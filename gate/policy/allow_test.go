package policy

import "testing"

func TestAnEntryCoversTheBeginningOfACall(t *testing.T) {
	for _, test := range []struct {
		entry    string
		covers   []string
		coversNo []string
	}{
		{"git", []string{"git", "git --version", "git status", "git -C d push -f", "git frob x"}, []string{"gitk", "./git x", "/tmp/git status"}},
		{"git status", []string{"git status", "git -C d status", "git --no-pager status --short", `git status "$X"`, "git status $X"},
			[]string{"git", "git stash", "git stat"}},
		{"git remote add", []string{"git remote add x y", "git remote add"}, []string{"git remote", "git remote remove x"}},
		{"git clean -f", []string{"git clean -f", "git clean -fn", "git clean -nf", "git clean --force", "git clean . -f"},
			[]string{"git clean", "git clean -n", "git clean -- -f", "git clean --forc"}},
		{"git -C sub status", []string{"git -C sub status"}, []string{"git -C other status", "git status", `git -C "$D" status`}},
		{"git frob", []string{"git frob", "git frob x --y"}, []string{"git frobnicate"}},
		{"git diff-tree", []string{"git diff-tree -r HEAD"}, []string{"git diff HEAD"}},
		{"sed -n", []string{"sed -n 5p f", "sed -ne 5p f", "sed 5p -n f", "sed --quiet 5p f"}, []string{"sed 5p f", "sed -i s/a/b/ f"}},
		{"npm run test", []string{"npm run test", "npm run test -- --watch", "npm run-script test", "npm run --silent test", `npm --loglevel "$X" run test`},
			[]string{"npm $X run test", `npm "$X" run test`, `npm "$X"`, "npm --loglevel $X run test", "npm run", "npm run build", "npm run build test", "npm test"}},
		{"npm test", []string{"npm test", "npm t"}, []string{"npm run test"}},
		{"npm -v", []string{"npm -v"}, []string{"npm", "npm test"}},
		{"python3 -m pytest", []string{"python3 -m pytest", "python3 -m pytest -q x", "python3 -I -m pytest", "python3 -mpytest"},
			[]string{"python3 -m pip", "python3 -c pass", "python3 x.py -m pytest", "python3 -c x -m pytest", "python -m pytest"}},
		{"python3 -", []string{"python3 - <x", "python3 - a b"}, []string{"python3 x.py", "python3"}},
		{"python3 -c", []string{`python3 -c "x"`, `python3 -c"x"`, `python3 -c "$X"`}, []string{"python3 -", "python3 x"}},
		{"python3 --version", []string{"python3 --version"}, []string{`python3 -c"x"`}},
		{"node -e", []string{"node -e 'x'"}, []string{"node x.js"}},
		{"tar -xf", []string{"tar -xf a.tar", "tar xf a.tar", "tar -x -f a.tar -C d", "tar -xzf a"}, []string{"tar -cf a.tar", "tar -x"}},
		{"rm -r build", []string{"rm -r build", "rm -rf build 2>/dev/null", "rm build -r", "rm --recursive build"},
			[]string{"rm build", "rm -r src", "rm -r src build", "rm -r build/../src", `rm -r "$X"`, "rm -r buil*"}},
		{"rm -f tmp.txt", []string{"rm -f tmp.txt"}, []string{"rm tmp.txt"}},
		{"touch src/", []string{"touch src/a", "touch src/a src/b", "touch ./src/a", "touch src/x/../a", "touch -c src/a"},
			[]string{"touch out", "touch src/../out.txt", "touch src/a out", "touch srcs/a", "touch /src/a", `touch "src/$X"`, "touch src/*",
				`touch $'src/\x2e\x2e/out.txt'`, "ls | xargs touch src/a"}},
		{"touch ./", []string{"touch a", "touch ./a/b"}, []string{"touch ../a", "touch /a", "touch a/../../b"}},
		{"[[", []string{"[[ -v x ]]", "test -v x", "[ -v x ]"}, nil},
		{"[", []string{"[ x ]"}, nil},
		{"for", nil, []string{"ls"}},
		{"./a.out", []string{"./a.out x", "././a.out"}, []string{"a.out", "/tmp/a.out", "sub/a.out"}},
		{"/usr/bin/git status", []string{"/usr/bin/git status", "git status"}, []string{"/bin/git status", "./git status"}},
		{"git log", []string{"/usr/bin/git log"}, []string{"/usr/local/bin/git log"}},
		{"ssh box ls", []string{"ssh box ls /var/lib/app", "ssh box ls", "ssh -p 22 box ls"},
			[]string{"ssh box 'ls; rm x'", "ssh box ls ';' rm x", "ssh other ls", "ssh box ls '>' /etc/x", "ssh box ls '$(rm x)'", "ssh box"}},
		{"docker compose ps", []string{"docker compose ps", "docker compose -f x.yml ps -a"}, []string{"docker ps"}},
		{"aws ec2 run-instances", []string{"aws ec2 run-instances --dry-run", "aws --region x ec2 run-instances"}, []string{"aws ec2 stop-instances"}},
		{"find -exec", []string{`find . -exec ls {} \;`}, []string{"find .", "find . -delete"}},
		{"notify send", []string{"notify send x", "notify send --channel c"}, []string{"notify --channel send x", "notify --fast send"}},
		{"notify --channel ops send", []string{"notify --channel ops send x"}, []string{"notify --channel dev send"}},
		{"notify --channel=ops", []string{"notify send --channel=ops"}, []string{"notify --channel=dev", "notify --channel ops"}},
		{"rsync --dry-run", []string{"rsync -n a b", "rsync -an a b"}, []string{"rsync a b"}},
		{"sed -i s/a/b/", []string{"sed -i s/a/b/ f"}, []string{"sed -i s/a/bc/ f"}},
		{"grep a/ src/", []string{"grep a/ src/x", "grep -r a/ src/"}, []string{"grep a/b src/x", "grep a/ lib"}},
		{"kubectl apply -f a.yaml", []string{"kubectl apply -f a.yaml", "kubectl -n x apply --filename=a.yaml"}, []string{"kubectl apply -f b.yaml", "kubectl apply -f a.yaml -f b.yaml"}},
		{"docker run --network=none", []string{"docker run --network none img"}, []string{"docker run --network=none --network=host img", "docker run img", `docker run --network="$X" img`}},
		{"git push --no-force", []string{"git push --no-force"}, []string{"git push --no-force --force", "git push"}},
		{"git push --force", []string{"git push -f"}, []string{"git push -f --no-force"}},
		{"git-foo", []string{"git-foo x"}, []string{"git foo x"}},
		{"make", []string{"make", "make -k test 2>&1"}, []string{"gmake"}},
		{"grep", []string{`grep -rn "rm -rf" scripts`}, []string{"egrep x"}},
		{"{call: git push, exact: true}", []string{"git push"}, []string{"git push origin", "git push -f", "git push $X"}},
		{"{call: git push origin, exact: true}", []string{"git push origin"}, []string{"git push origin main", "git push -u origin"}},
		{"{call: python3, only: [-m pytest, -m unittest]}", []string{"python3 -m pytest -q", "python3 -m unittest"},
			[]string{"python3", "python3 -m pip", "python3 -c x"}},
	} {
		t.Run(test.entry, func(t *testing.T) {
			p := listed(t, []string{test.entry}, nil)
			for _, line := range test.covers {
				if e, why := p.Allowed(last(t, line), onPath); e == nil {
					t.Errorf("%s: not covered: %s", line, why)
				}
			}
			for _, line := range test.coversNo {
				e, why := p.Allowed(last(t, line), onPath)
				if e != nil {
					t.Errorf("%s: covered", line)
				} else if why == "" {
					t.Errorf("%s: no reason is given", line)
				}
			}
		})
	}
}
