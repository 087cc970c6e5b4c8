package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A document is one YAML file while it is read: where its keys stand and what is wrong with them.
type document struct {
	name     string
	lines    map[string]int // of every key that was met; "" is the document itself
	problems []problem
}

type problem struct {
	line int
	text string
}

// A value is a node and the path of keys that leads to it.
type value struct {
	doc  *document
	node *yaml.Node
	key  string
}

// A field is a key that a mapping may have, or needs, and what to do with its value.
type field struct {
	key  string
	need bool
	read func(value)
}

// parse returns the one mapping that data must be.
func (d *document) parse(data []byte) (value, bool) {
	if at := invalidUTF8(data); at >= 0 {
		d.badAt(1+bytes.Count(data[:at], []byte("\n")), "", "the file is not valid UTF-8")
		return value{}, false
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var node, more yaml.Node
	switch err := dec.Decode(&node); {
	case errors.Is(err, io.EOF):
		d.badAt(1, "", "the file is empty")
		return value{}, false
	case err != nil:
		d.badSyntax(err)
		return value{}, false
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		d.badAt(more.Line, "", "a second document begins here; only one is allowed")
	case !errors.Is(err, io.EOF):
		d.badSyntax(err)
	}
	root := value{d, node.Content[0], ""}
	return root, root.is(yaml.MappingNode, "a mapping")
}

// bad records what is wrong at key, on its line or that of the nearest key above it that stands in the file.
func (d *document) bad(key, format string, args ...any) {
	for at := key; ; at = parentKey(at) {
		if line, ok := d.lines[at]; ok {
			d.badAt(line, key, format, args...)
			return
		}
	}
}

func (d *document) badAt(line int, key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if key != "" {
		text = key + ": " + text
	}
	d.problems = append(d.problems, problem{line, text})
}

// badSyntax takes apart what the YAML library says.
func (d *document) badSyntax(err error) {
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, why, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, text = n, why
		}
	}
	if strings.HasPrefix(text, "unknown anchor") { // it quotes the value, which may be a secret
		text = "anchors and aliases are not supported; write the value out"
	}
	d.badAt(line, "", "%s", text)
}

// has reports whether key stands in the file, whatever its value is worth.
func (d *document) has(key string) bool {
	_, ok := d.lines[key]
	return ok
}

// err joins the problems, by line.
func (d *document) err() error {
	slices.SortStableFunc(d.problems, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, p := range d.problems {
		errs = append(errs, fmt.Errorf("%s:%d: %s", d.name, p.line, p.text))
	}
	return errors.Join(errs...)
}

func (v value) bad(format string, args ...any) { v.doc.bad(v.key, format, args...) }

// is checks what holds for every value, and that this one is of the kind that is wanted.
func (v value) is(kind yaml.Kind, want string) bool {
	switch {
	case v.node.Kind == yaml.AliasNode || v.node.Anchor != "":
		v.bad("anchors and aliases are not supported; write the value out")
	case v.node.Style&yaml.TaggedStyle != 0:
		v.bad("tags are not supported; write the value alone")
	case v.node.ShortTag() == "!!null":
		v.bad(`has no value; remove the key, or put a value that begins with "#" in quotes`)
	case v.node.Kind != kind:
		v.bad("must be %s, not %s", want, kindName(v.node.Kind))
	default:
		return true
	}
	return false
}

// mapping reads the fields of a mapping, in the order of the file.
func (v value) mapping(fields []field) {
	if !v.is(yaml.MappingNode, "a mapping") {
		return
	}
	var misspelt []string // what unknown keys were likely meant to be
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			v.doc.badAt(key.Line, v.key, "a key must be a plain word")
			continue
		}
		misspelt = append(misspelt, v.field(key, v.node.Content[i+1], fields))
	}
	for _, f := range fields {
		if key := subKey(v.key, f.key); f.need && !v.doc.has(key) && !slices.Contains(misspelt, f.key) {
			v.doc.bad(key, "is required")
		}
	}
}

// field reads one of the fields. Of a key that is none it returns the one that was likely meant.
func (v value) field(key, val *yaml.Node, fields []field) (meant string) {
	at := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
	if at < 0 {
		hint := ""
		if meant = nearest(key.Value, fields); meant != "" {
			hint = fmt.Sprintf("; did you mean %q?", meant)
		}
		v.doc.badAt(key.Line, subKey(v.key, plain(key.Value)), "unknown key%s", hint)
		return meant
	}
	sub := value{v.doc, val, subKey(v.key, key.Value)}
	if first, again := v.doc.lines[sub.key]; again {
		v.doc.badAt(key.Line, sub.key, "is given twice; the first is on line %d", first)
		return ""
	}
	v.doc.lines[sub.key] = key.Line
	if fields[at].need && val.Kind == yaml.SequenceNode && len(val.Content) == 0 {
		sub.bad("must not be empty")
		return ""
	}
	fields[at].read(sub)
	return ""
}

// items reads a list.
func (v value) items(read func(item value)) {
	if !v.is(yaml.SequenceNode, "a list") {
		return
	}
	for i, node := range v.node.Content {
		item := value{v.doc, node, fmt.Sprintf("%s[%d]", v.key, i)}
		v.doc.lines[item.key] = node.Line
		read(item)
	}
}

// scalar returns the text of a value that YAML takes for one of the types tags.
func (v value) scalar(want string, tags ...string) (text string, ok bool) {
	if !v.is(yaml.ScalarNode, want) {
		return "", false
	}
	if tag := v.node.ShortTag(); !slices.Contains(tags, tag) {
		hint := ""
		if want == "text" {
			hint = "; put it in quotes"
		}
		v.bad("must be %s, not %s%s", want, tagName(tag), hint)
		return "", false
	}
	return v.node.Value, true
}

// text returns a value that is printable text and not empty.
func (v value) text() (string, bool) {
	text, ok := v.scalar("text", "!!str")
	return text, ok && v.printable(text)
}

func (v value) printable(text string) bool {
	switch {
	case text == "":
		v.bad("must not be empty")
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }): // bidi controls too
		v.bad("must not have line breaks or other characters that do not print")
	default:
		return true
	}
	return false
}

func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

func kindName(kind yaml.Kind) string {
	switch kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

func tagName(tag string) string {
	switch tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!str":
		return "text"
	case "!!timestamp":
		return "a date"
	default:
		return tag
	}
}

func subKey(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// parentKey cuts the last part off: gates[0].name, gates[0], gates, "".
func parentKey(key string) string { return key[:max(0, strings.LastIndexAny(key, ".["))] }

// plain quotes a key that is no word.
func plain(key string) string {
	if key != "" && only(strings.ToLower(key), "-_") {
		return key
	}
	return strconv.Quote(key)
}
