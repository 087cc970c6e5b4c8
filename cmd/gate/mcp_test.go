package main

import (
	"strings"
	"testing"

	"gatehouse/internal/cli"
)

func TestMCPWithoutItsProgramSaysSo(t *testing.T) {
	code, out, errOut := run(t, nil, "none", "mcp", "--listen", "127.0.0.1:0")
	if code != cli.Unknown || out != "" || !strings.Contains(errOut, "the program gate-mcp is not there") {
		t.Errorf("code %d\n%s%s", code, out, errOut)
	}
	if code, out, _ := run(t, nil, "none", "mcp", "--help"); code != cli.Yes || !strings.Contains(out, "docs/mcp.md") {
		t.Errorf("its help: code %d\n%s", code, out)
	}
}
