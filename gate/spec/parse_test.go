package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tools are specs of which each shows one thing.
const tools = `
plain:
  options:
    - {flags: [-v, --verbose], type: count}
    - {flags: [-q, --quiet], type: bool, negatable: true}
    - {flags: [-o, --output]}
    - {flags: [-l, --level], choices: [low, high]}
    - {flags: [-n, --number], type: int}
    - {flags: [-c, --color], type: optional}
    - {flags: [-i], type: attached}
    - {flags: [--pair], type: list, values: 2}
    - {flags: [-s], repeat: true}
    - {flags: [-x, --extra], type: bool, beyond: true}
    - {flags: [-w, --wide], beyond: true}
  positionals:
    - {name: first}
    - {name: rest, nargs: "*"}
cobra:
  syntax: pflag
  options:
    - {flags: [-v, --verbose], type: bool}
    - {flags: [-o, --output]}
    - {flags: [-d, --dry-run], type: optional}
    - {flags: [--server], bare: some}
    - {flags: [-n, --namespace], global: true}
  subcommands:
    get:
      aliases: {g: {}, fetch: {implied: {watch: true}}}
      options: [{flags: [-w, --watch], type: bool}]
      positionals: [{name: names, nargs: "*"}]
gotool:
  syntax: goflag
  options:
    - {flags: [-v], type: bool}
    - {flags: [-out]}
cc:
  syntax: longonly
  options:
    - {flags: [-o]}
    - {flags: [-I], type: list, dest: include}
    - {flags: [-O], type: optional, dest: optimise}
    - {flags: [-Wl], type: attached, dest: linker}
    - {flags: [-shared], type: bool}
    - {flags: [-std]}
  positionals: [{name: files, nargs: "*"}]
none:
  syntax: none
  positionals: [{name: words, nargs: "*"}]
ours:
  beyond: true
  options: [{flags: [--dir]}, {flags: [-f], type: bool}]
  subcommands:
    run: {options: [{flags: [-x], type: bool}], positionals: [{name: script, nargs: "?"}]}
    cache: {subcommands: {clean: {}}}
half:
  subcommands:
    known: {}
    later: {beyond: true, options: [{flags: [-x], type: bool}], subcommands: {start: {}}}
old:
  old_bundle: true
  options: [{flags: [-c], type: bool, dest: create}, {flags: [-f], dest: file}, {flags: [-b], dest: block}]
  positionals: [{name: paths, nargs: "*"}]
apart:
  after_dashdash: paths
  positionals: [{name: targets, nargs: "*"}]
rest:
  posix: true
  options: [{flags: [-a], type: bool}]
  positionals: [{name: host}, {name: command, nargs: "*"}]
kv:
  key_value: true
  options: [{flags: [if]}]
ends:
  positionals: [{name: from, nargs: "+"}, {name: mid, nargs: "?"}, {name: to, unless: [t]}]
  options: [{flags: [-t]}]
`

func TestWordsBecomeArguments(t *testing.T) {
	packs := own(t, nil, tools)
	const no = "!" // not fully understood
	for line, want := range map[string]string{
		"plain a":                       `{"verbose":0,"quiet":false,"color":false,"i":false,"first":"a","rest":[]}`,
		"plain -vvq a b":                `{"verbose":2,"quiet":true,"color":false,"i":false,"first":"a","rest":["b"]}`,
		"plain a -v b --verbose":        `{"verbose":2,"quiet":false,"color":false,"i":false,"first":"a","rest":["b"]}`,
		"plain -q --no-quiet a":         `{"verbose":0,"quiet":false,"color":false,"i":false,"first":"a","rest":[]}`,
		"plain -o f -og --output=h a":   `{"verbose":0,"quiet":false,"output":"h","color":false,"i":false,"first":"a","rest":[]}`,
		"plain --output= a":             `{"verbose":0,"quiet":false,"output":"","color":false,"i":false,"first":"a","rest":[]}`,
		"plain -vo -- a":                `{"verbose":1,"quiet":false,"output":"--","color":false,"i":false,"first":"a","rest":[]}`,
		"plain -l high a":               `{"verbose":0,"quiet":false,"level":"high","color":false,"i":false,"first":"a","rest":[]}`,
		"plain -l odd a":                no + `{"argv":["-l","odd","a"],"verbose":0,"quiet":false,"level":"odd","color":false,"i":false,"first":"a","rest":[]}`,
		"plain -n 5 a":                  `{"verbose":0,"quiet":false,"number":5,"color":false,"i":false,"first":"a","rest":[]}`,
		"plain -n five a":               no + `{"argv":["-n","five","a"],"verbose":0,"quiet":false,"number":"five","color":false,"i":false,"first":"a","rest":[]}`,
		"plain -c -cred --color=x a":    `{"verbose":0,"quiet":false,"color":true,"color_value":"x","i":false,"first":"a","rest":[]}`,
		"plain -vi.bak a":               `{"verbose":1,"quiet":false,"color":false,"i":true,"i_suffix":".bak","first":"a","rest":[]}`,
		"plain --pair a b --pair c d e": `{"verbose":0,"quiet":false,"color":false,"i":false,"pair":["a","b","c","d"],"first":"e","rest":[]}`,
		"plain -s1 -s 2 a":              `{"verbose":0,"quiet":false,"color":false,"i":false,"s":["1","2"],"first":"a","rest":[]}`,
		"plain -s1 a":                   `{"verbose":0,"quiet":false,"color":false,"i":false,"s":"1","first":"a","rest":[]}`,
		"plain -vx a":                   `{"verbose":1,"quiet":false,"color":false,"i":false,"extra":true,"first":"a","rest":[],"extra_args":["-vx"]}`,
		"plain -vxw 3 a":                `{"verbose":1,"quiet":false,"color":false,"i":false,"extra":true,"wide":"3","first":"a","rest":[],"extra_args":["-vxw","3"]}`,
		"plain --wide=3 a":              `{"verbose":0,"quiet":false,"color":false,"i":false,"wide":"3","first":"a","rest":[],"extra_args":["--wide=3"]}`,
		"plain":                         no + `{"argv":[],"verbose":0,"quiet":false,"color":false,"i":false,"rest":[]}`,
		"plain a -o":                    no + `{"argv":["a","-o"],"verbose":0,"quiet":false,"color":false,"i":false,"first":"a","rest":[],"extra_args":["-o"]}`,
		"plain -vZq a":                  no + `{"verbose":1,"quiet":true,"color":false,"i":false,"first":"a","rest":[],"extra_args":["-vZq"]}`,
		"plain --quiet=yes a":           no + `{"argv":["--quiet=yes","a"],"verbose":0,"quiet":true,"color":false,"i":false,"first":"a","rest":[]}`,
		"plain --verb a":                no + `{"verbose":1,"quiet":false,"color":false,"i":false,"first":"a","rest":[],"extra_args":["--verb"]}`,
		"plain -- -v":                   `{"verbose":0,"quiet":false,"color":false,"i":false,"first":"-v","rest":[]}`,

		"cobra -v=false -o=x":              `{"verbose":false,"output":"x","dry_run":false}`,
		"cobra --verbose=true --output =x": `{"verbose":true,"output":"=x","dry_run":false}`,
		"cobra -vo=x":                      `{"verbose":true,"output":"x","dry_run":false}`,
		"cobra --dry-run=client":           `{"verbose":false,"dry_run":true,"dry_run_value":"client"}`,
		"cobra --server -v":                `{"verbose":true,"dry_run":false,"server":"some"}`,
		"cobra --server=all -v":            `{"verbose":true,"dry_run":false,"server":"all"}`,
		"cobra --dry-run=false":            `{"verbose":false,"dry_run":false}`,
		"cobra --verb":                     no + `{"verbose":false,"dry_run":false,"extra_args":["--verb"]}`,
		"cobra -n a get x -n b":            `{"verbose":false,"dry_run":false,"namespace":"b","watch":false,"names":["x"]}`,
		"cobra g -w":                       `{"verbose":false,"dry_run":false,"watch":true,"names":[]}`,
		"cobra fetch":                      `{"verbose":false,"dry_run":false,"watch":true,"names":[]}`,
		"cobra --odd x get y":              no + `{"verbose":false,"dry_run":false,"watch":false,"names":["y"],"extra_args":["--odd","x"]}`,
		"cobra odd get":                    no + `{"argv":["odd","get"],"verbose":false,"dry_run":false}`,
		"cobra ./odd":                      no + `{"verbose":false,"dry_run":false,"extra_args":["./odd"]}`,

		"gotool -v=false --out=x -out y": `{"v":false,"out":"y"}`,
		"gotool -vout":                   no + `{"v":false,"extra_args":["-vout"]}`,

		"cc -Ia -I b -O2 -Wl,-x -shared -std=c99 -o f x.c": `{"o":"f","include":["a","b"],"optimise":true,"optimise_value":"2","linker":true,"linker_suffix":",-x","shared":true,"std":"c99","files":["x.c"]}`,
		"cc -share":  no + `{"optimise":false,"linker":false,"shared":false,"files":[],"extra_args":["-share"]}`,
		"none -a --": `{"words":["-a","--"]}`,

		"ours":                   `{"argv":[]}`,
		"ours --dir d run -x go": `{"argv":["--dir","d","run","-x","go"],"subcommand":"run","dir":"d","x":true,"script":"go"}`,
		"ours cache clean":       `{"argv":["cache","clean"],"subcommand":"cache clean"}`,
		"ours odd -f":            no + `{"argv":["odd","-f"],"subcommand":"odd","f":true}`,
		"ours run --odd":         no + `{"argv":["run","--odd"],"subcommand":"run","extra_args":["--odd"]}`,
		"half later -x":          `{"argv":["later","-x"],"x":true}`,
		"half later start":       `{"argv":["later","start"],"subcommand":"start"}`,
		"half odd":               no + `{"argv":["odd"]}`,
		"old cf a b":             `{"create":true,"file":"a","paths":["b"]}`,
		"old cfb a 2 b":          `{"create":true,"file":"a","block":"2","paths":["b"]}`,
		"old -cf a b":            `{"create":true,"file":"a","paths":["b"]}`,
		"old a.b":                `{"create":false,"paths":["a.b"]}`,
		"apart a -- b -c":        `{"targets":["a"],"paths":["b","-c"]}`,
		"apart a":                `{"targets":["a"]}`,
		"apart --":               `{"targets":[],"paths":[]}`,
		"rest -a h ls -a -- x":   `{"a":true,"host":"h","command":["ls","-a","--","x"]}`,
		"kv if=a":                `{"if":"a"}`,
		"kv if=a odd=b":          no + `{"if":"a","odd":"b"}`,
		"kv argv=a":              no + `{"extra_args":["argv=a"]}`,
		"ends a b":               `{"from":["a"],"to":"b"}`,
		"ends a b c":             `{"from":["a","b"],"to":"c"}`,
		"ends -t d a":            `{"t":"d","from":["a"]}`,
		"ends a":                 no + `{"argv":["a"],"from":["a"]}`,
		"nothing -x 'a b'":       no + `{"argv":["-x","a b"]}`,
	} {
		_, args, matched := read(t, packs, line)
		if !matched {
			args = no + args
		}
		if diff := cmp.Diff(want, args); diff != "" {
			t.Errorf("%s (-want +got)\n%s", line, diff)
		}
	}
}

func TestCallsAreNamedByTheirSpecs(t *testing.T) {
	packs := own(t, nil, tools)
	for line, want := range map[string]string{
		"/usr/bin/cobra get": "cobra_get",
		"cobra":              "cobra",
		"cobra odd":          "cobra_odd",
		"cobra odd-one":      "cobra_odd_one",
		"ours run":           "ours",
		"ours odd":           "ours",
		"half later start":   "half_later",
		"half odd":           "half_odd",
		"plain3.11 a":        "plain",
		"cc-12":              "cc",
		"nothing-12":         "nothing_12",
		"Foo.Bar-baz":        "foo_bar_baz",
		"./--x_1--":          "x_1",
		": x":                "colon",
		"[ -f x ]":           "test",
		"'%%'":               "command_2525",
	} {
		if name, _, _ := read(t, packs, line); name != want {
			t.Errorf("%s: %s, want %s", line, name, want)
		}
	}
}
