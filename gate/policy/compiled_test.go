package policy

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/wire"
)

// through returns p as Read makes it of what Append wrote.
func through(t testing.TB, p *Policy) *Policy {
	t.Helper()
	var w wire.Writer
	p.Append(&w)
	r := wire.NewReader(string(w.Bytes()))
	got, err := Read(r)
	if err == nil {
		err = r.Done()
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func differ(a, b *Policy) string {
	if diff := cmp.Diff(a.Lines(), b.Lines()); diff != "" {
		return diff
	}
	return cmp.Diff(a, b, cmp.AllowUnexported(Policy{}, Entry{}, form{}, option{}, indexed{}, Pattern{}),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".keys" || p.Last().String() == ".packed" }, cmp.Ignore()))
}

func TestTheCompiledFormIsThePolicy(t *testing.T) {
	data, err := os.ReadFile("../../vendor-gate/default/files/policy/gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(data), "version: 1\n", "version: 1\nenforce: observe\nobserve_until: 2026-12-31T18:00:00Z\nallow: [./a, 'touch src/']\n"}
	for _, text := range texts {
		p := parse(t, text)
		if diff := differ(p, through(t, p)); diff != "" {
			t.Error(diff)
		}
	}
	for _, c := range verdicts(t) {
		p := c.policy(t)
		again := through(t, p)
		if diff := differ(p, again); diff != "" {
			t.Errorf("%s: %s", c.ID, diff)
		}
		if a, b := p.refusal(c.Line), again.refusal(c.Line); a != b {
			t.Errorf("%s: %q, and compiled %q", c.ID, a, b)
		}
	}
}

func TestACompiledPolicyThatIsCutShortIsNone(t *testing.T) {
	p := parse(t, "version: 1\nallow: [git status, {call: python3, only: [-m x]}]\ndeny: [{call: rm, flags: [-r]}]\nenv: {allow: [CI]}\n"+
		"tools: [{tool: E, unlisted: ask}]\npaths: {deny: [.env]}\n")
	var w wire.Writer
	p.Append(&w)
	data := string(w.Bytes())
	for n := range len(data) {
		if _, err := Read(wire.NewReader(data[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes are read as a policy", n, len(data))
		}
	}
}

func FuzzRead(f *testing.F) {
	p := parse(f, "version: 1\nallow: [git status, 'touch src/']\ndeny: [{call: rm, flags: [-r]}]\npaths: {deny: [.env, '!x']}\n")
	var w wire.Writer
	p.Append(&w)
	f.Add(string(w.Bytes()))
	c := &calls(f, "git status -s $X")[0]
	f.Fuzz(func(t *testing.T, data string) {
		p, err := Read(wire.NewReader(data))
		if err != nil {
			return
		}
		p.Allowed(c, Host{})
		p.Denied(c, Host{})
		p.Lint()
		p.Lines()
		p.Paths.Deny.Match("/a/b", place)
		if diff := differ(p, through(t, p)); diff != "" {
			t.Error(diff)
		}
	})
}
