package harness

import (
	"strings"

	"gatehouse/gate"
)

// codex speaks with the Codex CLI. It reads answers strictly: a key that it does not know, a deny without a reason, an
// ask or a plain allow make the whole answer void, and the command runs. What the agent types into a program that runs
// is shown to no hook.
func codex() client {
	return client{
		Client: Client{Name: "codex"},
		events: join(
			named(before, "PreToolUse"), named(permission, "PermissionRequest"), named(after, "PostToolUse"),
			named(start, "SessionStart"), named(prompt, "UserPromptSubmit"), named(end, "Stop"),
			named(other, "SubagentStart", "SubagentStop", "SessionEnd", "PreCompact", "PostCompact", "Notification"),
		),
		echoes: true, typesUnseen: true,
		event: snakeEvent,
		understand: func(m object, e *event) error {
			snakeCommon(m, e)
			if !e.kind.calls() {
				return nil
			}
			input, err := arguments(m, "tool_input")
			if err != nil {
				return err
			}
			e.requests = codexCall(text(m, "tool_name"), input)
			if e.kind == before && len(e.requests) == 1 && e.requests[0].Line != "" && text(m, "tool_name") == "Bash" {
				e.input = object{}
			}
			if e.kind == after {
				e.ran = true
				e.output = printed(m["tool_response"])
				e.outcome.Status = statusOf(m["tool_response"]) // of a command it is the bare output, without a status
			}
			return nil
		},
		write: func(e *event, v verdict) answer {
			switch v.action { // as they are, both would be void, and the command run
			case approve:
				v.action = pass
			case question:
				v.action = refuse
			case rewrite: // with allow, or the command runs as it was; and nothing beside it
				return refusal(v.reason, fields{"hookSpecificOutput", fields{"hookEventName", e.name, "permissionDecision", "allow", "updatedInput", v.input}})
			}
			return claudeWrite(e, v)
		},
		broken: universal,
	}
}

func codexCall(name string, input object) []gate.Request {
	switch name {
	case "":
		return nil
	case "Bash", "shell", "shell_command", "exec_command", "local_shell", "unified_exec":
		r := command(input)
		if strings.Contains(r.Line, patchBegin) {
			return []gate.Request{r, tool("apply_patch", object{"input": r.Line})}
		}
		return []gate.Request{r}
	case "write_stdin":
		return []gate.Request{keystrokes(name, input, "chars")}
	case "exec": // JavaScript, each call of which is told by itself
		return []gate.Request{tool(name, input)}
	default:
		return []gate.Request{anyTool(name, input)}
	}
}

// statusOf looks for an exit status among the members of an object.
func statusOf(v any) *int {
	m, ok := v.(object)
	if !ok {
		return nil
	}
	for _, key := range []string{"exit_code", "exitCode", "exit", "returncode"} {
		if n, ok := m[key].(float64); ok && n == float64(int(n)) {
			status := int(n)
			return &status
		}
	}
	for _, key := range []string{"metadata", "details", "result"} {
		if status := statusOf(m[key]); status != nil {
			return status
		}
	}
	return nil
}
