package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxInput is how much a client may send.
const maxInput = 8 << 20

// An object is a JSON object. Its keys are told apart by case, unlike the fields of a Go struct: a second key Command
// beside command must not be what is judged.
type object = map[string]any

// readInput reads one JSON object and nothing else.
func readInput(in io.Reader) (object, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the input of the hook: %w", err)
	}
	if len(data) > maxInput {
		return nil, fmt.Errorf("the input of the hook is longer than %d MiB", maxInput>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // Cursor, on some systems
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the input of the hook is empty")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the input of the hook is no UTF-8")
	}
	m, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("the input of the hook is not one JSON object: %w", err)
	}
	return m, nil
}

func decode(data []byte) (object, error) {
	var m object
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("it is null")
	}
	return m, nil
}

// text is a member that is a string, "" if it is not there or something else.
func text(m object, key string) string {
	s, _ := m[key].(string)
	return s
}

// member is a member that is an object, nil if it is not there or something else.
func member(m object, key string) object {
	o, _ := m[key].(object)
	return o
}

// arguments is a member that holds the arguments of a tool: an object, or the text of one. Nothing at all is no
// arguments.
func arguments(m object, key string) (object, error) {
	switch v := m[key].(type) {
	case nil:
		return object{}, nil
	case object:
		return v, nil
	case string:
		if strings.TrimSpace(v) == "" {
			return object{}, nil
		}
		args, err := decode([]byte(v))
		if err != nil {
			return nil, fmt.Errorf("%s is not one JSON object: %w", key, err)
		}
		return args, nil
	default:
		return nil, fmt.Errorf("%s is no object", key)
	}
}

// texts is a list of strings, nil if it is anything else.
func texts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	var all []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil
		}
		all = append(all, s)
	}
	return all
}

// maxOutput is how much of the output of a call is looked through.
const maxOutput = 1 << 20

// printed collects all strings of a value, as the output of a call comes in many forms.
func printed(v any) string {
	var b strings.Builder
	collect(&b, v)
	return b.String()
}

func collect(b *strings.Builder, v any) {
	if b.Len() >= maxOutput {
		return
	}
	switch v := v.(type) {
	case string:
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(v[:min(len(v), maxOutput-min(b.Len(), maxOutput))])
	case []any:
		for _, item := range v {
			collect(b, item)
		}
	case object:
		for _, key := range sortedKeys(v) {
			collect(b, v[key])
		}
	}
}
