package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gatehouse/gate/secret"
)

// recordForm is a record as a line of JSON.
type recordForm struct {
	Seq     uint64          `json:"seq,omitempty"` // written by keep, since it differs from trace to trace
	Of      *origin         `json:"of,omitempty"`  // nil: that of the record before
	Index   int             `json:"index"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Parsed  bool            `json:"parsed"`
	Unknown []string        `json:"unknown,omitempty"`
	Status  *int            `json:"status,omitempty"`
	Known   Known           `json:"known"`
	Cut     []string        `json:"cut,omitempty"`
}

// An origin is what the calls of one line share.
type origin struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session,omitempty"`
	Client  string    `json:"client,omitempty"`
	Cwd     string    `json:"cwd,omitempty"`
	Line    string    `json:"line,omitempty"`
}

// longestBatch bounds the texts of the arguments of all records of one change together.
const longestBatch = 2 << 20

// encodeRecords gives the JSON form of each record, in what it may hold and without the seq and the brace before it.
func encodeRecords(records []Record) [][]byte {
	var out [][]byte
	var last origin
	room := longestBatch
	for i, r := range records {
		args, cut := encodeArgs(r.Args, &room)
		form := recordForm{
			Index: r.Index, Name: bounded(r.Name), Args: args, Parsed: r.Parsed, Unknown: boundedList(r.Unknown), Status: r.Status,
			Known: r.Known, Cut: cut,
		}
		of := origin{r.Time.UTC(), r.Session, r.Client, r.Cwd, r.Line}
		if i == 0 || of != last {
			last = of
			form.Of = &origin{of.Time, bounded(of.Session), bounded(of.Client), bounded(of.Cwd), bounded(secret.Redact(of.Line))}
		}
		text := mustJSON(form)
		out = append(out, text[1:])
	}
	return out
}

// decodeRecord reads a line of a trace; before is the record of the line before it.
func decodeRecord(text []byte, before Record) (Record, error) {
	var f recordForm
	if err := json.Unmarshal(text, &f); err != nil {
		return Record{}, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	args, err := decodeArgs(f.Args)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	r := Record{
		Seq: f.Seq, Index: f.Index, Name: f.Name, Args: args, Parsed: f.Parsed, Unknown: f.Unknown, Status: f.Status, Known: f.Known, Cut: f.Cut,
	}
	of := f.Of
	if of == nil {
		of = &origin{before.Time, before.Session, before.Client, before.Cwd, before.Line}
	}
	r.Time, r.Session, r.Client, r.Cwd, r.Line = of.Time, of.Session, of.Client, of.Cwd, of.Line
	return r, nil
}

// longestArgs bounds the texts of all arguments of one record together.
const longestArgs = 32 << 10

// encodeArgs gives the JSON object of args, in their order, without secrets and within bounds, and the names of those that
// were changed. It takes the length of their texts from batch.
func encodeArgs(args []Arg, batch *int) (text []byte, cut []string) {
	b := []byte{'{'}
	room := max(0, min(longestArgs, *batch))
	*batch -= room
	defer func() { *batch += room }()
	for i, a := range args {
		if i > 0 {
			b = append(b, ',')
		}
		name := bounded(a.Name)
		value, changed := safeValue(a, &room)
		if changed || name != a.Name {
			cut = append(cut, name)
		}
		b = append(append(append(b, mustJSON(name)...), ':'), mustJSON(value)...)
	}
	return append(b, '}'), cut
}

// safeValue is the value of a as it may be kept, and whether that is not what it was. It takes its length from room.
func safeValue(a Arg, room *int) (value any, changed bool) {
	switch v := a.Value.(type) {
	case bool, int:
		return v, false
	case string:
		s := within(secret.RedactNamed(a.Name, v), room)
		return s, s != v
	case []string:
		clean := secret.RedactArgv(v)
		list := make([]string, 0, min(len(v), 64))
		for _, word := range clean {
			if *room <= 0 {
				break
			}
			list = append(list, within(secret.RedactNamed(a.Name, word), room))
		}
		return list, !slices.Equal(list, v)
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte("?")
		}
		return within(secret.RedactNamed(a.Name, string(text)), room), true
	}
}

// within is bounded, by room as well.
func within(s string, room *int) string {
	s = cutTo(s, min(Longest, max(*room, 0)))
	*room -= len(s) + 1
	return s
}

func bounded(s string) string { return cutTo(s, Longest) }

func boundedList(list []string) []string {
	var out []string
	room := longestArgs
	for _, s := range list {
		if room <= 0 {
			break
		}
		out = append(out, within(s, &room))
	}
	return out
}

// cutTo returns s, valid and of at most n bytes and a mark that says how much is missing.
func cutTo(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	end := n
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s«%d bytes cut»", s[:end], len(s)-end)
}

// decodeArgs reads what encodeArgs wrote.
func decodeArgs(text []byte) ([]Arg, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("args: no object: %w", err)
	}
	var args []Arg
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		value, err := decodeValue(raw)
		if err != nil {
			return nil, err
		}
		args = append(args, Arg{name.(string), value})
	}
	_, err := d.Token()
	return args, err
}

func decodeValue(raw []byte) (any, error) {
	var err error
	switch raw[0] {
	case 't', 'f':
		var v bool
		err = json.Unmarshal(raw, &v)
		return v, err
	case '"':
		var v string
		err = json.Unmarshal(raw, &v)
		return v, err
	case '[':
		v := []string{}
		err = json.Unmarshal(raw, &v)
		return v, err
	default:
		var v int
		err = json.Unmarshal(raw, &v)
		return v, err
	}
}

// mustJSON encodes values of which it is known that they can be.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
