package harness

import (
	"strings"

	"gatehouse/gate"
)

// copilot speaks with the Copilot CLI, and with Copilot in VS Code. Its hooks have two dialects, by the spelling of the
// event in the configuration: preToolUse is answered with a flat object, PreToolUse as Claude Code is. Inputs of the
// first do not name their event.
func copilot() client {
	return client{
		Client: Client{Name: "copilot", Aliases: []string{"copilot-cli"}},
		events: join(
			named(before, "PreToolUse", "preToolUse"), named(after, "PostToolUse", "PostToolUseFailure", "postToolUse"),
			named(start, "SessionStart", "sessionStart"), named(prompt, "UserPromptSubmit", "userPromptSubmitted"), named(end, "Stop", "agentStop"),
			named(other, "SessionEnd", "sessionEnd", "errorOccurred", "SubagentStart", "SubagentStop", "subagentStart", "subagentStop", "PreCompact", "preCompact"),
		),
		event:      copilotEvent,
		understand: copilotUnderstand,
		write: func(e *event, v verdict) answer {
			if !e.flat {
				return claudeWrite(e, v)
			}
			decided := func(decision string) fields {
				f := fields{"permissionDecision", decision}
				if v.reason != "" {
					f = append(f, "permissionDecisionReason", v.reason)
				}
				return f
			}
			switch v.action {
			case refuse:
				if e.kind == end {
					return word(fields{"decision", "block", "reason", v.reason})
				}
				return refusal(v.reason, decided("deny"))
			case question:
				return refusal(v.reason, decided("ask"))
			case approve:
				return word(decided("allow"))
			case rewrite:
				return refusal(v.reason, fields{"modifiedArgs", v.input})
			case note:
				if e.kind != before && e.kind != end {
					return word(fields{"additionalContext", v.reason})
				}
			}
			return answer{}
		},
		broken: universal,
	}
}

// copilotEvent names an event that does not name itself by what only it has.
func copilotEvent(m object) string {
	has := func(key string) bool { _, ok := m[key]; return ok }
	switch {
	case has("hook_event_name"):
		return text(m, "hook_event_name")
	case m["toolResult"] != nil:
		return "postToolUse"
	case has("toolName"):
		return "preToolUse"
	case has("stopReason"):
		return "agentStop"
	case has("error"):
		return "errorOccurred"
	case has("source"):
		return "sessionStart"
	case has("prompt"):
		return "userPromptSubmitted"
	case has("reason"):
		return "sessionEnd"
	default:
		return ""
	}
}

func copilotUnderstand(m object, e *event) error {
	snakeCommon(m, e)
	name, args := text(m, "tool_name"), "tool_input"
	if _, named := m["hook_event_name"]; !named {
		e.flat = true
		e.session = text(m, "sessionId")
		name, args = text(m, "toolName"), "toolArgs"
	}
	e.asks = e.kind == before
	if !e.kind.calls() {
		return nil
	}
	if bare, ok := m[args].(string); ok && strings.HasPrefix(bare, patchBegin) { // of a tool that it calls Edit
		name, m[args] = "apply_patch", object{"input": bare}
	}
	input, err := arguments(m, args)
	if err != nil {
		return err
	}
	e.requests = copilotCall(name, input)
	if e.kind == before && (e.flat && name == "bash" || !e.flat && name == "Bash") { // VS Code has other names, and is not known to obey
		e.input = input
	}
	if e.kind != after {
		return nil
	}
	result, kind, content := member(m, "toolResult"), "resultType", "textResultForLlm"
	if !e.flat {
		result, kind, content = member(m, "tool_result"), "result_type", "text_result_for_llm"
	}
	if result == nil { // VS Code
		claudeOutcome(m, e)
		e.outcome.Status = nil
		return nil
	}
	e.output = text(result, content)
	switch text(result, kind) {
	case "denied", "rejected":
	case "failure":
		e.ran, e.outcome.Failed = true, true
	default:
		e.ran = true
	}
	if status := statusBehind(e.output); status != nil {
		e.outcome = gate.Outcome{Status: status}
	}
	return nil
}

func copilotCall(name string, input object) []gate.Request {
	switch name {
	case "bash":
		return []gate.Request{command(input)}
	case "write_bash":
		return []gate.Request{keystrokes(name, input, "input")}
	case "write_powershell":
		return claudeCall("powershell", input)
	default:
		return claudeCall(name, input)
	}
}

// statusBehind reads the status that stands in the last line of an output, where the client puts it.
func statusBehind(output string) *int {
	output = strings.TrimSpace(output)
	last := output[strings.LastIndexByte(output, '\n')+1:]
	_, rest, ok := strings.Cut(last, " completed with exit code ")
	if !ok || !strings.HasPrefix(last, "<shellId: ") || !strings.HasSuffix(last, ">") {
		return nil
	}
	if status, ok := leadingStatus(rest, ""); ok {
		return &status
	}
	return nil
}
