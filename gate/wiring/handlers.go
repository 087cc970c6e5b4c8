package wiring

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"
)

// Most clients keep their hooks in JSON, as lists by event: hooks.EVENT is a list of groups {matcher, hooks: [handler…]},
// or of handlers themselves.

// A hooked event is one that the gate is asked about.
type hooked struct {
	event string
	entry map[string]any // what stands in the list of the event: a group or a handler
}

// A handlerFile is a JSON file with such lists.
type handlerFile struct {
	lenient bool              // the client takes comments
	root    []string          // keys above the lists
	events  []hooked          // in this order
	needs   []setting         // other keys that have to stand in the file
	refuse  func(*text) error // what makes the client ignore the file, though it can be read
}

// A setting is a key with the value that it has to have.
type setting struct {
	path  []string
	value any
	keep  bool // another value that is there stays
}

// put returns old with one entry of ours for each event and none elsewhere.
func (f handlerFile) put(old []byte) ([]byte, error) {
	t, err := f.read(old)
	if err != nil {
		return nil, err
	}
	for _, s := range f.needs {
		if s.keep && t.at(s.path...) != nil {
			continue
		}
		if err := t.set(s.value, s.path...); err != nil {
			return nil, err
		}
	}
	for _, e := range f.events {
		at := f.path(e.event)
		if ours, exact := f.count(t, e); ours == 1 && exact == 1 {
			continue
		}
		if err := f.cutEvent(t, e.event); err != nil {
			return nil, err
		}
		if err := t.add(e.entry, at...); err != nil {
			return nil, err
		}
	}
	for _, event := range f.present(t) {
		if !slices.ContainsFunc(f.events, func(e hooked) bool { return e.event == event }) {
			if err := f.cutEvent(t, event); err != nil {
				return nil, err
			}
		}
	}
	if old != nil && bytes.Equal(old, t.src) {
		return old, nil
	}
	return t.src, nil
}

// cut returns old without entries of ours.
func (f handlerFile) cut(old []byte) ([]byte, error) {
	t, err := parseText(old, f.lenient)
	if err != nil {
		return nil, err
	}
	was := t.src
	for _, event := range f.present(t) {
		if err := f.cutEvent(t, event); err != nil {
			return nil, err
		}
	}
	if bytes.Equal(was, t.src) {
		return old, nil
	}
	for _, s := range f.needs { // what nothing else is left to need
		if t.at(f.root...) == nil && equalJSON(t.value(s.path...), s.value) {
			if err := t.remove(s.path...); err != nil {
				return nil, err
			}
		}
	}
	if o, ok := t.value().(map[string]any); ok && len(o) == 0 && onlyBraces(t.src) {
		return nil, nil
	}
	return t.src, nil
}

func (f handlerFile) read(old []byte) (*text, error) {
	t, err := parseText(old, f.lenient)
	if err != nil {
		return nil, err
	}
	if f.refuse != nil {
		if err := f.refuse(t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (f handlerFile) path(more ...string) []string { return append(slices.Clone(f.root), more...) }

// present lists the events that have a list.
func (f handlerFile) present(t *text) (events []string) {
	lists, _ := t.value(f.root...).(map[string]any)
	for event := range lists {
		events = append(events, event)
	}
	slices.Sort(events)
	return events
}

// count says how many entries of an event have a handler of ours, and how many are just as they should be.
func (f handlerFile) count(t *text, e hooked) (ours, exact int) {
	for _, entry := range t.list(f.path(e.event)...) {
		if n, _ := oursIn(entry); n > 0 {
			ours++
		}
		if equalJSON(entry, e.entry) {
			exact++
		}
	}
	return ours, exact
}

// cutEvent takes the handlers of ours out of the list of an event.
func (f handlerFile) cutEvent(t *text, event string) error {
	at := f.path(event)
	list := t.list(at...)
	for i := len(list) - 1; i >= 0; i-- {
		n, of := oursIn(list[i])
		if n == 0 {
			continue
		}
		if n == of {
			if err := t.drop(i, at...); err != nil {
				return err
			}
			continue
		}
		// A group that somebody put other handlers into stays, without ours.
		group := list[i].(map[string]any)
		group["hooks"] = slices.DeleteFunc(slices.Clone(group["hooks"].([]any)), isOurs)
		if err := t.replaceElement(i, group, at...); err != nil {
			return err
		}
	}
	return nil
}

// oursIn counts the handlers of an entry, a group or a handler, and those of them that ask the gate.
func oursIn(entry any) (ours, of int) {
	m, _ := entry.(map[string]any)
	handlers, isGroup := m["hooks"].([]any)
	if !isGroup {
		if isOurs(entry) {
			return 1, 1
		}
		return 0, 1
	}
	for _, h := range handlers {
		if isOurs(h) {
			ours++
		}
	}
	return ours, len(handlers)
}

// isOurs reports whether a handler asks the gate.
func isOurs(handler any) bool {
	m, _ := handler.(map[string]any)
	for _, key := range []string{"command", "bash"} {
		line, _ := m[key].(string)
		if isHook(line) {
			return true
		}
		if args, ok := m["args"].([]any); ok && gateIn(append([]string{line}, texts(args)...)) >= 0 {
			return true
		}
	}
	return false
}

// texts are the texts of a list; what is none is empty.
func texts(list []any) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i], _ = v.(string)
	}
	return all
}

// asks reports whether the file has a handler of ours for the event that is judged before a call.
func (f handlerFile) asks(event string) func(text []byte) bool {
	return func(src []byte) bool {
		t, err := parseText(src, f.lenient)
		if err != nil || f.refuse != nil && f.refuse(t) != nil {
			return false
		}
		for _, entry := range t.list(f.path(event)...) {
			if n, _ := oursIn(entry); n > 0 {
				return true
			}
		}
		return false
	}
}

// replaceElement writes an element of a list anew.
func (t *text) replaceElement(i int, v any, path ...string) error {
	at := t.at(path...)
	if at == nil {
		return nil
	}
	e := elements(at)[i]
	return t.splice(e.StartOffset, e.EndOffset, t.pretty(v, t.indentAt(e.StartOffset)))
}

func elements(v *hujson.Value) []hujson.Value {
	if a, ok := v.Value.(*hujson.Array); ok {
		return a.Elements
	}
	return nil
}

// onlyBraces reports whether a text is an empty object and nothing else.
func onlyBraces(src []byte) bool {
	var v map[string]any
	return json.Unmarshal(src, &v) == nil && len(v) == 0
}
