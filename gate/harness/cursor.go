package harness

import "gatehouse/gate"

// cursor speaks with Cursor. Reports disagree about what it makes of an empty output, so there is always an object. It
// obeys a question only where a shell line or a tool of an MCP server is about to run.
func cursor() client {
	return client{
		Client: Client{Name: "cursor"},
		events: join(
			named(before, "beforeShellExecution", "beforeMCPExecution", "preToolUse", "beforeReadFile"),
			named(after, "afterShellExecution", "postToolUse", "postToolUseFailure"),
			named(start, "sessionStart"), named(prompt, "beforeSubmitPrompt"), named(end, "stop"),
			named(other, "afterMCPExecution", "afterFileEdit", "afterAgentResponse", "afterAgentThought", "sessionEnd", "subagentStart", "subagentStop",
				"preCompact", "beforeTabFileRead", "afterTabFileEdit"),
		),
		event:      snakeEvent,
		understand: cursorUnderstand,
		write: func(e *event, v verdict) answer {
			decided := func(permission string) fields {
				return fields{"permission", permission, "user_message", v.reason, "agent_message", v.reason}
			}
			switch v.action {
			case refuse:
				if e.kind == end {
					return word(fields{"followup_message", v.reason})
				}
				return refusal(v.reason, decided("deny"))
			case question:
				return refusal(v.reason, decided("ask"))
			case approve:
				return word(fields{"permission", "allow"})
			case note:
				if e.kind == start || e.kind == after {
					return word(fields{"additional_context", v.reason})
				}
			}
			if e.kind == prompt {
				return word(fields{"continue", true})
			}
			return word(fields{})
		},
		broken: universal,
	}
}

func cursorUnderstand(m object, e *event) error {
	e.session, e.cwd, e.said = text(m, "conversation_id"), text(m, "cwd"), text(m, "prompt")
	if e.session == "" {
		e.session = text(m, "session_id")
	}
	roots := texts(m["workspace_roots"])
	if len(roots) > 0 {
		e.cwd = place(e.cwd, roots[0])
	}
	e.ran = e.kind == after
	switch e.name {
	case "beforeShellExecution", "afterShellExecution":
		e.asks = true
		e.requests = []gate.Request{command(m)}
		e.output = text(m, "output")
		return nil
	case "beforeReadFile":
		e.requests = []gate.Request{tool("Read", object{"file_path": m["file_path"]})}
		return nil
	}
	if !e.kind.calls() {
		return nil
	}
	input, err := arguments(m, "tool_input")
	if err != nil {
		return err
	}
	switch name := text(m, "tool_name"); {
	case name == "":
	case e.name == "beforeMCPExecution":
		e.asks = true
		e.requests = []gate.Request{tool(name, input)}
	case name == "Shell":
		e.requests = []gate.Request{within(command(input), either(input, "cwd", "working_directory"))}
	default:
		e.requests = []gate.Request{anyTool(name, input)}
	}
	if e.kind == after {
		output := m["tool_output"]
		if s, ok := output.(string); ok {
			if inner, err := decode([]byte(s)); err == nil {
				output = inner
			}
		}
		e.output = printed(output) + text(m, "error_message")
		e.outcome.Status = statusOf(output)
		e.outcome.Failed = e.outcome.Status == nil && e.name == "postToolUseFailure"
	}
	return nil
}
