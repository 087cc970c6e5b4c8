package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddingAnEntryKeepsEverythingElse(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"no file":        {"", "version: 1\nuse:\n  - new\n"},
		"only a comment": {"# mine\n", "# mine\nversion: 1\nuse:\n  - new\n"},
		"no list":        {"version: 1 # one\n\nrules: []", "version: 1 # one\n\nrules: []\nuse:\n  - new\n"},
		"a list": {
			"# top\nuse: # ours\n  # first\n  - a # why\n  - b\n\n# below\nrules: []\n",
			"# top\nuse: # ours\n  # first\n  - a # why\n  - b\n  - new\n\n# below\nrules: []\n",
		},
		"a list that is not indented": {"use:\n- a\nrules: []\n", "use:\n- a\n- new\nrules: []\n"},
		"a list at the end":           {"use:\n    - a", "use:\n    - a\n    - new\n"},
		"an item with settings": {
			"use:\n  - a:\n      mode: ask # for now\n  # comment\nversion: 1\n",
			"use:\n  - a:\n      mode: ask # for now\n  - new\n  # comment\nversion: 1\n",
		},
		"brackets":                {"use: [a, 'b'] # these\n", "use: [a, 'b', new] # these\n"},
		"brackets with settings":  {"use: [{a: {mode: ask}}]\n", "use: [{a: {mode: ask}}, new]\n"},
		"empty brackets":          {"use: []\n", "use: [new]\n"},
		"brackets over two lines": {"use: [a,\n  b]\nversion: 1\n", "use: [a,\n  b, new]\nversion: 1\n"},
		"brackets with a last comma": {
			"use: [a, ]\n", "use: [a, new ]\n",
		},
		"characters of more than one byte": {"use: [\"a\", ü] # ü]\n", "use: [\"a\", ü, new] # ü]\n"},
		"lines that end as on Windows":     {"use:\r\n  - a\r\nversion: 1\r\n", "use:\r\n  - a\r\n  - new\r\nversion: 1\r\n"},
		"it is there already":              {"use:\n  - new # here\n", "use:\n  - new # here\n"},
		"it is there with settings":        {"use: [{new: {mode: ask}}]\n", "use: [{new: {mode: ask}}]\n"},
	} {
		after, _, err := addUse([]byte(test.before), []string{"new"}, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.after, string(after)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		again, added, err := addUse(after, []string{"new"}, "")
		if err != nil || len(added) > 0 || string(again) != string(after) {
			t.Errorf("%s: a second time adds %v, %v", name, added, err)
		}
	}
}

func TestRemovingAnEntryKeepsEverythingElse(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"the first":                 {"use:\n  # a\n  - old # why\n  - b\n", "use:\n  # a\n  - b\n"},
		"the last":                  {"use:\n  - a\n  - old\nrules: []\n", "use:\n  - a\nrules: []\n"},
		"one with settings":         {"use:\n  - old:\n      mode: ask\n      scope: project\n  - b\n", "use:\n  - b\n"},
		"the only one":              {"use: # ours\n  - old\nrules: []\n", "use: [] # ours\nrules: []\n"},
		"of brackets, the first":    {"use: [old, b] # x\n", "use: [b] # x\n"},
		"of brackets, the middle":   {"use: [a, old, b]\n", "use: [a, b]\n"},
		"of brackets, the last":     {"use: [a, {old: {mode: ask}}]\n", "use: [a]\n"},
		"of brackets, the only one": {"use: [old]\n", "use: []\n"},
		"one that is not there":     {"use: [a]\n", "use: [a]\n"},
		"no list":                   {"version: 1\n", "version: 1\n"},
	} {
		after, _, err := removeUse([]byte(test.before), []string{"old"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.after, string(after)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestWhatIsAddedCanBeRemoved goes there and back, in every layout.
func TestWhatIsAddedCanBeRemoved(t *testing.T) {
	for _, before := range []string{
		"use: [a, b] # c\n", "use:\n  - a\n  # c\n  - b\n\nrules: []\n", "use:\n- a: {mode: ask}\n- b\n# end\n",
	} {
		for _, mode := range []string{"", "ask"} {
			after, added, err := addUse([]byte(before), []string{"x", "y"}, mode)
			if err != nil || !slices.Equal(added, []string{"x", "y"}) {
				t.Fatalf("%q: added %v, %v", before, added, err)
			}
			back, removed, err := removeUse(after, []string{"y", "x"})
			if err != nil || !slices.Equal(removed, []string{"y", "x"}) || string(back) != before {
				t.Errorf("%q: %v, %v; there and back: %q", before, removed, err, back)
			}
		}
	}
}

func TestAModeIsWrittenWithTheEntry(t *testing.T) {
	for before, want := range map[string]string{
		"use:\n  - a\n": "use:\n  - a\n  - new: {mode: ask}\n",
		"use: [a]\n":    "use: [a, {new: {mode: ask}}]\n",
		"":              "version: 1\nuse:\n  - new: {mode: ask}\n",
	} {
		if after, _, err := addUse([]byte(before), []string{"new"}, "ask"); err != nil || string(after) != want {
			t.Errorf("%q: %q, %v", before, after, err)
		}
	}
}

func TestWhatCannotBeEditedIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a mapping in braces":      "{version: 1}\n",
		"a list in a list":         "use: {a: b}\n",
		"a word":                   "use: a\n",
		"an end of the document":   "version: 1\n...\n",
		"an anchor":                "x: &list [a]\nuse: *list\n",
		"two documents":            "use: [a]\n---\nuse: [b]\n",
		"tabs":                     "use:\n\t- a\n",
		"a key that is not closed": "use: [a\n",
	} {
		after, _, err := addUse([]byte(text), []string{"new"}, "")
		if err == nil && strings.Contains(string(after), "new") {
			t.Errorf("%s: became %q", name, after)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if errors.Is(err, errByHand) && !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%s: %v does not say the way out", name, err)
		}
	}
}

// FuzzAddUse holds every edit to the promise: the file says what it said, and the new entry.
func FuzzAddUse(f *testing.F) {
	for _, seed := range []string{"", "use: [a]\n", "use:\n- a\n", "version: 1\nuse:\n  - {a: {mode: ask}}\n# x\n", "use: []", "a: |\n  use: [x]\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		after, added, err := addUse([]byte(text), []string{"new-entry"}, "")
		if err != nil || len(added) == 0 {
			return
		}
		doc, err := readUse(after)
		if err != nil || !slices.Contains(doc.names, "new-entry") {
			t.Errorf("%q became %q: %v", text, after, err)
		}
	})
}
