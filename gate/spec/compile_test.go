package spec

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate/shell"
)

// own compiles specs on top of base.
func own(t testing.TB, base *Packs, yaml string) *Packs {
	t.Helper()
	compiled, err := Compile([]File{{"own.yaml", []byte(yaml)}}, base)
	if err != nil {
		t.Fatal(err)
	}
	if base == nil {
		base = &Packs{}
	}
	packs, err := base.With(string(compiled))
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

// read returns name, arguments and match of the only call of a line.
func read(t testing.TB, packs *Packs, line string) (name, args string, matched bool) {
	t.Helper()
	calls, err := Line(line, Options{Packs: packs, Shell: shell.Options{Dir: "/w"}})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	data, err := calls[0].Args.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return calls[0].Name, string(data), calls[0].Meta.SpecMatched
}

// Compiling what was read back from the compiled form gives the same bytes: nothing is lost on the way.
func TestCompiledPacksHoldEverything(t *testing.T) {
	files := packFiles(t)
	compiled, err := compiledPacks()
	if err != nil {
		t.Fatal(err)
	}
	packs := packsForTest(t)
	var again []*command
	for _, f := range files {
		specs, err := readYAML(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range specs {
			again = append(again, packs.command(c.name))
		}
	}
	if !bytes.Equal(encode(again), compiled) {
		t.Error("the specs are not the same after a round through the compiled form")
	}
}

func TestABrokenCompiledFormIsNoSpec(t *testing.T) {
	compiled, err := Compile([]File{{"f.yaml", []byte("tool: {options: [{flags: [-x, --long]}], subcommands: {sub: {}}}\n")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(compiled) {
		packs, err := (&Packs{}).With(string(compiled[:cut]))
		if err != nil {
			continue
		}
		name, args, matched := read(t, packs, "tool -x a sub")
		if name != "tool" || matched || args != `{"argv":["-x","a","sub"]}` {
			t.Fatalf("cut at %d: %s %s %t", cut, name, args, matched)
		}
	}
	if _, err := (&Packs{}).With("gatehouse/spec/v0\n\x00\x00\x00\x00"); err == nil {
		t.Error("another version is taken")
	}
}

func TestASpecOfTheUserExtendsOneThatIsThere(t *testing.T) {
	base := own(t, nil, `
tool:
  summary: the tool
  options:
    - {flags: [-a, --all], type: bool}
    - {flags: [-o], dest: output}
  positionals: [{name: paths, nargs: "*"}]
  aliases: [tl]
  subcommands:
    one: {options: [{flags: [-x], type: bool}]}
    two: {aliases: [deux]}
other: {posix: true}
`)
	packs := own(t, base, `
tool:
  extend: true
  options:
    - {flags: [-a, --every], type: bool}
    - {flags: [-n], type: count}
  subcommands:
    one: {options: [{flags: [-y]}]}
    three: {}
fresh: {like: tool one, options: [{flags: [-z], type: bool}]}
other: {options: [{flags: [-q], type: bool}]}
`)
	for line, want := range map[string]string{
		"tool -a -nn x":    `tool {"every":true,"n":2,"paths":["x"]}`, // -o is kept, --all is gone with -a
		"tool --all":       `tool {"every":false,"n":0,"paths":[],"extra_args":["--all"]}`,
		"tool -o f":        `tool {"output":"f","every":false,"n":0,"paths":[]}`,
		"tl -a":            `tool {"every":true,"n":0,"paths":[]}`,
		"tool one -x -y v": `tool_one {"every":false,"n":0,"x":true,"y":"v"}`,
		"tool deux":        `tool_two {"every":false,"n":0}`,
		"tool three":       `tool_three {"every":false,"n":0}`,
		"fresh -xz":        `fresh {"x":true,"z":true}`,
		"other -q -r":      `other {"q":true,"extra_args":["-r"]}`, // not extended: replaced
	} {
		name, args, _ := read(t, packs, line)
		if diff := cmp.Diff(want, name+" "+args); diff != "" {
			t.Errorf("%s (-want +got)\n%s", line, diff)
		}
	}
	if name, args, _ := read(t, base, "tool -a"); name+" "+args != `tool {"all":true,"paths":[]}` {
		t.Errorf("the specs below have changed: %s %s", name, args)
	}
}

func TestOnlyTheCommandThatIsMetIsDecoded(t *testing.T) {
	packs := packsForTest(t)
	if _, err := Line("git status", Options{Packs: packs}); err != nil {
		t.Fatal(err)
	}
	p := packs.packs[0]
	var met []string
	for i := range p.decoded {
		if p.decoded[i].Load() != nil {
			name, _, _ := p.entry(i)
			met = append(met, name)
		}
	}
	if diff := cmp.Diff([]string{"git"}, met); diff != "" {
		t.Errorf("decoded (-want +got)\n%s", diff)
	}
	git, _, _ := packs.find("git")
	met = nil
	for i := range git.subs {
		if git.subs[i].decoded.Load() != nil {
			met = append(met, git.subs[i].name)
		}
	}
	if diff := cmp.Diff([]string{"status"}, met); diff != "" {
		t.Errorf("subcommands decoded (-want +got)\n%s", diff)
	}
}

func TestSchemasNameEachArgumentOnce(t *testing.T) {
	schemas, err := packsForTest(t).Schemas("")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range schemas {
		seen := map[string]bool{}
		for _, p := range s.Properties {
			if seen[p.Name] {
				t.Errorf("%s: %s comes twice", s.Command, p.Name)
			}
			seen[p.Name] = true
		}
		if s.Name == "" || s.Description == "" || strings.TrimSpace(s.Command) != s.Command {
			t.Errorf("%+v", s)
		}
	}
}

// What several options or commands share can be written once; it compiles to the same.
func TestShortFormsOfOptionsAreTheLongOnes(t *testing.T) {
	long := `
a:
  syntax: pflag
  options: [{flags: [-q, --quiet], type: bool, beyond: true}, {flags: [-v], type: bool, beyond: true}, {flags: [--out], effect: write}]
  subcommands:
    b: {syntax: pflag, options: [{flags: [--x]}, {flags: [-q, --quiet], type: bool, beyond: true}, {flags: [-v], type: bool, beyond: true}]}
    c: {syntax: getopt}
`
	short := `
option_sets:
  loud: [{each: [-q/--quiet, -v], type: bool, beyond: true}]
a:
  syntax: pflag
  options: [loud, {flags: [--out], effect: write}]
  subcommands:
    b: {options: [{flags: [--x]}, loud]}
    c: {syntax: getopt}
`
	compiled := func(text string) string {
		data, err := Compile([]File{{"f.yaml", []byte(text)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if compiled(long) != compiled(short) {
		t.Error("the short form compiles to something else")
	}
}
