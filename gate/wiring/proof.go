package wiring

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A Step is one question of a proof: an input as the client sends it, to the command that its settings name.
type Step struct {
	What    string `json:"what"`
	Command string `json:"command,omitempty"` // the shell line in the input
	Runs    bool   `json:"runs"`              // what this client would do with the answer
	Said    string `json:"said,omitempty"`    // the reason in the answer
	Micros  int64  `json:"micros"`
	Text    string `json:"text,omitempty"` // why it counts as it does
}

// hookLimit is how long a step may take: what the client is told to wait.
const hookLimit = hookTimeout * time.Second

// Ask puts one shell line to a configured hook as its client would, and says what the client would do. broken sends
// something that no client sends.
func (h Host) Ask(ctx context.Context, name string, argv []string, line, dir string, broken bool) (Step, error) {
	c, err := find(name)
	if err != nil {
		return Step{}, err
	}
	input := input(c.name, line, dir)
	if broken {
		input = []byte(`{"hook_event_name":`)
	}
	ctx, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	began := time.Now()
	err = cmd.Run()
	step := Step{Command: line, Micros: time.Since(began).Microseconds()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return step, fmt.Errorf("run %q: %w", argv, err)
	}
	step.Runs, step.Said = verdict(c.name, cmd.ProcessState.ExitCode(), out.Bytes(), errOut.Bytes())
	if ctx.Err() != nil {
		step.Runs, step.Text = true, "it took longer than the client waits"
	}
	return step, nil
}

// Input is what a client sends to its hook before it runs a shell line, as it was recorded or is documented.
func input(name, line, dir string) []byte {
	const session, id = "proof-of-the-gate", "proof"
	call := map[string]any{"command": line, "description": "proof of the gate"}
	in := map[string]any{"session_id": session, "cwd": dir, "tool_input": call}
	switch name {
	case "claude-code":
		in["hook_event_name"], in["tool_name"], in["tool_use_id"] = "PreToolUse", "Bash", "toolu_"+id
		in["prompt_id"], in["permission_mode"] = id, "default"
	case "codex":
		in["hook_event_name"], in["tool_name"], in["tool_use_id"] = "PreToolUse", "Bash", "call_"+id
		in["turn_id"], in["model"], in["permission_mode"] = id, "gpt-5.5", "default"
		in["tool_input"] = map[string]any{"command": line}
	case "gemini":
		in["hook_event_name"], in["tool_name"], in["timestamp"] = "BeforeTool", "run_shell_command", "2026-11-30T00:00:00.000Z"
	case "copilot":
		in["hook_event_name"], in["tool_name"], in["timestamp"] = "PreToolUse", "Bash", "2026-11-30T00:00:00.000Z"
	case "cursor":
		in = map[string]any{"hook_event_name": "beforeShellExecution", "cursor_version": "3.9.16", "conversation_id": session, "generation_id": id,
			"workspace_roots": []string{dir}, "command": line, "cwd": dir, "sandbox": false}
	case "opencode":
		in = map[string]any{"hook_event_name": "tool.execute.before", "directory": dir,
			"hookInput": map[string]any{"tool": "bash", "sessionID": session, "callID": id}, "hookOutput": map[string]any{"args": call}}
	case "openclaw":
		in = map[string]any{"hook_event_name": "before_tool_call", "cwd": dir,
			"event": map[string]any{"toolName": "exec", "params": map[string]any{"command": line}, "runId": id, "toolCallId": id},
			"ctx":   map[string]any{"agentId": "main", "sessionKey": "agent:main:" + session, "runId": id}}
	case "vibe":
		in["hook_event_name"], in["tool_name"], in["tool_call_id"] = "pre_tool", "bash", id
	case "hermes":
		in["hook_event_name"], in["tool_name"], in["profile"] = "pre_tool_call", "terminal", "default"
	case "windsurf":
		in = map[string]any{"agent_action_name": "pre_run_command", "trajectory_id": session, "execution_id": id,
			"tool_info": map[string]any{"command_line": line, "cwd": dir}}
	case "kiro":
		in = map[string]any{"hook_event_name": "preToolUse", "cwd": dir, "tool_name": "execute_bash", "tool_input": map[string]any{"command": line}}
	case "cline":
		in = map[string]any{"taskId": session, "workspaceRoots": []string{dir}, "hookName": "tool_call",
			"tool_call": map[string]any{"id": id, "name": "run_commands", "input": map[string]any{"commands": []string{line}}}}
	}
	return mustJSON(in)
}

// Verdict says whether a client runs the command on an answer of its hook, and the reason that it passes on. Where a
// client's own rules would ask a person, that counts as running it.
func verdict(name string, exit int, out, errOut []byte) (runs bool, reason string) {
	var v map[string]any
	isObject := json.Unmarshal(bytes.TrimSpace(out), &v) == nil && v != nil
	is := func(want string, path ...string) bool { s, _ := dig(v, path...).(string); return s == want }
	said := func(paths ...[]string) string {
		for _, p := range paths {
			if s, _ := dig(v, p...).(string); s != "" {
				return s
			}
		}
		return strings.TrimSpace(string(errOut))
	}
	nested := []string{"hookSpecificOutput", "permissionDecision"}
	why := []string{"hookSpecificOutput", "permissionDecisionReason"}
	refused := false
	switch name {
	case "claude-code", "copilot":
		refused = isObject && (is("deny", nested...) || is("ask", nested...)) && is("PreToolUse", "hookSpecificOutput", "hookEventName") ||
			exit != 0 && (exit == 2 || name == "copilot" || !isObject)
		reason = said(why, []string{"reason"})
	case "codex":
		refused = exit == 0 && isObject && is("deny", nested...) && said(why) != "" || exit == 0 && isObject && is("block", "decision") ||
			exit == 2 && len(bytes.TrimSpace(errOut)) > 0
		reason = said(why, []string{"reason"})
	case "gemini":
		refused = isObject && (is("deny", "decision") || is("block", "decision") || is("ask", "decision")) ||
			!isObject && (exit < 0 || exit > 1) && len(bytes.TrimSpace(errOut))+len(bytes.TrimSpace(out)) > 0
		reason = said([]string{"reason"})
	case "cursor":
		refused = isObject && (is("deny", "permission") || is("ask", "permission")) || exit != 0
		reason = said([]string{"user_message"})
	case "opencode", "openclaw": // as our own plugin has it
		refused = exit != 0 || len(bytes.TrimSpace(out)) > 0 && !isObject || isObject && (dig(v, "block") == true || is("deny", "decision") || dig(v, "requireApproval") != nil)
		reason = said([]string{"reason"}, []string{"blockReason"})
	case "vibe":
		refused = isObject && is("deny", "decision") || exit != 0 // strict
		reason = said([]string{"reason"})
	case "hermes":
		refused = isObject && is("block", "decision") || exit != 0 // fail_closed
		reason = said([]string{"reason"})
	case "cline":
		refused = isObject && dig(v, "cancel") == true
		reason = said([]string{"errorMessage"})
	default: // windsurf, kiro
		refused = exit == 2
		reason = said()
	}
	if !refused {
		return true, ""
	}
	return false, reason
}
