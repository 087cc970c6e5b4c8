package spec

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate/shell"
)

// TestToolsWithWaysOfTheirOwn has lines that only a rule for one tool gets right: each with the last call's arguments
// that matter, and with all of its effects. Every one of the calls is matched.
func TestToolsWithWaysOfTheirOwn(t *testing.T) {
	packs := packsForTest(t)
	for _, test := range []struct {
		line    string
		args    string
		effects []string
	}{
		// What stands behind the module or the program is theirs.
		{"python3 -c 'print(1)' -v x", `{"code": "print(1)", "script_args": ["-v", "x"]}`, []string{"code print(1)"}},
		{"python -m pytest -xvs t", `{"exitfirst": true, "no_capture": true, "verbose": 1}`, []string{"read /w/t/…", "code"}},
		{"java -jar a.jar --class-path x", `{"jar": "/w/a.jar", "args": ["--class-path", "x"]}`, []string{"run /w/a.jar", "run"}},
		// A rule of a command is not one of its subcommands.
		{"git stash list", `{}`, nil},
		{"git stash show -p", `{}`, nil},
		{"git stash pop", `{}`, []string{"write? /w/…"}},
		// What may be a path leaves open what else is touched.
		{"git checkout ../x/f", `{"targets": ["../x/f"]}`, []string{"write? /x/f/…", "write? /w/…"}},
		{"git checkout -- f", `{"paths": ["/w/f"]}`, []string{"write /w/f/…"}},
		{"git checkout main -- f", `{"targets": ["main"], "paths": ["/w/f"]}`, []string{"write /w/f/…"}},
		{"git reset f", `{"targets": ["f"]}`, nil},
		{"git reset --hard", `{"hard": true}`, []string{"write? /w/…"}},
		{"git clean -n", `{"dry_run": true}`, nil},
		{"git clean -fd", `{"force": true}`, []string{"delete? /w/…"}},
		{"git rm --cached f", `{"paths": ["/w/f"]}`, nil},
		{"tar tf a m", `{"file": "/w/a", "paths": ["/w/m"]}`, []string{"read /w/a"}},
		// The second operand is the output.
		{"uniq in out", `{"paths": ["/w/in", "/w/out"]}`, []string{"read /w/in", "write /w/out"}},
		{"uniq in", `{"paths": ["/w/in"]}`, []string{"read /w/in"}},
		{"xxd in out", `{}`, []string{"read /w/in", "write /w/out"}},
		{"lz4 a b", `{}`, []string{"read /w/a", "write /w/b"}},
		{"lz4 -m a b", `{}`, []string{"read /w/a", "read /w/b", "write /w/a.lz4", "write /w/b.lz4"}},
		// Without an operand it is the current directory.
		{"find -delete", `{"paths": []}`, []string{"delete /w/…"}},
		{"find d -exec ls ';'", `{"paths": []}`, []string{"read /w"}},
		{"find d | xargs ls", `{"unknown_paths": true}`, []string{"read??"}},
		{"find d -delete", `{"paths": ["/w/d"]}`, []string{"delete /w/d/…"}},
		{"grep -r x", `{"paths": []}`, []string{"read /w/…"}},
		{"grep x", `{"paths": []}`, nil},
		{"ls", `{"paths": []}`, []string{"read /w"}},
		{"ls $X", `{}`, []string{"read?? $X", "read? /w"}},
		{"ls -R", `{}`, []string{"read /w/…"}},
		{"du -sh", `{}`, []string{"read /w/…"}},
		{"tree", `{}`, []string{"read /w/…"}},
		{"fd x", `{}`, []string{"read /w/…"}},
		{"rg x", `{}`, []string{"read /w/…"}},
		{"rg x src", `{}`, []string{"read /w/src/…"}},
		{"ls | rg x", `{}`, nil},
		{"rg x < f", `{}`, []string{"read /w/f"}},
		// A switch that can take a value too.
		{"tail --follow=name f", `{"follow": true, "follow_value": "name"}`, []string{"read /w/f"}},
		{"tail -f f", `{"follow": true}`, []string{"read /w/f"}},
		{"diff --unified=3 a b", `{"unified": true, "unified_value": "3"}`, []string{"read /w/a", "read /w/b"}},
		{"shred --remove=wipe f", `{"remove": true, "remove_value": "wipe"}`, []string{"write /w/f", "delete /w/f"}},
		{"split --numeric-suffixes=1 f", `{"numeric_suffixes": true, "numeric_suffixes_value": "1"}`, []string{"read /w/f"}},
		// Looking is not unpacking.
		{"unzip -t a.zip", `{}`, []string{"read /w/a.zip"}},
		{"gzip -t a.gz", `{}`, []string{"read /w/a.gz"}},
		{"unzip a.zip", `{}`, []string{"read /w/a.zip", "write /w/…"}},
		{"docker cp web:/x/b .", `{"source": "web:/x/b"}`, []string{"read web:/x/b/…", "net web:/x/b", "write /w/…", "write? /w/b"}},
		// Words that come at run time.
		{"ls | xargs mv", `{"unknown_paths": true}`, []string{"write??"}},
		{"cp $ARGS", `{"unknown_paths": ["sources"]}`, []string{"read?? $ARGS", "write?? /…"}},
		{"ls | xargs echo", `{}`, nil},
		{"ls | xargs -n1", `{}`, nil},
		{`curl -H "Authorization: Bearer $T" http://x.example`, `{}`, []string{"net http://x.example"}},
		{`curl -H "$H" http://x.example`, `{}`, []string{"read?? $H", "net http://x.example"}},
		{"pytest t/x.py::f[3]", `{}`, []string{"read? /w/t/x.py/…", "code"}},
		{"pytest t/*.py::f", `{}`, []string{"read?? t/*.py/…", "code"}},
		// Two letters behind one dash.
		{"zip -rTT 'wc -c' a.zip d | wc", `{}`, nil},
		{"zip -db a.zip f", `{"archive": "/w/a.zip", "display_bytes": true}`, []string{"write /w/a.zip", "read /w/f"}},
		{"zip -rdb a.zip d", `{"recursive": true, "display_bytes": true, "delete": false}`, []string{"write /w/a.zip", "read /w/d/…"}},
		{"7z a -sdel a.7z f", `{"archive": "/w/a.7z"}`, []string{"write /w/a.7z", "read /w/f/…", "delete /w/f/…"}},
		// A number that may be missing.
		{"make -j 4 all", `{"jobs": true, "jobs_value": "4", "targets": ["all"]}`, []string{"run"}},
		{"make -kj 4", `{"keep_going": true, "jobs_value": "4"}`, []string{"run"}},
		{"make -j all", `{"jobs": true, "targets": ["all"]}`, []string{"run"}},
		{"ulimit -n 4096", `{"n": true, "n_value": "4096"}`, nil},
		{"ffmpeg -i a.mp4 -c:a:0 copy -b:v 1M o.mp4", `{"codec": ["copy"], "outputs": ["/w/o.mp4"]}`,
			[]string{"read /w/a.mp4", "write /w/o.mp4", "net"}},
		// Paths inside of values.
		{"pytest a.py::t -q", `{"paths": ["/w/a.py::t"]}`, []string{"read /w/a.py/…", "code"}},
		{"curl --output-dir d -o f https://h/x", `{"output": "/w/d/f"}`, []string{"write /w/d", "write /w/d/f", "net https://h/x"}},
		{"docker build --secret id=a,src=k --output type=local,dest=o .", `{"context": "/w"}`,
			[]string{"read /w/k", "write /w/o", "read /w/…", "run"}},
		{"docker build -o o .", `{}`, []string{"write /w/o", "read /w/…", "run"}},
		{"docker buildx bake --set '*.output=type=local,dest=o' --set x.dockerfile=D", `{}`,
			[]string{"read? /w/o", "write? /w/o", "read? /w/D", "write? /w/D", "run"}},
		// Settings that name a program.
		{"git -c user.name=x commit -m y", `{"config": ["user.name=x"]}`, nil},
		{"git -c core.editor=true commit", `{}`, []string{"run true"}},
		{"git -c core.fsmonitor=false status", `{}`, nil},
		{"git config core.editor vi", `{"key": "core.editor", "value": "vi"}`, []string{"run? vi"}},
		{"git config user.name vi", `{}`, nil},
		{"git stash push f", `{"paths": ["/w/f"]}`, []string{"write /w/f/…"}},
		{"ssh -o BatchMode=yes h", `{}`, []string{"net h"}},
		// What the shell does itself.
		{": > f", `{"redirect_to": ["/w/f"]}`, []string{"write /w/f"}},
		{"> f", `{"redirect_to": ["/w/f"]}`, []string{"write /w/f"}},
	} {
		t.Run(test.line, func(t *testing.T) {
			calls, err := Line(test.line, Options{Packs: packs, Effects: true, Shell: shell.Options{Dir: "/w", Home: "/home/u"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				if !c.Meta.SpecMatched {
					t.Errorf("%s: not matched: %v", c.Meta.Source, c.Args)
				}
			}
			last := calls[len(calls)-1]
			var want, got map[string]any
			if err := json.Unmarshal([]byte(test.args), &want); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(last.Args)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			for name, value := range want {
				if diff := cmp.Diff(value, got[name]); diff != "" {
					t.Errorf("argument %s (-want +got)\n%s\n%s", name, diff, data)
				}
			}
			var effects []string
			for _, e := range last.Effects {
				effects = append(effects, brief(e))
			}
			if diff := cmp.Diff(test.effects, effects); diff != "" {
				t.Errorf("effects (-want +got)\n%s", diff)
			}
		})
	}
}

// A setting names its program where its tool says so, in any case.
func TestSettingsThatNameAProgram(t *testing.T) {
	for setting, want := range map[string]string{
		"core.sshCommand=ssh -i k":      "ssh -i k",
		"CORE.SSHCOMMAND=x":             "x",
		"core.hooksPath=d":              "d",
		"credential.helper=!x y":        "x y",
		"credential.https://h.helper=x": "git credential-x",
		"exec=x y":                      "x y",
		"filter.f.clean=x":              "x",
		"diff.d.textconv=x":             "x",
		"pager.log=x":                   "x",
		"alias.a=!x y":                  "x y",
		"gpg.ssh.program=x":             "x",
		"ProxyCommand=nc %h":            "nc %h",
		"proxycommand nc %h":            "nc %h",
		"LocalCommand = x":              "x",
	} {
		if got, is := settingProgram(setting); !is || got != want {
			t.Errorf("%s: %q, %t; want %q", setting, got, is, want)
		}
	}
	for _, setting := range []string{
		"alias.a=status", "pager.log=false", "core.fsmonitor=true", "user.name=x", "core.bare", "ProxyCommand none", "", "=x", "core.sshCommand=",
	} {
		if got, is := settingProgram(setting); is {
			t.Errorf("%q: runs %q", setting, got)
		}
	}
}

func TestNoCallIsWithoutAName(t *testing.T) {
	packs := packsForTest(t)
	for _, line := range []string{":", "> f", "'%%' x", "./--", "[ -f x ]", "[[ -f x ]]", "((1))", ".. x", "é", "'!' a", "-", "/", "a/"} {
		calls, err := Line(line, Options{Packs: packs, Effects: true})
		if err != nil {
			continue // a name that is refused is no call
		}
		for _, c := range calls {
			if c.Name == "" || c.Name != toolName(c.Name) {
				t.Errorf("%s: the call is named %q", line, c.Name)
			}
		}
	}
}
