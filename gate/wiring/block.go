package wiring

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// In TOML and YAML the gate's words stand at the end of the file between two comments, so that they can be found and
// taken out again whatever happens to the rest; a single line that has to stand elsewhere ends in a comment of ours.
const (
	blockBegin = "# gatehouse: begin (gate hook remove takes this out)"
	blockEnd   = "# gatehouse: end"
	ourLine    = "# gatehouse"
)

// putBlock returns src, which has no block, with one that holds body.
func putBlock(src []byte, body string) []byte {
	out := bytes.Clone(src)
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	if len(bytes.TrimSpace(out)) > 0 {
		out = append(out, '\n')
	}
	return fmt.Appendf(out, "%s\n%s%s\n", blockBegin, body, blockEnd)
}

// cutBlock returns src without its block and without the lines that are ours.
func cutBlock(src []byte) []byte {
	var out []byte
	inside := false
	for line := range bytes.Lines(src) {
		text := strings.TrimRight(string(line), " \t\r\n")
		switch {
		case text == blockBegin:
			inside = true
			if bytes.HasSuffix(out, []byte("\n\n")) {
				out = out[:len(out)-1] // the empty line before it
			}
		case text == blockEnd && inside:
			inside = false
		case inside, strings.HasSuffix(text, ourLine) && text != ourLine:
		default:
			out = append(out, line...)
		}
	}
	if inside { // the end is gone, and with it what was behind it: better nothing is cut
		return bytes.Clone(src)
	}
	return out
}

// readTOML decodes a TOML file, or says which line cannot be read.
func readTOML(src []byte) (map[string]any, error) {
	out := map[string]any{}
	err := toml.Unmarshal(src, &out)
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		row, _ := syntax.Position()
		return nil, fmt.Errorf("line %d: %s", row, strings.TrimPrefix(syntax.Error(), "toml: "))
	}
	return out, err
}

// dig returns what is below the keys of path in decoded TOML or JSON, nil if there is nothing.
func dig(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// afterHeader returns src with a line of ours right behind the header of a TOML table, false if there is no such line.
func afterHeader(src []byte, table, line string) ([]byte, bool) {
	var out []byte
	done := false
	for l := range bytes.Lines(src) {
		out = append(out, l...)
		head, _, _ := strings.Cut(strings.TrimSpace(string(l)), "#")
		if !done && strings.ReplaceAll(strings.TrimSpace(head), " ", "") == "["+table+"]" {
			if l[len(l)-1] != '\n' {
				out = append(out, '\n')
			}
			out = fmt.Appendf(out, "%s %s\n", line, ourLine)
			done = true
		}
	}
	return out, done
}
