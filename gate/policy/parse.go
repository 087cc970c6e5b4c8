package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/gate/spec"
	"gatehouse/internal/document"
)

// Parse reads a gate.yaml. The error lists everything that is wrong with it, each problem as FILE:LINE: key: what.
// packs are the specs that entries are read with; nil: those that the program comes with.
func Parse(name string, data []byte, packs *spec.Packs) (*Policy, error) {
	if packs == nil {
		packs = spec.Bundled()
	}
	r := &reader{doc: document.New(name), packs: packs, p: defaults()}
	r.p.File = name
	root, ok := r.doc.Parse(data)
	if !ok {
		return nil, r.doc.Err()
	}
	root.Mapping([]document.Field{
		document.Need("version", r.version),
		document.May("shell", r.choice([]string{"none", "full"}, func(i int) { r.p.Shell = Shell(i) })),
		document.May("enforce", r.choice([]string{"deny", "observe"}, func(i int) { r.p.Observe = i == 1 })),
		document.May("observe_until", r.until),
		document.May("allow", func(v document.Value) { v.Items(r.allow) }),
		document.May("deny", func(v document.Value) { v.Items(r.deny) }),
		document.May("unlisted", r.choice([]string{"deny", "ask"}, func(i int) { r.p.Unlisted = Answer(i) })),
		document.May("check_flags", r.choice([]string{"help", "spec", "off"}, func(i int) { r.p.CheckFlags = CheckFlags(i) })),
		document.May("dynamic_values", r.choice([]string{"deny", "ask", "allow"}, func(i int) { r.p.Dynamic = Answer(i) })),
		document.May("paths", func(v document.Value) { r.paths(v, &r.p.Paths, true) }),
		document.May("env", r.env),
		document.May("tools", func(v document.Value) { v.Items(r.tool) }),
		document.May("ask", func(v document.Value) {
			v.Mapping([]document.Field{
				document.Need("unattended", r.choice([]string{"deny"}, func(int) {})),
			})
		}),
	})
	if r.p.Observe && !r.doc.Has("observe_until") {
		r.doc.Bad("enforce", "observe needs observe_until, the last day on which everything passes")
	}
	if !r.p.Observe && r.doc.Has("observe_until") && r.doc.Problems() == 0 {
		r.doc.Bad("observe_until", "goes with enforce: observe only")
	}
	if r.doc.Problems() == 0 {
		r.p.index()
		r.judge()
	}
	if err := r.doc.Err(); err != nil {
		return nil, err
	}
	r.p.keys = r.lines()
	return r.p, nil
}

// defaults is the policy of a file that says nothing.
func defaults() *Policy {
	return &Policy{
		Shell: Full, Dynamic: Ask,
		Paths: Paths{Within: Pattern{Text: "${HOME}"}, Redirects: Patterns{{Text: "**", permits: true}}, ReadsMustExist: true},
	}
}

// A reader fills in a policy from its document.
type reader struct {
	doc   *document.Document
	packs *spec.Packs
	p     *Policy
}

// at is the place of a value, for people.
func (r *reader) at(v document.Value) string { return fmt.Sprintf("%s:%d", r.p.File, v.Node.Line) }

func (r *reader) version(v document.Value) {
	if text, ok := v.Scalar("1", "!!int"); ok && text != "1" {
		v.Bad("must be 1, the only version that there is")
	}
}

// choice reads one of the words.
func (r *reader) choice(of []string, set func(int)) func(document.Value) {
	return func(v document.Value) {
		text, ok := v.Scalar("text", "!!str", "!!bool", "!!int")
		if !ok {
			return
		}
		i := slices.Index(of, text)
		if i < 0 {
			v.Bad("must be %s, not %q%s", strings.Join(of, " or "), text, meant(text, of))
			return
		}
		set(i)
	}
}

// meant is the one of the words that begins as text does.
func meant(text string, of []string) string {
	for _, word := range of {
		if len(text) > 1 && len(word) > 1 && strings.EqualFold(word[:2], text[:2]) {
			return fmt.Sprintf("; did you mean %q?", word)
		}
	}
	return ""
}

func (r *reader) until(v document.Value) {
	text, ok := v.Scalar("a date as 2026-12-31", "!!timestamp", "!!str")
	if !ok {
		return
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		r.p.Until = day.AddDate(0, 0, 1) // that day counts
		return
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		v.Bad("must be a date as 2026-12-31, or a time as 2026-12-31T18:00:00Z")
		return
	}
	r.p.Until = t.UTC()
}

func (r *reader) bool(to *bool) func(document.Value) {
	return func(v document.Value) {
		if text, ok := v.Scalar("true or false", "!!bool"); ok {
			*to = strings.EqualFold(text, "true")
		}
	}
}

func (r *reader) text(to *string) func(document.Value) {
	return func(v document.Value) { *to, _ = v.Text() }
}

// texts reads a list of texts, or one text.
func (r *reader) texts(each func(v document.Value, text string)) func(document.Value) {
	return func(v document.Value) {
		one := func(v document.Value) {
			if text, ok := v.Text(); ok {
				each(v, text)
			}
		}
		if v.Node.Kind == yamlScalar {
			one(v)
			return
		}
		v.Items(one)
	}
}

func (r *reader) env(v document.Value) {
	v.Mapping([]document.Field{document.May("allow", r.texts(func(v document.Value, text string) {
		name, wide := strings.CutSuffix(text, "*")
		if !variable(name) && !(wide && name == "") {
			v.Bad("%q is no name of a variable; a * may stand behind the beginning of names", text)
			return
		}
		r.p.Env = append(r.p.Env, Variable{text, r.at(v)})
	}))})
}

func (r *reader) tool(v document.Value) {
	t := Tool{At: r.at(v), Unlisted: Allow}
	v.Mapping([]document.Field{
		document.Need("tool", r.texts(func(_ document.Value, text string) { t.Names = append(t.Names, text) })),
		document.May("paths", func(v document.Value) { r.paths(v, &t.Paths, false) }),
		document.May("unlisted", r.choice([]string{"deny", "ask"}, func(i int) { t.Unlisted = Answer(i) })),
	})
	if len(t.Names) > 0 && strings.HasPrefix(t.Names[0], "!") {
		v.Bad("%q takes out of what stands before it, and nothing does; name the tools first: [\"mcp__*\", %[1]q]", t.Names[0])
	}
	if v.Doc.Has(document.SubKey(v.Key, "tool")) && !v.Doc.Has(document.SubKey(v.Key, "paths")) &&
		!v.Doc.Has(document.SubKey(v.Key, "unlisted")) {
		v.Bad("says nothing about the tool; give it paths, or unlisted: deny or ask")
	}
	r.p.Tools = append(r.p.Tools, t)
}
