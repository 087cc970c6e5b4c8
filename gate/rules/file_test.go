package rules

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

func TestEveryProblemOfAFileIsReportedWithItsLine(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string // in this order, parts of lines
	}{
		"not yaml":          {"rules: [", []string{"r.yaml:1: "}},
		"empty":             {"", []string{"r.yaml:1: the file is empty"}},
		"unknown keys":      {"rulez: []\nsettings: {mod: block}\n", []string{`r.yaml:1: rulez: unknown key; did you mean "rules"?`, `r.yaml:2: settings.mod: unknown key; did you mean "mode"?`}},
		"several":           {"rules:\n- id: a\n  never: rm\n  mode: blok\n- never: rm\n", []string{"r.yaml:4: rules[0].mode: must be one of block", "r.yaml:5: rules[1].id: is required"}},
		"no kind":           {"rules:\n- id: a\n", []string{"r.yaml:2: rules[0]: a rule needs one of never, before"}},
		"two kinds":         {"rules:\n- id: a\n  never: x\n  require: {tool: y, with: {z: 1}}\n", []string{"r.yaml:2: rules[0]: a rule has one kind, and this one has never and require"}},
		"id twice":          {"rules:\n- {id: a, never: x}\n- {id: a, never: y}\n", []string{`r.yaml:3: rules[1].id: "a" is the id of the rule at r.yaml:2 as well`}},
		"formula":           {"rules:\n- id: a\n  ltl: 'G(now('\n", []string{"r.yaml:3: rules[0].ltl: formula, position 7"}},
		"before of three":   {"rules:\n- {id: a, before: [x, y, z]}\n", []string{"r.yaml:2: rules[0].before: must have two targets"}},
		"bare require":      {"rules:\n- {id: a, require: rm}\n", []string{"r.yaml:2: rules[0]: require: each target needs with or where: rm"}},
		"variable in never": {"rules:\n- {id: a, never: {tool: x, with: {y: $z}}}\n", []string{"$z: variables stand in before only"}},
		"variable and since": {"rules:\n- {id: a, before: {first: {tool: x, with: {y: $z}}, then: {tool: v, with: {y: $z}}, since: w}}\n",
			[]string{"since cannot be combined with variables"}},
		"variable on one side": {"rules:\n- {id: a, before: {first: x, then: {tool: v, with: {y: $z}}}}\n", []string{"first: each target has to name $z: x"}},
		"open set":             {"rules:\n- id: a\n  never:\n    tool: x\n    where: {y: \"a[b\"}\n", []string{`r.yaml:5: rules[0].never.where.y: "[" is not closed`}},
		"a command as a tool":  {"rules:\n- {id: a, never: git push}\n", []string{`"git push" is no name of a tool`}},
		"with beside before":   {"rules:\n- {id: a, before: [x, y], with: {z: 1}}\n", []string{"stands beside never, require and at_most only"}},
		"times":                {"rules:\n- {id: a, at_most: {call: x, times: -1}}\n", []string{"must be a whole number"}},
		"no such entry":        {"use: [no-force-psh]\n", []string{`r.yaml:1: use[0]: the library has no entry "no-force-psh"; did you mean "no-force-push"?`}},
		"alias bomb":           {"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n", []string{"the file unfolds to more than"}},
		"second document":      {"rules: []\n---\nrules: []\n", []string{"a second document begins here"}},
		"formula's argument":   {"rules:\n- id: a\n  formula: {type: Called, args: {tol: x}}\n", []string{`r.yaml:3: rules[0].formula: Called needs the argument "tool"`, `Called has no such argument`}},
		"null":                 {"rules:\n- id: a\n  never:\n", []string{"r.yaml:3: rules[0].never: "}},
		"nothing to match":     {"rules:\n- {id: a, never: []}\n", []string{"must not be empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]File{{"r.yaml", []byte(test.text)}}, ParseOptions{})
			if err == nil {
				t.Fatal("no error")
			}
			text := err.Error()
			for _, want := range test.want {
				at := strings.Index(text, want)
				if at < 0 {
					t.Fatalf("%q is not in:\n%v", want, err)
				}
				text = text[at:]
			}
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "r.yaml:") {
					t.Errorf("no place: %q", line)
				}
			}
		})
	}
}

// entries is a library of a map.
type entries map[string]string

func (e entries) Open(name string) ([]byte, bool) {
	text, ok := e[name]
	return []byte(text), ok
}

func (e entries) Names() []string {
	var all []string
	for name := range e {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

var shelf = entries{
	"no-force":  "summary: x\ntags: [git]\nrules:\n- {id: no-force, never: {tool: git_push, with: {force: true}}}\n",
	"no-sudo":   "summary: x\nrules:\n- {id: no-sudo, never: sudo, mode: ask}\n",
	"bundle":    "summary: x\ninclude: [no-force, no-sudo, bundle]\n",
	"one-agent": "summary: x\nharnesses: [codex]\nrules:\n- {id: one-agent, never: x}\n",
	"broken":    "summary: x\nrules:\n- {id: broken}\n",
}

func ids(t *testing.T, s *Set) string {
	t.Helper()
	list, err := s.Rules()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range list {
		all = append(all, r.ID+":"+r.Mode.String()+":"+r.Scope.String())
	}
	return strings.Join(all, " ")
}

func TestUseDisableAndSeveralFiles(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"use":              {[]string{"use: [no-force]"}, "no-force:block:session"},
		"use with a mode":  {[]string{"use: [{no-force: {mode: warn, scope: project}}]"}, "no-force:warn:project"},
		"use as a mapping": {[]string{"use:\n  no-force: {mode: warn}\n  no-sudo: {}\n"}, "no-force:warn:session no-sudo:ask:session"},
		"bundle, once":     {[]string{"use: [no-force, bundle]"}, "no-force:block:session no-sudo:ask:session"},
		"own rule wins":    {[]string{"rules: [{id: no-force, never: rm, mode: log}]\nuse: [no-force]"}, "no-force:log:session"},
		"disable":          {[]string{"use: [bundle]\ndisable: [no-sudo]"}, "no-force:block:session"},
		"later file wins":  {[]string{"rules: [{id: a, never: x}, {id: b, never: x}]", "rules: [{id: a, never: y, mode: ask}]"}, "a:ask:session b:block:session"},
		"disable across":   {[]string{"rules: [{id: a, never: x}]", "disable: [a]"}, ""},
		"settings replace": {[]string{"settings: {mode: warn, scope: project}\nrules: [{id: a, never: x}]", "settings: {mode: ask}"}, "a:ask:session"},
		"settings":         {[]string{"settings: {mode: warn}\nrules: [{id: a, never: x}, {id: b, never: x, mode: block}]"}, "a:warn:session b:block:session"},
		"another agent's":  {[]string{"use: [one-agent, no-sudo]"}, "no-sudo:ask:session"},
		"memory first":     {[]string{"settings: {memory_first: true}"}, "memory-first:warn:session"},
		"anchors": {[]string{"rules:\n- &a {id: a, never: x, mode: ask}\n- {<<: *a, id: b}\n- id: c\n  never: &t {tool: [x], with: {y: 1}}\n- {id: d, never: *t}\n"},
			"a:ask:session b:ask:session c:block:session d:block:session"},
	} {
		t.Run(name, func(t *testing.T) {
			var files []File
			for _, text := range test.files {
				files = append(files, File{"f.yaml", []byte(text)})
			}
			s, err := Parse(files, ParseOptions{Library: shelf, Client: "claude-code"})
			if err != nil {
				t.Fatal(err)
			}
			if got := ids(t, s); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	for text, want := range map[string]string{
		"use: [no-forc]": `f.yaml:1: use[0]: the library has no entry "no-forc"; did you mean "no-force"?`,
		"use: [broken]":  "library/broken:3: rules[0]: a rule needs one of",
	} {
		_, err := Parse([]File{{"f.yaml", []byte(text)}}, ParseOptions{Library: shelf})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAgentLTLFilesHaveItsBuiltInRule(t *testing.T) {
	for text, want := range map[string]string{
		"rules: []":                                        "memory-first:warn:session",
		"settings: {memory_first: false}":                  "",
		"disable: [memory-first]":                          "",
		"rules: [{id: memory-first, never: x, mode: log}]": "memory-first:log:session",
	} {
		s, err := Parse([]File{{"p/AGENTLTL.yaml", []byte(text)}}, ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(t, s); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestSpecsOfRuleFiles(t *testing.T) {
	file := File{"r.yaml", []byte(`
rules: [{id: a, at_most: {call: alembic_revision, times: 1}}]
tools:
  alembic:
    subcommands:
      revision:
        options:
          - {flags: [-m, --message]}
          - {flags: [--autogenerate], type: bool}
      upgrade: {positionals: [{name: revision}]}
  kubectl:
    subcommands:
      rollout: {positionals: [{name: action}, {name: resource}]}
`)}
	compiled, err := Tools([]File{file}, packs)
	if err != nil {
		t.Fatal(err)
	}
	with, err := packs.With(string(compiled))
	if err != nil {
		t.Fatal(err)
	}
	calls, err := spec.Line("alembic revision -m x; kubectl rollout restart d; kubectl delete pod x", spec.Options{Shell: shell.Options{}, Packs: with})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range calls {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "alembic_revision kubectl_rollout kubectl_delete" {
		t.Errorf("%s", got)
	}
	bad := File{"bad.yaml", []byte("rules: []\ntools:\n  x:\n    options:\n      - {flags: [-a], typ: bool}\n")}
	if _, err := Tools([]File{file, bad}, packs); err == nil || !strings.Contains(err.Error(), "bad.yaml:5") {
		t.Errorf("a fault in a spec: %v", err)
	}
	if compiled, err := Tools([]File{{"r.yaml", []byte("rules: []")}}, packs); compiled != nil || err != nil {
		t.Errorf("no specs: %v, %v", compiled, err)
	}
}

func TestTheFileThatShipsWithTheProgram(t *testing.T) {
	name := "../../vendor-gate/default/files/policy/rules.yaml"
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	l := in(t, string(data))
	l.play(`
		ask: git push origin main
		ask: git push origin HEAD:main
		ask: rm -rf build
		ask: git commit --amend
		deny: git push origin feature
		allow: go test ./...
		allow: git push origin feature
		allow: Edit path:a.go
		deny: git push origin feature
		note: git push origin feature`)
	problems, err := l.set.Lint(packs)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
