package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gatehouse/gate/harness"
	"gatehouse/gate/wiring"
	defaultgate "gatehouse/vendor-gate/default"
)

// TestWhatIsInstalledCanBeAnswered holds the two lists of clients together: every client that can be installed is one
// whose hooks are answered, under each of the events that stand in its settings then.
func TestWhatIsInstalledCanBeAnswered(t *testing.T) {
	for _, name := range wiring.Names() {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			gate := filepath.Join(dir, "gate")
			if err := os.WriteFile(gate, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			h := wiring.Host{Home: dir, Gate: gate, State: filepath.Join(dir, "state"), UID: os.Getuid(), Plugins: defaultgate.Files(),
				Env: func(string) string { return "" }}
			plan, err := h.Install(name, wiring.User)
			if err != nil {
				t.Fatal(err)
			}
			client, ok := harness.Lookup(name)
			if !ok || client.Name != name {
				t.Fatalf("gate hook does not know %s", name)
			}
			var known []string
			for _, e := range client.Events {
				known = append(known, e.Name)
			}
			for _, c := range plan.Changes {
				var settings struct {
					Hooks map[string]any `json:"hooks"`
				}
				if json.Unmarshal(c.After, &settings) != nil {
					continue // no JSON, or no lists by event
				}
				for event := range settings.Hooks {
					if !slices.Contains(known, event) {
						t.Errorf("%s asks for %s, which gate hook does not answer", c.Path, event)
					}
				}
			}
		})
	}
	for _, c := range harness.Clients() {
		if !slices.Contains(wiring.Names(), c.Name) {
			t.Errorf("%s is answered and cannot be installed", c.Name)
		}
		for _, alias := range c.Aliases {
			if got, err := wiring.Canonical(alias); err != nil || got != c.Name {
				t.Errorf("the alias %s of %s: %q %v", alias, c.Name, got, err)
			}
		}
	}
}
