package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A client is an agent client, and where its hooks can be.
type client struct {
	name     string
	presence []string // any of these below home says that the client is used here
	hooks    []string // files of hooks: below home, or absolute
}

// clients lists the agent clients whose settings are looked at.
func clients() []client {
	return []client{
		{"claude-code", []string{".claude", ".claude.json"}, []string{".claude/settings.json", "/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-settings.d/*.json"}},
		{"codex", []string{".codex"}, []string{".codex/hooks.json", ".codex/config.toml", "/etc/codex/requirements.toml"}},
		{"copilot", []string{".copilot"}, []string{".copilot/settings.json", ".copilot/hooks/*.json", "/etc/github-copilot/policy.d/*.json"}},
		{"gemini", []string{".gemini"}, []string{".gemini/settings.json", "/etc/gemini-cli/settings.json"}},
		{"cursor", []string{".cursor"}, []string{".cursor/hooks.json", "/etc/cursor/hooks.json"}},
		{"opencode", []string{".config/opencode"}, []string{".config/opencode/plugin/*", ".config/opencode/plugins/*", ".config/opencode/opencode.json"}},
		{"openclaw", []string{".openclaw"}, []string{".openclaw/openclaw.json", ".openclaw/plugins/*/*"}},
	}
}

// hookFindings says which clients are told to ask the gate. Project settings are not looked at: whoever writes the
// project could take them away.
func (g *globals) hookFindings(home string) []finding {
	var findings []finding
	for _, c := range clients() {
		if f, here := c.finding(home); here {
			findings = append(findings, f)
		}
	}
	if len(findings) == 0 {
		return []finding{{What: "hook", State: none, Text: "no agent client keeps its settings in this home directory"}}
	}
	return findings
}

func (c client) finding(home string) (f finding, here bool) {
	f = finding{What: "hook"}
	for _, name := range c.presence {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			here = true
		}
	}
	for _, pattern := range c.hooks {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(home, pattern)
		}
		names, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		for _, name := range names {
			data, err := readSmall(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				f.Text = c.name + ": " + err.Error()
				return f, true
			case strings.Contains(string(data), "gate hook "):
				f.State, f.Text = ok, c.name+": told to ask the gate, by "+name
				return f, true
			}
		}
	}
	f.State = wrong
	f.Text = c.name + ": nothing in its settings asks the gate before a command"
	return f, here
}
