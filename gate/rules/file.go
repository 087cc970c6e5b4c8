package rules

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/gate/rules/library"
	"gatehouse/internal/document"
	"gatehouse/internal/spelling"
)

// Parse reads rule files, the user's before the project's: a rule replaces those before it with the same id. The error
// lists everything that is wrong, each problem with file and line; then no file counts, and the caller refuses whatever
// the rules could have judged.
func Parse(files []File, o ParseOptions) (*Set, error) {
	if o.Library == nil {
		o.Library = library.Entries{}
	}
	p := &parser{options: o, settings: defaults(), builtin: make(map[string]bool), open: make(map[string]bool)}
	for _, f := range files {
		p.file(f)
	}
	p.builtins()
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	var rules []*rule
	for _, r := range p.rules {
		if !slices.Contains(p.disabled, r.ID) {
			rules = append(rules, r)
		}
	}
	for _, r := range rules {
		if !r.hasMode {
			r.Mode = p.settings.mode
		}
		if !r.hasScope {
			r.Scope = p.settings.scope
		}
		r.key = r.digest()
	}
	return newSet(p.settings, rules)
}

type parser struct {
	options  ParseOptions
	settings settings
	builtin  map[string]bool // switched on or off
	rules    []*rule
	disabled []string
	errs     []error
	open     map[string]bool // entries of the library that are being read
	agentltl bool            // one of the files is AgentLTL's
}

func (p *parser) file(f File) {
	doc := document.New(f.Name)
	root, ok := doc.Parse(f.Data)
	if ok {
		if path.Base(f.Name) == "AGENTLTL.yaml" {
			p.agentltl = true
		}
		ok = p.unfold(doc, root)
	}
	if ok {
		p.top(root, f.Name)
	}
	if err := doc.Err(); err != nil {
		p.errs = append(p.errs, err)
	}
}

func (p *parser) unfold(doc *document.Document, root document.Value) bool {
	err := unfold(root.Node)
	if at := (*lineError)(nil); errors.As(err, &at) {
		doc.BadAt(at.line, "", "%s", at.text)
		return false
	}
	return true
}

// top reads the keys of a rule file. What is used comes before the file's own rules, which replace it.
func (p *parser) top(root document.Value, name string) {
	var used, own []*rule
	root.Mapping([]document.Field{
		document.May("version", func(v document.Value) { v.Scalar("a number", "!!int", "!!float", "!!str") }),
		document.May("settings", func(v document.Value) { p.settings.readFile(v, p.builtin) }),
		document.May("use", func(v document.Value) {
			eachItem(v, func(v document.Value) { used = append(used, p.use(v)...) })
		}),
		document.May("disable", func(v document.Value) {
			eachItem(v, func(v document.Value) {
				if id, ok := v.Text(); ok {
					p.disabled = append(p.disabled, id)
				}
			})
		}),
		document.May("tools", func(v document.Value) { v.Is(yaml.MappingNode, "a mapping of specs") }),
		document.May("rules", func(v document.Value) { own = p.list(v, name) }),
	})
	for _, r := range append(used, own...) {
		p.add(r)
	}
}

// add takes a rule in, in the place of one with its id.
func (p *parser) add(r *rule) {
	for i, have := range p.rules {
		if have.ID == r.ID {
			p.rules[i] = r
			return
		}
	}
	p.rules = append(p.rules, r)
}

// list reads the rules of one file.
func (p *parser) list(v document.Value, name string) []*rule {
	var all []*rule
	v.Items(func(v document.Value) {
		before := v.Doc.Problems()
		r := &rule{}
		r.At = fmt.Sprintf("%s:%d", name, v.Node.Line)
		readRuleOf(v, r)
		if v.Doc.Problems() > before {
			return
		}
		if i := slices.IndexFunc(all, func(have *rule) bool { return have.ID == r.ID }); i >= 0 {
			v.Doc.Bad(v.Key+".id", "%q is the id of the rule at %s as well", r.ID, all[i].At)
			return
		}
		all = append(all, r)
	})
	return all
}

// use reads one item of "use": a name, or a name with what its rules are to have.
func (p *parser) use(v document.Value) []*rule {
	if v.Node.Kind == yaml.MappingNode {
		var all []*rule
		pairs(v, func(name string, v document.Value) {
			var over override
			v.Mapping([]document.Field{
				document.May("mode", func(v document.Value) { readMode(v, &over.mode); over.hasMode = true }),
				document.May("scope", func(v document.Value) { readScope(v, &over.scope); over.hasScope = true }),
				document.May("from", func(v document.Value) { over.from = readFrom(v) }),
			})
			all = append(all, p.entry(v, name, over)...)
		})
		return all
	}
	name, ok := v.Text()
	if !ok {
		return nil
	}
	return p.entry(v, name, override{})
}

// An override is what "use" says of the rules of an entry.
type override struct {
	mode              Mode
	scope             Scope
	hasMode, hasScope bool
	from              []string
}

// entry returns the rules of an entry of the library, with those of the entries that it includes.
func (p *parser) entry(v document.Value, name string, over override) []*rule {
	data, ok := p.options.Library.Open(name)
	if !ok {
		hint := ""
		if near := spelling.Nearest(name, p.options.Library.Names()); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		v.Bad("the library has no entry %q%s", name, hint)
		return nil
	}
	if p.open[name] {
		return nil
	}
	p.open[name] = true
	defer delete(p.open, name)
	return p.entryRules(v, name, data, over)
}

func (p *parser) entryRules(v document.Value, name string, data []byte, over override) []*rule {
	file := "library/" + name
	doc := document.New(file)
	root, ok := doc.Parse(data)
	var all []*rule
	meant := true
	if ok && p.unfold(doc, root) {
		anything := func(document.Value) {}
		root.Mapping([]document.Field{
			document.May("summary", anything),
			document.May("tags", anything),
			document.May("tools", anything),
			document.May("harnesses", func(v document.Value) { meant = p.meant(v) }),
			document.May("include", func(item document.Value) {
				eachItem(item, func(item document.Value) {
					if name, ok := item.Text(); ok {
						all = append(all, p.entry(item, name, over)...)
					}
				})
			}),
			document.May("rules", func(v document.Value) {
				for _, r := range p.list(v, file) {
					r.Library = name
					all = append(all, r)
				}
			}),
		})
	}
	if err := doc.Err(); err != nil {
		p.errs = append(p.errs, err)
		return nil
	}
	if !meant {
		return nil
	}
	for _, r := range all {
		if over.hasMode {
			r.Mode, r.hasMode = over.mode, true
		}
		if over.hasScope {
			r.Scope, r.hasScope = over.scope, true
		}
		r.From = append(r.From, over.from...)
		if r.Library == name {
			r.At = strings.TrimPrefix(fmt.Sprintf("%s (used at line %d)", r.At, v.Node.Line), " ")
		}
	}
	return all
}

// meant reports whether an entry is for the client that the options name.
func (p *parser) meant(v document.Value) bool {
	if p.options.Client == "" {
		return true
	}
	found := false
	eachItem(v, func(v document.Value) {
		if name, ok := v.Text(); ok && (name == p.options.Client || strings.HasPrefix(p.options.Client, name)) {
			found = true
		}
	})
	return found
}

// memoryFirst is the rule that AgentLTL's files have unless they switch it off.
const memoryFirst = `rules:
- id: memory-first
  never:
    tool: [Write, Edit, MultiEdit, echo, printf, tee, cat, sed, cp, mv]
    writes: [CLAUDE.md, CLAUDE.local.md, AGENTS.md, GEMINI.md, .cursorrules, "*/.claude/rules/*", "*/.github/copilot-instructions.md"]
  why: a rule about calls is kept better as a rule than as a note that can be forgotten
  fix: put it into the rule file; if it is no rule, write it again
  mode: warn
`

// builtins adds the rules that are there unless they are switched off.
func (p *parser) builtins() {
	on, said := p.builtin["memory_first"]
	if !on && (said || !p.agentltl) {
		return
	}
	doc := document.New("built-in")
	root, ok := doc.Parse([]byte(memoryFirst))
	if ok {
		root.Mapping([]document.Field{document.May("rules", func(v document.Value) {
			for _, r := range p.list(v, "built-in") {
				if !slices.ContainsFunc(p.rules, func(have *rule) bool { return have.ID == r.ID }) {
					r.At = "built-in"
					p.rules = append(p.rules, r)
				}
			}
		})})
	}
	if err := doc.Err(); err != nil {
		p.errs = append(p.errs, err)
	}
}

// eachItem reads a list, or one value in the place of one.
func eachItem(v document.Value, read func(document.Value)) {
	if v.Node.Kind == yaml.SequenceNode {
		v.Items(read)
		return
	}
	read(v)
}

// pairs reads a mapping whose keys are free.
func pairs(v document.Value, read func(key string, v document.Value)) {
	var fields []document.Field
	for i := 0; i+1 < len(v.Node.Content) && v.Node.Kind == yaml.MappingNode; i += 2 {
		key := v.Node.Content[i].Value
		fields = append(fields, document.May(key, func(v document.Value) { read(key, v) }))
	}
	v.Mapping(fields)
}
