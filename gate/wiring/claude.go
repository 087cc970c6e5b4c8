package wiring

import (
	"fmt"
	"path/filepath"
	"slices"
)

// hookTimeout is what clients are told to wait, in seconds. The gate answers well before.
const hookTimeout = 10

// claude is Claude Code. Its settings are plain JSON: a comment, or one entry that it does not understand, and it ignores
// the whole file without a word. A settings file of the administrator's own holds against everything that a project, a
// user or a flag can say.
func claude() client {
	return client{
		name: "claude-code", aliases: []string{"claude"}, programs: []string{"claude"}, signs: []string{".claude", ".claude.json"},
		places: func(h Host, s Scope) []place {
			f := handlerFile{root: []string{"hooks"}, events: claudeEvents(h, s), refuse: claudeVoid}
			merged := place{put: f.put, cut: f.cut, asks: f.asks("PreToolUse")}
			switch s {
			case Managed:
				lists := map[string]any{}
				for _, e := range f.events {
					lists[e.event] = []any{e.entry}
				}
				return []place{h.place(s, h.system("/etc/claude-code/managed-settings.d/gatehouse.json"), ownJSON(map[string]any{"hooks": lists}, merged.asks))}
			case Project:
				return []place{h.place(s, filepath.Join(h.Project, ".claude/settings.json"), merged)}
			default:
				return []place{h.place(s, h.home("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), merged)}
			}
		},
		hazards: claudeHazards,
	}
}

func claudeEvents(h Host, s Scope) []hooked {
	gate := append([]string{h.program(s), "hook", "claude-code"}, h.Flags...)
	handler := map[string]any{
		"type": "command", "command": "/bin/sh", "args": append([]string{"-c", judged, "gatehouse"}, gate...), "timeout": hookTimeout, "onFailure": "block",
	}
	told := map[string]any{ // these cannot be refused, and a fault of theirs must not stop a session
		"type": "command", "command": gate[0], "args": gate[1:], "timeout": hookTimeout,
	}
	return []hooked{
		{"PreToolUse", group("*", handler)}, {"PreSkillShellCommand", group("*", handler)},
		{"PostToolUse", group("*", told)}, {"PostToolUseFailure", group("*", told)},
		{"SessionStart", group("", told)}, {"UserPromptSubmit", group("", told)}, {"Stop", group("", told)},
	}
}

// group is an entry with a matcher, if there is one, and one handler.
func group(matcher string, handler map[string]any) map[string]any {
	g := map[string]any{"hooks": []any{handler}}
	if matcher != "" {
		g["matcher"] = matcher
	}
	return g
}

// claudeVoid says what in a settings file makes Claude Code ignore all of it.
func claudeVoid(t *text) error {
	lists, ok := t.value("hooks").(map[string]any)
	if !ok && t.at("hooks") != nil {
		return fmt.Errorf("line %d: hooks is no object, so the client ignores the whole file", t.line(t.at("hooks").StartOffset))
	}
	kinds := []string{"command", "http", "mcp_tool", "prompt", "agent"}
	for event := range lists {
		at := t.at("hooks", event)
		bad := func(offset int, format string, args ...any) error {
			return fmt.Errorf("line %d: hooks.%s %s, so the client ignores the whole file", t.line(offset), event, fmt.Sprintf(format, args...))
		}
		entries, ok := lists[event].([]any)
		if !ok {
			return bad(at.StartOffset, "is no list")
		}
		for i, entry := range entries {
			where := elements(at)[i].StartOffset
			handlers, ok := dig(entry, "hooks").([]any)
			if !ok {
				return bad(where, "has an entry without a list of hooks")
			}
			for _, h := range handlers {
				kind, _ := dig(h, "type").(string)
				_, command := dig(h, "command").(string)
				switch {
				case !slices.Contains(kinds, kind):
					return bad(where, "has a hook of type %q", kind)
				case kind == "command" && !command:
					return bad(where, "has a hook without a command")
				}
			}
		}
	}
	return nil
}
