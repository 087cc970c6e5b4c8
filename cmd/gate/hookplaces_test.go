package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/gate"
	"gatehouse/gate/wiring"
	defaultgate "gatehouse/vendor-gate/default"
)

// TestTheAgentMayNotTouchWhatHookInstallWrites holds the gate's self-protection to the files in which clients are told to
// ask it.
func TestTheAgentMayNotTouchWhatHookInstallWrites(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project, program := filepath.Join(dir, "home"), filepath.Join(dir, "home/project"), filepath.Join(dir, "bin/gate")
	for name, text := range map[string]string{
		filepath.Join(home, ".config/gatehouse/gate.yaml"): "version: 1\n", filepath.Join(project, ".git/HEAD"): "ref: refs/heads/main\n", program: "#!/bin/sh\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g, err := gate.Open(gate.Options{Index: filepath.Join(dir, "none"), Home: home, UID: uint32(os.Geteuid()), Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	h := wiring.Host{Home: home, Project: project, Gate: program, State: filepath.Join(dir, "state"), UID: os.Geteuid(), Plugins: defaultgate.Files()}
	for _, client := range wiring.Names() {
		for _, scope := range wiring.Scopes(client) {
			if scope == wiring.Managed {
				continue // root's
			}
			plan, err := h.Install(client, scope)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range plan.Changes {
				d := g.Check(t.Context(), gate.Request{Tool: &gate.Tool{Name: "Write", Args: map[string]any{"file_path": c.Target}}, Cwd: project})
				if d.Action != gate.Deny || !strings.Contains(d.Reasons[0].Text, "belongs to the gate") {
					t.Errorf("%s may be written: %s %v", strings.TrimPrefix(c.Target, dir), d.Action, d.Reasons)
				}
			}
		}
	}
}
