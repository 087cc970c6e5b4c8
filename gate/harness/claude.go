package harness

import (
	"strconv"
	"strings"

	"gatehouse/gate"
)

// claudeCode speaks with Claude Code. Its deny is JSON with exit 0; the name of the event in the answer has to be that of
// the input, or the answer counts for nothing.
func claudeCode() client {
	return client{
		Client: Client{Name: "claude-code", Aliases: []string{"claude"}},
		events: join(
			named(before, "PreToolUse", "PreSkillShellCommand"), named(permission, "PermissionRequest"),
			named(after, "PostToolUse", "PostToolUseFailure"), named(start, "SessionStart"), named(prompt, "UserPromptSubmit"), named(end, "Stop"),
			named(other, "Notification", "SubagentStart", "SubagentStop", "SessionEnd", "PreCompact", "PostCompact"),
		),
		event: snakeEvent,
		understand: func(m object, e *event) error {
			snakeCommon(m, e)
			e.asks = e.name == "PreToolUse"
			if !e.kind.calls() {
				return nil
			}
			input, err := arguments(m, "tool_input")
			if err != nil {
				return err
			}
			e.requests = claudeCall(text(m, "tool_name"), input)
			if e.name == "PreToolUse" && text(m, "tool_name") == "Bash" {
				e.input = input
			}
			claudeOutcome(m, e)
			return nil
		},
		write:  claudeWrite,
		broken: universal,
	}
}

// claudeCall is what a call of a tool asks for.
func claudeCall(name string, input object) []gate.Request {
	switch name {
	case "":
		return nil
	case "Bash", "Monitor", "run_in_terminal":
		return []gate.Request{command(input)}
	default:
		return []gate.Request{anyTool(name, input)}
	}
}

// claudeOutcome reads how a call ended. A tool that returns at all was successful; a failure has an event of its own.
func claudeOutcome(m object, e *event) {
	if e.kind != after {
		return
	}
	e.ran = true
	if e.name == "PostToolUseFailure" {
		problem := text(m, "error")
		e.output = problem
		interrupted, _ := m["is_interrupt"].(bool)
		if status, ok := leadingStatus(problem, "Exit code "); ok {
			e.outcome.Status = &status
		} else if !interrupted {
			e.outcome.Failed = true
		}
		return
	}
	e.output = printed(m["tool_response"])
	response := member(m, "tool_response")
	cut, _ := response["interrupted"].(bool)
	background, _ := member(m, "tool_input")["run_in_background"].(bool)
	// Some statuses other than 0 count as success there (grep without a match), with a word about it.
	if !cut && !background && text(response, "returnCodeInterpretation") == "" && text(response, "backgroundTaskId") == "" {
		e.outcome.Status = new(int)
	}
}

// leadingStatus reads the number behind a prefix at the beginning of a text.
func leadingStatus(s, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(c rune) bool { return c != '-' && (c < '0' || c > '9') })
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.Atoi(rest[:end])
	return n, err == nil
}

func claudeWrite(e *event, v verdict) answer {
	decided := func(decision string) fields {
		f := fields{"hookEventName", e.name, "permissionDecision", decision}
		if v.reason != "" {
			f = append(f, "permissionDecisionReason", v.reason)
		}
		return fields{"hookSpecificOutput", f}
	}
	switch v.action {
	case refuse:
		switch e.kind {
		case permission:
			return refusal(v.reason, fields{"hookSpecificOutput", fields{"hookEventName", e.name,
				"decision", fields{"behavior", "deny", "message", v.reason}}})
		case end:
			return word(fields{"decision", "block", "reason", v.reason})
		default:
			return refusal(v.reason, decided("deny"))
		}
	case question:
		return refusal(v.reason, decided("ask"))
	case approve:
		if e.name == "PreToolUse" {
			return word(decided("allow"))
		}
	case rewrite: // without a decision: the client's own permissions see the new command
		return refusal(v.reason, fields{"hookSpecificOutput", fields{"hookEventName", e.name, "updatedInput", v.input, "additionalContext", v.reason}})
	case note:
		return claudeNote(e, v.reason)
	}
	return answer{}
}

// claudeNote is a word to the agent, or where there is no place for one, to the person.
func claudeNote(e *event, text string) answer {
	switch e.name {
	case "PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionStart", "UserPromptSubmit":
		return word(fields{"hookSpecificOutput", fields{"hookEventName", e.name, "additionalContext", text}})
	case "Stop":
		return word(fields{"systemMessage", text})
	default:
		return answer{}
	}
}

// snakeEvent and snakeCommon read what most clients call by the same names.
func snakeEvent(m object) string { return text(m, "hook_event_name") }

func snakeCommon(m object, e *event) {
	e.session, e.agent, e.cwd, e.said = text(m, "session_id"), text(m, "agent_id"), text(m, "cwd"), text(m, "prompt")
}

func join(lists ...[]eventName) []eventName {
	var all []eventName
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
