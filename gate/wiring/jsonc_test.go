package wiring

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEditsOfText(t *testing.T) {
	entry := map[string]any{"command": "gate hook x"}
	for name, c := range map[string]struct{ before, after string }{
		"an empty object":            {"{}", "{\n  \"hooks\": {\n    \"E\": [\n      {\n        \"command\": \"gate hook x\"\n      }\n    ]\n  }\n}"},
		"an empty object in between": {"{\"hooks\": {\"E\": [ ]}}\n", "{\"hooks\": {\"E\": [\n  {\n    \"command\": \"gate hook x\"\n  }\n]}}\n"},
		"one line":                   {`{"a":1}`, `{"a":1, "hooks": {"E":[{"command":"gate hook x"}]}}`},
		"tabs":                       {"{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"E\": [\n\t\t\t{\n\t\t\t\t\"command\": \"gate hook x\"\n\t\t\t}\n\t\t]\n\t}\n}\n"},
		"a comment behind the last":  {"{\n  \"a\": 1 // one\n}\n", "{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"E\": [\n      {\n        \"command\": \"gate hook x\"\n      }\n    ]\n  }\n}\n"},
		"a trailing comma":           {"{\n  \"a\": 1,\n}\n", "{\n  \"a\": 1,\n  \"hooks\": {\n    \"E\": [\n      {\n        \"command\": \"gate hook x\"\n      }\n    ]\n  },\n}\n"},
		"a comment at the end":       {"{\n  \"a\": 1\n  /* z */\n}", "{\n  \"a\": 1,\n  /* z */\n  \"hooks\": {\n    \"E\": [\n      {\n        \"command\": \"gate hook x\"\n      }\n    ]\n  }\n}"},
		"a list with one":            {"{\n  \"hooks\": {\n    \"E\": [\n      1\n    ]\n  }\n}", "{\n  \"hooks\": {\n    \"E\": [\n      1,\n      {\n        \"command\": \"gate hook x\"\n      }\n    ]\n  }\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := parseText([]byte(c.before), comments)
			if err != nil {
				t.Fatal(err)
			}
			if err := x.add(entry, "hooks", "E"); err != nil {
				t.Fatal(err)
			}
			if got := string(x.src); got != c.after {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.after)
			}
		})
	}
}

// genText makes an object with comments, in any of the ways in which people write it.
func genText(t *rapid.T) string {
	space := func(label string) string {
		return rapid.SampledFrom([]string{"", " ", "\n", "\n\t", "\n  ", " // x\n", " /* y */ ", "\n  // z\n  "}).Draw(t, label)
	}
	var value func(depth int) string
	value = func(depth int) string {
		kind := rapid.IntRange(0, 4).Draw(t, "kind")
		if depth > 2 && kind > 2 {
			kind = 0
		}
		switch kind {
		case 0:
			return fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "number"))
		case 1:
			return string(mustJSON(rapid.SampledFrom([]string{"", "a,b", "// no", "}]", "é\"q"}).Draw(t, "text")))
		case 2:
			return `{"command":"other"}`
		}
		n := rapid.IntRange(0, 3).Draw(t, "length")
		var out strings.Builder
		for i := range n {
			if i > 0 {
				out.WriteString(",")
			}
			out.WriteString(space("before"))
			if kind == 3 {
				fmt.Fprintf(&out, "\"k%d\"%s:%s", i, space("colon"), space("value"))
			}
			out.WriteString(value(depth+1) + space("after"))
		}
		if n > 0 && rapid.Bool().Draw(t, "comma") {
			out.WriteString("," + space("end"))
		}
		if kind == 3 {
			return "{" + out.String() + space("empty") + "}"
		}
		return "[" + out.String() + space("empty") + "]"
	}
	body := `"hooks"` + space("h") + ":" + space("h2") + "{" + space("e") + `"E"` + ":" + "[" + value(1) + space("l") + "]" + space("e2") + "}"
	if rapid.Bool().Draw(t, "none") {
		body = `"x":` + value(0)
	}
	return space("top") + "{" + space("first") + body + "," + space("second") + `"z":` + value(0) + space("last") + "}" + space("bottom")
}

// Whatever the text looks like, an entry that is put in and cut out again leaves everything as it was but for white space
// (which the record gives back), and while it is in, everything else means what it meant.
func TestPuttingInAndCuttingOutIsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := genText(t)
		x, err := parseText([]byte(before), comments)
		if err != nil {
			t.Skip(err)
		}
		entry := map[string]any{"command": "/usr/bin/gate hook x"}
		f := handlerFile{lenient: comments, root: []string{"hooks"}, events: []hooked{{"E", entry}, {"F", entry}}}
		after, err := f.put([]byte(before))
		if err != nil {
			t.Fatalf("put into %q: %v", before, err)
		}
		y, err := parseText(after, comments)
		if err != nil {
			t.Fatalf("%q became %q: %v", before, after, err)
		}
		if !equalJSON(x.value("z"), y.value("z")) || !equalJSON(x.value("x"), y.value("x")) {
			t.Fatalf("%q became %q", before, after)
		}
		if again, err := f.put(after); err != nil || string(again) != string(after) {
			t.Fatalf("the second time, %q became %q (%v)", after, again, err)
		}
		back, err := f.cut(after)
		if err != nil {
			t.Fatal(err)
		}
		if dense(string(back)) != dense(before) {
			t.Fatalf("%q\nbecame %q\nand then %q", before, after, back)
		}
	})
}

func dense(s string) string { return strings.Join(strings.Fields(s), "") }

func FuzzTextThatIsReadCanBeEdited(f *testing.F) {
	for _, s := range []string{"{}", "", `{"hooks":{"E":[1,]}}`, "{\n// x\n\"a\": {}\n}", `{"hooks":{"E":[{"hooks":[{"command":"gate hook x"}]}]}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file := handlerFile{lenient: comments, root: []string{"hooks"}, events: []hooked{{"E", map[string]any{"command": "gate hook x"}}}}
		after, err := file.put([]byte(src))
		if err != nil {
			return
		}
		x, err := parseText(after, comments)
		if err != nil {
			t.Fatalf("%q became %q: %v", src, after, err)
		}
		if n, exact := file.count(x, file.events[0]); n != 1 || exact != 1 {
			t.Fatalf("%q became %q", src, after)
		}
		if !json.Valid(mustJSON(x.value())) {
			t.Fatalf("%q", after)
		}
	})
}
