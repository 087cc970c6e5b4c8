package house

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"gatehouse/config"
	"gatehouse/gate/catalog"
	"gatehouse/gate/policy"
	"gatehouse/gate/rules"
	"gatehouse/gate/rules/library"
)

// The schemas are for editors; the programs read the files by hand and strictly. So they are held to each other: what a
// reader takes, its schema takes, and each key that a reader knows stands in its schema.
var schemas = []struct {
	name    string // of the schema
	reader  string // the room that reads the file
	file    string
	accepts func(data []byte) error
}{
	{"warden", "config", "warden.yaml", func(data []byte) error { _, err := config.Parse("warden.yaml", data); return err }},
	{"gate", "gate/policy", "gate.yaml", func(data []byte) error { _, err := policy.Parse("gate.yaml", data, nil); return err }},
	{"rules", "gate/rules", "rules.yaml", func(data []byte) error {
		_, err := rules.Parse([]rules.File{{Name: "rules.yaml", Data: data}}, rules.ParseOptions{Library: library.Entries{}})
		return err
	}},
	{"tools", "gate/catalog", "tools.json", func(data []byte) error { _, err := catalog.Parse("tools.json", data); return err }},
}

func TestSchemasTakeWhatTheReadersTake(t *testing.T) {
	samples := samples(t)
	for _, s := range schemas {
		schema := readSchema(t, s.name)
		taken := 0
		for at, data := range samples {
			if s.accepts(data) != nil {
				continue
			}
			taken++
			if err := schema.Validate(value(t, data)); err != nil {
				t.Errorf("%s: %s takes it, and docs/schemas/%s.schema.json does not: %v", at, s.reader, s.name, err)
			}
		}
		if taken < 2 {
			t.Errorf("%s: only %d samples", s.name, taken)
		}
	}
}

func TestSchemasRefuseAKeyThatNobodyKnows(t *testing.T) {
	for name, text := range map[string]string{
		"warden": "version: 1\nrepository: /r\nrepositry: /r\ngates: [{name: a, user: b, live: [{name: c, root: /d}]}]\n",
		"gate":   "version: 1\nallow: [{call: ls, onyl: [-l]}]\n",
		"rules":  "rules: [{id: a, never: {tool: rm, wiht: {a: b}}}]\n",
		"tools":  `{"version": 1, "steps": 1, "tools": [{"name": "a", "description": "b", "args": {}, "argv": ["/bin/true"], "cwd": "project", "shell": true}]}`,
	} {
		if readSchema(t, name).Validate(value(t, []byte(text))) == nil {
			t.Errorf("%s: %s passes", name, text)
		}
	}
}

// A key of a reader is the first argument of document.Need and May, or stands in a list that parser.object is given.
var keyOfReader = regexp.MustCompile(`(?:document\.(?:Need|May)|kind|condition)\("([a-z0-9_]+)"`)
var keysOfObject = regexp.MustCompile(`(?:p\.object\(|must := |may := ).*`)
var word = regexp.MustCompile(`"([a-z0-9_]+)"`)

func TestSchemasHaveEachKeyOfTheReaders(t *testing.T) {
	elsewhere := map[string][]string{
		"rules": {"summary", "tags", "harnesses", "include"}, // of an entry of the library
		"tools": {"schema", "catalogue", "path", "sha256"},   // of tools.lock
	}
	for _, s := range schemas {
		text, err := os.ReadFile(filepath.Join(root, "docs", "schemas", s.name+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(root, s.reader, "*.go"))
		found := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "schema.go" { // a catalogue's own schemas
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			keys := keyOfReader.FindAllSubmatch(source, -1)
			for _, list := range keysOfObject.FindAll(source, -1) {
				keys = append(keys, word.FindAllSubmatch(list, -1)...)
			}
			for _, key := range keys {
				found++
				name := string(key[1])
				if !strings.Contains(string(text), `"`+name+`": {`) && !slices.Contains(elsewhere[s.name], name) {
					t.Errorf("%s knows the key %s, and docs/schemas/%s.schema.json does not", file, name, s.name)
				}
			}
		}
		if found < 10 {
			t.Errorf("%s: only %d keys found in %s", s.name, found, s.reader)
		}
	}
}

func readSchema(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "schemas", name+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return resolved
}

// value is what an editor makes of a file: YAML, of which JSON is a part, as JSON values.
func value(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

var fenced = regexp.MustCompile("(?s)```(?:yaml|json)\n(.*?)```")

// samples are the files of the gate that ships with us, those of tests, and the blocks of the docs.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	read := func(pattern string, each func(name string, data []byte)) {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			each(name, data)
		}
	}
	whole := func(name string, data []byte) { all[name] = data }
	read("vendor-gate/default/files/policy/*.yaml", whole)
	read("gate/rules/library/entries/*.yaml", whole)
	blocks := func(name string, data []byte) {
		for i, block := range fenced.FindAllSubmatch(data, -1) {
			all[name+" block "+string(rune('a'+i%26))+strings.Repeat("'", i/26)] = block[1]
		}
	}
	read("docs/*.md", blocks)
	read("README.md", blocks)
	for name, text := range rows {
		all[name] = []byte(text)
	}
	return all
}

// rows hold each key at least once.
var rows = map[string]string{
	"warden with everything": `version: 1
host: agent-1
repository: /srv/gate
vendored: vendor-gate
index: /etc/gatehouse/gates.json
state: /var/lib/gatehouse
schedule: "@every 30m"
ping: credential:ping
gates:
  - name: claude
    user: 1000
    decide: refuse
    export: /var/lib/gatehouse-export/claude
    live: [{name: policy, root: /home/agent/.config/gatehouse, exclude: ["flags/**"]}]
    loaded_by: [{unit: a.service, scope: user, files: ["policy/**"]}]
    witness: false
    interval: 1h30m
    limits: {entries: 10, file: 1024, total: 64MiB}
notify:
  slack: {channel: "#a", token: env:TOKEN, api_url: "https://slack.example/"}
  webhook: {url: "https://alerts.example/x", secret: file:/run/secret}
  journal: true
peers:
  key: credential:key
  exchange: {nats: {servers: ["tls://a:4222"], ca: /etc/ca.pem, seed: credential:seed}}
  interval: 1h
  grace: 15m
  hosts: [{name: hub, key: "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", interval: 2h}]
  follow: hub
fleet: [{gate: other, hosts: [hub], interval: 1h, limits: {entries: 10}}]
`,
	"warden with a directory": `version: 1
repository: /srv/gate
gates: [{name: a, user: agent, live: [{name: policy, root: /home/agent/p}]}]
peers: {exchange: {directory: /mnt/gatehouse}}
`,
	"warden of a hub": `version: 1
repository: /srv/gate
peers: {exchange: {directory: /mnt/gatehouse}, hosts: [{name: one, key: "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="}]}
fleet: [{gate: claude}]
gates: []
`,
	"gate with everything": `version: 1
shell: full
enforce: observe
observe_until: 2099-12-31
unlisted: ask
check_flags: spec
dynamic_values: deny
allow:
  - git status
  - {call: python3, only: [-m pytest], trust: root-owned, match: [python3 -m pytest -q], not_match: [python3 -c x]}
  - {call: ls, exact: true, sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}
  - git push --force-with-lease
deny:
  - rm
  - {call: git push, flags: --force, why: shared, fix: {run: git push --force-with-lease}}
paths: {root: [/srv/a], within: "${HOME}/src", deny: .env, read_only: [a/**], redirects: ["**"], create: ["*.log"], reads_must_exist: false}
env: {allow: [CI, "LC_*"]}
tools: [{tool: Edit, paths: {deny: ["*.lock"]}}, {tool: ["mcp__*"], unlisted: ask}]
ask: {unattended: deny}
`,
	"gate of one root": "version: 1\npaths: {root: cwd}\n",
	"rules with everything": `version: 1
settings:
  {mode: block, scope: session, retries: 3, retry_counting: hybrid, report: 3, finish_retries: 0,
   unparseable: {interactive: ask, auto: deny}, announce: true, scan_output: yes, memory_first: false, subagents_unchecked: false}
use: [no-force-push, {ask-before-ci-changes: {mode: warn}}]
disable: [x]
rules:
  - {id: a, never: rm, with: {force: true}, where: {path: ["*.go"]}, mode: ask, scope: project, why: because, fix: do, from: {file: A.md, line: 3, id: q}}
  - {id: b, never: [rm, {tool: mv, touches: a, reads: [b], writes: c, sure: true}]}
  - {id: c, before: [pytest, {tool: git_push, exists: false}]}
  - {id: d, before: {first: {tool: pytest, succeeded: true}, then: git_push, since: [Edit, Write]}}
  - {id: e, at_most: {call: git_push, times: 3}}
  - {id: f, finally: {call: pytest, since: Edit}}
  - {id: g, finally: pytest}
  - {id: h, require: {tool: git_commit, with: {signoff: true}}}
  - {id: i, ltl: 'before("git_fetch", "git_rebase")'}
`,
	"rules in one word": "settings: {unparseable: ask}\nuse: no-force-push\ndisable: a\n",
	"tools with little": `{"version": 1, "steps": 1, "tools": [{"name": "t", "description": "Does.", "args": {"type": "object", "properties": {}, "additionalProperties": false},
  "argv": ["/usr/bin/true"], "cwd": "/srv"}]}`,
	"tools with everything": `{"version": 1, "steps": 8, "tools": [
  {"name": "say", "description": "Says.", "args": {"type": "object", "properties": {"word": {"type": "string", "format": "path"}}, "required": ["word"], "additionalProperties": false},
   "argv": ["/usr/bin/printf", "%s", "{word}"], "cwd": "project/a", "env": ["LANG=C", "TERM"], "timeout_seconds": 5, "output_bytes": 4096, "cut_output": true, "ok_exit": [0, 1],
   "limits": {"cpu_seconds": 1, "memory_bytes": 1048576000, "file_bytes": 1, "processes": 10, "open_files": 64},
   "confine": {"read": ["/usr", "project"], "write": [], "connect_tcp": [443]}}]}`,
}

func TestTheRowsOfSchemasAreTaken(t *testing.T) {
	for name, text := range rows {
		for _, s := range schemas {
			if strings.HasPrefix(name, s.name) {
				if err := s.accepts([]byte(text)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
