package ltl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gatehouse/gate/call"
)

// An Event is one call of a trace, as far as it is known.
type Event struct {
	Name      string
	Args      map[string]any // nil, bool, numbers, string, []string, []any and map[string]any
	Result    any
	HasResult bool
	Status    *int     // exit status, for patterns of the host
	Step      *int     // calls of one step ran side by side
	Unknown   []string // arguments whose value will be another one, or more, when the call runs
	Loose     bool     // it may have arguments that are not in Args
	Doubt     bool     // it may not have run: then it is no part of the trace
}

// Of returns the event that c is. A call that its spec does not understand as a whole is loose, and an argument that
// holds a word known only at run time is unknown.
func Of(c call.Call) Event {
	e := Event{Name: c.Name, Args: make(map[string]any, len(c.Args)), Loose: !c.Meta.SpecMatched}
	dynamic := func(s string) bool {
		return slices.ContainsFunc(c.Meta.DynamicArgs, func(d string) bool {
			return s == d || s != "" && strings.Contains(d, s)
		})
	}
	for _, a := range c.Args {
		e.Args[a.Name] = a.Value
		switch v := a.Value.(type) {
		case string:
			if dynamic(v) {
				e.Unknown = append(e.Unknown, a.Name)
			}
		case []string:
			if slices.ContainsFunc(v, dynamic) {
				e.Unknown = append(e.Unknown, a.Name)
			}
		}
	}
	switch v, _ := c.Args.Get("unknown_paths"); v := v.(type) {
	case bool:
		e.Loose = e.Loose || v
	case []string:
		e.Unknown = append(e.Unknown, v...)
	}
	return e
}

// UnmarshalJSON reads {"name", "args", "result", "status", "step", "unknown", "doubt"}, of which all but the name may be
// missing. "unknown" is a list of arguments, or true: then there may be others too. "doubt" is true of a call that may not
// have run. Other keys are not looked at.
func (e *Event) UnmarshalJSON(data []byte) error {
	var read struct {
		Name    *string         `json:"name"`
		Args    map[string]any  `json:"args"`
		Result  json.RawMessage `json:"result"`
		Status  *int            `json:"status"`
		Step    *int            `json:"step"`
		Unknown json.RawMessage `json:"unknown"`
		Doubt   bool            `json:"doubt"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&read); err != nil {
		return err
	}
	if read.Name == nil || *read.Name == "" {
		return fmt.Errorf(`a call needs a "name"`)
	}
	got := Event{Name: *read.Name, Args: read.Args, Status: read.Status, Step: read.Step, Doubt: read.Doubt}
	for name, v := range got.Args {
		got.Args[name] = normal(v)
	}
	if read.Result != nil {
		dec := json.NewDecoder(bytes.NewReader(read.Result))
		dec.UseNumber()
		if err := dec.Decode(&got.Result); err != nil {
			return err
		}
		got.Result, got.HasResult = normal(got.Result), true
	}
	switch string(read.Unknown) {
	case "", "false", "null":
	case "true":
		got.Loose = true
	default:
		if err := json.Unmarshal(read.Unknown, &got.Unknown); err != nil {
			return fmt.Errorf(`"unknown" is true or a list of arguments: %w`, err)
		}
	}
	*e = got
	return nil
}

// normal returns v with numbers as int64 where they are whole and fit, else as float64.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return string(v) // too large for any number that a formula can name
		}
		return normal(f)
	case int:
		return int64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v)
		}
		return v
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = normal(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k := range v {
			object[k] = normal(v[k])
		}
		return object
	default:
		return v
	}
}

// equal compares two values. A bool is no number, and a number is no text.
func equal(a, b any) bool {
	switch a := normal(a).(type) {
	case []any:
		b, ok := normal(b).([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := normal(b).(map[string]any)
		return ok && len(a) == len(b) && includes(b, a)
	case nil, bool, int64, float64, string:
		switch b := normal(b).(type) {
		case nil, bool, int64, float64, string:
			return a == b
		}
	}
	return false
}

// includes reports whether v has all members of want.
func includes(v, want map[string]any) bool {
	for k := range want {
		got, ok := v[k]
		if !ok || !equal(got, want[k]) {
			return false
		}
	}
	return true
}

// resultIs reports whether got is the result that was expected.
func resultIs(got, want any) bool {
	object, ok := want.(map[string]any)
	if !ok {
		return equal(got, want)
	}
	has, ok := got.(map[string]any)
	return ok && includes(has, object)
}

// unsure reports whether the argument name can have a value, or another value, that is not in Args.
func (e *Event) unsure(name string) bool {
	if slices.Contains(e.Unknown, name) {
		return true
	}
	_, ok := e.Args[name]
	return e.Loose && !ok
}

// has reports whether e is a call of tool with the arguments of conds that are values.
func (e *Event) has(tool string, conds []Cond) Truth {
	if e.Name != tool {
		return No
	}
	t := Yes
	for _, c := range conds {
		switch {
		case c.Var != "":
		case e.unsure(c.Name):
			t = t.both(Maybe)
		default:
			t = t.both(truth(equal(e.Args[c.Name], c.Value)))
		}
	}
	return t
}

// maxBound is the number of combinations of values that one call may have; beyond it they count as not known.
const maxBound = 4096

// bind says with which values of vars e matches f.
func (f NowWith) bind(e *Event, vars []string) Bound {
	match := e.has(f.Tool, f.Args)
	if match == No {
		return Bound{}
	}
	keys := []string{""}
	unsure := false
	for _, v := range vars {
		var values []string
		first := true
		for _, c := range f.Args {
			if c.Var != v {
				continue
			}
			if e.unsure(c.Name) {
				unsure = true
			}
			got := elements(e.Args[c.Name])
			if first {
				values = got
			} else {
				values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return !slices.Contains(got, s) })
			}
			first = false
		}
		if len(keys)*len(values) > maxBound {
			return Bound{Any: true}
		}
		next := make([]string, 0, len(keys)*len(values))
		for _, k := range keys {
			for _, s := range values {
				next = append(next, k+s)
			}
		}
		keys = next
	}
	for i := range keys {
		keys[i] = short(keys[i])
	}
	if unsure {
		return Bound{Maybe: keys, Any: true}
	}
	if match == Maybe {
		return Bound{Maybe: keys}
	}
	return Bound{Sure: keys}
}

// elements returns the encoded elements of a list, or the one value that v is; nothing for what is not there.
func elements(v any) []string {
	switch v := normal(v).(type) {
	case nil:
		return nil
	case []any:
		all := make([]string, 0, len(v))
		for _, e := range v {
			if s := encode(e); !slices.Contains(all, s) {
				all = append(all, s)
			}
			if len(all) > maxBound {
				break
			}
		}
		return all
	default:
		return []string{encode(v)}
	}
}

// encode writes v so that different values differ, also when they are joined.
func encode(v any) string {
	var text string
	if s, ok := v.(string); ok {
		text = "s" + s
	} else {
		data, err := json.Marshal(v) // sorts the keys of objects
		if err != nil {
			data = fmt.Append(nil, v)
		}
		text = "j" + string(data)
	}
	return strconv.Itoa(len(text)) + ":" + text
}

// short keeps the memory of a key small, whatever the value was.
func short(key string) string {
	if len(key) <= 96 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "#" + hex.EncodeToString(sum[:])
}
