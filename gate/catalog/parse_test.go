package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseReadsEveryKey(t *testing.T) {
	c, err := Parse("tools.json", []byte(`{
"version": 1, "steps": 8, "tools": [{
  "name": "build", "description": "Build it.",
  "args": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false, "title": "t",
    "required": ["dir"], "properties": {"dir": {"type": "string", "format": "path", "maxLength": 100, "description": "where", "examples": ["a"]}}},
  "argv": ["/usr/bin/true", "-C", "{dir}", "--all"],
  "cwd": "project/sub", "env": ["HOME", "GIT_PAGER=cat"], "timeout_seconds": 5, "output_bytes": 1000, "cut_output": true, "ok_exit": [0, 1],
  "limits": {"cpu_seconds": 1, "memory_bytes": 2000000, "file_bytes": 3, "processes": 4, "open_files": 50},
  "confine": {"read": ["/usr", "project"], "write": ["project/build"], "connect_tcp": [443]}
}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := c.Tools[0]
	want := Tool{
		Name: "build", Description: "Build it.", Argv: []string{"/usr/bin/true", "-C", "{dir}", "--all"}, Cwd: "project/sub",
		Env: []string{"HOME", "GIT_PAGER=cat"}, Timeout: 5 * time.Second, Output: 1000, CutOutput: true, OKExit: []int{0, 1},
		Limits:  Limits{CPUSeconds: 1, Memory: 2000000, FileSize: 3, Processes: 4, Descriptors: 50},
		Confine: &Confine{Read: []string{"/usr", "project"}, Write: []string{"project/build"}, Connect: []uint16{443}}, Line: 2,
		Args: got.Args, slots: []string{"dir"}, values: map[string]property{"dir": {path: true, max: 100}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Tool{}, property{}, frozen{})); diff != "" || c.Steps != 8 {
		t.Errorf("%d steps\n%s", c.Steps, diff)
	}
	if !strings.Contains(string(got.Args), `"required":["dir"],"properties":{"dir":{"type":"string"`) {
		t.Errorf("the schema lost its order: %s", got.Args)
	}
}

// tool writes a catalogue of one tool, with one part of it replaced.
func one(from, to string) string {
	text := `{"version": 1, "steps": 8, "tools": [
{"name": "print", "description": "a tool", "cwd": "project",
 "args": {"type": "object", "additionalProperties": false, "required": ["word"], "properties": {"word": {"type": "string", "pattern": "^[a-z]+$"}}},
 "argv": ["/usr/bin/printf", "x", "{word}"]}
]}`
	if !strings.Contains(text, from) {
		panic("the catalogue holds no " + from)
	}
	return strings.Replace(text, from, to, 1)
}

func TestCataloguesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	link := func(name, to string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program := `/usr/bin/printf`
	for name, test := range map[string]struct {
		text string
		code Code
		part string
	}{
		"no JSON":               {`{"version": 1`, BadCatalogue, "tools.json:1: ends too early"},
		"no object":             {`[]`, BadCatalogue, "is a list"},
		"two documents":         {one("x", "x") + "{}", BadCatalogue, "something follows"},
		"a key twice":           {one(`"cwd": "project"`, `"cwd": "project", "cwd": "/"`), BadCatalogue, `tools.json:2: the key "cwd" is there twice`},
		"version 2":             {one(`"version": 1`, `"version": 2`), BadCatalogue, "version: has to be 1"},
		"no version":            {one(`"version": 1, `, ``), BadCatalogue, "version: is missing"},
		"a strange key":         {one(`"cwd"`, `"shell": true, "cwd"`), BadCatalogue, "tools[0].shell: is no key here"},
		"key by another case":   {one(`"cwd"`, `"Cwd"`), BadCatalogue, "tools[0].Cwd: is no key here"},
		"no steps":              {one(`"steps": 8`, `"steps": 0`), BadCatalogue, "steps: has to be a whole number from 1"},
		"half a step":           {one(`"steps": 8`, `"steps": 1.5`), BadCatalogue, "steps: has to be a whole number"},
		"no tools":              {`{"version": 1, "steps": 1, "tools": []}`, BadCatalogue, "tools: has 0 entries"},
		"a name with a dash":    {one(`"name": "print"`, `"name": "pr-int"`), BadCatalogue, "tools[0].name"},
		"no description":        {one(`"a tool"`, `" "`), BadCatalogue, "tools[0].description"},
		"cwd outside":           {one(`"cwd": "project"`, `"cwd": "project/../.."`), BadCatalogue, "tools[0].cwd"},
		"cwd relative":          {one(`"cwd": "project"`, `"cwd": "tmp"`), BadCatalogue, "tools[0].cwd"},
		"a timeout of 0":        {one(`"cwd"`, `"timeout_seconds": 0, "cwd"`), BadCatalogue, "timeout_seconds: has to be a whole number from 1"},
		"open schema":           {one(`"additionalProperties": false, `, ``), BadCatalogue, "additionalProperties: is missing"},
		"schema opened":         {one(`"additionalProperties": false`, `"additionalProperties": true`), BadCatalogue, "the schema is closed"},
		"a reference":           {one(`"type": "string"`, `"$ref": "https://x", "type": "string"`), BadCatalogue, "$ref: is no key here"},
		"an open pattern":       {one(`^[a-z]+$`, `[a-z]+`), BadCatalogue, "has to begin with ^"},
		"half an open pattern":  {one(`^[a-z]+$`, `^a|b$`), BadCatalogue, "has to begin with ^"},
		"a broken pattern":      {one(`^[a-z]+$`, `^[a-z$`), BadCatalogue, "missing closing"},
		"a strange format":      {one(`"pattern": "^[a-z]+$"`, `"format": "email", "pattern": "^a$"`), BadCatalogue, "only path is held to"},
		"enum with a semicolon": {one(`"pattern": "^[a-z]+$"`, `"enum": ["a;b"]`), BadCatalogue, "which shells know"},
		"an empty enum":         {one(`"pattern": "^[a-z]+$"`, `"enum": []`), BadCatalogue, "lists no value"},
		"lengths that exclude":  {one(`"pattern"`, `"minLength": 5, "maxLength": 4, "pattern"`), BadCatalogue, "is less than minLength"},
		"not required":          {one(`"required": ["word"], `, ``), SlotType, "is not in required"},
		"a number slot":         {one(`"type": "string"`, `"type": "integer"`), SlotType, "has to be string"},
		"two types":             {one(`"type": "string"`, `"type": ["string", "null"]`), SlotType, "has to be string"},
		"no bound":              {one(`, "pattern": "^[a-z]+$"`, ``), SlotType, "has to be bounded"},
		"part of a word":        {one(`{word}"]`, `--x={word}"]`), BadTemplate, "a slot is a whole word"},
		"open brace":            {one(`{word}"]`, `{word"]`), BadTemplate, "a slot is a whole word"},
		"empty slot":            {one(`{word}"]`, `{}"]`), BadTemplate, "is no slot"},
		"no such argument":      {one(`{word}"]`, `{other}"]`), BadTemplate, "no argument is called other"},
		"no slot for it":        {one(`, "{word}"]`, `]`), BadTemplate, "no slot of argv takes it"},
		"slot twice":            {one(`"{word}"]`, `"{word}", "{word}"]`), BadTemplate, "is there twice"},
		"a word that is none":   {one(`"x"`, `5`), BadTemplate, "has to be a string"},
		"a line end in a word":  {one(`"x"`, `"x\ny"`), BadTemplate, "control characters"},
		"argv is a string":      {one(`["/usr/bin/printf", "x", "{word}"]`, `"printf x {word}"`), BadCatalogue, "has to be a list"},
		"argv is empty":         {one(`["/usr/bin/printf", "x", "{word}"]`, `[]`), BadTemplate, "is empty"},
		"a slot as the program": {one(program, `{word}`), BadTemplate, "is not the clean absolute path"},
		"a relative program":    {one(program, `printf`), BadTemplate, "is not the clean absolute path"},
		"a program by dots":     {one(program, `/usr/bin/../bin/printf`), BadTemplate, "is not the clean absolute path"},
		"a shell":               {one(program, `/bin/sh`), Shell, "is a shell"},
		"a shell elsewhere":     {one(program, `/opt/x/bash`), Shell, "is a shell"},
		"a shell by a link":     {one(program, link("harmless", "/bin/sh")), Shell, "is a shell"},
		"a shell by two links":  {one(program, link("worse", filepath.Join(dir, "harmless"))), Shell, "is a shell"},
		"busybox":               {one(program, `/bin/busybox`), Shell, "is a shell"},
		"a shell of busybox":    {one(program, link("ls", "/usr/bin/busybox")), Shell, "is a shell"},
		"env":                   {one(program, `/usr/bin/env`), Shell, "runs the program that its arguments name"},
		"xargs":                 {one(program, `/usr/bin/xargs`), Shell, "runs the program that its arguments name"},
		"the loader":            {one(program, `/lib64/ld-linux-x86-64.so.2`), Shell, "loads the program"},
		"code in a slot":        {one(`["/usr/bin/printf", "x"`, `["/usr/bin/python3", "-c"`), Shell, "would run the text in slot word"},
		"code in a slot, perl":  {one(`["/usr/bin/printf", "x"`, `["/usr/bin/perl5.36", "-e"`), Shell, "would run the text in slot word"},
		"env that steers":       {one(`"cwd"`, `"env": ["LD_PRELOAD"], "cwd"`), BadCatalogue, "give it a value here"},
		"env with options":      {one(`"cwd"`, `"env": ["TAR_OPTIONS"], "cwd"`), BadCatalogue, "give it a value here"},
		"env of a family":       {one(`"cwd"`, `"env": ["LUA_INIT_5_4"], "cwd"`), BadCatalogue, "give it a value here"},
		"env that is no name":   {one(`"cwd"`, `"env": ["A B=c"], "cwd"`), BadCatalogue, "is neither NAME nor NAME=value"},
		"confine without read":  {one(`"cwd"`, `"confine": {"write": ["/tmp"]}, "cwd"`), BadCatalogue, "confine.read: is missing"},
		"confine outside":       {one(`"cwd"`, `"confine": {"read": ["../x"]}, "cwd"`), BadCatalogue, "confine.read[0]"},
		"a port too high":       {one(`"cwd"`, `"confine": {"read": [], "connect_tcp": [70000]}, "cwd"`), BadCatalogue, "connect_tcp[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("tools.json", []byte(test.text))
			if err == nil {
				t.Fatal("it was read")
			}
			if CodeOf(err) != test.code || !strings.Contains(err.Error(), test.part) || !strings.HasPrefix(err.Error(), "tools.json:") {
				t.Errorf("code %s, want %s with %q:\n%v", CodeOf(err), test.code, test.part, err)
			}
		})
	}
	if _, err := Parse("tools.json", []byte(one("x", "x"))); err != nil {
		t.Error(err)
	}
}

func TestAllProblemsAreListed(t *testing.T) {
	text := one(`"steps": 8`, `"steps": -1`)
	text = strings.Replace(text, `"x"`, `"{y"`, 1)
	text = strings.Replace(text, `"a tool"`, `5`, 1)
	_, err := Parse("tools.json", []byte(text))
	invalid := new(Invalid)
	if !errors.As(err, &invalid) || len(invalid.Problems) != 4 {
		t.Fatalf("%v", err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[3], "tools.json:4: tools[0].argv[1]: ") {
		t.Errorf("%q", lines)
	}
}

func TestAShellByAnotherNameIsNotFrozen(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "harmless")
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Parse("tools.json", []byte(one("/usr/bin/printf", copied)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Freeze(nil); CodeOf(err) != Shell || !strings.Contains(err.Error(), "is a copy of") {
		t.Errorf("a copy: %v", err)
	}
	missing, err := Parse("tools.json", []byte(one("/usr/bin/printf", "/nonexistent/x")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Freeze(nil); CodeOf(err) != ExecutableMissing || !strings.Contains(err.Error(), "tool print") {
		t.Errorf("missing: %v", err)
	}
}

// Whatever stands in an argument, it is one word of the vector, and none of the characters of shells is in it.
func TestAValueIsOneWord(t *testing.T) {
	c, err := Parse("tools.json", []byte(one(`"pattern": "^[a-z]+$"`, `"format": "path"`)))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z./ ;$-]{0,9}`)).Draw(t, "value")
		var n node
		n.value = []member{{"tool", &node{value: "print"}}, {"args", &node{value: []member{{"word", &node{value: value}}}}}}
		b, _, err := c.bind(n.json())
		if err != nil {
			return
		}
		if diff := cmp.Diff([]string{"/usr/bin/printf", "x", value}, b.argv); diff != "" {
			t.Fatal(diff)
		}
		if strings.ContainsAny(value, metacharacters+"\x00") || strings.HasPrefix(value, "-") || strings.HasPrefix(value, "/") {
			t.Fatalf("%q passed", value)
		}
	})
}

func TestEveryCodeHasItsExit(t *testing.T) {
	for code, want := range map[Code]int{OK: 0, BadCall: 1, ToolFailed: 1, NoSteps: 1, Fault: 2, NotFrozen: 2, "": 2, "tomorrow": 2} {
		if got := code.Exit(); got != want {
			t.Errorf("%q: exit %d, want %d", code, got, want)
		}
	}
}
