package main

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/gate/catalog"
)

// resultOf is an outcome as a client reads it: texts for the model, and the whole of it as structured content. What stands
// against the call comes first.
func resultOf(r catalog.Result) *mcp.CallToolResult {
	result := &mcp.CallToolResult{StructuredContent: r, IsError: r.Code != catalog.OK}
	add := func(text string) { result.Content = append(result.Content, &mcp.TextContent{Text: text}) }
	if result.IsError {
		add(refusal(r))
	}
	if r.Stdout != "" {
		add(r.Stdout)
	}
	if r.Stderr != "" {
		add("standard error:\n" + r.Stderr)
	}
	add(standing(r))
	return result
}

// refusal says why a call failed, its code first.
func refusal(r catalog.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.Code, r.Error)
	switch {
	case r.Decision == "":
	case r.Counter == "boundary":
		fmt.Fprintf(&b, "\nThis is a boundary; root sees the decision %s in the log of the service", r.Decision)
	default:
		fmt.Fprintf(&b, "\nThis is a boundary; a person sees the decision with: gate why %s", r.Decision)
	}
	if !r.Ran && r.Code != catalog.CallLost {
		b.WriteString("\nNothing ran.")
	}
	return b.String()
}

// standing says how the tool ended and where the job stands.
func standing(r catalog.Result) string {
	var parts []string
	switch {
	case r.Exit != nil:
		parts = append(parts, fmt.Sprintf("exit status %d", *r.Exit))
	case r.Signal != "":
		parts = append(parts, "ended by "+r.Signal)
	}
	if r.Cut > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes of output are not shown", r.Cut))
	}
	if r.Killed > 0 {
		parts = append(parts, fmt.Sprintf("%d processes that it left behind were ended", r.Killed))
	}
	if r.Step > 0 {
		parts = append(parts, fmt.Sprintf("step %d of %d of job %s", r.Step, r.Steps, r.Job))
		if r.Counter != "boundary" {
			parts = append(parts, "whose counter belongs to this user and guards against accidents only")
		}
	} else {
		parts = append(parts, fmt.Sprintf("no step of job %q was taken", r.Job))
	}
	if r.Ended {
		parts = append(parts, "the job is over: every later call of it is refused, and a person begins a new one")
	}
	return "gate: " + strings.Join(parts, "; ")
}
