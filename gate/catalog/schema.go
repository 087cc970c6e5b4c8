package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// The schemas are JSON Schema 2020-12, of which a catalogue may use a small closed part: an object of required strings,
// each with enum, const, pattern, minLength and maxLength. That part is judged here, in one function. The library for all
// of JSON Schema initialises itself in every process that links it, also in those that judge a line before each command
// of an agent and never see a schema: a tenth of their time. The tests hold this function equal to that library.

// A property is what the schema says of one argument.
type property struct {
	path     bool     // "format": "path"
	enum     []string // nil: any value
	constant *string
	pattern  string
	min, max int // of the length in characters; max -1: none
}

// listed reports whether the owner wrote the value out.
func (p property) listed(value string) bool {
	return slices.Contains(p.enum, value) || p.constant != nil && *p.constant == value
}

// fits says which keyword does not let a value, "" if all do.
func (p property) fits(value string) (keyword string, err error) {
	length := utf8.RuneCountInString(value)
	switch {
	case p.constant != nil && *p.constant != value:
		return "const", nil
	case p.enum != nil && !slices.Contains(p.enum, value):
		return "enum", nil
	case length < p.min:
		return "minLength", nil
	case p.max >= 0 && length > p.max:
		return "maxLength", nil
	case p.pattern == "":
		return "", nil
	}
	re, err := regexp.Compile(p.pattern)
	if err == nil && !re.MatchString(value) {
		keyword = "pattern"
	}
	return keyword, err
}

// maxValue bounds a value whatever its schema says.
const maxValue = 4096

// schema checks that the schema of a tool is closed and its arguments are required, bounded strings. What it lets pass is
// a small part of JSON Schema 2020-12, in which nothing can be open by mistake.
func (p *parser) schema(n *node, key string, t *Tool) {
	if n == nil {
		return
	}
	if !p.object(n, key, []string{"type", "additionalProperties", "properties"},
		[]string{"required", "title", "description", "$comment", "$schema"}) {
		return
	}
	if v := n.get("type"); v != nil && v.value != "object" {
		p.bad(v, key+".type", BadCatalogue, "has to be object")
	}
	if v := n.get("additionalProperties"); v != nil && v.value != false {
		p.bad(v, key+".additionalProperties", BadCatalogue, "has to be false: the schema is closed")
	}
	if v := n.get("$schema"); v != nil && v.value != "https://json-schema.org/draft/2020-12/schema" {
		p.bad(v, key+".$schema", BadCatalogue, "has to be https://json-schema.org/draft/2020-12/schema")
	}
	required := p.texts(n, "required", key+".required")
	t.values = make(map[string]property)
	if properties := n.get("properties"); properties != nil {
		members, ok := properties.value.([]member)
		if !ok {
			p.bad(properties, key+".properties", BadCatalogue, "is %s and has to be an object", properties.kind())
		}
		for _, m := range members {
			at := key + ".properties." + m.name
			if !validName(m.name) {
				p.bad(m.node, at, BadTemplate, "%q is not 1 to 64 of a-z, 0-9 and _, beginning with a letter", m.name)
			}
			if !slices.Contains(required, m.name) {
				p.bad(m.node, at, SlotType, "is not in required; a slot is always filled")
			}
			t.values[m.name] = p.property(m.node, at)
		}
	}
	for _, name := range required {
		if !t.has(name) {
			p.bad(n.get("required"), key+".required", BadCatalogue, "%q is no property", name)
		}
	}
	t.Args = n.json()
}

func (p *parser) property(n *node, key string) (out property) {
	out.max = -1
	if !p.object(n, key, nil, []string{"type", "enum", "const", "pattern", "minLength", "maxLength", "format", "title", "description",
		"$comment", "examples"}) {
		return out
	}
	if v := n.get("type"); v == nil || v.value != "string" {
		p.bad(n, key+".type", SlotType, "has to be string")
	}
	if v := n.get("format"); v != nil {
		if out.path = v.value == "path"; !out.path {
			p.bad(v, key+".format", BadCatalogue, "only path is held to; write a pattern instead")
		}
	}
	written := []string{}
	if n.get("enum") != nil {
		if out.enum = p.texts(n, "enum", key+".enum"); len(out.enum) == 0 {
			p.bad(n.get("enum"), key+".enum", BadCatalogue, "lists no value")
		}
		written = append(written, out.enum...)
	}
	if v, ok := p.text(n, "const", key+".const"); ok {
		out.constant = &v
		written = append(written, v)
	}
	for _, value := range written {
		if why := forbidden(value, true); why != "" {
			p.bad(n, key+".enum", BadCatalogue, "%q %s", value, why)
		}
	}
	pattern, ok := p.text(n, "pattern", key+".pattern")
	if ok {
		if why := loose(pattern); why != "" {
			p.bad(n.get("pattern"), key+".pattern", BadCatalogue, "%s", why)
		}
	}
	out.pattern = pattern
	out.min = int(p.whole(n, "minLength", key+".minLength", 0, maxValue, 0))
	out.max = int(p.whole(n, "maxLength", key+".maxLength", 0, maxValue, -1))
	if out.max >= 0 && out.max < out.min {
		p.bad(n, key+".maxLength", BadCatalogue, "is less than minLength")
	}
	if !ok && len(written) == 0 && !out.path {
		p.bad(n, key, SlotType, "has to be bounded by a pattern, an enum, a const or the format path")
	}
	return out
}

// loose says why a pattern would let more pass than it seems to: JSON Schema looks for it anywhere in the value.
func loose(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err.Error()
	}
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[0].Op != syntax.OpBeginText || re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
		return fmt.Sprintf("%q has to begin with ^ and end with $, around an alternative too: ^(a|b)$", pattern)
	}
	return ""
}

// json writes the value as JSON, members in their order.
func (n *node) json() json.RawMessage {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *node) write(b *bytes.Buffer) {
	switch v := n.value.(type) {
	case []member:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, m.name)
			b.WriteByte(':')
			m.write(b)
		}
		b.WriteByte('}')
	case []*node:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	default:
		writeJSON(b, v)
	}
}

func writeJSON(b *bytes.Buffer, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic("internal error: " + err.Error()) // strings, numbers of JSON, booleans and null
	}
	b.Write(data)
}

// hold holds the arguments of a call against the tool's schema. The commonest faults have codes of their own.
func (t *Tool) hold(args *node) (map[string]any, error) {
	members, ok := args.value.([]member)
	if !ok {
		return nil, failed(WrongType, "args is %s and has to be an object", args.kind())
	}
	for _, m := range members {
		if !t.has(m.name) {
			return nil, failed(ExtraArgument, "tool %s has no argument %q; it has %s", t.Name, m.name, t.argumentNames())
		}
	}
	for _, name := range t.slots {
		if args.get(name) == nil {
			return nil, failed(MissingArgument, "argument %q of tool %s is missing", name, t.Name)
		}
	}
	for _, m := range members {
		if _, ok := m.value.(string); !ok {
			return nil, failed(WrongType, "argument %q of tool %s is %s and has to be a string", m.name, t.Name, m.kind())
		}
	}
	values, _ := args.plain().(map[string]any)
	for name, value := range values {
		if text, _ := value.(string); len(text) > maxValue || !utf8.ValidString(text) {
			return nil, failed(BadValue, "argument %q of tool %s is longer than %d bytes", name, t.Name, maxValue)
		}
	}
	// Characters of a shell say more about a call than the pattern that they miss.
	for _, name := range t.slots {
		text, _ := values[name].(string)
		if why := forbidden(text, t.values[name].listed(text)); why != "" {
			return nil, failed(Metacharacter, "argument %q of tool %s: %q %s", name, t.Name, text, why)
		}
	}
	for _, name := range t.slots {
		if text, _ := values[name].(string); t.values[name].path {
			if why := escapes(text); why != "" {
				return nil, failed(PathOutside, "argument %q of tool %s: %q %s", name, t.Name, text, why)
			}
		}
	}
	for _, name := range t.slots {
		text, _ := values[name].(string)
		keyword, err := t.values[name].fits(text)
		if err != nil {
			return nil, &Error{Code: BadCatalogue, Err: err}
		}
		if keyword != "" {
			return nil, failed(BadValue, "argument %q of tool %s: %q does not fit the schema (%s)", name, t.Name, text, keyword)
		}
	}
	return values, nil
}

func (t *Tool) argumentNames() string {
	if len(t.slots) == 0 {
		return "none"
	}
	return fmt.Sprintf("%q", t.slots)
}
