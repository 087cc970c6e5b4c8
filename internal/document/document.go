// Package document reads a YAML file that people write and that must not be misread: warden.yaml, gate.yaml and rules.yaml.
//
// It walks the YAML by hand, since the decoder of the library knows neither the path of a key nor more than one problem.
// Whoever reads a file names the keys that a mapping may have (Mapping), and everything that is wrong is collected in
// the Document, each problem as "FILE:LINE: key.path: what is wrong", unknown keys with the one that was likely meant.
// A key that is given twice, a second document, null values, tags, anchors and aliases are refused: no setting needs
// them, and each is a way to write something other than it looks.
//
// It knows no other package of the module.
package document

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

	"gatehouse/internal/spelling"
)

// A Document is one YAML file while it is read: where its keys stand and what is wrong with them.
type Document struct {
	name     string
	lines    map[string]int // of every key that was met; "" is the document itself
	problems []problem
}

type problem struct {
	line int
	text string
}

// New returns a document that nothing has been read from yet. The name stands before each problem.
func New(name string) *Document { return &Document{name: name, lines: map[string]int{"": 1}} }

// Line returns the line on which a key stands, 0 where it does not.
func (d *Document) Line(key string) int { return d.lines[key] }

// A Value is a node and the path of keys that leads to it.
type Value struct {
	Doc  *Document
	Node *yaml.Node
	Key  string // the path of keys, such as gates[0].name; "" is the document
}

// A Field is a key that a mapping may have, or needs, and what to do with its value.
type Field struct {
	Key  string
	Need bool
	Read func(Value)
}

// Need is a key that must be there.
func Need(key string, read func(Value)) Field { return Field{key, true, read} }

// May is a key that can be there.
func May(key string, read func(Value)) Field { return Field{key, false, read} }

// Parse returns the one mapping that data must be.
func (d *Document) Parse(data []byte) (Value, bool) {
	if at := invalidUTF8(data); at >= 0 {
		d.BadAt(1+bytes.Count(data[:at], []byte("\n")), "", "the file is not valid UTF-8")
		return Value{}, false
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var node, more yaml.Node
	switch err := dec.Decode(&node); {
	case errors.Is(err, io.EOF):
		d.BadAt(1, "", "the file is empty")
		return Value{}, false
	case err != nil:
		d.badSyntax(err)
		return Value{}, false
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		d.BadAt(more.Line, "", "a second document begins here; only one is allowed")
	case !errors.Is(err, io.EOF):
		d.badSyntax(err)
	}
	root := Value{d, node.Content[0], ""}
	return root, root.Is(yaml.MappingNode, "a mapping")
}

// Bad records what is wrong at key, on its line or that of the nearest key above it that stands in the file.
func (d *Document) Bad(key, format string, args ...any) {
	for at := key; ; at = parentKey(at) {
		if line, ok := d.lines[at]; ok {
			d.BadAt(line, key, format, args...)
			return
		}
	}
}

// BadAt records what is wrong with the key on that line.
func (d *Document) BadAt(line int, key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if key != "" {
		text = key + ": " + text
	}
	d.problems = append(d.problems, problem{line, text})
}

// badSyntax takes apart what the YAML library says.
func (d *Document) badSyntax(err error) {
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
	d.BadAt(line, "", "%s", text)
}

// Has reports whether key stands in the file, whatever its value is worth.
func (d *Document) Has(key string) bool {
	_, ok := d.lines[key]
	return ok
}

// Problems is how many there are.
func (d *Document) Problems() int { return len(d.problems) }

// Err joins the problems, by line.
func (d *Document) Err() error {
	slices.SortStableFunc(d.problems, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, p := range d.problems {
		errs = append(errs, fmt.Errorf("%s:%d: %s", d.name, p.line, p.text))
	}
	return errors.Join(errs...)
}

// Bad records what is wrong with v.
func (v Value) Bad(format string, args ...any) { v.Doc.Bad(v.Key, format, args...) }

// Is checks what holds for every value, and that this one is of the kind that is wanted.
func (v Value) Is(kind yaml.Kind, want string) bool {
	switch {
	case v.Node.Kind == yaml.AliasNode || v.Node.Anchor != "":
		v.Bad("anchors and aliases are not supported; write the value out")
	case v.Node.Style&yaml.TaggedStyle != 0:
		v.Bad("tags are not supported; write the value alone")
	case v.Node.ShortTag() == "!!null":
		v.Bad(`has no value; remove the key, or put a value that begins with "#" in quotes`)
	case v.Node.Kind != kind:
		v.Bad("must be %s, not %s", want, kindName(v.Node.Kind))
	default:
		return true
	}
	return false
}

// Mapping reads the fields of a mapping, in the order of the file.
func (v Value) Mapping(fields []Field) {
	if !v.Is(yaml.MappingNode, "a mapping") {
		return
	}
	var misspelt []string // what unknown keys were likely meant to be
	for i := 0; i+1 < len(v.Node.Content); i += 2 {
		key := v.Node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			v.Doc.BadAt(key.Line, v.Key, "a key must be a plain word")
			continue
		}
		misspelt = append(misspelt, v.field(key, v.Node.Content[i+1], fields))
	}
	for _, f := range fields {
		if key := SubKey(v.Key, f.Key); f.Need && !v.Doc.Has(key) && !slices.Contains(misspelt, f.Key) {
			v.Doc.Bad(key, "is required")
		}
	}
}

// field reads one of the fields. Of a key that is none it returns the one that was likely meant.
func (v Value) field(key, val *yaml.Node, fields []Field) (meant string) {
	at := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key.Value })
	if at < 0 {
		hint := ""
		if meant = spelling.Nearest(key.Value, names(fields)); meant != "" {
			hint = fmt.Sprintf("; did you mean %q?", meant)
		}
		v.Doc.BadAt(key.Line, SubKey(v.Key, plain(key.Value)), "unknown key%s", hint)
		return meant
	}
	sub := Value{v.Doc, val, SubKey(v.Key, key.Value)}
	if first, again := v.Doc.lines[sub.Key]; again {
		v.Doc.BadAt(key.Line, sub.Key, "is given twice; the first is on line %d", first)
		return ""
	}
	v.Doc.lines[sub.Key] = key.Line
	if fields[at].Need && val.Kind == yaml.SequenceNode && len(val.Content) == 0 {
		sub.Bad("must not be empty")
		return ""
	}
	fields[at].Read(sub)
	return ""
}

// Items reads a list.
func (v Value) Items(read func(item Value)) {
	if !v.Is(yaml.SequenceNode, "a list") {
		return
	}
	for i, node := range v.Node.Content {
		item := Value{v.Doc, node, fmt.Sprintf("%s[%d]", v.Key, i)}
		v.Doc.lines[item.Key] = node.Line
		read(item)
	}
}

// Scalar returns the text of a value that YAML takes for one of the types tags.
func (v Value) Scalar(want string, tags ...string) (text string, ok bool) {
	if !v.Is(yaml.ScalarNode, want) {
		return "", false
	}
	if tag := v.Node.ShortTag(); !slices.Contains(tags, tag) {
		hint := ""
		if want == "text" {
			hint = "; put it in quotes"
		}
		v.Bad("must be %s, not %s%s", want, tagName(tag), hint)
		return "", false
	}
	return v.Node.Value, true
}

// Text returns a value that is printable text and not empty.
func (v Value) Text() (string, bool) {
	text, ok := v.Scalar("text", "!!str")
	return text, ok && v.Printable(text)
}

// Printable reports whether text is not empty and has nothing that a terminal would not print, and says so if not.
func (v Value) Printable(text string) bool {
	switch {
	case text == "":
		v.Bad("must not be empty")
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }): // bidi controls too
		v.Bad("must not have line breaks or other characters that do not print")
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

// SubKey is the path of a key in the mapping at parent.
func SubKey(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// parentKey cuts the last part off: gates[0].name, gates[0], gates, "".
func parentKey(key string) string { return key[:max(0, strings.LastIndexAny(key, ".["))] }

// plain quotes a key that is no word.
func plain(key string) string {
	if key != "" && strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" {
		return key
	}
	return strconv.Quote(key)
}

func names(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Key
	}
	return names
}
