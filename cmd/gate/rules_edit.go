package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errByHand is for layouts that cannot be changed without rewriting what a person wrote.
var errByHand = errors.New(`"use" is written in a way that cannot be changed without touching the rest; change it by hand`)

// addUse writes entries into the list "use" of a rule file, and says which were not there. mode is their mode, if not
// empty.
//
// The text is changed at one place only. What it then says must be what it said and the new entries, or it is an error.
func addUse(text []byte, names []string, mode string) (after []byte, added []string, err error) {
	after = text
	for _, name := range names {
		doc, err := readUse(after)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(doc.names, name) {
			continue
		}
		next, err := doc.insert(name, mode)
		if err != nil {
			return nil, nil, err
		}
		want := append(slices.Clone(doc.names), name)
		if err := agrees(after, next, want); err != nil {
			return nil, nil, err
		}
		after, added = next, append(added, name)
	}
	return after, added, nil
}

// removeUse takes entries out of the list "use", and says which were there.
func removeUse(text []byte, names []string) (after []byte, removed []string, err error) {
	after = text
	for _, name := range names {
		doc, err := readUse(after)
		if err != nil {
			return nil, nil, err
		}
		i := slices.Index(doc.names, name)
		if i < 0 {
			continue
		}
		next, err := doc.delete(i)
		if err != nil {
			return nil, nil, err
		}
		want := slices.Delete(slices.Clone(doc.names), i, i+1)
		if err := agrees(after, next, want); err != nil {
			return nil, nil, err
		}
		after, removed = next, append(removed, name)
	}
	return after, removed, nil
}

// A useList is the list "use" of a rule file, and where it stands.
type useList struct {
	lines []string // of the file, with their ends
	key   *yaml.Node
	value *yaml.Node
	names []string // of its items
	end   string   // of a line
	blank bool     // the file says nothing
}

func readUse(text []byte) (*useList, error) {
	doc := &useList{end: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		doc.end = "\r\n"
	}
	for line := range strings.Lines(string(text)) {
		doc.lines = append(doc.lines, line)
	}
	top, err := onlyDocument(text)
	if err != nil {
		return nil, err
	}
	if top == nil {
		doc.blank = true
		return doc, nil
	}
	if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value == "use" {
			doc.key, doc.value = top.Content[i], top.Content[i+1]
		}
	}
	if doc.value == nil {
		return doc, nil
	}
	if doc.value.Kind != yaml.SequenceNode {
		return nil, errByHand
	}
	for _, item := range doc.value.Content {
		doc.names = append(doc.names, useName(item))
	}
	return doc, nil
}

// onlyDocument returns what the one document of a file holds; nil if that is nothing.
func onlyDocument(text []byte) (*yaml.Node, error) {
	var root yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&root); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); err != io.EOF {
		return nil, errByHand
	}
	if len(root.Content) == 0 || root.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	return root.Content[0], nil
}

// useName is the name of an item: NAME, or the key of {NAME: {…}}.
func useName(item *yaml.Node) string {
	if item.Kind == yaml.MappingNode && len(item.Content) > 0 {
		return item.Content[0].Value
	}
	return item.Value
}

// insert adds an item behind the last one.
func (d *useList) insert(name, mode string) ([]byte, error) {
	item := name
	if mode != "" {
		item = fmt.Sprintf("%s: {mode: %s}", name, mode)
	}
	switch {
	case d.value == nil:
		return d.appendKey(item)
	case d.value.Style&yaml.FlowStyle == 0:
		first, last := d.value.Content[0], lastLine(d.value.Content[len(d.value.Content)-1])
		indent := strings.Repeat(" ", d.value.Column-1)
		if first.Line == d.value.Line && d.value.Column > first.Column {
			return nil, errByHand
		}
		return d.splice(last, last, d.whole(last), indent+"- "+item+d.end), nil
	default:
		if mode != "" {
			item = "{" + item + "}"
		}
		return d.flowInsert(item)
	}
}

// appendKey writes the list at the end of a file that has none.
func (d *useList) appendKey(item string) ([]byte, error) {
	text := strings.Join(d.lines, "")
	for _, line := range d.lines {
		if trimmed := strings.TrimRight(line, " \t\r\n"); trimmed == "..." {
			return nil, errByHand
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += d.end
	}
	if d.blank {
		text += "version: 1" + d.end
	}
	return []byte(text + "use:" + d.end + "  - " + item + d.end), nil
}

// flowInsert writes an item before the closing bracket of [a, b].
func (d *useList) flowInsert(item string) ([]byte, error) {
	line, closing, err := d.bracket()
	if err != nil {
		return nil, err
	}
	text := d.lines[line-1]
	before, after := text[:closing], text[closing:]
	kept := strings.TrimRight(before, " \t")
	gap := before[len(kept):]
	switch {
	case len(d.names) == 0 || strings.HasSuffix(kept, ","):
		if strings.HasSuffix(kept, ",") {
			item = " " + item
		}
	case strings.TrimSpace(kept) == "":
		return nil, errByHand
	default:
		item = ", " + item
	}
	return d.splice(line, line, "", kept+item+gap+after), nil
}

// delete takes an item away.
func (d *useList) delete(i int) ([]byte, error) {
	if d.value.Style&yaml.FlowStyle != 0 {
		return d.flowDelete(i)
	}
	item := d.value.Content[i]
	if i == 0 && d.value.Line == d.key.Line {
		return nil, errByHand
	}
	after := d.splice(item.Line, lastLine(item), "", "")
	if len(d.names) > 1 {
		return after, nil
	}
	// An empty list is no list. Comments that stand in it stay.
	line := d.lines[d.key.Line-1]
	colon := strings.Index(line[d.key.Column-1:], ":") + d.key.Column
	return (&useList{lines: slices.Collect(strings.Lines(string(after)))}).splice(d.key.Line, d.key.Line, "", line[:colon]+" []"+line[colon:]), nil
}

// flowDelete takes an item out of [a, b], and the comma with it.
func (d *useList) flowDelete(i int) ([]byte, error) {
	line, closing, err := d.bracket()
	if err != nil {
		return nil, err
	}
	text := d.lines[line-1]
	start := d.offset(d.value.Content[i])
	switch {
	case start < 0:
		return nil, errByHand
	case i+1 < len(d.names):
		next := d.offset(d.value.Content[i+1])
		if next < 0 {
			return nil, errByHand
		}
		return d.splice(line, line, "", text[:start]+text[next:]), nil
	case i > 0:
		comma := strings.LastIndex(text[:start], ",")
		if comma < 0 {
			return nil, errByHand
		}
		return d.splice(line, line, "", text[:comma]+text[closing:]), nil
	default:
		open := strings.LastIndex(text[:start], "[")
		if open < 0 {
			return nil, errByHand
		}
		return d.splice(line, line, "", text[:open+1]+text[closing:]), nil
	}
}

// offset is where an item of a list in brackets begins in its line; -1 if the list has more than one line.
func (d *useList) offset(item *yaml.Node) int {
	if item.Line != d.value.Line {
		return -1
	}
	return byteColumn(d.lines[item.Line-1], item.Column)
}

// bracket finds the bracket that closes the list: its line, from 1, and its place there.
func (d *useList) bracket() (line, offset int, err error) {
	depth, quote := 0, byte(0)
	at := byteColumn(d.lines[d.value.Line-1], d.value.Column)
	for line = d.value.Line; line <= len(d.lines); line++ {
		text := d.lines[line-1]
		for ; at < len(text); at++ {
			c := text[at]
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '#' && at > 0 && (text[at-1] == ' ' || text[at-1] == '\t'):
				at = len(text)
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				if depth--; depth == 0 {
					return line, at, nil
				}
			}
		}
		at = 0
	}
	return 0, 0, errByHand
}

// byteColumn turns a column of YAML, which counts characters from 1, into an offset.
func byteColumn(line string, column int) int {
	n := 1
	for i := range line {
		if n == column {
			return i
		}
		n++
	}
	return len(line)
}

// lastLine is the last line that a node stands on.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// whole is a line with its end, also where the file ends without one.
func (d *useList) whole(line int) string {
	text := d.lines[line-1]
	if !strings.HasSuffix(text, "\n") {
		text += d.end
	}
	return text
}

// splice replaces the lines from first to last by before and then text.
func (d *useList) splice(first, last int, before, text string) []byte {
	return []byte(strings.Join(d.lines[:first-1], "") + before + text + strings.Join(d.lines[last:], ""))
}

// agrees checks that a changed file says what it said before, but for "use", which has the names want.
func agrees(before, after []byte, want []string) error {
	doc, err := readUse(after)
	if err != nil {
		return errByHand
	}
	if !slices.Equal(doc.names, want) {
		return errByHand
	}
	var was, is map[string]any
	if err := yaml.Unmarshal(before, &was); err != nil {
		return err
	}
	if err := yaml.Unmarshal(after, &is); err != nil {
		return errByHand
	}
	if len(was) == 0 {
		was = map[string]any{"version": is["version"]}
	}
	kept := usedBefore(was["use"], is["use"])
	delete(was, "use")
	delete(is, "use")
	if !kept || !reflect.DeepEqual(was, is) {
		return errByHand
	}
	return nil
}

// usedBefore reports whether the items that both lists have are the same, settings included, in one order.
func usedBefore(was, is any) bool {
	old, _ := was.([]any)
	now, _ := is.([]any)
	if len(now) > len(old) {
		return reflect.DeepEqual(append([]any{}, now[:len(old)]...), append([]any{}, old...))
	}
	i := 0
	for _, item := range old {
		if i < len(now) && reflect.DeepEqual(now[i], item) {
			i++
		}
	}
	return i == len(now)
}
