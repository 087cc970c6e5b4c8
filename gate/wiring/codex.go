package wiring

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// codex is the Codex CLI. It runs a user's hook only once a person has agreed to it, which config.toml keeps as a hash of
// the entry (codex_trust.go); an administrator's hook needs none, and holds if the same file pins the feature.
func codex() client {
	return client{
		name: "codex", programs: []string{"codex"}, signs: []string{".codex"},
		places: func(h Host, s Scope) []place {
			f := codexFile(h, s)
			merged := place{put: f.put, cut: f.cut, asks: f.asks("PreToolUse")}
			switch s {
			case Managed:
				return []place{h.place(s, h.system("/etc/codex/requirements.toml"), place{
					put: h.putRequirements, cut: cutTOML, asks: requirementsAsk,
				})}
			case Project:
				return []place{h.place(s, filepath.Join(h.Project, ".codex/hooks.json"), merged)}
			default:
				return []place{h.place(s, h.home("CODEX_HOME", ".codex", "hooks.json"), merged)}
			}
		},
		hazards: codexHazards,
	}
}

func codexFile(h Host, s Scope) handlerFile {
	return handlerFile{root: []string{"hooks"}, events: codexEvents(h, s), refuse: codexVoid}
}

// codexNames are the events, in the order in which they are written.
func codexNames() []string {
	return []string{"PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "Stop"}
}

func codexEvents(h Host, s Scope) (events []hooked) {
	for _, name := range codexNames() {
		events = append(events, hooked{name, group("", map[string]any{"type": "command", "command": h.codexLine(s, name), "timeout": hookTimeout})})
	}
	return events
}

func (h Host) codexLine(s Scope, event string) string {
	if event == "PreToolUse" {
		return h.line(s, "codex")
	}
	return h.heard(s, "codex")
}

// codexVoid says what in hooks.json makes Codex ignore all of it.
func codexVoid(t *text) error {
	root, _ := t.value().(map[string]any)
	for key := range root {
		if key != "hooks" && key != "description" {
			return fmt.Errorf("line %d: the key %q, with which Codex ignores the file (it takes hooks and description)", t.line(t.at(key).StartOffset), key)
		}
	}
	return nil
}

// putRequirements puts the hooks into the administrator's file, and pins the feature that a flag could switch off.
func (h Host) putRequirements(old []byte) ([]byte, error) {
	bare, err := cutTOML(old)
	if err != nil {
		return nil, err
	}
	have, err := readTOML(bare)
	if err != nil {
		return nil, err
	}
	var body strings.Builder
	switch on := dig(have, "features", "hooks"); {
	case on == true:
	case on != nil:
		return nil, fmt.Errorf("it says features.hooks = %v, which switches every hook off: take that out", on)
	case have["features"] != nil:
		var ok bool
		if bare, ok = afterHeader(bare, "features", "hooks = true"); !ok {
			return nil, fmt.Errorf("its features are written in one line: add hooks = true to them, and run this again")
		}
	default:
		body.WriteString("[features]\nhooks = true\n\n")
	}
	if dig(have, "hooks", "managed_dir") == nil {
		if have["hooks"] != nil {
			return nil, fmt.Errorf("it has hooks and no managed_dir: add managed_dir = %q to them, and run this again", filepath.Dir(h.Gate))
		}
		fmt.Fprintf(&body, "[hooks]\nmanaged_dir = %s\n\n", mustJSON(filepath.Dir(h.Gate)))
	}
	for i, name := range codexNames() {
		if i > 0 {
			body.WriteByte('\n')
		}
		fmt.Fprintf(&body, "[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %d\n", name, name, mustJSON(h.codexLine(Managed, name)), hookTimeout)
	}
	return checkedTOML(putBlock(bare, body.String()))
}

func checkedTOML(src []byte) ([]byte, error) {
	if _, err := readTOML(src); err != nil {
		return nil, fmt.Errorf("with the gate's part in it, it could not be read (%w)", err)
	}
	return src, nil
}

func cutTOML(old []byte) ([]byte, error) {
	if _, err := readTOML(old); err != nil {
		return nil, err
	}
	out := cutBlock(old)
	if bytes.Equal(out, old) {
		return old, nil
	}
	if _, err := readTOML(out); err != nil {
		return nil, fmt.Errorf("without the gate's part, it could not be read (%w): take that out by hand", err)
	}
	if len(strings.TrimSpace(string(out))) == 0 {
		return nil, nil
	}
	return out, nil
}

func requirementsAsk(src []byte) bool {
	have, err := readTOML(src)
	if err != nil || dig(have, "features", "hooks") != true {
		return false
	}
	entries, _ := dig(have, "hooks", "PreToolUse").([]any)
	for _, e := range entries {
		if n, _ := oursIn(e); n > 0 {
			return true
		}
	}
	return false
}
