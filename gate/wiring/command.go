package wiring

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// gemini is the Gemini CLI. It takes comments, counts milliseconds, and stops at settings that it cannot read. It hands a
// line to bash, in an environment that .env files of the project and of its own have a part in: before the line, bash runs
// what BASH_ENV names, and ~/.bashrc where SHLVL says that it is the first shell and its input is a socket, as it is here.
func gemini() client {
	return client{
		name: "gemini", aliases: []string{"gemini-cli"}, programs: []string{"gemini"}, signs: []string{".gemini"},
		places: func(h Host, s Scope) []place {
			env := map[string]any{"SHLVL": "2"}
			for _, name := range shellVariables() {
				env[name] = ""
			}
			handler := func(line string) map[string]any {
				return map[string]any{"type": "command", "name": "gatehouse", "command": line, "timeout": hookTimeout * 1000, "env": env}
			}
			heard := handler(h.heard(s, "gemini"))
			f := handlerFile{lenient: comments, root: []string{"hooks"}, events: []hooked{
				{"BeforeTool", group(".*", handler(h.line(s, "gemini")))}, {"AfterTool", group(".*", heard)},
				{"SessionStart", group("", heard)}, {"BeforeAgent", group("", heard)}, {"AfterAgent", group("", heard)},
			}}
			path := h.home("", ".gemini", "settings.json")
			switch s {
			case Managed:
				f.needs = []setting{{path: []string{"hooksConfig", "enabled"}, value: true}}
				path = h.system("/etc/gemini-cli/settings.json")
			case Project:
				path = filepath.Join(h.Project, ".gemini/settings.json")
			}
			return []place{h.place(s, path, place{put: f.put, cut: f.cut, asks: f.asks("BeforeTool")})}
		},
		hazards: geminiHazards,
	}
}

// copilot is the Copilot CLI, which reads every file of a directory. Only the capital spelling of events is used: with
// both, each call would be asked about twice.
func copilot() client {
	return client{
		name: "copilot", aliases: []string{"copilot-cli"}, programs: []string{"copilot"}, signs: []string{".copilot"},
		places: func(h Host, s Scope) []place {
			handler := func(line string) []any {
				return []any{map[string]any{"type": "command", "bash": line, "timeoutSec": hookTimeout}}
			}
			lists := map[string]any{"PreToolUse": handler(h.line(s, "copilot"))}
			for _, event := range []string{"PostToolUse", "PostToolUseFailure", "SessionStart", "UserPromptSubmit", "Stop"} {
				lists[event] = handler(h.heard(s, "copilot"))
			}
			path := h.home("COPILOT_HOME", ".copilot", "hooks/gatehouse.json")
			switch s {
			case Managed:
				path = h.system("/etc/github-copilot/policy.d/gatehouse.json")
			case Project:
				path = filepath.Join(h.Project, ".github/hooks/gatehouse.json")
			}
			f := handlerFile{root: []string{"hooks"}}
			return []place{h.place(s, path, ownJSON(map[string]any{"version": 1, "hooks": lists}, f.asks("PreToolUse")))}
		},
		hazards: copilotHazards,
	}
}

// cursor is Cursor. A shell line is asked about in beforeShellExecution, which can hold it until a person agrees; in
// preToolUse are the other tools. Without failClosed a hook that fails counts for nothing.
func cursor() client {
	return client{
		name: "cursor", programs: []string{"cursor", "cursor-agent"}, signs: []string{".cursor"},
		places: func(h Host, s Scope) []place {
			before := map[string]any{"command": h.line(s, "cursor"), "timeout": hookTimeout, "failClosed": true}
			heard := map[string]any{"command": h.heard(s, "cursor"), "timeout": hookTimeout}
			f := handlerFile{root: []string{"hooks"}, needs: []setting{{path: []string{"version"}, value: 1, keep: true}}, events: []hooked{
				{"beforeShellExecution", before}, {"beforeMCPExecution", before}, {"preToolUse", before}, {"beforeReadFile", before},
				{"afterShellExecution", heard}, {"postToolUse", heard}, {"sessionStart", heard}, {"beforeSubmitPrompt", heard}, {"stop", heard},
			}}
			path := h.home("", ".cursor", "hooks.json")
			switch s {
			case Managed:
				path = h.system("/etc/cursor/hooks.json")
			case Project:
				path = filepath.Join(h.Project, ".cursor/hooks.json")
			}
			return []place{h.place(s, path, place{put: f.put, cut: f.cut, asks: f.asks("beforeShellExecution")})}
		},
		hazards: cursorHazards,
	}
}

// windsurf is Windsurf's Cascade, which has one event for a command that is about to run.
func windsurf() client {
	return client{
		name: "windsurf", aliases: []string{"cascade"}, programs: []string{"windsurf"}, signs: []string{".codeium/windsurf"},
		places: func(h Host, s Scope) []place {
			handler := map[string]any{"command": h.line(s, "windsurf"), "show_output": false}
			f := handlerFile{root: []string{"hooks"}, events: []hooked{{"pre_run_command", handler}}}
			path := h.home("", ".codeium/windsurf", "hooks.json")
			switch s {
			case Managed:
				path = h.system("/etc/windsurf/hooks.json")
			case Project:
				path = filepath.Join(h.Project, ".windsurf/hooks.json")
			}
			return []place{h.place(s, path, place{put: f.put, cut: f.cut, asks: f.asks("pre_run_command")})}
		},
		hazards: unmeasured,
	}
}

// kiro is Kiro, in the form of its version 3, which reads every file of a directory.
func kiro() client {
	return client{
		name: "kiro", aliases: []string{"kiro-cli"}, programs: []string{"kiro-cli", "kiro"}, signs: []string{".kiro"},
		lacks: []Scope{Managed}, why: map[Scope]string{Managed: "none is documented; install it for the user"},
		places: func(h Host, s Scope) []place {
			content := map[string]any{"version": "v1", "hooks": []any{map[string]any{
				"name": "gatehouse", "trigger": "PreToolUse", "matcher": "execute_bash|shell", "timeout": hookTimeout, "enabled": true,
				"action": map[string]any{"type": "command", "command": h.line(s, "kiro")},
			}}}
			path := h.home("", ".kiro", "hooks/gatehouse.json")
			if s == Project {
				path = filepath.Join(h.Project, ".kiro/hooks/gatehouse.json")
			}
			return []place{h.place(s, path, ownJSON(content, mentions(h.told(s, "kiro"))))}
		},
		hazards: unmeasured,
	}
}

// cline is Cline, which runs a program of a certain name. It looks at the output alone.
func cline() client {
	return client{
		name: "cline", programs: []string{"cline"}, signs: []string{".cline", "Documents/Cline"},
		lacks: []Scope{Managed}, why: map[Scope]string{Managed: "it reads none; install it for the user"},
		places: func(h Host, s Scope) []place {
			script := fmt.Appendf(nil, `#!/bin/sh
# gatehouse: every command is judged before it runs. Only the output counts, so that what is no answer becomes a refusal.
%s
%s
out=$($t -s KILL 5 %s)
case $?$out in 0|0{*}|2{*}) ;; *) out='{"cancel":true,"errorMessage":"%s"}';; esac
printf '%%s\n' "$out"
`, noFunctions, strings.TrimSuffix(findTimeout, "; "), h.told(s, "cline"), noAnswer)
			path := h.home("", ".cline", "hooks/PreToolUse.sh")
			if s == Project {
				path = filepath.Join(h.Project, ".cline/hooks/PreToolUse.sh")
			}
			p := ownFile(script)
			p.mode, p.asks = 0o755, mentions(h.told(s, "cline"))
			return []place{h.place(s, path, p)}
		},
		hazards: unmeasured,
	}
}

// vibe is Mistral's Vibe. Without strict, a hook that fails counts for nothing.
func vibe() client {
	return client{
		name: "vibe", aliases: []string{"mistral-vibe"}, programs: []string{"vibe"}, signs: []string{".vibe"},
		lacks: []Scope{Managed}, why: map[Scope]string{Managed: "none is documented; install it for the user"},
		places: func(h Host, s Scope) []place {
			body := fmt.Sprintf("[[hooks]]\nname = \"gatehouse\"\ntype = \"pre_tool\"\nmatch = \"bash\"\ncommand = %s\ntimeout = %d.0\nstrict = true\n",
				mustJSON(h.line(s, "vibe")), hookTimeout)
			path := h.home("VIBE_HOME", ".vibe", "hooks.toml")
			if s == Project {
				path = filepath.Join(h.Project, ".vibe/hooks.toml")
			}
			return []place{h.place(s, path, place{
				put: func(old []byte) ([]byte, error) {
					bare, err := cutTOML(old)
					if err != nil {
						return nil, err
					}
					return checkedTOML(putBlock(bare, body))
				},
				cut: cutTOML, asks: mentions(h.told(s, "vibe")),
			})}
		},
		hazards: unmeasured,
	}
}

// hermes is the Hermes Agent, whose settings are YAML.
func hermes() client {
	return client{
		name: "hermes", programs: []string{"hermes"}, signs: []string{".hermes"},
		lacks: []Scope{Project, Managed}, why: map[Scope]string{
			Project: "it reads none of a project; install it for the user", Managed: "none is documented; install it for the user",
		},
		places: func(h Host, s Scope) []place {
			body := fmt.Sprintf("hooks:\n  pre_tool_call:\n    - matcher: \"terminal|process|execute_code\"\n      command: %s\n      timeout: %d\n      fail_closed: true\n",
				mustJSON(h.line(s, "hermes")), hookTimeout)
			return []place{h.place(s, h.home("HERMES_HOME", ".hermes", "config.yaml"), place{
				put: func(old []byte) ([]byte, error) {
					bare := cutBlock(old)
					for n, line := range slices.Collect(bytes.Lines(bare)) {
						if bytes.HasPrefix(line, []byte("hooks:")) {
							return nil, fmt.Errorf("line %d: it has hooks already: add these there by hand\n%s", n+1, body)
						}
						if bytes.HasPrefix(line, []byte("...")) || n > 0 && bytes.HasPrefix(line, []byte("---")) {
							return nil, fmt.Errorf("line %d: it has more than one document: add these by hand\n%s", n+1, body)
						}
					}
					return putBlock(bare, body), nil
				},
				cut: func(old []byte) ([]byte, error) {
					out := cutBlock(old)
					if bytes.Equal(out, old) {
						return old, nil
					}
					if len(bytes.TrimSpace(out)) == 0 {
						return nil, nil
					}
					return out, nil
				},
				asks: mentions(h.told(s, "hermes")),
			})}
		},
		hazards: unmeasured,
	}
}

// mentions reports whether a text has a command line of a hook in it, however it is quoted there.
func mentions(line string) func([]byte) bool {
	return func(src []byte) bool {
		return bytes.Contains(src, []byte(line)) || bytes.Contains(src, bytes.Trim(mustJSON(line), `"`))
	}
}
