package policy

import "testing"

func TestAnItemCanTakeToolsOut(t *testing.T) {
	p := &Policy{Tools: []Tool{
		{Names: []string{"mcp__*", "!mcp__gatehouse__*", "mcp__gatehouse__deploy"}, Unlisted: Ask},
		{Names: []string{"Edit", "!Edit"}, Unlisted: Ask},
	}}
	for name, want := range map[string]int{
		"mcp__other__x": 1, "mcp__gatehouse__say": 0, "mcp__gatehouse__deploy": 1, "mcp__gatehouse": 1, "mcp__gatehousex__say": 1, "Edit": 0,
		"!mcp__gatehouse__say": 0,
	} {
		if got := len(p.ToolsFor(name)); got != want {
			t.Errorf("%s: %d items are about it, want %d", name, got, want)
		}
	}
}
