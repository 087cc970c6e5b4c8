package rules

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/gate/spec"
	"gatehouse/internal/document"
)

// Tools compiles the specs that rule files have under "tools", as spec.Compile does; nil if there are none. As AgentLTL
// has it, a spec adds to that of base for the same command unless it says "extend: false", and a later file to an
// earlier one. Of a command that AgentLTL has no spec for, one that keeps argv beside its arguments, it takes the place.
// Problems name file and line of the rule file.
func Tools(files []File, base *spec.Packs) ([]byte, error) {
	merged := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	at := make(map[*yaml.Node]string) // which file a spec stands in
	for _, f := range files {
		if !mentions(f.Data, "tools") {
			continue // most have none, and reading YAML twice takes time
		}
		doc := document.New(f.Name)
		root, ok := doc.Parse(f.Data)
		if !ok || unfold(root.Node) != nil {
			continue // Parse tells
		}
		tools := child(root.Node, "tools")
		for i := 0; tools != nil && i+1 < len(tools.Content); i += 2 {
			name, body := tools.Content[i], tools.Content[i+1]
			at[name] = f.Name
			put(merged, name, body)
		}
	}
	if len(merged.Content) == 0 {
		return nil, nil
	}
	for i := 0; i+1 < len(merged.Content); i += 2 {
		name, body := merged.Content[i], merged.Content[i+1]
		if body.Kind != yaml.MappingNode {
			continue
		}
		if has := child(body, "extend"); has == nil && extends(base, name.Value) {
			body.Content = append(body.Content, scalar("extend", name.Line), scalar("true", name.Line))
		} else if has != nil && has.Value == "false" {
			remove(body, "extend")
		}
	}
	text, lines, err := written(merged, at)
	if err != nil {
		return nil, fmt.Errorf("tools of rule files: %w", err)
	}
	compiled, err := spec.Compile([]spec.File{{Name: generated, Data: text}}, base)
	if err != nil {
		return nil, lines.translate(err)
	}
	return compiled, nil
}

// mentions reports whether YAML may have a word in it, as a key or elsewhere: a backslash can stand for any letter.
func mentions(data []byte, word string) bool {
	return bytes.Contains(data, []byte(word)) || bytes.IndexByte(data, '\\') >= 0
}

// extends reports whether a spec in a rule file adds to the one that is there.
func extends(base *spec.Packs, name string) bool {
	if base == nil || !slices.Contains(base.Names(), name) {
		return false
	}
	schemas, err := base.Schemas(name)
	return err == nil && !slices.ContainsFunc(schemas, func(s spec.Schema) bool {
		return s.Command == name && slices.ContainsFunc(s.Properties, func(p spec.Property) bool { return p.Name == "argv" })
	})
}

// put sets a member of a mapping; a later spec of the same command replaces the earlier one, key by key.
func put(to, name, body *yaml.Node) {
	for i := 0; i+1 < len(to.Content); i += 2 {
		if to.Content[i].Value != name.Value {
			continue
		}
		old := to.Content[i+1]
		if old.Kind == yaml.MappingNode && body.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(body.Content); j += 2 {
				remove(old, body.Content[j].Value)
				old.Content = append(old.Content, body.Content[j], body.Content[j+1])
			}
			to.Content[i] = name
			return
		}
		to.Content[i], to.Content[i+1] = name, body
		return
	}
	to.Content = append(to.Content, name, body)
}

func child(node *yaml.Node, key string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func remove(node *yaml.Node, key string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			node.Content = slices.Delete(node.Content, i, i+2)
			return
		}
	}
}

func scalar(text string, line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: line}
}

// generated is the name of the file that spec is given; problems never show it.
const generated = "tools"

// places maps the lines of the text that spec is given to where they stand in rule files.
type places map[int]string

// written returns the specs as one file, and where its lines come from.
func written(specs *yaml.Node, at map[*yaml.Node]string) ([]byte, places, error) {
	text, err := yaml.Marshal(block(specs))
	if err != nil {
		return nil, nil, err
	}
	var again yaml.Node
	if err := yaml.Unmarshal(text, &again); err != nil {
		return nil, nil, err
	}
	lines := make(places)
	for i := 0; i+1 < len(specs.Content); i += 2 {
		file := at[specs.Content[i]]
		lines.note(specs.Content[i], again.Content[0].Content[i], file)
		lines.note(specs.Content[i+1], again.Content[0].Content[i+1], file)
	}
	return text, lines, nil
}

// block returns a copy in which each value has a line of its own.
func block(node *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: node.Kind, Tag: node.Tag, Value: node.Value, Line: node.Line}
	if node.Kind == yaml.ScalarNode {
		out.Style = node.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle)
	}
	for _, c := range node.Content {
		out.Content = append(out.Content, block(c))
	}
	return out
}

func (p places) note(from, to *yaml.Node, file string) {
	if _, ok := p[to.Line]; !ok {
		p[to.Line] = file + ":" + strconv.Itoa(from.Line)
	}
	for i := range min(len(from.Content), len(to.Content)) {
		p.note(from.Content[i], to.Content[i], file)
	}
}

// translate gives the problems of the generated file their places.
func (p places) translate(err error) error {
	place := regexp.MustCompile(`(?m)\b` + generated + `:(\d+)`)
	text := place.ReplaceAllStringFunc(err.Error(), func(s string) string {
		_, number, _ := strings.Cut(s, ":")
		n, _ := strconv.Atoi(number)
		for ; n > 0; n-- {
			if at, ok := p[n]; ok {
				return at
			}
		}
		return s
	})
	return errors.New(text)
}
