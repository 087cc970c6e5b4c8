package wiring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// A text is the text of a JSON file, with or without comments, that is edited in place: every edit cuts bytes out or
// puts bytes in, and all others stay as they are.
type text struct {
	src  []byte
	root hujson.Value
}

// Plain and Comments say which JSON a client reads.
const (
	plainJSON = false // a comment or a trailing comma makes the client ignore the file
	comments  = true
)

// parseText reads a JSON file whose root is an object. Nothing at all counts as an empty object.
func parseText(src []byte, lenient bool) (*text, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		src = []byte("{}\n")
	}
	if !utf8.Valid(src) {
		return nil, errors.New("it is no UTF-8 text")
	}
	root, err := hujson.Parse(src)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, errors.New("line 1: it holds something else than an object")
	}
	t := &text{src, root}
	if !lenient && !root.IsStandard() {
		return nil, fmt.Errorf("line %d: a comment or a trailing comma; the client takes plain JSON only and ignores the whole file", t.line(t.firstExtra()))
	}
	return t, t.twice(&t.root, "")
}

// twice refuses a key that an object has twice: readers differ in which one counts.
func (t *text) twice(v *hujson.Value, path string) error {
	switch v := v.Value.(type) {
	case *hujson.Object:
		seen := map[string]bool{}
		for i := range v.Members {
			name := memberName(v, i)
			if seen[name] {
				return fmt.Errorf("line %d: the key %q is there twice", t.line(v.Members[i].Name.StartOffset), path+name)
			}
			seen[name] = true
			if err := t.twice(&v.Members[i].Value, path+name+"."); err != nil {
				return err
			}
		}
	case *hujson.Array:
		for i := range v.Elements {
			if err := t.twice(&v.Elements[i], path); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstExtra is where the first thing is that plain JSON does not have.
func (t *text) firstExtra() int {
	plain := t.root.Clone()
	plain.Standardize() // puts blanks in the place of what it takes out
	packed := plain.Pack()
	for i := range packed {
		if i >= len(t.src) || packed[i] != t.src[i] {
			return i
		}
	}
	return 0
}

func (t *text) line(offset int) int {
	return bytes.Count(t.src[:min(offset, len(t.src))], []byte("\n")) + 1
}

func memberName(o *hujson.Object, i int) string {
	return o.Members[i].Name.Value.(hujson.Literal).String()
}

// at returns the value below the keys of path, nil if there is none.
func (t *text) at(path ...string) *hujson.Value {
	v := &t.root
	for _, key := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		i := member(o, key)
		if i < 0 {
			return nil
		}
		v = &o.Members[i].Value
	}
	return v
}

func member(o *hujson.Object, key string) int {
	for i := range o.Members {
		if memberName(o, i) == key {
			return i
		}
	}
	return -1
}

// decode returns a value as encoding/json has it.
func decode(v *hujson.Value) any {
	if v == nil {
		return nil
	}
	c := v.Clone()
	c.Standardize()
	var out any
	if json.Unmarshal(c.Pack(), &out) != nil {
		return nil
	}
	return out
}

// value returns what is below the keys of path as encoding/json has it, nil if there is nothing.
func (t *text) value(path ...string) any { return decode(t.at(path...)) }

// list is value for an array.
func (t *text) list(path ...string) []any {
	l, _ := t.value(path...).([]any)
	return l
}

// set makes the value at path be v, an object on the way if need be. Where it is that already, nothing changes.
func (t *text) set(v any, path ...string) error {
	if at := t.at(path...); at != nil {
		if equalJSON(decode(at), v) {
			return nil
		}
		return t.splice(at.StartOffset, at.EndOffset, t.pretty(v, t.indentAt(at.StartOffset)))
	}
	return t.insert(v, path)
}

// insert puts v at a path that does not exist yet, with the objects on the way to it.
func (t *text) insert(v any, path []string) error {
	have := 0
	for have < len(path)-1 && t.at(path[:have+1]...) != nil {
		have++
	}
	for i := len(path) - 1; i > have; i-- {
		v = map[string]any{path[i]: v}
	}
	parent := t.at(path[:have]...)
	o, ok := parent.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("line %d: %s is no object", t.line(parent.StartOffset), strings.Join(path[:have], "."))
	}
	indent := t.inner(parent)
	name := string(mustJSON(path[have])) + ": "
	if len(o.Members) == 0 {
		return t.first(parent, o.AfterExtra, name+t.pretty(v, indent), indent)
	}
	return t.last(parent, &o.Members[len(o.Members)-1].Value, o.AfterExtra, name, v)
}

// add appends v to the array at path, which is made if need be.
func (t *text) add(v any, path ...string) error {
	parent := t.at(path...)
	if parent == nil {
		return t.insert([]any{v}, path)
	}
	a, ok := parent.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf("line %d: %s is no list", t.line(parent.StartOffset), strings.Join(path, "."))
	}
	indent := t.inner(parent)
	if len(a.Elements) == 0 {
		return t.first(parent, a.AfterExtra, t.pretty(v, indent), indent)
	}
	return t.last(parent, &a.Elements[len(a.Elements)-1], a.AfterExtra, "", v)
}

// first puts item into an empty object or array.
func (t *text) first(parent *hujson.Value, extra hujson.Extra, item, indent string) error {
	end := parent.EndOffset - 1 // the closing bracket
	keep := bytes.TrimRight(extra, " \t\r\n")
	return t.splice(end-len(extra)+len(keep), end, "\n"+indent+item+"\n"+t.indentAt(parent.StartOffset))
}

// last puts v, with its name where it has one, behind the last item and behind the comment that follows that.
func (t *text) last(parent, last *hujson.Value, extra hujson.Extra, name string, v any) error {
	end := parent.EndOffset - 1
	trailing := last.AfterExtra != nil // a comma follows it already
	if !trailing && blank(extra) && !bytes.ContainsRune(t.src[parent.StartOffset:end], '\n') {
		return t.splice(last.EndOffset, last.EndOffset, ", "+name+string(mustJSON(v))) // all of it stands on one line
	}
	tail := t.src[last.EndOffset:end]
	keep := len(bytes.TrimRight(tail, " \t\r\n"))
	after := string(tail[keep:])
	if !strings.Contains(after, "\n") {
		after = "\n" + t.indentAt(parent.StartOffset)
	}
	indent := t.inner(parent)
	piece := string(tail[:keep]) + "\n" + indent + name + t.pretty(v, indent)
	if trailing {
		piece += ","
	} else {
		piece = "," + piece
	}
	return t.splice(last.EndOffset, end, piece+after)
}

// drop takes element i out of the array at path, and the array, and the objects around it, that it leaves empty.
func (t *text) drop(i int, path ...string) error {
	v := t.at(path...)
	a, ok := v.Value.(*hujson.Array)
	if !ok || i >= len(a.Elements) {
		return fmt.Errorf("there is no element %d of %s", i, strings.Join(path, "."))
	}
	if len(a.Elements) == 1 && len(path) > 0 && blank(a.AfterExtra) && blank(a.Elements[0].BeforeExtra) {
		return t.remove(path...)
	}
	items := make([]*hujson.Value, len(a.Elements))
	starts := make([]*hujson.Value, len(a.Elements))
	for n := range a.Elements {
		items[n], starts[n] = &a.Elements[n], &a.Elements[n]
	}
	return t.dropItem(i, starts, items)
}

// remove takes the key at path out of its object, and the objects around it that it leaves empty.
func (t *text) remove(path ...string) error {
	parent := t.at(path[:len(path)-1]...)
	if parent == nil {
		return nil
	}
	o, ok := parent.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	i := member(o, path[len(path)-1])
	if i < 0 {
		return nil
	}
	if len(o.Members) == 1 && len(path) > 1 && blank(o.AfterExtra) && blank(o.Members[0].Name.BeforeExtra) {
		return t.remove(path[:len(path)-1]...)
	}
	items := make([]*hujson.Value, len(o.Members))
	starts := make([]*hujson.Value, len(o.Members))
	for n := range o.Members {
		items[n], starts[n] = &o.Members[n].Value, &o.Members[n].Name
	}
	return t.dropItem(i, starts, items)
}

// dropItem cuts one item out of a list whose items begin and end as given, with the comma that it no longer needs.
func (t *text) dropItem(i int, starts, ends []*hujson.Value) error {
	from := starts[i].StartOffset - len(starts[i].BeforeExtra) + len(bytes.TrimRight(starts[i].BeforeExtra, " \t\r\n"))
	to := ends[i].EndOffset
	comma := i < len(ends)-1 || ends[i].AfterExtra != nil
	switch {
	case comma && i == 0 && len(ends) > 1:
		to += len(ends[i].AfterExtra) + 1
		from = starts[i].StartOffset
		to += len(t.src[to:]) - len(bytes.TrimLeft(t.src[to:], " \t\r\n"))
		return t.splice(from, to, "")
	case comma:
		return t.splice(from, to+len(ends[i].AfterExtra)+1, "")
	case i > 0: // the last of several: the comma before it goes
		before := ends[i-1].EndOffset + len(ends[i-1].AfterExtra)
		kept := string(t.src[before+1 : from])
		return t.splice(before, to, kept)
	default:
		return t.splice(from, to, "")
	}
}

func blank(extra hujson.Extra) bool { return len(bytes.TrimSpace(extra)) == 0 }

// splice replaces the bytes from one offset to another, and reads the result.
func (t *text) splice(from, to int, piece string) error {
	src := append(append(bytes.Clone(t.src[:from]), piece...), t.src[to:]...)
	root, err := hujson.Parse(src)
	if err != nil {
		return fmt.Errorf("internal error: an edit broke the text: %w", err)
	}
	t.src, t.root = src, root
	return nil
}

// pretty is v as text whose first line stands at indent.
func (t *text) pretty(v any, indent string) string {
	var out bytes.Buffer
	if err := json.Indent(&out, mustJSON(v), indent, t.unit()); err != nil {
		return "null"
	}
	return out.String()
}

// mustJSON encodes what is made here, and so can be encoded.
func mustJSON(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimSpace(out.Bytes())
}

// indentAt is the white space that the line of an offset begins with.
func (t *text) indentAt(offset int) string {
	start := bytes.LastIndexByte(t.src[:offset], '\n') + 1
	line := t.src[start:offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// inner is the white space before the items of an object or array.
func (t *text) inner(v *hujson.Value) string {
	first := -1
	switch v := v.Value.(type) {
	case *hujson.Object:
		if len(v.Members) > 0 {
			first = v.Members[0].Name.StartOffset
		}
	case *hujson.Array:
		if len(v.Elements) > 0 {
			first = v.Elements[0].StartOffset
		}
	}
	outer := t.indentAt(v.StartOffset)
	if first >= 0 && bytes.ContainsRune(t.src[v.StartOffset:first], '\n') {
		if in := t.indentAt(first); len(in) > len(outer) {
			return in
		}
	}
	return outer + t.unit()
}

// unit is one step of indentation, as the file has it.
func (t *text) unit() string {
	if o, ok := t.root.Value.(*hujson.Object); ok && len(o.Members) > 0 {
		start := o.Members[0].Name.StartOffset
		if in := t.indentAt(start); in != "" && strings.TrimSpace(string(t.src[bytes.LastIndexByte(t.src[:start], '\n')+1:start])) == "" {
			return in
		}
	}
	return "  "
}

func equalJSON(a, b any) bool {
	var x, y any
	if json.Unmarshal(mustJSON(a), &x) != nil || json.Unmarshal(mustJSON(b), &y) != nil {
		return false
	}
	return bytes.Equal(mustJSON(x), mustJSON(y))
}
