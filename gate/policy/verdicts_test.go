package policy

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

// A verdict is a case of ../testdata/verdicts.jsonl: what a gate that fails closed says of a line under a policy.
type verdict struct {
	ID      string
	Line    string
	Verdict string
	Policy  struct{ Allow, Deny []string }
}

// notHere are the cases that something other than entries, patterns of known paths and variables decides.
var notHere = map[string]string{
	"byp-zero-width":         "no such program",
	"fr-dynamic-cd":          "a directory that is not known",
	"fr-dynamic-redirect":    "a path that is not known",
	"parse-windows-quoted":   "no such directory",
	"parse-unquoted-amp-url": "an assignment that is no part of a call",
}

func TestVerdictCases(t *testing.T) {
	for _, c := range verdicts(t) {
		t.Run(c.ID, func(t *testing.T) {
			p := c.policy(t)
			why := p.refusal(c.Line)
			if c.Verdict == "allow" && why != "" {
				t.Errorf("%s\nrefused: %s", c.Line, why)
			}
			if c.Verdict == "deny" && why == "" && notHere[c.ID] == "" {
				t.Errorf("%s\npasses", c.Line)
			}
		})
	}
}

func verdicts(t testing.TB) (list []verdict) {
	t.Helper()
	data, err := os.ReadFile("../testdata/verdicts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c verdict
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// policy is the gate.yaml of a case.
func (c *verdict) policy(t testing.TB) *Policy {
	t.Helper()
	keys := map[string][]string{}
	add := func(key, text string) { keys[key] = append(keys[key], text) }
	for _, text := range c.Policy.Allow {
		if name, ok := strings.CutPrefix(text, "write:"); ok {
			add("redirects", name)
		} else if name, ok := strings.CutPrefix(text, "env:"); ok {
			add("env", name)
		} else {
			add("allow", text)
		}
	}
	for _, text := range c.Policy.Deny {
		switch kind, rest, _ := strings.Cut(text, ":"); kind {
		case "path":
			add("path", rest)
		case "flag":
			at := strings.LastIndexByte(rest, ' ')
			add("deny", "{call: "+rest[:at]+", flags: ["+rest[at+1:]+"]}")
		default:
			add("deny", text)
		}
	}
	quoted := func(list []string) string { return "['" + strings.Join(list, "', '") + "']" }
	if len(keys["redirects"]) == 0 {
		keys["redirects"] = []string{"/nowhere"}
	}
	text := "version: 1\ncheck_flags: off\ndynamic_values: deny\npaths:\n  root: /\n  redirects: " + quoted(keys["redirects"]) + "\n"
	if list := keys["path"]; list != nil {
		text += "  deny: " + quoted(list) + "\n"
	}
	if list := keys["env"]; list != nil {
		text += "env: {allow: " + quoted(list) + "}\n"
	}
	for _, key := range []string{"allow", "deny"} {
		if len(keys[key]) > 0 {
			text += key + ":\n"
		}
		for _, item := range keys[key] {
			if !strings.HasPrefix(item, "{") {
				item = "'" + item + "'"
			}
			text += "  - " + item + "\n"
		}
	}
	return parse(t, text)
}

// refusal is why entries, patterns or variables of p refuse a line; "" if they do not.
func (p *Policy) refusal(line string) string {
	calls, err := spec.Line(line, spec.Options{
		Packs: bundled(), Forms: true, Effects: true, Shell: shell.Options{Dir: "/w", Home: "/home/u"},
	})
	if err != nil {
		return err.Error()
	}
	covers := p.Cover(calls, onPath)
	place := Place{Project: "/w", Home: "/home/u"}
	for i := range calls {
		c := &calls[i]
		if e, m := p.Denied(c, onPath); m != No {
			return c.Meta.Source + ": the entry " + e.Text
		}
		if !covers[i].OK() {
			return c.Meta.Source + ": " + covers[i].Why
		}
		for _, v := range c.Meta.Env {
			if ok, why := p.EnvAllowed(v.Name); !ok {
				return why
			}
		}
		for _, e := range c.Effects {
			if p.Paths.Deny.Match(e.Path, place) != nil {
				return c.Meta.Source + ": the path " + e.Path
			}
			writes := slices.Contains([]call.EffectKind{call.Write, call.Append}, e.Kind)
			if writes && strings.Contains(e.Arg, "redirect_to") && !strings.HasPrefix(e.Path, "/dev/") &&
				p.Paths.Redirects.Match(e.Path, place) == nil {
				return c.Meta.Source + ": writes " + e.Path
			}
		}
	}
	return ""
}
