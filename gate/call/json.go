package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// MarshalJSON gives name, args, argv and meta, and elsewhere and effects where there are any to tell.
func (c Call) MarshalJSON() ([]byte, error) {
	argv := c.Argv
	if argv == nil {
		argv = []string{}
	}
	return marshal(struct {
		Name    string   `json:"name"`
		Args    Args     `json:"args"`
		Argv    []string `json:"argv"`
		Meta    Meta     `json:"meta"`
		Else    []Call   `json:"elsewhere,omitempty"`
		Effects []Effect `json:"effects,omitempty"`
	}{c.Name, c.Args, argv, c.Meta, c.Elsewhere, c.Effects})
}

// MarshalJSON gives an object whose members stand in the order of the arguments.
func (a Args) MarshalJSON() ([]byte, error) {
	return object(len(a), func(i int) (string, any) { return a[i].Name, a[i].Value })
}

// UnmarshalJSON reads such an object.
func (a *Args) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("arguments are an object, not %v", t)
	}
	args := Args{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		value, err := argument(raw)
		if err != nil {
			return fmt.Errorf("argument %q: %w", name, err)
		}
		args = append(args, Arg{name.(string), value})
	}
	*a = args
	return nil
}

func argument(raw json.RawMessage) (any, error) {
	switch raw[0] {
	case 't', 'f':
		return raw[0] == 't', nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '[':
		list := []string{}
		err := json.Unmarshal(raw, &list)
		return list, err
	default:
		n, err := strconv.Atoi(string(raw))
		if err != nil {
			return nil, fmt.Errorf("%s is no bool, integer, string or list of strings", raw)
		}
		return n, nil
	}
}

// MarshalJSON gives every key; operator, pipeline and wrapper are null where there is none.
func (m Meta) MarshalJSON() ([]byte, error) {
	redirects, dynamic := m.Redirects, m.DynamicArgs
	if redirects == nil {
		redirects = []Redirect{}
	}
	if dynamic == nil {
		dynamic = []string{}
	}
	var pipeline *int
	if m.Pipeline != 0 {
		pipeline = &m.Pipeline
	}
	return marshal(struct {
		Source      string     `json:"source"`
		Index       int        `json:"index"`
		Operator    *string    `json:"operator"`
		Pipeline    *int       `json:"pipeline"`
		Conditional bool       `json:"conditional"`
		Repeated    bool       `json:"repeated"`
		Background  bool       `json:"background,omitempty"`
		Remote      bool       `json:"remote,omitempty"`
		Sourced     bool       `json:"sourced,omitempty"`
		Depth       int        `json:"depth"`
		Wrapper     *string    `json:"wrapper"`
		Redirects   []Redirect `json:"redirects"`
		Env         Env        `json:"env"`
		DynamicArgs []string   `json:"dynamic_args"`
		SpecMatched bool       `json:"spec_matched"`
	}{
		m.Source, m.Index, orNull(m.Operator), pipeline, m.Conditional, m.Repeated, m.Background, m.Remote, m.Sourced,
		m.Depth, orNull(m.Wrapper), redirects, m.Env, dynamic, m.SpecMatched,
	})
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Meta) UnmarshalJSON(data []byte) error {
	type plain Meta // without methods
	read := struct {
		*plain
		Operator    *string
		Pipeline    *int
		Wrapper     *string
		DynamicArgs []string `json:"dynamic_args"`
		SpecMatched bool     `json:"spec_matched"`
	}{plain: (*plain)(m)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	m.DynamicArgs, m.SpecMatched = read.DynamicArgs, read.SpecMatched
	if read.Operator != nil {
		m.Operator = *read.Operator
	}
	if read.Pipeline != nil {
		m.Pipeline = *read.Pipeline
	}
	if read.Wrapper != nil {
		m.Wrapper = *read.Wrapper
	}
	return nil
}

// MarshalJSON gives op and target, and fd where one was written.
func (r Redirect) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		Op     string `json:"op"`
		Target string `json:"target"`
		FD     *int   `json:"fd,omitempty"`
	}(r))
}

// MarshalJSON gives an object; a variable that was taken away is null, and of several settings the last one counts.
func (e Env) MarshalJSON() ([]byte, error) {
	last := make(Env, 0, len(e))
	for i, v := range e {
		again := false
		for _, later := range e[i+1:] {
			again = again || later.Name == v.Name
		}
		if !again {
			last = append(last, v)
		}
	}
	return object(len(last), func(i int) (string, any) {
		if last[i].Unset {
			return last[i].Name, nil
		}
		return last[i].Name, last[i].Value
	})
}

// UnmarshalJSON reads such an object.
func (e *Env) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("an environment is an object, not %v", t)
	}
	*e = Env{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value *string
		if err := dec.Decode(&value); err != nil {
			return err
		}
		v := Var{Name: name.(string), Unset: value == nil}
		if value != nil {
			v.Value = *value
		}
		*e = append(*e, v)
	}
	return nil
}

// MarshalJSON leaves out what does not apply; sure is "sure", "maybe" or "unknown".
func (e Effect) MarshalJSON() ([]byte, error) {
	return marshal(effect{e.Kind.String(), e.Path, e.Text, e.Arg, e.Sure.String(), e.Pattern, e.Tree, e.Remote, e.Outside})
}

// UnmarshalJSON reads what MarshalJSON wrote. A kind or certainty that it does not know is one that is not known.
func (e *Effect) UnmarshalJSON(data []byte) error {
	var read effect
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*e = Effect{
		Path: read.Path, Text: read.Text, Arg: read.Arg,
		Pattern: read.Pattern, Tree: read.Tree, Remote: read.Remote, Outside: read.Outside,
	}
	e.Kind = EffectKind(max(0, slices.Index(effectKinds[:], read.Kind)))
	e.Sure = Certainty(max(0, slices.Index(certainties[:], read.Sure)))
	return nil
}

type effect struct {
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"`
	Text    string `json:"text,omitempty"`
	Arg     string `json:"arg,omitempty"`
	Sure    string `json:"sure"`
	Pattern bool   `json:"pattern,omitempty"`
	Tree    bool   `json:"tree,omitempty"`
	Remote  bool   `json:"remote,omitempty"`
	Outside bool   `json:"outside,omitempty"`
}

// object writes n members in their order.
func object(n int, member func(int) (string, any)) ([]byte, error) {
	out := []byte{'{'}
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		name, value := member(i)
		for j, v := range []any{name, value} {
			data, err := marshal(v)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				out = append(out, ':')
			}
			out = append(out, data...)
		}
	}
	return append(out, '}'), nil
}

// marshal is json.Marshal, but <, > and & stay readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
