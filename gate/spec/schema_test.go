package spec

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// A jsonSchema is the part of JSON Schema that the schemas of calls use; decoding refuses any other key.
type jsonSchema struct {
	Type        any                    `json:"type"` // a text or a list of texts
	Properties  map[string]*jsonSchema `json:"properties"`
	Required    []string               `json:"required"`
	Items       *jsonSchema            `json:"items"`
	Enum        []string               `json:"enum"`
	Default     any                    `json:"default"`
	Format      string                 `json:"format"`
	Description string                 `json:"description"`
	Effects     []string               `json:"x-effects"`
}

func decodeSchema(t *testing.T, s Schema) *jsonSchema {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var whole struct {
		Name, Command, Description string
		Parameters                 *jsonSchema
	}
	if err := dec.Decode(&whole); err != nil {
		t.Fatalf("%s: %v\n%s", s.Command, err, data)
	}
	return whole.Parameters
}

func (s *jsonSchema) types() []string {
	switch v := s.Type.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, one := range v {
			list = append(list, fmt.Sprint(one))
		}
		return list
	}
	return nil
}

// fits says where v is not what the schema asks for.
func (s *jsonSchema) fits(v any, at string) error {
	kind := ""
	switch v := v.(type) {
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case float64:
		kind = "number"
		if v == float64(int(v)) {
			kind = "integer"
		}
	case []any:
		kind = "array"
	case map[string]any:
		kind = "object"
	}
	if !slices.Contains(s.types(), kind) {
		return fmt.Errorf("%s is a %s, want %v", at, kind, s.Type)
	}
	switch v := v.(type) {
	case string:
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
			return fmt.Errorf("%s is %q, want one of %q", at, v, s.Enum)
		}
	case []any:
		for i, item := range v {
			if err := s.Items.fits(item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("%s.%s is missing", at, name)
			}
		}
		for name, value := range v {
			if p := s.Properties[name]; p != nil {
				if err := p.fits(value, at+"."+name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func TestSchemasAreJSONSchemas(t *testing.T) {
	schemas, err := packsForTest(t).Schemas("")
	if err != nil {
		t.Fatal(err)
	}
	if len(schemas) < 2000 {
		t.Errorf("only %d schemas", len(schemas))
	}
	known := []string{"boolean", "integer", "string", "array"}
	for _, s := range schemas {
		p := decodeSchema(t, s)
		if s.Name == "" || s.Description == "" || p == nil || p.Type != "object" {
			t.Errorf("%s: no name, description or parameters", s.Command)
			continue
		}
		for _, name := range p.Required {
			if p.Properties[name] == nil {
				t.Errorf("%s: %s is required, but not described", s.Command, name)
			}
		}
		for name, prop := range p.Properties {
			at := s.Command + ": " + name
			types := prop.types()
			if len(types) == 0 || slices.ContainsFunc(types, func(k string) bool { return !slices.Contains(known, k) }) {
				t.Errorf("%s: type %v", at, prop.Type)
			}
			if slices.Contains(types, "array") != (prop.Items != nil) {
				t.Errorf("%s: items and type do not go together", at)
			}
			if sorted := slices.Sorted(slices.Values(prop.Enum)); len(slices.Compact(sorted)) != len(prop.Enum) {
				t.Errorf("%s: a choice comes twice in %q", at, prop.Enum)
			}
			if prop.Default != nil {
				if err := prop.fits(prop.Default, "default"); err != nil {
					t.Errorf("%s: %v", at, err)
				}
			}
		}
	}
}

// TestCallsFitTheirSchemas translates lines of all kinds and holds the arguments of each matched call against the schema
// of its name.
func TestCallsFitTheirSchemas(t *testing.T) {
	packs := packsForTest(t)
	schemas, err := packs.Schemas("")
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string][]*jsonSchema)
	for _, s := range schemas {
		byName[s.Name] = append(byName[s.Name], decodeSchema(t, s))
	}
	data, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(data), `\n`, "\n")), "\n")
	for _, w := range wantedLines(t) {
		lines = append(lines, w.Line)
	}
	held := 0
	check := func(c *call.Call) {
		list := byName[c.Name]
		if !c.Meta.SpecMatched || len(list) == 0 || len(c.Meta.DynamicArgs) > 0 {
			return // nothing is promised of these, and an alias has a name of its own
		}
		data, err := json.Marshal(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		var args any
		if err := json.Unmarshal(data, &args); err != nil {
			t.Fatal(err)
		}
		held++
		var errs []error
		for _, s := range list {
			err := s.fits(args, c.Name)
			if err == nil {
				return
			}
			errs = append(errs, err)
		}
		t.Errorf("%s: %v\n%s", c.Meta.Source, errs, data)
	}
	for _, line := range lines {
		for _, effects := range []bool{false, true} {
			calls, err := Line(line, Options{Packs: packs, Effects: effects, Shell: shell.Options{Dir: "/w", Home: "/home/u"}})
			if err != nil {
				continue
			}
			for i := range calls {
				check(&calls[i])
			}
		}
	}
	if held < 500 {
		t.Errorf("only %d calls were held against a schema", held)
	}
}
