package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
	"gatehouse/internal/document"
)

const yamlScalar = yaml.ScalarNode

// allow reads an item of allow.
func (r *reader) allow(v document.Value) {
	e := Entry{At: r.at(v)}
	key := v
	if v.Node.Kind == yamlScalar {
		e.Text, _ = v.Text()
	} else {
		v.Mapping([]document.Field{
			document.Need("call", func(v document.Value) { e.Text, _ = v.Text(); key = v }),
			document.May("only", r.list(&e.Only)),
			document.May("exact", r.bool(&e.Exact)),
			document.May("trust", r.choice([]string{"root-owned"}, func(int) { e.Trust = true })),
			document.May("sha256", func(v document.Value) { e.SHA256 = digest(v) }),
			document.May("match", r.list(&e.Match)),
			document.May("not_match", r.list(&e.NotMatch)),
		})
		if key := document.SubKey(v.Key, "only"); v.Doc.Has(key) && len(e.Only) == 0 {
			v.Doc.Bad(key, "has nothing; leave the key out to allow the call with whatever follows")
			return
		}
	}
	if e.Text == "" {
		return
	}
	more := e.Only
	if len(more) == 0 {
		more = []string{""}
	}
	for _, text := range more {
		f, err := begin(e.Text, text, r.packs)
		if err != nil {
			key.Bad("%q %v", strings.TrimSpace(e.Text+" "+text), err)
			return
		}
		e.begins = append(e.begins, f)
	}
	r.p.Allow = append(r.p.Allow, e)
}

// deny reads an item of deny.
func (r *reader) deny(v document.Value) {
	e := Entry{At: r.at(v)}
	key := v
	flags := []document.Value{}
	if v.Node.Kind == yamlScalar {
		e.Text, _ = v.Text()
	} else {
		v.Mapping([]document.Field{
			document.Need("call", func(v document.Value) { e.Text, _ = v.Text(); key = v }),
			document.May("flags", r.texts(func(v document.Value, text string) {
				e.Flags = append(e.Flags, text)
				flags = append(flags, v)
			})),
			document.May("why", r.text(&e.Why)),
			document.May("fix", func(v document.Value) {
				v.Mapping([]document.Field{document.Need("run", r.text(&e.Fix))})
			}),
		})
		if key := document.SubKey(v.Key, "flags"); v.Doc.Has(key) && len(e.Flags) == 0 {
			v.Doc.Bad(key, "has no flags; leave the key out to refuse the call whole")
			return
		}
	}
	if e.Text == "" {
		return
	}
	f, err := begin(e.Text, "", r.packs)
	if err != nil {
		key.Bad("%q %v", e.Text, err)
		return
	}
	e.begins = []form{f}
	for i, text := range e.Flags {
		f, err := flagForm(e.Text, text, r.packs)
		if err != nil {
			flags[i].Bad("%q %v", text, err)
			continue
		}
		e.flags = append(e.flags, f)
	}
	r.p.Deny = append(r.p.Deny, e)
}

func (r *reader) list(to *[]string) func(document.Value) {
	return r.texts(func(_ document.Value, text string) { *to = append(*to, text) })
}

func digest(v document.Value) string {
	text, ok := v.Scalar("text", "!!str", "!!int", "!!float") // one may look like a number
	if !ok {
		return ""
	}
	text = strings.ToLower(strings.TrimPrefix(text, "sha256:"))
	if len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		v.Bad("must be a SHA-256 digest, 64 hex digits; sha256sum FILE prints it")
	}
	return text
}

// judge tries what entries say of lines: match and not_match against that entry, fix against the whole policy.
func (r *reader) judge() {
	for i := range r.p.Allow {
		e := &r.p.Allow[i]
		if len(e.Match)+len(e.NotMatch) == 0 {
			continue
		}
		alone := &Policy{Allow: r.p.Allow[i : i+1]}
		alone.index()
		for _, line := range e.Match {
			if why := alone.tried(line, r.packs); why != "" {
				r.doc.BadAt(lineOf(e.At), key("allow", i, "match"), "%q is not covered: %s", line, why)
			}
		}
		for _, line := range e.NotMatch {
			if alone.tried(line, r.packs) == "" {
				r.doc.BadAt(lineOf(e.At), key("allow", i, "not_match"), "%q is covered", line)
			}
		}
	}
	for i := range r.p.Deny {
		if e := &r.p.Deny[i]; e.Fix != "" {
			if why := r.p.passes(e.Fix, r.packs); why != "" {
				r.doc.BadAt(lineOf(e.At), key("deny", i, "fix.run"), "%q would not pass: %s", e.Fix, why)
			}
		}
	}
}

// tried returns why the one entry of p covers no call of the line.
func (p *Policy) tried(line string, packs *spec.Packs) string {
	calls, err := translated(line, packs)
	if err != nil {
		return err.Error()
	}
	why := "it has no call"
	for i := len(calls) - 1; i >= 0; i-- {
		e, reason := p.Allowed(&calls[i], Host{})
		if e != nil {
			return ""
		}
		why = reason
	}
	return why
}

// passes returns why the entries of p do not let the line pass; "" if they do.
func (p *Policy) passes(line string, packs *spec.Packs) string {
	calls, err := translated(line, packs)
	if err != nil {
		return err.Error()
	}
	covers := p.Cover(calls, Host{})
	for i := range calls {
		if e, m := p.Denied(&calls[i], Host{}); m != No {
			return "the entry " + quote(e.Text) + " (" + e.At + ") refuses it"
		}
		if !covers[i].OK() {
			return covers[i].Why
		}
	}
	return ""
}

func translated(line string, packs *spec.Packs) ([]call.Call, error) {
	return spec.Line(line, spec.Options{Packs: packs, Forms: true, Shell: shell.Options{Dir: "/"}})
}
