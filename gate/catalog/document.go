package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// A node is one JSON value with its line. Go's decoder takes the last of two equal keys and matches names whatever their
// case; a document that decides what runs is read to the letter.
type node struct {
	line int
	// value is nil, a bool, a json.Number, a string, a []*node or a []member.
	value any
}

type member struct {
	name string
	*node
}

// maxDepth bounds how deep values may lie in each other.
const maxDepth = 32

// readJSON reads exactly one JSON value.
func readJSON(data []byte) (*node, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is no UTF-8")
	}
	r := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("ends too early")
		}
		return nil, fmt.Errorf("line %d: %w", r.line(), err)
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: something follows the value", r.line())
	}
	return n, nil
}

type jsonReader struct {
	data []byte
	dec  *json.Decoder
	at   int // up to where lines are counted
	seen int // lines up to there
}

// line is the line in which the last token ended.
func (r *jsonReader) line() int {
	to := int(r.dec.InputOffset())
	r.seen += bytes.Count(r.data[r.at:to], []byte("\n"))
	r.at = to
	return r.seen + 1
}

func (r *jsonReader) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("values lie more than %d deep in each other", maxDepth)
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{line: r.line(), value: token}
	delim, ok := token.(json.Delim)
	if !ok {
		return n, nil
	}
	if delim == '[' {
		list := []*node{}
		for r.dec.More() {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		n.value = list
	} else {
		members, seen := []member{}, make(map[string]bool)
		for r.dec.More() {
			key, err := r.dec.Token()
			if err != nil {
				return nil, err
			}
			name, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("the key %v is no string", key)
			}
			if seen[name] {
				return nil, fmt.Errorf("the key %q is there twice", name)
			}
			seen[name] = true
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			members = append(members, member{name, item})
		}
		n.value = members
	}
	_, err = r.dec.Token() // the closing one
	return n, err
}

// get returns the member of that name, nil if there is none or n is no object.
func (n *node) get(name string) *node {
	members, _ := n.value.([]member)
	for _, m := range members {
		if m.name == name {
			return m.node
		}
	}
	return nil
}

// plain returns the value as encoding/json would decode it, numbers as float64.
func (n *node) plain() any {
	switch v := n.value.(type) {
	case []*node:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i].plain()
		}
		return list
	case []member:
		object := make(map[string]any, len(v))
		for _, m := range v {
			object[m.name] = m.plain()
		}
		return object
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	default:
		return v
	}
}

// kind names the type of the value for people.
func (n *node) kind() string {
	switch n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []*node:
		return "a list"
	default:
		return "an object"
	}
}
