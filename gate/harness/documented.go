package harness

import "gatehouse/gate"

// The clients of this file are known from what their vendors document, not from having seen them at work; of cline, the
// command line was seen. For them the gate judges what is about to run, and nothing else.

// cline speaks with Cline, whose command line and extension differ. It looks at the object alone.
func cline() client {
	return client{
		Client: Client{Name: "cline"},
		events: join(
			named(before, "tool_call", "PreToolUse"), named(prompt, "UserPromptSubmit"),
			named(other, "tool_result", "PostToolUse", "TaskStart", "TaskResume", "TaskCancel", "TaskComplete", "PreCompact", "agent_end"),
		),
		event: func(m object) string { return text(m, "hookName") },
		understand: func(m object, e *event) error {
			e.session, e.agent = text(m, "taskId"), text(m, "parent_agent_id")
			if roots := texts(m["workspaceRoots"]); len(roots) > 0 {
				e.cwd = roots[0]
			}
			if !e.kind.calls() {
				return nil
			}
			call := member(m, "tool_call")
			name, key := text(call, "name"), "input"
			if call == nil {
				call = member(m, "preToolUse")
				name, key = text(call, "toolName"), "parameters"
			}
			input, err := arguments(call, key)
			if err != nil {
				return err
			}
			switch name {
			case "":
			case "run_commands":
				lines := texts(input["commands"])
				if len(lines) == 0 {
					e.requests = []gate.Request{objected(tool(name, input), "the commands are not a list of texts", "")}
				}
				for _, l := range lines {
					e.requests = append(e.requests, line(l, ""))
				}
			case "execute_command":
				e.requests = []gate.Request{command(input)}
			default:
				e.requests = []gate.Request{anyTool(name, input)}
			}
			return nil
		},
		write: func(e *event, v verdict) answer {
			if v.action == refuse || v.action == question {
				return refusal(v.reason, fields{"cancel", true, "errorMessage", v.reason})
			}
			return answer{}
		},
		broken: universal,
	}
}

// vibe speaks with Mistral Vibe, to which an exit status is a failed hook, and no refusal.
func vibe() client {
	deny := func(reason string) answer { return refusal(reason, fields{"decision", "deny", "reason", reason}) }
	return client{
		Client: Client{Name: "vibe", Aliases: []string{"mistral-vibe"}},
		events: join(named(before, "pre_tool", "before_tool"), named(other, "post_tool", "after_tool", "post_agent", "post_agent_turn")),
		event:  snakeEvent,
		understand: func(m object, e *event) error {
			snakeCommon(m, e)
			return snakeCall(m, e, "bash")
		},
		write: func(_ *event, v verdict) answer {
			if v.action == refuse || v.action == question {
				return deny(v.reason)
			}
			return answer{}
		},
		broken: deny,
	}
}

// hermes speaks with the shell hooks of the Hermes agent.
func hermes() client {
	deny := func(reason string) answer { return by2(reason, fields{"decision", "block", "reason", reason}) }
	return client{
		Client: Client{Name: "hermes"},
		events: join(named(before, "pre_tool_call"), named(other, "post_tool_call", "pre_llm_call", "post_llm_call", "on_session_start", "on_session_end")),
		event:  snakeEvent,
		understand: func(m object, e *event) error {
			snakeCommon(m, e)
			switch name, input := text(m, "tool_name"), member(m, "tool_input"); name {
			case "process":
				e.requests = []gate.Request{process(name, input)}
			case "execute_code":
				e.requests = []gate.Request{objected(tool(name, input), "this runs Python, which the gate cannot judge", "use the terminal tool")}
			default:
				return snakeCall(m, e, "terminal")
			}
			return nil
		},
		write: func(_ *event, v verdict) answer {
			if v.action == refuse || v.action == question {
				return deny(v.reason)
			}
			return answer{}
		},
		broken: deny,
	}
}

// kiro speaks with Kiro, which obeys the exit status 2 and reads the error output.
func kiro() client {
	return client{
		Client: Client{Name: "kiro", Aliases: []string{"kiro-cli"}},
		events: join(named(before, "preToolUse", "PreToolUse"), named(prompt, "userPromptSubmit", "UserPromptSubmit"),
			named(other, "postToolUse", "PostToolUse", "agentSpawn", "stop", "Stop")),
		event: snakeEvent,
		understand: func(m object, e *event) error {
			snakeCommon(m, e)
			if !e.kind.calls() {
				return nil
			}
			return snakeCall(m, e, "execute_bash", "shell")
		},
		write:  byStatus,
		broken: func(reason string) answer { return by2(reason, nil) },
	}
}

// windsurf speaks with Windsurf, which obeys the exit status 2 and never reads the standard output.
func windsurf() client {
	return client{
		Client: Client{Name: "windsurf", Aliases: []string{"cascade"}},
		events: join(named(before, "pre_run_command", "pre_write_code", "pre_read_code", "pre_mcp_tool_use"), named(prompt, "pre_user_prompt"),
			named(other, "post_run_command", "post_write_code", "post_read_code", "post_mcp_tool_use", "post_cascade_response")),
		event: func(m object) string { return text(m, "agent_action_name") },
		understand: func(m object, e *event) error {
			e.session = text(m, "trajectory_id")
			info := member(m, "tool_info")
			e.cwd = text(info, "cwd")
			switch e.name {
			case "pre_run_command":
				e.requests = []gate.Request{command(object{"command": info["command_line"]})}
			case "pre_write_code":
				e.requests = []gate.Request{tool("Edit", object{"file_path": info["file_path"]})}
			case "pre_read_code":
				e.requests = []gate.Request{tool("Read", object{"file_path": info["file_path"]})}
			case "pre_mcp_tool_use":
				args, err := arguments(info, "mcp_tool_arguments")
				if err != nil {
					return err
				}
				e.requests = []gate.Request{tool("mcp__"+text(info, "mcp_server_name")+"__"+text(info, "mcp_tool_name"), args)}
			}
			return nil
		},
		write:  byStatus,
		broken: func(reason string) answer { return by2(reason, nil) },
	}
}

func byStatus(_ *event, v verdict) answer {
	if v.action == refuse || v.action == question {
		return by2(v.reason, nil)
	}
	return answer{}
}

// snakeCall reads the call of a tool under the names that most clients have for its parts; shells are the names of those
// that run a line.
func snakeCall(m object, e *event, shells ...string) error {
	input, err := arguments(m, "tool_input")
	if err != nil {
		return err
	}
	name := text(m, "tool_name")
	for _, shell := range shells {
		if name == shell {
			e.requests = []gate.Request{within(command(input), input["workdir"])}
			return nil
		}
	}
	if name != "" {
		e.requests = []gate.Request{anyTool(name, input)}
	}
	return nil
}
