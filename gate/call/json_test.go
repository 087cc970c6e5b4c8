package call

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCallIsOneObjectInTheOrderOfItsSpec(t *testing.T) {
	fd := 2
	c := Call{
		Name: "git_push",
		Args: Args{{"remote", "origin"}, {"force", true}, {"verbose", 2}, {"refspecs", []string{"a<b", "c"}}},
		Argv: []string{"git", "push"},
		Meta: Meta{
			Source: "git push 2>e", Operator: "&&", Pipeline: 1, Conditional: true, Depth: 1, Wrapper: "sudo",
			Redirects: []Redirect{{">", "e", &fd}, {"<", "i", nil}},
			Env:       Env{{Name: "A", Value: "1"}, {Name: "B", Unset: true}, {Name: "A", Value: "2"}},
		},
		Effects: []Effect{{Kind: Write, Path: "/e", Arg: "redirect_to", Sure: Sure}, {Kind: Any}},
	}
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"git_push","args":{"remote":"origin","force":true,"verbose":2,"refspecs":["a\u003cb","c"]},` +
		`"argv":["git","push"],"meta":{"source":"git push 2\u003ee","index":0,"operator":"\u0026\u0026","pipeline":1,` +
		`"conditional":true,"repeated":false,"depth":1,"wrapper":"sudo",` +
		`"redirects":[{"op":"\u003e","target":"e","fd":2},{"op":"\u003c","target":"i"}],"env":{"B":null,"A":"2"},` +
		`"dynamic_args":[],"spec_matched":false},` +
		`"effects":[{"kind":"write","path":"/e","arg":"redirect_to","sure":"sure"},{"kind":"any","sure":"unknown"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNothingIsNullButWhatIsAbsent(t *testing.T) {
	got, err := json.Marshal(Call{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"x","args":{},"argv":[],"meta":{"source":"","index":0,"operator":null,"pipeline":null,"conditional":false,` +
		`"repeated":false,"depth":0,"wrapper":null,"redirects":[],"env":{},"dynamic_args":[],"spec_matched":false}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCallSurvivesItsJSON(t *testing.T) {
	fd := 0
	want := Call{
		Name: "x",
		Args: Args{{"b", false}, {"i", -3}, {"s", "q\"\n"}, {"l", []string{}}, {"argv", []string{"1"}}},
		Argv: []string{"x", "1"},
		Meta: Meta{
			Source: "x 1", Index: 3, Operator: "|", Pipeline: 2, Repeated: true, Background: true, Remote: true, Sourced: true, Depth: 2,
			Wrapper: "xargs", Redirects: []Redirect{{"<", "f", &fd}}, Env: Env{{Name: "A", Value: ""}, {Name: "B", Unset: true}},
			DynamicArgs: []string{"$X"}, SpecMatched: true,
		},
		Effects: []Effect{
			{Kind: Read, Path: "/a", Sure: Maybe, Pattern: true, Tree: true}, {Kind: Run, Text: "ls", Remote: true}, {Kind: Any, Outside: true},
		},
		Elsewhere: []Call{},
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := Call{Elsewhere: []Call{}}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestArgumentsOfOtherTypesAreRefused(t *testing.T) {
	for _, data := range []string{`[]`, `{"a": null}`, `{"a": 1.5}`, `{"a": {}}`, `{"a": [1]}`, `{"a"`, `"x"`} {
		var a Args
		if err := json.Unmarshal([]byte(data), &a); err == nil {
			t.Errorf("%s: no error, got %v", data, a)
		}
	}
}

func TestTheZeroEffectIsNotSure(t *testing.T) {
	if e := (Effect{}); e.Sure != Unknown {
		t.Errorf("it is %v", e.Sure)
	}
}

func TestGetFindsAnArgumentByName(t *testing.T) {
	args := Args{{"a", 1}, {"b", false}}
	if v, ok := args.Get("b"); v != false || !ok {
		t.Errorf("b: %v %t", v, ok)
	}
	if v, ok := args.Get("c"); v != nil || ok {
		t.Errorf("c: %v %t", v, ok)
	}
}
