package harness

import "gatehouse/gate"

// opencode and OpenClaw have no hook programs: a plugin of ours runs inside them, passes on what it is told, and runs
// nothing unless the gate ends with exit 0 and says nothing, or nothing that refuses. So a refusal is exit 2 as well.

// opencode speaks with our plugin in opencode.
func opencode() client {
	return client{
		Client: Client{Name: "opencode"},
		events: join(
			named(before, "tool.execute.before"), named(after, "tool.execute.after"), named(start, "session.created"),
			named(prompt, "chat.message"), named(end, "session.idle"), named(other, "init", "command.execute.before"),
		),
		event: snakeEvent,
		understand: func(m object, e *event) error {
			in, out := member(m, "hookInput"), member(m, "hookOutput")
			e.session, e.agent, e.cwd = text(in, "sessionID"), text(m, "parent"), text(m, "directory")
			if e.agent != "" { // the work of one person's session, whoever does it there
				e.session = e.agent
			}
			if !e.kind.calls() {
				e.said = printed(out)
				return nil
			}
			args := member(out, "args")
			if args == nil {
				args = member(in, "args")
			}
			switch name := text(in, "tool"); {
			case name == "" || args == nil && e.kind == after:
			case name == "bash":
				e.requests = []gate.Request{within(command(args), args["workdir"])}
				if e.kind == before {
					e.input = object{}
				}
			default:
				e.requests = []gate.Request{anyTool(name, args)}
			}
			if e.kind == after {
				e.ran = true
				e.output = printed(out["output"])
				e.outcome.Status = statusOf(out)
			}
			return nil
		},
		write: func(e *event, v verdict) answer {
			switch v.action {
			case refuse, question:
				if e.kind == end {
					return word(fields{"decision", "block", "reason", v.reason})
				}
				return by2(v.reason, fields{"decision", "deny", "reason", v.reason})
			case rewrite:
				return refusal(v.reason, fields{"rewrite", v.input})
			case note:
				return word(fields{"note", v.reason})
			}
			return answer{}
		},
		broken: func(reason string) answer { return by2(reason, fields{"decision", "deny", "reason", reason}) },
	}
}

// openclaw speaks with our plugin in OpenClaw, which hands the object on as the result of its hook.
func openclaw() client {
	return client{
		Client: Client{Name: "openclaw"},
		events: join(
			named(before, "before_tool_call"), named(after, "after_tool_call"), named(start, "session_start"), named(prompt, "message_received"),
			named(other, "session_end", "agent_end", "gateway_start", "gateway_stop"),
		),
		event: snakeEvent,
		understand: func(m object, e *event) error {
			in, around := member(m, "event"), member(m, "ctx")
			e.cwd, e.session = text(m, "cwd"), text(around, "sessionKey")
			if e.session == "" {
				e.session = text(around, "sessionId")
			}
			if owner, ok := member(around, "requester")["senderIsOwner"].(bool); ok && !owner {
				e.agent = "guest" // what somebody else says in a group is no word of the owner
			}
			e.asks = e.kind == before
			if !e.kind.calls() {
				e.said = printed(in)
				return nil
			}
			params, err := arguments(in, "params")
			if err != nil {
				return err
			}
			e.requests = openclawCall(in, params)
			if e.kind == before && text(in, "toolName") == "exec" {
				e.input = params
			}
			if e.kind == after {
				e.ran = true
				e.output = printed(in["result"]) + text(in, "error")
				e.outcome.Status = statusOf(in["result"])
				e.outcome.Failed = e.outcome.Status == nil && text(in, "error") != ""
			}
			return nil
		},
		write: func(e *event, v verdict) answer {
			switch v.action {
			case refuse:
				return by2(v.reason, fields{"block", true, "blockReason", v.reason})
			case question:
				return refusal(v.reason, fields{"requireApproval", fields{"title", v.title, "description", shorten(v.reason, 250),
					"severity", "warning", "timeoutBehavior", "deny"}})
			case rewrite:
				return refusal(v.reason, fields{"params", v.input})
			case note:
				if e.kind != before {
					return word(fields{"note", v.reason})
				}
			}
			return answer{}
		},
		broken: func(reason string) answer { return by2(reason, fields{"block", true, "blockReason", reason}) },
	}
}

func openclawCall(in, params object) []gate.Request {
	name := text(in, "toolName")
	switch name {
	case "":
		return nil
	case "exec", "bash":
		if kind := text(in, "toolKind") + text(in, "toolInputKind"); kind != "" && kind != "shell" && kind != "exec" {
			return []gate.Request{objected(tool(name, params), "this exec runs JavaScript, which the gate cannot judge", "turn code mode off")}
		}
		r := within(command(params), params["workdir"])
		if env, ok := params["env"].(object); len(env) > 0 || !ok && params["env"] != nil {
			r = objected(r, "variables are set beside the command, where they cannot be judged", "write them before the command: NAME=value command")
		}
		switch params["host"] { // of other spellings, " Node" is another machine too
		case nil, "", "auto", "gateway", "sandbox":
		default:
			r = objected(r, "it would run on another machine, whose files the gate does not see", "run it here")
		}
		return []gate.Request{r}
	case "process":
		return []gate.Request{process(name, params)}
	default:
		return []gate.Request{anyTool(name, params)}
	}
}
