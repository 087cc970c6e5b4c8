package spec

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// TestOptionsAreReadAsTheToolsReadThem has the lines that the best known translator reads differently from the tool; the
// numbers are those of its list of disagreements.
func TestOptionsAreReadAsTheToolsReadThem(t *testing.T) {
	const unmatched = false
	packs := packsForTest(t)
	for _, test := range []struct {
		row     string
		line    string
		name    string
		args    string // what must be among the arguments
		matched bool
	}{
		// Abbreviated long options: what they mean is kept, but they are not exact.
		{"92", "rm --recurs x", "rm", `{"recursive": true, "paths": ["x"], "extra_args": ["--recurs"]}`, unmatched},
		{"92", "rm --forc x", "rm", `{"force": true}`, unmatched},
		{"92", "ls --al", "ls", `{"extra_args": ["--al"]}`, unmatched}, // --all or --almost-all
		// Bundles with a letter that section 4 does not have.
		{"93", "rm -rI d", "rm", `{"recursive": true, "paths": ["d"], "extra_args": ["-rI"]}`, true},
		{"93", "rm -rfI d", "rm", `{"recursive": true, "force": true}`, true},
		{"93", "rm -rfY d", "rm", `{"recursive": true, "force": true, "extra_args": ["-rfY"]}`, unmatched},
		{"93", "tee -ai f", "tee", `{"append": true, "paths": ["f"]}`, true},
		{"93", "diff -u3 a b", "diff", `{"unified": true, "paths": ["a", "b"]}`, true},
		{"93", "git push -fv", "git_push", `{"force": true}`, true},
		{"93b", "sed -es/hi/x/ f", "sed", `{"in_place": false, "expression": ["s/hi/x/"], "paths": ["f"]}`, true},
		{"93b", "perl -ne'print if /x/' f", "perl", `{"loop": true, "in_place": false, "expression": ["print if /x/"], "paths": ["f"]}`, true},
		{"93b", "perl -eprint f", "perl", `{"print_loop": false, "expression": ["print"]}`, true},
		{"93b", "perl -Mbigint -e 1", "perl", `{"in_place": false, "modules": ["bigint"]}`, true},
		{"93b", "mysql -uapp shop", "mysql", `{"user": "app", "password": false, "database": "shop"}`, true},
		{"93b", "mysql -hprod -psecret", "mysql", `{"host": "prod", "password": true, "password_suffix": "secret"}`, true},
		{"94", "git push -vf", "git_push", `{"force": true}`, true},
		{"95", "git push --force-with-lease=main", "git_push", `{"force_with_lease": true, "force_with_lease_value": "main"}`, true},
		{"96", "git push origin +main", "git_push", `{"remote": "origin", "refspecs": ["+main"]}`, true},
		// Go's flags.
		{"97", "terraform apply --auto-approve", "terraform_apply", `{"auto_approve": true}`, true},
		{"98", "terraform apply -auto-approve=true", "terraform_apply", `{"auto_approve": true}`, true},
		{"98", "docker run --privileged=true img", "docker_run", `{"privileged": true, "image": "img"}`, true},
		{"98", "docker run --rm=false img", "docker_run", `{"rm": false}`, true},
		{"98", "kubectl delete pods --all=true", "kubectl_delete", `{"all": true, "resource": "pods"}`, true},
		{"98", "helm install --dry-run=client r c", "helm_install", `{"dry_run": true, "release": "r", "chart": "c"}`, true},
		{"99", "kubectl apply --dry-run -f x", "kubectl_apply", `{"filename": ["x"]}`, true},
		// Values that begin with "=" or a dash.
		{"100", "cut -d= -f2 f", "cut", `{"delimiter": "=", "fields": "2"}`, true},
		{"100", "awk -F= '{print $2}'", "awk", `{"field_separator": "="}`, true},
		{"100", "sort -t= f", "sort", `{"field_separator": "=", "paths": ["f"]}`, true},
		{"101", "git commit -m=fix", "git_commit", `{"message": ["=fix"]}`, true},
		{"101", "grep -e=x f", "grep", `{"regexp": ["=x"]}`, true},
		{"101", "curl -d=x https://h", "curl", `{"data": ["=x"]}`, true},
		{"101", "docker run -e=A=B img", "docker_run", `{"env": ["A=B"], "image": "img"}`, true},
		{"102", "git commit -m -x", "git_commit", `{"message": ["-x"]}`, true},
		{"102", "grep -e -v f", "grep", `{"regexp": ["-v"], "invert_match": false}`, true},
		{"102", "git commit -m '- item'", "git_commit", `{"message": ["- item"]}`, true},
		// Numbers and signals.
		{"103", "head -5 f", "head", `{"lines": "5", "paths": ["f"]}`, true},
		{"103", "tail +3 f", "tail", `{"lines": "+3", "paths": ["f"]}`, true},
		{"103", "git log -3", "git_log", `{"max_count": "3", "targets": []}`, true},
		{"103", "kill -9 12", "kill", `{"signal": "9", "pids": ["12"]}`, true},
		{"103", "kill -TERM 12", "kill", `{"signal": "TERM", "pids": ["12"]}`, true},
		{"103", "kill -9 -1", "kill", `{"signal": "9", "pids": ["-1"]}`, true},
		{"104", "tail -5f log", "tail", `{"lines": "5", "follow": true, "paths": ["log"]}`, true},
		// Bundles without a dash.
		{"105", "tar xzf a.tgz", "tar", `{"extract": true, "gzip": true, "file": "a.tgz", "paths": []}`, true},
		{"105", "tar czf - d", "tar", `{"create": true, "file": "-", "paths": ["d"]}`, true},
		{"105", "tar cfC a.tar d x", "tar", `{"create": true, "file": "a.tar", "directory": "d", "paths": ["x"]}`, true},
		{"105", "unzip a.zip -d out", "unzip", `{"archive": "a.zip", "directory": "out", "members": []}`, true},
		// Options with a value that section 4 does not have: the value is no operand.
		{"106", "curl --max-time 5 U", "curl", `{"urls": ["U"], "extra_args": ["--max-time", "5"]}`, true},
		{"106", "curl -m 5 U", "curl", `{"urls": ["U"]}`, true},
		{"106", "grep -m 1 x f", "grep", `{"pattern": "x", "paths": ["f"]}`, true},
		{"106", "git push -o ci.skip origin", "git_push", `{"remote": "origin", "refspecs": []}`, true},
		{"106", "docker run --memory 512m img", "docker_run", `{"image": "img", "command": []}`, true},
		{"106", "ssh -L 8:h:8 h", "ssh", `{"host": "h"}`, true},
		{"106", "ls -I x", "ls", `{"paths": []}`, true},
		{"106", "touch -d now f", "touch", `{"paths": ["f"]}`, true},
		{"106", "git log --since 2d main", "git_log", `{"targets": ["main"]}`, true},
		{"106", "git commit -C HEAD", "git_commit", `{"paths": []}`, true},
		// Options with a value before the subcommand.
		{"107", "git --git-dir x status", "git_status", `{"short": false}`, true},
		{"107", "git --work-tree x rm f", "git_rm", `{"paths": ["f"]}`, true},
		{"107", "git --namespace n push -f", "git_push", `{"force": true}`, true},
		{"107", "helm --unheard-of x rollback r", "helm_rollback", `{"release": "r", "extra_args": ["--unheard-of", "x"]}`, unmatched},
		{"107", "git stash -m x", "git_stash", `{}`, true},
		{"108", "docker --tlscacert c ps", "docker_ps", `{"all": false}`, true},
		{"108", "docker --log-level debug rm -f a", "docker_rm", `{"force": true, "containers": ["a"]}`, true},
		{"108", "kubectl --as me delete pod x", "kubectl_delete", `{"resource": "pod", "names": ["x"]}`, true},
		{"108", "kubectl --request-timeout 5s delete pod x", "kubectl_delete", `{"names": ["x"]}`, true},
		{"108", "aws --endpoint-url u s3 rm s3://b/k", "aws_s3_rm", `{"path": "s3://b/k"}`, true},
		{"108", "helm --kubeconfig f uninstall r", "helm_uninstall", `{"releases": ["r"]}`, true},
		{"108", "npm --prefix d run x", "npm", `{"subcommand": "run"}`, true},
		{"109", "aws s3 rm s3://b --dryrun", "aws_s3_rm", `{"dry_run": true, "path": "s3://b"}`, true},
		// find's own language.
		{"110", "find . -name a -o -name b", "find", `{"paths": ["."], "name": ["a", "b"]}`, true},
		{"111", `find . \( -name a \) -delete`, "find", `{"paths": ["."], "name": "a", "delete": true}`, true},
		{"111", "find . ! -name a", "find", `{"paths": ["."]}`, true},
		{"112", "find . -newermt 2020 -delete", "find", `{"paths": ["."], "delete": true}`, true},
		{"112", "find . -fprint f", "find", `{"paths": ["."]}`, true},
		{"112", "find . -samefile f", "find", `{"paths": ["."]}`, true},
		{"113", "sort -k 2 -k 1 f", "sort", `{"key": ["2", "1"]}`, true},
		{"113", "git -C a -C b status", "git_status", `{"cwd": ["a", "b"]}`, true},
		{"114", "gunzip a.gz", "gzip", `{"decompress": true}`, true},
		{"114", "egrep x f", "grep", `{"extended_regexp": true}`, true},
		{"114", "fgrep x f", "grep", `{"fixed_strings": true}`, true},
		{"115", "pip install -t d x", "pip_install", `{"packages": ["x"]}`, true},
		{"115", "pip --python p install x", "pip_install", `{"packages": ["x"]}`, true},
		{"116", "chmod -x f", "chmod", `{"mode": "-x", "paths": ["f"]}`, true},
		{"116", "chmod --reference=a b", "chmod", `{"paths": ["b"]}`, true},
		{"116", "chown --reference=a b", "chown", `{"paths": ["b"]}`, true},
		{"117", "echo -x a", "echo", `{"words": ["-x", "a"], "no_newline": false}`, true},
		{"117", "echo -nx a", "echo", `{"words": ["-nx", "a"], "no_newline": false}`, true},
		{"118", "kubectl exec p -- ls", "kubectl_exec", `{"pod": "p", "command": ["ls"]}`, true},
		{"119", "ssh -4 h ls", "ssh", `{"host": "h", "command": ["ls"]}`, true},
		{"120", "dd if=a OF=b", "dd", `{"if": "a", "OF": "b"}`, unmatched},
		{"121", "git commit -am=x", "git_commit", `{"all": true, "message": ["=x"]}`, true},
		{"121", "git commit -Skey", "git_commit", `{"gpg_sign": true, "gpg_sign_value": "key"}`, true},
		{"121", "git commit --gpg-sign=key", "git_commit", `{"gpg_sign": true}`, true},
		{"121", "git diff -U3", "git_diff", `{"targets": []}`, true},
		{"121", "git log -Sfoo -Gbar", "git_log", `{"targets": []}`, true},
		{"121", "git add -i", "git_add", `{"paths": []}`, true},
		{"121", "git rebase -x 'make test' main", "git_rebase", `{"targets": ["main"]}`, true},
		{"123", "git stash -- f", "git_stash", `{}`, true},
		{"123", "git stash push -- f", "git_stash_push", `{}`, true},
		{"124", "helm --version", "helm", `{}`, unmatched},
	} {
		t.Run(test.row+" "+test.line, func(t *testing.T) {
			calls, err := Line(test.line, Options{Packs: packs, Shell: shell.Options{Dir: "/w", Home: "/home/u"}})
			if err != nil {
				t.Fatal(err)
			}
			c := calls[0]
			if c.Name != test.name {
				t.Errorf("name %s, want %s", c.Name, test.name)
			}
			holds(t, c, test.args)
			if c.Meta.SpecMatched != test.matched {
				t.Errorf("matched %t, want %t: %s", c.Meta.SpecMatched, test.matched, text(t, c.Args))
			}
		})
	}
}

// holds checks that the arguments of c are, among others, those in want.
func holds(t *testing.T, c call.Call, want string) {
	t.Helper()
	var wanted, got map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text(t, c.Args)), &got); err != nil {
		t.Fatal(err)
	}
	for name, value := range wanted {
		if diff := cmp.Diff(value, got[name]); diff != "" {
			t.Errorf("argument %s (-want +got)\n%s", name, diff)
		}
	}
}

func text(t reporter, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEffectsAreWhatTheToolsDo has the lines whose effects the best known translator misses.
func TestEffectsAreWhatTheToolsDo(t *testing.T) {
	packs := packsForTest(t)
	for _, test := range []struct {
		row  string
		line string
		want []string // effects that must be there: KIND PATH-or-TEXT, with ? for maybe, ?? for unknown, /… for a tree
		none []string // … that must not
	}{
		{"54", "rm a{1,2} .{env,x}", []string{"delete /w/a1", "delete /w/a2", "delete /w/.env", "delete /w/.x"}, nil},
		{"55", "cat .en*", []string{"read? /w/.en*"}, nil},
		{"56", "rm '~/x'", []string{"delete /w/~/x"}, nil},
		{"57", "rm ~root/x", []string{"delete?? ~root/x"}, nil},
		{"72", "git -C d rm f", []string{"delete /w/d/f"}, nil},
		{"72", "git -C a -C b add f", []string{"read /w/a/b/f/…"}, nil},
		{"72", "tar -C d -cf ../a x", []string{"write /a", "read /w/d/x/…"}, nil},
		{"72", "patch -d d < p", []string{"read /w/p"}, nil},
		{"89", "cat <> f", []string{"read /w/f", "write /w/f"}, nil},
		{"106", "curl -m 5 https://h/x", []string{"net https://h/x"}, nil},
		{"121", "git rebase -x 'make test' main", []string{"run make test"}, nil},
		{"123", "git stash push -- f", []string{"write /w/f/…"}, nil},
		{"125", "kubectl get pods -o yaml", nil, []string{"write /w/yaml", "read /w/yaml"}},
		{"126", "terraform state mv a b", nil, []string{"write /w/b", "read /w/b"}},
		{"126", "vault kv get secret/db", nil, []string{"read /w/secret/db"}},
		{"126", "scp h:f .", []string{"write /w"}, []string{"read /w/h:f"}},
		{"126", "docker cp x web:/etc/x", []string{"read /w/x/…"}, []string{"write /w/web:/etc/x"}},
		{"126b", "aws s3 cp f s3://b", []string{"read /w/f"}, nil},
		{"127", "git checkout f", []string{"write? /w/…"}, nil},
		{"127", "git checkout HEAD f", []string{"write? /w/…"}, nil},
		{"127", "git checkout -- f", []string{"write /w/f/…"}, nil},
		{"127", "git diff f", []string{"read? /w/f/…"}, nil},
		{"127", "git log -- f", []string{"read? /w/f/…"}, nil},
		{"127", "git show HEAD:f", []string{"read? /w/f/…"}, nil},
		{"128", "wget -O f https://h/x", []string{"write /w/f"}, nil},
		{"128", "curl -T f https://h", []string{"read /w/f"}, nil},
		{"128", "curl -d @f https://h", []string{"read /w/f"}, nil},
		{"128", "curl -d f https://h", nil, []string{"read /w/f"}},
		{"128", "curl --data-binary @f https://h", []string{"read /w/f"}, nil},
		{"128", "curl -F x=@f https://h", []string{"read /w/f"}, nil},
		{"128", "kubectl apply -f f", []string{"read /w/f/…"}, nil},
		{"128", "kubectl create secret generic s --from-file=k=f", []string{"read /w/f"}, nil},
		{"128", "terraform plan -var-file f", []string{"read /w/f"}, nil},
		{"128", "age -d -i key f", []string{"read /w/key", "read /w/f"}, nil},
		{"128", "ssh -i key h", []string{"read /w/key"}, nil},
		{"128", "pip install -r f", []string{"read /w/f"}, nil},
		{"128", "docker run --env-file f img", []string{"read /w/f"}, nil},
		{"128", "docker run -v /a:/b img", []string{"write /a/…"}, nil},
		{"128", "docker run -v data:/b img", nil, []string{"read /w/data"}},
		{"128", "helm install -f f r c", []string{"read /w/f"}, nil},
		{"128", "op read -o f op://v/i/f", []string{"write /w/f"}, nil},
		{"128", "gh secret set -f f", []string{"read /w/f"}, nil},
		{"128", "git commit -F f", []string{"read /w/f"}, nil},
		{"128", "git apply --directory=lib f", []string{"read /w/f"}, []string{"chdir /w/lib"}},
		{"128", "git am --directory=lib f", []string{"read /w/f"}, []string{"chdir /w/lib"}},
		{"128", "python f", []string{"read /w/f", "code /w/f"}, nil},
		{"129", "curl -O https://h/d/x.tgz", []string{"write /w/x.tgz"}, nil},
		{"129", "wget https://h/d/x.tgz", []string{"write? /w/x.tgz"}, nil},
		{"129", "unzip a.zip", []string{"read /w/a.zip", "write /w/…"}, nil},
		{"129", "tar xf a.tar", []string{"read /w/a.tar", "write /w/…"}, nil},
		{"129", "tar -C d -xf a.tar", []string{"read /w/a.tar", "write /w/d/…"}, nil},
		{"129", "tar xf a.tar m", []string{"read /w/a.tar", "write /w/m/…"}, nil},
		{"129", "tar xf a.tar m --strip-components=1", []string{"read /w/a.tar", "write /w/m/…", "write /w/…"}, nil},
		{"129", "git clone https://h/o/r.git", []string{"write /w/r/…"}, nil},
		{"129", "7z x a.7z", []string{"read /w/a.7z", "write /w/…"}, nil},
		{"130", "cp a d/", []string{"read /w/a", "write /w/d/a"}, nil},
		{"130", "mv a d", []string{"delete /w/a/…", "write? /w/d/a/…"}, nil},
		{"131", "sed -i s/a/b/ f", []string{"read /w/f", "write /w/f"}, nil},
		{"131", "sed s/a/b/ f", []string{"read /w/f"}, []string{"write /w/f"}},
		{"131", "perl -i -pe 1 f", []string{"write /w/f"}, nil},
		{"131", "truncate -s 0 f", []string{"write /w/f"}, nil},
		{"131", "shred f", []string{"write /w/f"}, nil},
		{"131", "tee f", []string{"write /w/f"}, nil},
		{"131", "tee -a f", []string{"append /w/f"}, nil},
		{"131", "dd if=a of=b", []string{"read /w/a", "write /w/b"}, nil},
		{"131", "install a b", []string{"read /w/a", "write /w/b"}, nil},
		{"131", "ln -f a b", []string{"write /w/b"}, nil},
		{"131", "cat f", []string{"read /w/f"}, []string{"write /w/f"}},
		{"132", "rm -r d", []string{"delete /w/d/…"}, nil},
		{"132", "rm d", []string{"delete /w/d"}, []string{"delete /w/d/…"}},
		{"132", "mv d e", []string{"delete /w/d/…"}, nil},
		{"132", "tar -czf - .", []string{"read /w/…"}, nil},
		{"132", "cp -r . /x", []string{"read /w/…"}, nil},
		{"132", "git clean -fdx", []string{"delete? /w/…"}, nil},
		{"132", "git add .", []string{"read /w/…"}, nil},
		{"25", "sed 'w out' f", []string{"write /w/out"}, nil},
		{"25", "sed -n 's/a/b/w out' f", []string{"write /w/out"}, nil},
		{"25", `awk 'BEGIN{system("rm a")}'`, []string{"run rm a"}, nil},
		{"25", `awk '{print > "out"}' f`, []string{"write /w/out"}, nil},
		{"25", `awk '{print | "sort"}' f`, []string{"run sort"}, nil},
		{"25", `awk '$1 > 5 {print $2}' f`, nil, []string{"write??"}},
		{"25", "vim -c ':!rm a' f", []string{"run rm a"}, nil},
		{"25", "find . -fprint out", []string{"write /w/out"}, nil},
		{"", "{ cd sub; ls; } > f", []string{"write? /w/f"}, nil},
		{"", "exec > f; cd sub; ls", []string{"write /w/f", "write? /w/f"}, nil},
		{"", "(ls; pwd) > f", []string{"write /w/f"}, []string{"write? /w/f"}},
		{"", "cd sub; ls > f", []string{"write? /w/sub/f", "write? /w/f"}, nil},
		{"", "cd sub && ls > f", []string{"write /w/sub/f"}, nil},
		{"", "ls | xargs rm", []string{"delete??"}, nil},
		{"", "ssh h rm x", nil, []string{"delete /w/x"}},
		{"", "find . -delete", []string{"delete /w/…"}, nil},
		{"", "gzip f", []string{"read /w/f", "delete /w/f", "write /w/f.gz"}, nil},
		{"", "gunzip -k f.gz", []string{"write /w/f"}, []string{"delete /w/f.gz"}},
		{"", "touch x > /dev/tcp/h/80", []string{"net h/80"}, nil},
		{"", "unheard-of .env --out=x", []string{"any? /w/.env", "any? /w/x", "any??"}, nil},
		{"", "rm --unheard-of=x f", []string{"any? /w/x", "delete /w/f"}, nil},
	} {
		t.Run(test.row+" "+test.line, func(t *testing.T) {
			calls, err := Line(test.line, Options{Packs: packs, Effects: true, Shell: shell.Options{Dir: "/w", Home: "/home/u"}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range calls {
				for _, e := range c.Effects {
					got = append(got, brief(e))
				}
			}
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
			for _, not := range test.none {
				if slices.Contains(got, not) {
					t.Errorf("%q is in %q", not, got)
				}
			}
		})
	}
}

// brief is an effect in a few characters.
func brief(e call.Effect) string {
	s := e.Kind.String()
	switch e.Sure {
	case call.Maybe:
		s += "?"
	case call.Unknown:
		s += "??"
	}
	what := e.Path + e.Text
	if e.Tree {
		what = strings.TrimSuffix(what, "/") + "/…"
	}
	return strings.TrimRight(s+" "+what, " ")
}

func TestADiffThatTheLineMakesIsNotRead(t *testing.T) {
	packs := packsForTest(t)
	diff := "--- a/x\n+++ b/x\n"
	for line, known := range map[string]bool{
		"git apply p":                          true,
		"cat x; git apply p":                   true,
		"diff a b > p; git apply p":            false,
		"cp q p; git apply p":                  false,
		"rm -r /w; git apply p":                false,
		"unheard-of; git apply p":              false,
		"git apply < p":                        true,
		"git apply p q":                        false,
		"git apply $P":                         false,
		"cd d; git apply ../p":                 false, // it may still be in the first directory
		"cd /w && git apply p":                 true,
		"git apply <<'E'\n--- a/x\n+++ b/x\nE": true,
	} {
		calls, err := Line(line, Options{
			Packs: packs, Effects: true, Shell: shell.Options{Dir: "/w"},
			ReadFile: func(path string) ([]byte, error) {
				if path == "/w/p" {
					return []byte(diff), nil
				}
				return nil, fs.ErrNotExist
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		args := calls[len(calls)-1].Args
		unknown, there := args.Get("unknown_paths")
		paths, _ := args.Get("paths")
		if known && (there || !cmp.Equal(paths, []string{"/w/x"})) || !known && unknown != true {
			t.Errorf("%s: paths %v, unknown_paths %v, want them known: %t", line, paths, unknown, known)
		}
	}
}
