package spec

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// A Schema describes the calls of one name that one command can make.
type Schema struct {
	Name        string     // of the call
	Command     string     // the words that make it: "git remote add"
	Description string     // one phrase
	Properties  []Property // in the order of the arguments
	Required    []string
}

// A Property is one argument.
type Property struct {
	Name        string
	Type        string // boolean, integer, string, array
	Either      bool   // a string that is a list where it is given several times
	Also        string // another type, where an option and an operand have one name; "": none
	Description string
	Choices     []string
	Path        bool
	Default     any // what it is where nothing sets it; nil: then it is not there
	Effects     []string
}

// Schemas returns the schemas of all calls whose name, command or executable matches the pattern (as of path.Match), in
// the order of their commands. An empty pattern matches all.
func (p *Packs) Schemas(pattern string) ([]Schema, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	var all []Schema
	for _, name := range p.Names() {
		n, pack, alias := p.find(name)
		if n != nil && alias == 0 && n.name == name {
			all = pack.schemas(all, []*node{n})
		}
	}
	return slices.DeleteFunc(all, func(s Schema) bool {
		return pattern != "" && !matches(pattern, s.Name) && !matches(pattern, s.Command) &&
			!matches(pattern, strings.Fields(s.Command)[0])
	}), nil
}

func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// Names returns every executable that has a spec, aliases too, in ascending order.
func (p *Packs) Names() (names []string) {
	for _, pack := range p.packs {
		for i := range pack.names {
			name, _, _ := pack.entry(i)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *pack) schemas(to []Schema, way []*node) []Schema {
	n := way[len(way)-1]
	to = append(to, schemaOf(way))
	for i := range n.subs {
		if n.subs[i].alias != 0 {
			continue
		}
		if sub := n.subs[i].get(p); sub != nil {
			to = p.schemas(to, append(way[:len(way):len(way)], sub))
		}
	}
	return to
}

func schemaOf(way []*node) Schema {
	n := way[len(way)-1]
	s := Schema{Name: n.tool, Command: n.path, Description: n.summary}
	if s.Description == "" {
		s.Description = "the command " + n.path
	}
	list := Property{Type: "array"}
	if n.beyond {
		list.Name, list.Description = "argv", "all words after the executable"
		s.add(list)
		if n.below != "" {
			s.add(Property{Name: "subcommand", Type: "string", Choices: []string{n.below}})
		}
	}
	for _, level := range way {
		for i := range level.options {
			s.option(&level.options[i], level.beyond)
		}
	}
	for i := range n.operands {
		o := &n.operands[i]
		prop := Property{Name: o.name, Type: "string", Description: o.help, Choices: o.choices, Path: shownPath(&o.place), Effects: kindsOf(&o.place)}
		switch {
		case o.nargs == '*' && !n.beyond && !(n.onlyDash && i == n.dashdash):
			prop.Type, prop.Default = "array", []string{}
		case o.nargs == '*' || o.nargs == '+':
			prop.Type = "array"
		}
		if (o.nargs == 0 || o.nargs == '+') && len(o.unless) == 0 && !n.beyond {
			s.Required = append(s.Required, o.name)
		}
		s.add(prop)
	}
	return s
}

func (s *Schema) option(o *option, beyond bool) {
	beyond = beyond || o.beyond
	prop := Property{Name: o.dest, Type: "string", Description: o.help, Choices: o.choices, Path: shownPath(&o.place), Effects: kindsOf(&o.place)}
	switch o.kind {
	case kindBool, kindAttached, kindOptional:
		value := prop
		prop.Type, prop.Choices, prop.Path = "boolean", nil, false
		if !beyond {
			prop.Default = false
		}
		s.add(prop)
		if o.kind != kindBool {
			value.Name += suffixOf(o.kind)
			s.add(value)
		}
		return
	case kindCount:
		prop.Type = "integer"
		if !beyond {
			prop.Default = 0
		}
	case kindInt:
		prop.Type = "integer"
	case kindList:
		prop.Type = "array"
	default:
		prop.Either = o.repeat
	}
	s.add(prop)
}

// add appends a property. One of a name that is there adds its type to that one.
func (s *Schema) add(p Property) {
	i := slices.IndexFunc(s.Properties, func(have Property) bool { return have.Name == p.Name })
	if i < 0 {
		s.Properties = append(s.Properties, p)
	} else if have := &s.Properties[i]; have.Type != p.Type {
		have.Also = p.Type
	}
}

func shownPath(p *place) bool { return p.path && !p.maybe }

func kindsOf(p *place) (kinds []string) {
	set := p.effects
	for _, w := range p.when {
		set |= w.effects
	}
	for i, kind := range effectKinds {
		if set>>i&1 == 1 {
			kinds = append(kinds, kind.String())
		}
	}
	return kinds
}

// MarshalJSON gives name, command, description and parameters, which is a JSON Schema of the arguments.
func (s Schema) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		Name        string     `json:"name"`
		Command     string     `json:"command"`
		Description string     `json:"description"`
		Parameters  parameters `json:"parameters"`
	}{s.Name, s.Command, s.Description, parameters(s)})
}

// parameters are the properties of a schema as a JSON Schema.
type parameters Schema

func (p parameters) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	for i, prop := range p.Properties {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(prop.Name)
		if err != nil {
			return nil, err
		}
		data, err := marshal(prop.schema())
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(data)
	}
	b.WriteByte('}')
	if len(p.Required) > 0 {
		data, err := marshal(p.Required)
		if err != nil {
			return nil, err
		}
		b.WriteString(`,"required":`)
		b.Write(data)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (p *Property) schema() any {
	type items struct {
		Type   string   `json:"type"`
		Enum   []string `json:"enum,omitempty"`
		Format string   `json:"format,omitempty"`
	}
	var s struct {
		Type        any      `json:"type"`
		Description string   `json:"description,omitempty"`
		Enum        []string `json:"enum,omitempty"`
		Format      string   `json:"format,omitempty"`
		Items       *items   `json:"items,omitempty"`
		Default     any      `json:"default,omitempty"`
		Effects     []string `json:"x-effects,omitempty"`
	}
	format := ""
	if p.Path {
		format = "path"
	}
	s.Type, s.Description, s.Default, s.Effects = p.Type, p.Description, p.Default, p.Effects
	switch {
	case p.Also != "":
		s.Type = []string{p.Type, p.Also}
		if p.Type == "array" || p.Also == "array" {
			s.Items = &items{Type: "string"}
		}
	case p.Type == "array":
		s.Items = &items{"string", p.Choices, format}
	case p.Either:
		s.Type = []string{"string", "array"}
		s.Items = &items{"string", p.Choices, format}
		s.Format = format
	default:
		s.Enum, s.Format = p.Choices, format
	}
	return s
}

// marshal is json.Marshal, but <, > and & stay readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
