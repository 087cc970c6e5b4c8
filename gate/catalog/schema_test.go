package catalog

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"
)

// What this package judges of JSON Schema is what the library for it judges.
func TestSchemasAreJudgedAsTheLibraryDoes(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[abé\x{1F600}]{0,5}`), rapid.String())
	both := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		schema := map[string]any{"type": "string"}
		optional := func(key string, value func() any) {
			if rapid.Bool().Draw(t, key) {
				schema[key] = value()
			}
		}
		optional("enum", func() any { return rapid.SliceOfN(rapid.StringMatching(`[ab]{1,3}`), 1, 4).Draw(t, "values") })
		optional("const", func() any { return rapid.StringMatching(`[ab]{1,2}`).Draw(t, "value") })
		optional("pattern", func() any {
			return rapid.SampledFrom([]string{"^[ab]{1,3}$", "^(a|b)+$", "^a.*$", "^é*$", "^.$", "^[^a]+$"}).Draw(t, "expression")
		})
		optional("minLength", func() any { return rapid.IntRange(0, 3).Draw(t, "least") })
		optional("maxLength", func() any { return rapid.IntRange(3, 5).Draw(t, "most") })
		optional("format", func() any { return "path" })
		object, err := json.Marshal(map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"word"}, "properties": map[string]any{"word": schema},
		})
		if err != nil {
			t.Fatal(err)
		}
		n, err := readJSON(object)
		if err != nil {
			t.Fatal(err)
		}
		p := &parser{}
		ours := p.property(n.get("properties").get("word"), "word")
		for _, problem := range p.problems {
			if problem.Code != SlotType { // no bound at all is judged as well
				t.Fatalf("%s: %+v", object, p.problems)
			}
		}
		var theirs jsonschema.Schema
		if err := json.Unmarshal(object, &theirs); err != nil {
			t.Fatal(err)
		}
		resolved, err := theirs.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		value := text.Draw(t, "value")
		keyword, err := ours.fits(value)
		if err != nil {
			t.Fatal(err)
		}
		want := resolved.Validate(map[string]any{"word": value})
		if (keyword == "") != (want == nil) {
			t.Fatalf("%s: %q: here %q, there %v", object, value, keyword, want)
		}
		both[want == nil]++
	})
	if both[true] == 0 || both[false] == 0 {
		t.Errorf("passed and refused: %v", both)
	}
}

// Calls as a whole are judged as the library does, too: what it refuses never passes here.
func TestNoCallPassesThatTheLibraryRefuses(t *testing.T) {
	c, err := Parse("tools.json", []byte(one("x", "x")))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(c.Tools[0].Args, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{}`, `{"word": "a"}`, `{"word": "A"}`, `{"word": 1}`, `{"word": null}`, `{"word": ["a"]}`, `{"word": "a", "x": "b"}`,
		`{"Word": "a"}`, `[]`, `"a"`, `null`, `{"word": true}`, `{"word": {"a": 1}}`} {
		n, err := readJSON([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		_, ours := c.Tools[0].hold(n)
		theirs := resolved.Validate(n.plain())
		if (ours == nil) != (theirs == nil) {
			t.Errorf("%s: here %v, there %v", args, ours, theirs)
		}
	}
}
