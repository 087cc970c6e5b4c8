package harness

import (
	"strings"

	"gatehouse/gate"
)

// gemini speaks with the Gemini CLI. It reads the object before it looks at the exit status. A question hangs for ever
// where nobody sits at the terminal.
func gemini() client {
	return client{
		Client: Client{Name: "gemini", Aliases: []string{"gemini-cli"}},
		events: join(
			named(before, "BeforeTool"), named(after, "AfterTool"), named(start, "SessionStart"), named(prompt, "BeforeAgent"), named(end, "AfterAgent"),
			named(other, "SessionEnd", "Notification", "PreCompress", "BeforeModel", "AfterModel", "BeforeToolSelection"),
		),
		asksTerminal: true,
		event:        snakeEvent,
		understand: func(m object, e *event) error {
			snakeCommon(m, e)
			e.asks = e.kind == before
			if !e.kind.calls() {
				return nil
			}
			input, err := arguments(m, "tool_input")
			if err != nil {
				return err
			}
			switch name := text(m, "tool_name"); name {
			case "":
			case "run_shell_command":
				e.requests = []gate.Request{within(command(input), either(input, "dir_path", "directory"))}
				if e.kind == before {
					e.input = object{} // what is not in it stays as it was
				}
			default:
				e.requests = []gate.Request{anyTool(name, input)}
			}
			if e.kind == after {
				background, _ := input["is_background"].(bool)
				geminiOutcome(member(m, "tool_response"), background, e)
			}
			return nil
		},
		write: func(e *event, v verdict) answer {
			decided := fields{"decision", "deny", "reason", v.reason}
			switch v.action {
			case refuse:
				if e.kind == end {
					return word(decided)
				}
				return refusal(v.reason, decided)
			case question: // the box shows the message, not the reason
				return refusal(v.reason, fields{"decision", "ask", "reason", v.reason, "systemMessage", v.reason})
			case approve:
				return word(fields{"decision", "allow"})
			case rewrite:
				return refusal(v.reason, fields{"decision", "allow", "hookSpecificOutput", fields{"hookEventName", e.name, "tool_input", v.input}})
			case note:
				if e.kind == before || e.kind == end {
					return word(fields{"systemMessage", v.reason})
				}
				return word(fields{"hookSpecificOutput", fields{"hookEventName", e.name, "additionalContext", v.reason}})
			}
			return answer{}
		},
		broken: universal,
	}
}

// geminiOutcome reads how a call ended: behind the output of a command stands its process group, and a status other than
// 0 before that.
func geminiOutcome(response object, background bool, e *event) {
	e.ran = true
	e.output = printed(response)
	content, _ := response["llmContent"].(string)
	if i := strings.LastIndex(content, "\nExit Code: "); i >= 0 {
		if status, ok := leadingStatus(content[i+1:], "Exit Code: "); ok {
			e.outcome.Status = &status
			return
		}
	}
	e.outcome.Failed = response["error"] != nil
	if !e.outcome.Failed && !background && strings.Contains(content, "\nProcess Group PGID: ") {
		e.outcome.Status = new(int)
	}
}
