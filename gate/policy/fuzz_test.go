package policy

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("../../vendor-gate/default/files/policy/gate.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("version: 1\nallow: [{call: git, only: [push, '-C x'], match: [git push]}]\n")
	f.Add("version: 1\ndeny: [{call: rm, flags: [-r, --force=x], fix: {run: ls}}]\npaths: {root: [/a], deny: ['[a-', '${HOME}/x']}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("g", []byte(text), bundled())
		if err != nil {
			if p != nil {
				t.Error("a policy beside an error")
			}
			return
		}
		if diff := differ(p, through(t, p)); diff != "" {
			t.Error(diff)
		}
		p.Lint()
		p.Lines()
	})
}

// FuzzMatch tries an entry on a line: what the entry is the beginning of, word for word, it covers, and an entry of deny
// for it stands against it.
func FuzzMatch(f *testing.F) {
	for _, c := range verdicts(f) {
		for _, entry := range append(c.Policy.Allow, c.Policy.Deny...) {
			f.Add(entry, c.Line)
		}
	}
	f.Fuzz(func(t *testing.T, entry, line string) {
		one, err := begin(entry, "", bundled())
		if err != nil {
			return
		}
		p := &Policy{Allow: []Entry{{Text: entry, begins: []form{one}}}, Deny: []Entry{{Text: entry, begins: []form{one}}}}
		p.index()
		list, err := spec.Line(line, spec.Options{Packs: bundled(), Forms: true, Shell: shell.Options{Dir: "/w"}})
		if err != nil {
			return
		}
		for i := range list {
			e, _ := p.Allowed(&list[i], Host{})
			_, m := p.Denied(&list[i], Host{})
			if e != nil && m == No {
				t.Errorf("%q covers %q, and as an entry of deny it does not stand against it", entry, list[i].Argv)
			}
		}
		p.Cover(list, Host{})
	})
}

func FuzzPattern(f *testing.F) {
	f.Add("a/**/[a-c]*", "/home/u/p/a/b/c")
	f.Add("!*.e?v", "/x/.env")
	f.Fuzz(func(t *testing.T, text, name string) {
		if text == "" || wrong(text) != "" {
			return
		}
		list := Patterns{{Text: text}}
		name = path.Clean("/" + name)
		matched := list.Match(name, place) != nil
		if matched && list.Reaches(path.Dir(name), place) == nil {
			t.Errorf("%q matches %q, and does not reach below its directory", text, name)
		}
		if matched && list.MayMatch(escape(name), place) == nil {
			t.Errorf("%q matches %q, and cannot match it as a glob", text, name)
		}
	})
}

// TestPartsMatchAsARegularExpressionDoes compares the matching of one part with what it means.
func TestPartsMatchAsARegularExpressionDoes(t *testing.T) {
	parts := []string{"*", "a*", "*a", "a*b", "a?b", "[ab]*", "[!a]b", "*a*b*", "??", `\*a`, "a**b"}
	names := []string{"", "a", "b", "ab", "aab", "abb", "axb", "ba", "*a", "a*b", "äb", "aäb", "abab"}
	for _, part := range parts {
		expr := strings.NewReplacer(`\*`, `\*`, "*", ".*", "?", ".", "[!", "[^").Replace(part)
		re := regexp.MustCompile("^(?s:" + expr + ")$")
		for _, name := range names {
			if got, want := matchPart(part, name), re.MatchString(name); got != want {
				t.Errorf("%q on %q: %v, want %v", part, name, got, want)
			}
		}
	}
}
