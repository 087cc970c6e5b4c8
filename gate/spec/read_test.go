package spec

import (
	"strings"
	"testing"
)

// Every fault is told with its file and line, and all of them at once.
func TestFaultsInSpecsAreToldWithTheirLines(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want []string
	}{
		"unknown keys": {
			"a:\n  optoins: []\nb:\n  options:\n    - {flags: [-x], typ: bool}\n  positionals: [{name: p, narg: '?'}]\n  aliases: {c: {tol: x}}\n",
			[]string{
				`f.yaml:2: unknown key "optoins"; did you mean options?`, `f.yaml:5: unknown key "typ"; did you mean type?`,
				`f.yaml:6: unknown key "narg"; did you mean nargs?`, `f.yaml:7: unknown key "tol"; did you mean tool?`,
			},
		},
		"key twice":        {"a: {}\nb: {posix: true, posix: true}\na: {}\n", []string{`f.yaml:2: key "posix" is already on line 2`, `f.yaml:3: key "a" is already on line 1`}},
		"two documents":    {"a: {}\n---\nb: {}\n", []string{"f.yaml: more than one document"}},
		"no YAML":          {"a: [\n", []string{"f.yaml: yaml: line 1"}},
		"no map":           {"- a\n", []string{"f.yaml:1: a map is wanted here"}},
		"types":            {"a:\n  posix: maybe\n  options: {x: y}\n  tool: [a]\n", []string{"f.yaml:2: true or false", "f.yaml:3: a list", "f.yaml:4: a text"}},
		"names of choices": {"a:\n  syntax: gnu\n  effects: fly\n  derive: guess\n  options: [{flags: [-x], type: float, form: at}]\n", []string{`2: "gnu" is no syntax`, `3: "fly" is no effect`, `4: "guess" is nothing`, `5: "float" is no type`}},
		"nargs":            {"a:\n  positionals: [{name: x, nargs: 3}]\n", []string{"f.yaml:2: nargs is ?, * or +"}},
		"values":           {"a:\n  options:\n    - {flags: [-x], values: 12, type: list}\n", []string{"f.yaml:3: a number from 1 to 9"}},
		"merge keys":       {"a: &a {}\nb: {<<: *a}\n", []string{"f.yaml:2: a key is a plain word"}},
		"flags":            {"a:\n  options:\n    - {flags: [x]}\n    - {flags: []}\n    - {flags: [-xy]}\n    - {flags: ['-a b']}\n", []string{`3: a: flag "x" has no dash`, "4: a: an option has flags", `4: a: argument "" is not`, "5: a: -xy has one dash", `6: a: flag "-a b"`, `6: a: argument "a b" is not`}},
		"flag twice":       {"a:\n  options:\n    - {flags: [-x]}\n    - {flags: [-x, -y]}\n", []string{"4: a: -x is already an option on line 3"}},
		"two types":        {"a:\n  options:\n    - {flags: [-x], dest: d}\n    - {flags: [-y], dest: d, type: bool}\n", []string{"4: a: argument d has two types"}},
		"argument names":   {"a:\n  options: [{flags: [-x], dest: a-b}, {flags: [-y], dest: argv}]\n  positionals: [{name: ''}]\n", []string{`"a-b" is not of letters`, "argv belongs to every call", `argument "" is not`}},
		"references":       {"a:\n  numeric: n\n  positionals:\n    - {name: p, unless: [q], effect: read, tree: [r], when: {s: write}}\n", []string{`numeric names "n"`, `unless names "q"`, `tree names "r"`, `when names "s"`}},
		"plus alone":       {"a: {plus: true}\n", []string{"plus and signals need numeric"}},
		"subcommand twice": {"a:\n  subcommands: {b: {aliases: [c]}, c: {}}\n", []string{`subcommand "c" comes twice`}},
		"names":            {"a b: {}\n", []string{`"a b" is no name of an executable`}},
		"tool":             {"a: {tool: A-B}\n", []string{`tool "A-B" is not`}},
		"summary":          {"a: {summary: Does things.}\n", []string{"without a full stop"}},
		"alias twice":      {"a: {aliases: [b]}\nb: {}\n", []string{"f.yaml:2: b has a spec at f.yaml:1"}},
		"implied":          {"a: {aliases: {b: {implied: {x: true}}}}\n", []string{"alias b implies x, which no option sets"}},
		"like nothing":     {"a: {like: b}\n", []string{`a is like "b", which has no spec`}},
		"like itself":      {"a: {like: b}\nb: {like: a}\n", []string{"is like itself"}},
		"extend nothing":   {"a: {extend: true}\n", []string{"a extends a spec that is not there"}},
		"form of no path":  {"a:\n  options: [{flags: [-x], form: at}]\n", []string{"has a form of a path, but is none"}},
		"none of several":  {"a:\n  options: [{flags: [-x], effect: [read, none]}]\n", []string{"f.yaml:2: none beside other effects"}},
		"sets":             {"option_sets: {s: [{flags: [-x]}]}\na: {options: [s, t]}\n", []string{`f.yaml:2: no set of options is named "t"`}},
		"alike":            {"a:\n  options: [{each: [-x, -y], dest: d}]\n", []string{"f.yaml:2: options that are alike have their flags in each"}},
		"derive":           {"a:\n  derive: {cwd-tree: {if: [x], when: [y]}, guess: {}}\n", []string{`2: unknown key "when"`, `2: "guess" is nothing`}},
		"rules of nothing": {"a:\n  derive: {cwd-tree: {if: [x], unless: [y]}}\n", []string{`derive names "x"`, `derive names "y"`}},
		"numbers":          {"a:\n  options: [{flags: [-x], type: bool, number: true}]\n", []string{"only an option whose value is optional"}},
		"defaults":         {"a:\n  positionals: [{name: p, nargs: '*', default: '.'}]\n  options: [{flags: [-o], effect: write, in: d}]\n", []string{"default is a path, and needs an effect", `in names "d"`}},
		"choices of none":  {"a:\n  options: [{flags: [-x], type: bool, choices: [a]}]\n", []string{"x has choices but no value"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile([]File{{"f.yaml", []byte(test.yaml)}}, nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != len(test.want) {
				t.Errorf("%d faults, want %d:\n%v", got, len(test.want), err)
			}
		})
	}
}

func TestAliasesOfAFileDoNotUnfoldWithoutEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("x0: &x0 {options: [{flags: [-a]}]}\n")
	for i := range 30 {
		n, m := string(rune('a'+i%26))+string(rune('a'+i/26)), ""
		if i > 0 {
			m = string(rune('a'+(i-1)%26)) + string(rune('a'+(i-1)/26))
		} else {
			m = "x0"
		}
		b.WriteString(n + ": &" + n + " {subcommands: {a: *" + m + ", b: *" + m + "}}\n")
	}
	if _, err := Compile([]File{{"f.yaml", []byte(b.String())}}, nil); err == nil || !strings.Contains(err.Error(), "unfolds to more than") {
		t.Errorf("got %.200v, want a refusal", err)
	}
}

func TestAnEmptyFileHasNoSpecs(t *testing.T) {
	for _, data := range []string{"", "# nothing\n", "---\n"} {
		if _, err := Compile([]File{{"f.yaml", []byte(data)}}, nil); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	}
}
