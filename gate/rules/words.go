package rules

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"gatehouse/internal/document"
)

func isWord(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) < 0
}

func readID(v document.Value) string {
	id, ok := v.Text()
	if ok && (strings.ContainsFunc(id, unicode.IsSpace) || strings.ContainsAny(id, "#\"'`")) {
		v.Bad("must be one word, such as tests-before-push")
	}
	if len(id) > 100 {
		v.Bad("must not be longer than 100 bytes")
	}
	return id
}

// readProse reads text that may have been written on several lines.
func readProse(v document.Value) string {
	text, ok := v.Scalar("text", "!!str", "!!int", "!!float", "!!bool")
	if !ok {
		return ""
	}
	text = strings.Join(strings.Fields(text), " ")
	if text != "" {
		v.Printable(text)
	}
	return text
}

// readFrom reads where the rule comes from: an id, {file, line, id, text}, or a list of such.
func readFrom(v document.Value) []string {
	var all []string
	eachItem(v, func(v document.Value) {
		if v.Node.Kind != yaml.MappingNode {
			if text := readProse(v); text != "" {
				all = append(all, text)
			}
			return
		}
		var file, line, id string
		v.Mapping([]document.Field{
			document.May("file", func(v document.Value) { file = readProse(v) }),
			document.May("line", func(v document.Value) { line = readProse(v) }),
			document.May("id", func(v document.Value) { id = readProse(v) }),
			document.May("text", func(v document.Value) { readProse(v) }),
		})
		text := id
		if file != "" {
			text = strings.TrimSpace(fmt.Sprintf("%s %s:%s", id, file, line))
		}
		all = append(all, text)
	})
	return all
}
