package wiring

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// ownFile is a file that belongs to the gate as a whole, in a directory from which the client reads every file.
func ownFile(content []byte) place {
	marks := [...]string{"gatehouse", "gate hook ", `/gate",`}
	return place{
		put: func(old []byte) ([]byte, error) {
			if old != nil && !slices.ContainsFunc(marks[:], func(m string) bool { return bytes.Contains(old, []byte(m)) }) {
				return nil, errors.New("it is there and is none of the gate's: move it away")
			}
			return content, nil
		},
		cut: func([]byte) ([]byte, error) { return nil, nil },
	}
}

// ownJSON is an ownFile that holds an object.
func ownJSON(v any, asks func([]byte) bool) place {
	var out bytes.Buffer
	if json.Indent(&out, mustJSON(v), "", "  ") != nil {
		panic("internal error: what was just encoded is no JSON")
	}
	out.WriteByte('\n')
	p := ownFile(out.Bytes())
	p.asks = asks
	return p
}
