package defaultgate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"gatehouse/manifest"
)

var update = flag.Bool("update", false, "write manifest.json anew")

func TestManifestSaysWhatTheFilesAre(t *testing.T) {
	want := manifest.NewGeneration("default", entries(t))
	if *update {
		data, err := want.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("manifest.json", data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := Generation()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest.json is not what the files are; run: go generate ./vendor-gate/default\n(-files +manifest):\n%s", diff)
	}
	if text, err := want.Marshal(); err != nil || !bytes.Equal(text, read(t, vendored, "manifest.json")) {
		t.Errorf("manifest.json is written otherwise (%v); run: go generate ./vendor-gate/default", err)
	}
}

// entries describes the files as a clean installation has them.
func entries(t *testing.T) (list []manifest.Entry) {
	t.Helper()
	err := fs.WalkDir(Files(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			list = append(list, manifest.Entry{Path: name, Type: manifest.Dir, Mode: 0o755})
		default:
			data := read(t, Files(), name)
			sum := sha256.Sum256(data)
			list = append(list, manifest.Entry{
				Path: name, Type: manifest.File, Mode: 0o644, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]),
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestFilesAreThoseOfOnePolicyAndItsPlugins(t *testing.T) {
	var got []string
	for _, e := range entries(t) {
		got = append(got, e.Path)
	}
	want := []string{
		"plugin", "plugin/openclaw", "plugin/openclaw/index.js", "plugin/openclaw/openclaw.plugin.json", "plugin/openclaw/package.json",
		"plugin/opencode", "plugin/opencode/gatehouse.js", "policy", "policy/gate.yaml", "policy/rules.yaml", "policy/tools.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The shapes below are what docs/gate-yaml.md and docs/rules.md say; a key that they do not have fails.
type (
	gateFile struct {
		Version       int
		Shell         string
		Enforce       string
		ObserveUntil  string `yaml:"observe_until"`
		Unlisted      string
		CheckFlags    string `yaml:"check_flags"`
		DynamicValues string `yaml:"dynamic_values"`
		Allow         []yaml.Node
		Deny          []denied
		Paths         struct {
			Root           string
			Within         string
			Deny           []string
			ReadOnly       []string `yaml:"read_only"`
			Redirects      []string
			Create         []string
			ReadsMustExist bool `yaml:"reads_must_exist"`
		}
		Env struct {
			Allow []string
		}
		Tools []struct {
			Tool     yaml.Node
			Unlisted string
			Paths    struct{ Deny []string }
		}
		Ask struct{ Unattended string }
	}
	allowed struct {
		Exact    bool
		Call     string
		Only     []string
		Trust    string
		SHA256   string
		Match    []string
		NotMatch []string `yaml:"not_match"`
	}
	denied struct {
		Call  string
		Flags []string
		Why   string
		Fix   struct{ Run string }
	}
	ruleFile struct {
		Version  int
		Settings struct{ Mode, Scope string }
		Rules    []rule
	}
	rule struct {
		ID, Why, Fix, Mode string
		Never              yaml.Node
		Before             *struct {
			First yaml.Node
			Then  string
			Since []string
		}
	}
	target struct {
		Tool        string
		With, Where map[string]any
		Succeeded   bool
	}
	toolFile struct {
		Version int    `json:"version"`
		Steps   int    `json:"steps"`
		Tools   []tool `json:"tools"`
	}
	tool struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Args        schema   `json:"args"`
		Argv        []string `json:"argv"`
		Cwd         string   `json:"cwd"`
		Env         []string `json:"env"`
		Timeout     int      `json:"timeout_seconds"`
		Output      int      `json:"output_bytes"`
		Cut         bool     `json:"cut_output"`
	}
	schema struct {
		Type       string   `json:"type"`
		Additional *bool    `json:"additionalProperties"`
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type        string   `json:"type"`
			Description string   `json:"description"`
			Pattern     string   `json:"pattern"`
			Enum        []string `json:"enum"`
		} `json:"properties"`
	}
)

func TestGateHasOnlyKnownKeysAndValues(t *testing.T) {
	var gate gateFile
	decode(t, "policy/gate.yaml", &gate)

	if gate.Version != 1 {
		t.Errorf("version: %d, want 1", gate.Version)
	}
	for _, is := range []struct {
		key, value string
		may        []string
	}{
		{"shell", gate.Shell, []string{"full", "none"}},
		{"enforce", gate.Enforce, []string{"deny"}},
		{"unlisted", gate.Unlisted, []string{"deny", "ask"}},
		{"check_flags", gate.CheckFlags, []string{"help", "spec", "off"}},
		{"dynamic_values", gate.DynamicValues, []string{"deny", "ask"}},
		{"ask.unattended", gate.Ask.Unattended, []string{"deny"}},
		{"paths.root", gate.Paths.Root, []string{"project"}},
		{"paths.within", gate.Paths.Within, []string{"${HOME}"}},
	} {
		if !slices.Contains(is.may, is.value) {
			t.Errorf("%s: %q, want one of %q", is.key, is.value, is.may)
		}
	}

	calls := make(map[string]bool)
	for _, node := range gate.Allow {
		entry := allowed{Call: node.Value}
		if node.Kind == yaml.MappingNode {
			entry = allowed{}
			strictly(t, &node, &entry)
		}
		if entry.Call == "" || calls[entry.Call] {
			t.Errorf("allow: line %d: %q is empty or listed twice", node.Line, entry.Call)
		}
		calls[entry.Call] = true
	}
	for _, d := range gate.Deny {
		if d.Call == "" || d.Why == "" {
			t.Errorf("deny: %+v does not say what is refused and why", d)
		}
		if d.Fix.Run != "" && !startsWithAny(d.Fix.Run, calls) {
			t.Errorf("deny: %s: the fix %q would not pass", d.Call, d.Fix.Run)
		}
		if calls[d.Call] && len(d.Flags) == 0 {
			t.Errorf("deny: %s is refused whole and allowed as well", d.Call)
		}
	}
}

func TestSecretsAndHooksAreOutOfReach(t *testing.T) {
	var gate gateFile
	decode(t, "policy/gate.yaml", &gate)
	for _, must := range []string{".env*", "**/*.pem", "**/.git/hooks/**", "${HOME}/.ssh/**", "${HOME}/.aws/**"} {
		if !slices.Contains(gate.Paths.Deny, must) {
			t.Errorf("paths.deny does not have %q", must)
		}
	}
}

func TestRulesHaveOneKindAndAReason(t *testing.T) {
	var file ruleFile
	decode(t, "policy/rules.yaml", &file)
	seen := make(map[string]bool)
	for _, r := range file.Rules {
		if r.ID == "" || seen[r.ID] || r.Why == "" {
			t.Errorf("rule %q: no id of its own, or no reason", r.ID)
		}
		seen[r.ID] = true
		if !slices.Contains([]string{"block", "warn", "ask", "retry", "stop", "log"}, r.Mode) {
			t.Errorf("rule %s: mode %q", r.ID, r.Mode)
		}
		if (r.Never.Kind != 0) == (r.Before != nil) {
			t.Errorf("rule %s: not exactly one kind", r.ID)
		}
		checkTarget(t, &r.Never)
		if r.Before != nil {
			checkTarget(t, &r.Before.First)
		}
	}
}

func checkTarget(t *testing.T, node *yaml.Node) {
	t.Helper()
	switch node.Kind {
	case yaml.MappingNode:
		strictly(t, node, new(target))
	case yaml.SequenceNode:
		strictly(t, node, new([]target))
	}
}

func TestToolsAreClosed(t *testing.T) {
	var file toolFile
	dec := json.NewDecoder(bytes.NewReader(read(t, Files(), "policy/tools.json")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if file.Version != 1 || file.Steps < 1 || len(file.Tools) == 0 {
		t.Errorf("version %d, steps %d, %d tools", file.Version, file.Steps, len(file.Tools))
	}
	for _, tool := range file.Tools {
		if tool.Name == "" || tool.Description == "" || tool.Cwd != "project" || tool.Timeout < 1 || tool.Output < 1 {
			t.Errorf("%q: a name, description, directory or limit is missing", tool.Name)
		}
		if tool.Args.Type != "object" || tool.Args.Additional == nil || *tool.Args.Additional {
			t.Errorf("%s: the schema is not closed", tool.Name)
		}
		if !path.IsAbs(tool.Argv[0]) || slices.Contains([]string{"sh", "bash", "dash", "zsh"}, path.Base(tool.Argv[0])) {
			t.Errorf("%s: %q is not the absolute path of a program that is no shell", tool.Name, tool.Argv[0])
		}
		slots := make(map[string]bool)
		for _, arg := range tool.Argv {
			if name, ok := strings.CutPrefix(arg, "{"); ok {
				slots[strings.TrimSuffix(name, "}")] = true
			} else if strings.ContainsAny(arg, "{}$`;|&<>*?") {
				t.Errorf("%s: argument %q is neither plain nor one slot", tool.Name, arg)
			}
		}
		for name, p := range tool.Args.Properties {
			required := slices.Contains(tool.Args.Required, name)
			if !slots[name] || !required || p.Type != "string" || p.Pattern == "" && p.Enum == nil {
				t.Errorf("%s: argument %s is not a required, bounded string with a slot", tool.Name, name)
			}
		}
		if len(slots) != len(tool.Args.Properties) {
			t.Errorf("%s: slots %v, properties %v", tool.Name, slots, tool.Args.Properties)
		}
	}
}

func startsWithAny(line string, calls map[string]bool) bool {
	for call := range calls {
		if line == call || strings.HasPrefix(line, call+" ") {
			return true
		}
	}
	return false
}

func decode(t *testing.T, name string, to any) {
	t.Helper()
	if err := yamlStrictly(string(read(t, Files(), name)), to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// strictly decodes a node that decode left as it was; a node of its own forgets KnownFields.
func strictly(t *testing.T, node *yaml.Node, to any) {
	t.Helper()
	text, err := yaml.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	if err := yamlStrictly(string(text), to); err != nil {
		t.Errorf("line %d: %v", node.Line, err)
	}
}

func yamlStrictly(text string, to any) error {
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	return dec.Decode(to)
}

func read(t *testing.T, fsys fs.FS, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
