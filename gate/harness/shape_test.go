package harness_test

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse/gate"
	"gatehouse/gate/harness"
)

// TestWhatAClientReadsOtherwiseIsNotJudgedAsItLooks sends inputs that a client would read in another way than they look.
func TestWhatAClientReadsOtherwiseIsNotJudgedAsItLooks(t *testing.T) {
	openclaw := func(tool, params string) string {
		return fmt.Sprintf(`{"hook_event_name":"before_tool_call","cwd":"/w","event":{"toolName":%q,"params":%s},"ctx":{"sessionKey":"s"}}`, tool, params)
	}
	for name, c := range map[string]struct{ client, input, want string }{ // want: the line that is judged, "" for a refusal
		"pasted":                 {"openclaw", openclaw("process", `{"action":"paste","text":"ls\n"}`), "ls"},
		"pasted beside data":     {"openclaw", openclaw("process", `{"action":"paste","data":"ls\n","text":"rm x\n"}`), "rm x"},
		"written beside text":    {"openclaw", openclaw("process", `{"action":"write","text":"ls\n","data":"rm x\n"}`), "rm x"},
		"typed as a list":        {"copilot", `{"sessionId":"s","cwd":"/w","toolName":"write_bash","toolArgs":{"input":["rm x","{enter}"]}}`, ""},
		"another machine":        {"openclaw", openclaw("exec", `{"command":"ls","host":" Node"}`), ""},
		"this machine":           {"openclaw", openclaw("exec", `{"command":"ls","host":"gateway"}`), "ls"},
		"variables in a text":    {"openclaw", openclaw("exec", `{"command":"ls","env":"A=1"}`), ""},
		"space before a path":    {"openclaw", openclaw("exec", `{"command":"ls","workdir":" /etc"}`), ""},
		"a home":                 {"gemini", `{"hook_event_name":"BeforeTool","cwd":"/w","tool_name":"run_shell_command","tool_input":{"command":"ls","dir_path":"~/x"}}`, ""},
		"a directory in a list":  {"opencode", `{"hook_event_name":"tool.execute.before","directory":"/w","hookInput":{"tool":"bash"},"hookOutput":{"args":{"command":"ls","workdir":["/etc"]}}}`, ""},
		"a second name, one set": {"gemini", `{"hook_event_name":"BeforeTool","cwd":"/w","tool_name":"run_shell_command","tool_input":{"command":"ls","dir_path":"","directory":"/x"}}`, "ls"},
	} {
		var asked []gate.Request
		exit, out, errOut := answered(c.client, strings.NewReader(c.input), harness.Options{Open: stub{gate.Allow, &asked}.open})
		line := ""
		if len(asked) == 1 && len(asked[0].Objections) == 0 {
			line = asked[0].Line
		}
		if line != c.want {
			t.Errorf("%s: %q is judged, want %q (exit %d, %s%s)", name, line, c.want, exit, out, errOut)
		}
	}
}

// TestABarePatchIsRead gives Copilot's form of a patch, which is no object.
func TestABarePatchIsRead(t *testing.T) {
	var asked []gate.Request
	input := `{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Edit","tool_input":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}`
	exit, _, errOut := answered("copilot", strings.NewReader(input), harness.Options{Open: stub{gate.Allow, &asked}.open})
	if exit != 0 || len(asked) != 1 || asked[0].Tool.Name != "apply_patch" || fmt.Sprint(asked[0].Tool.Args["paths"]) != "[a]" {
		t.Errorf("exit %d, %s: %+v", exit, errOut, asked)
	}
}

// TestAShellByAnotherNameIsJudged asks each client's hook about a tool that the client is not known to have, and that by
// its name runs lines.
func TestAShellByAnotherNameIsJudged(t *testing.T) {
	snake := `{"hook_event_name":%q,"session_id":"s","cwd":"/w","tool_name":%q,"tool_input":%s}`
	inputs := map[string]func(tool, args string) string{
		"copilot": func(tool, args string) string {
			return fmt.Sprintf(`{"sessionId":"s","cwd":"/w","toolName":%q,"toolArgs":%s}`, tool, args)
		},
		"opencode": func(tool, args string) string {
			return fmt.Sprintf(`{"hook_event_name":"tool.execute.before","directory":"/w","hookInput":{"tool":%q},"hookOutput":{"args":%s}}`, tool, args)
		},
		"openclaw": func(tool, args string) string {
			return fmt.Sprintf(`{"hook_event_name":"before_tool_call","cwd":"/w","event":{"toolName":%q,"params":%s}}`, tool, args)
		},
		"cline": func(tool, args string) string {
			return fmt.Sprintf(`{"hookName":"tool_call","tool_call":{"name":%q,"input":%s}}`, tool, args)
		},
	}
	for client, event := range map[string]string{"claude-code": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "cursor": "preToolUse",
		"vibe": "pre_tool", "hermes": "pre_tool_call", "kiro": "preToolUse"} {
		inputs[client] = func(tool, args string) string { return fmt.Sprintf(snake, event, tool, args) }
	}
	for client, input := range inputs {
		for _, c := range []struct{ tool, args, line, refused string }{
			{"BASH", `{"command":"rm x"}`, "rm x", ""},
			{" Run_Terminal-Command2", `{"cmd":"rm x"}`, "rm x", ""},
			{"executeShell", `{"commandLine":"rm x"}`, "", "names no command"},
			{"Pwsh", `{"command":"rm x"}`, "", "PowerShell"},
			{"run_command", `{"command":"rm x","cwd":"/etc"}`, "rm x", "a directory of its own"},
			{"read_bash", `{"command":"rm x"}`, "", ""},
			{"mcp__host__exec", `{"command":"rm x"}`, "", ""},
		} {
			var asked []gate.Request
			exit, out, errOut := answered(client, strings.NewReader(input(c.tool, c.args)), harness.Options{Open: stub{gate.Allow, &asked}.open})
			switch {
			case len(asked) != 1:
				t.Errorf("%s, %s: %d calls are judged (exit %d, %s%s)", client, c.tool, len(asked), exit, out, errOut)
			case asked[0].Line != c.line || c.refused == "" != (len(asked[0].Objections) == 0) || !strings.Contains(fmt.Sprint(asked[0].Objections), c.refused):
				t.Errorf("%s, %s: %+v", client, c.tool, asked[0])
			}
		}
	}
}

func TestAnEmptyResultIsNoResult(t *testing.T) {
	exit, out, _ := answered("copilot", strings.NewReader(`{"sessionId":"s","cwd":"/w","toolName":"bash","toolArgs":{"command":"rm x"},"toolResult":null}`),
		harness.Options{Open: stub{}.open})
	if why := silent("copilot", exit, out, ""); why != "" {
		t.Error(why)
	}
}

func TestPythonOfHermesIsNotJudgedAsATool(t *testing.T) {
	var asked []gate.Request
	answered("hermes", strings.NewReader(`{"hook_event_name":"pre_tool_call","cwd":"/w","tool_name":"execute_code","tool_input":{"code":"import os"}}`),
		harness.Options{Open: stub{gate.Allow, &asked}.open})
	if len(asked) != 1 || len(asked[0].Objections) != 1 {
		t.Errorf("%+v", asked)
	}
}
