package wiring

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// status is what is found of a client, as lines "weight: text".
func status(t *testing.T, h Host, client string, hooks []CodexHook) (r Report, found []string) {
	t.Helper()
	r, err := h.Status(client, hooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Weight != Note && f.Way == "" {
			t.Errorf("no way out of %q", f.Text)
		}
		found = append(found, string(f.Weight)+": "+f.Text)
	}
	return r, found
}

func contains(found []string, weight Weight, text string) bool {
	return slices.ContainsFunc(found, func(f string) bool {
		return strings.HasPrefix(f, string(weight)+": ") && strings.Contains(f, text)
	})
}

func TestStatusFindsWhatSwitchesAHookOff(t *testing.T) {
	env := func(name, value string) func(*testing.T, *Host) {
		return func(_ *testing.T, h *Host) {
			h.Env = func(n string) string {
				if n == name {
					return value
				}
				return ""
			}
		}
	}
	inHome := func(name, text string) func(*testing.T, *Host) {
		return func(t *testing.T, h *Host) { write(t, filepath.Join(h.Home, name), text, 0o644) }
	}
	inRoot := func(name, text string) func(*testing.T, *Host) {
		return func(t *testing.T, h *Host) { write(t, filepath.Join(h.Root, name), text, 0o644) }
	}
	replace := func(name, old, new string) func(*testing.T, *Host) {
		return func(t *testing.T, h *Host) {
			path := filepath.Join(h.Home, name)
			text := read(t, path)
			if !strings.Contains(text, old) {
				t.Fatalf("%s does not hold %q:\n%s", name, old, text)
			}
			write(t, path, strings.Replace(text, old, new, 1), 0o644)
		}
	}
	trusted := []CodexHook{{Key: "k", Event: "preToolUse", Command: "/usr/bin/gate hook codex", Source: "user", Enabled: true, Trust: "trusted"}}
	untrusted := []CodexHook{{Key: "k", Event: "preToolUse", Command: "/usr/bin/gate hook codex", Source: "user", Enabled: true, Trust: "modified"}}

	for name, c := range map[string]struct {
		client  string
		scope   Scope
		change  func(*testing.T, *Host)
		hooks   []CodexHook
		weight  Weight
		want    string
		inForce bool
	}{
		"Claude, as installed":                         {client: "claude-code", weight: Note, want: "--bare", inForce: true},
		"Claude, disabled by the project":              {client: "claude-code", change: inHome("project/.claude/settings.json", `{"disableAllHooks":true}`), weight: Off, want: "settings.json:1 says disableAllHooks"},
		"Claude, disabled by the project's local file": {client: "claude-code", change: inHome("project/.claude/settings.local.json", `{"disableAllHooks":true}`), weight: Off, want: "settings.local.json:1 says disableAllHooks"},
		"Claude, disabled by the project but managed":  {client: "claude-code", scope: Managed, change: inHome("project/.claude/settings.json", `{"disableAllHooks":true}`), weight: Off, want: "disableAllHooks", inForce: true},
		"Claude, only managed hooks":                   {client: "claude-code", change: inRoot("etc/claude-code/managed-settings.json", `{"allowManagedHooksOnly":true}`), weight: Off, want: "allowManagedHooksOnly"},
		"Claude, simple":                               {client: "claude-code", change: env("CLAUDE_CODE_SIMPLE", "1"), weight: Off, want: "$CLAUDE_CODE_SIMPLE"},
		"Claude, safe mode":                            {client: "claude-code", change: env("CLAUDE_CODE_SAFE_MODE", "1"), weight: Off, want: "$CLAUDE_CODE_SAFE_MODE"},
		"Claude, a broken file":                        {client: "claude-code", change: replace(".claude/settings.json", "{", "{,"), weight: Off, want: "line 1"},
		"Claude, a comment":                            {client: "claude-code", change: replace(".claude/settings.json", "{\n", "{ // x\n"), weight: Off, want: "ignores the whole file"},
		"Claude, an entry of an unknown type":          {client: "claude-code", change: replace(".claude/settings.json", `"type": "command"`, `"type": "cmd"`), weight: Off, want: `a hook of type "cmd"`},
		"Claude, without onFailure":                    {client: "claude-code", change: replace(".claude/settings.json", `"onFailure": "block",`, ``), weight: Weak, want: "not as this gate would write it", inForce: true},
		"Claude, the gate is gone":                     {client: "claude-code", change: func(t *testing.T, h *Host) { _ = os.Remove(h.Gate) }, weight: Off, want: "no such file"},
		"Claude, the gate cannot be executed":          {client: "claude-code", change: func(t *testing.T, h *Host) { _ = os.Chmod(h.Gate, 0o644) }, weight: Off, want: "cannot be executed"},
		"Claude, anybody can write the gate":           {client: "claude-code", change: func(t *testing.T, h *Host) { _ = os.Chmod(h.Gate, 0o777) }, weight: Weak, want: "everybody can write", inForce: true},
		"Claude, another gate": {client: "claude-code", change: func(t *testing.T, h *Host) {
			h.Gate = filepath.Join(filepath.Dir(h.Home), "other/gate")
			write(t, h.Gate, "#!/bin/sh\n# other\n", 0o755)
		}, weight: Weak, want: "and this gate is", inForce: true},

		"Codex, never trusted":             {client: "codex", weight: Off, want: "has no trust for the gate's hook"},
		"Codex, trusted":                   {client: "codex", hooks: trusted, weight: Note, want: "--disable hooks", inForce: true},
		"Codex, changed since":             {client: "codex", hooks: untrusted, weight: Off, want: "(modified)"},
		"Codex, trust that was not asked":  {client: "codex", change: inHome(".codex/config.toml", "[hooks.state.\"/x/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n"), weight: Note, want: "only Codex can say", inForce: true},
		"Codex, off for the user":          {client: "codex", hooks: trusted, change: inHome(".codex/config.toml", "[features]\nhooks = false\n"), weight: Off, want: "features.hooks = false"},
		"Codex, off in an unknown project": {client: "codex", hooks: trusted, change: inHome("project/.codex/config.toml", "[features]\nhooks = false\n"), weight: Weak, want: "once the project is trusted", inForce: true},
		"Codex, off in a trusted project": {client: "codex", hooks: trusted, change: func(t *testing.T, h *Host) {
			write(t, h.Project+"/.codex/config.toml", "[features]\nhooks = false\n", 0o644)
			write(t, h.Home+"/.codex/config.toml", "[projects.\""+h.Project+"\"]\ntrust_level = \"trusted\"\n", 0o644)
		}, weight: Off, want: "and the project is trusted"},
		"Codex, managed and not pinned": {client: "codex", scope: Managed, change: func(t *testing.T, h *Host) {
			path := h.Root + "/etc/codex/requirements.toml"
			write(t, path, strings.Replace(read(t, path), "hooks = true", "other = true", 1), 0o644)
		}, weight: Off, want: "does not say features.hooks = true"},
		"Codex, only managed hooks": {client: "codex", hooks: trusted, change: inRoot("etc/codex/requirements.toml", "allow_managed_hooks_only = true\n"), weight: Off, want: "allow_managed_hooks_only"},

		"Codex, a shell that runs something else": {client: "codex", hooks: trusted, change: inHome(".codex/.env", "A=1\n export BASH_ENV = /tmp/x\n"), weight: Weak, want: ".env:2 sets BASH_ENV", inForce: true},
		"Gemini, as installed":                    {client: "gemini", weight: Note, inForce: true},
		"Gemini, off in the project":              {client: "gemini", change: inHome("project/.gemini/settings.json", "{\n // x\n \"hooksConfig\": {\"enabled\": false}}"), weight: Off, want: "settings.json:3 says hooksConfig.enabled = false"},
		"Gemini, off but pinned":                  {client: "gemini", scope: Managed, change: inHome("project/.gemini/settings.json", `{"hooksConfig": {"enabled": false}}`), weight: Note, inForce: true},
		"Gemini, disabled by name":                {client: "gemini", scope: Managed, change: inHome("project/.gemini/settings.json", `{"hooksConfig": {"disabled": ["gatehouse"]}}`), weight: Off, want: `disables the hook "gatehouse"`},
		"Gemini, the system file moved":           {client: "gemini", scope: Managed, change: env("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "/tmp/x"), weight: Off, want: "moves the administrator's file"},
		"Gemini, the system file moved by a file": {client: "gemini", scope: Managed, change: inHome("project/.gemini/.env", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/tmp/x\n"), weight: Weak, want: ".env:1 sets GEMINI_CLI_SYSTEM_SETTINGS_PATH", inForce: true},
		"Gemini, the same above the project":      {client: "gemini", scope: Managed, change: inHome(".env", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/tmp/x\n"), weight: Weak, want: ".env:1 sets", inForce: true},
		"Gemini, a folder that is not trusted": {client: "gemini", change: func(t *testing.T, h *Host) {
			write(t, h.Home+"/.gemini/trustedFolders.json", `{"`+h.Project+`":"DO_NOT_TRUST"}`, 0o644)
		}, weight: Off, want: "does not trust"},

		"Copilot, as installed":               {client: "copilot", weight: Note, inForce: true},
		"Copilot, off in the project":         {client: "copilot", change: inHome("project/.github/copilot/settings.json", `{"disableAllHooks":true}`), weight: Off, want: "disableAllHooks"},
		"Copilot, a comment":                  {client: "copilot", change: replace(".copilot/hooks/gatehouse.json", "{\n", "{ // x\n"), weight: Off, want: "the client does not ask"},
		"Copilot, a policy file for all":      {client: "copilot", scope: Managed, change: func(t *testing.T, h *Host) { _ = os.Chmod(h.Root+"/etc/github-copilot/policy.d/gatehouse.json", 0o666) }, weight: Off, want: "can be written by others (mode 0666)"},
		"Copilot, a policy directory for all": {client: "copilot", scope: Managed, change: func(t *testing.T, h *Host) { _ = os.Chmod(h.Root+"/etc/github-copilot", 0o777) }, weight: Off, want: "can be written by others (mode 0777)"},

		"Cursor, without failClosed": {client: "cursor", change: replace(".cursor/hooks.json", `"failClosed": true,`, ``), weight: Weak, want: "no failClosed", inForce: true},

		"opencode, as installed":      {client: "opencode", weight: Note, want: "--pure", inForce: true},
		"opencode, pure":              {client: "opencode", change: env("OPENCODE_PURE", "1"), weight: Off, want: "$OPENCODE_PURE"},
		"opencode, managed":           {client: "opencode", scope: Managed, weight: Note, want: "--pure", inForce: true},
		"opencode, managed and pure":  {client: "opencode", scope: Managed, change: env("OPENCODE_PURE", "1"), weight: Off, want: "$OPENCODE_PURE"},
		"opencode, managed and moved": {client: "opencode", scope: Managed, change: env("OPENCODE_TEST_MANAGED_CONFIG_DIR", "/tmp/x"), weight: Off, want: "moves the administrator's settings"},
		"opencode, by two scopes": {client: "opencode", scope: Managed, change: func(t *testing.T, h *Host) { install(t, *h, "opencode", User) },
			weight: Note, want: "managed and user", inForce: true},
		"opencode, another plugin":       {client: "opencode", change: replace(".config/opencode/plugins/gatehouse.js", "//", "syntax error //"), weight: Off, want: "the client does not ask"},
		"opencode, the plugin is gone":   {client: "opencode", change: func(t *testing.T, h *Host) { _ = os.Remove(h.Home + "/.config/opencode/plugins/gatehouse.js") }, weight: Off, want: "nothing in its settings"},
		"opencode, the gate's path gone": {client: "opencode", change: func(t *testing.T, h *Host) { _ = os.Remove(h.Home + "/.config/opencode/plugins/gatehouse.json") }, weight: Off, want: "nothing in its settings"},

		"OpenClaw, as installed":             {client: "openclaw", weight: Note, want: "agent exec calls no plugin", inForce: true},
		"OpenClaw, plugins off":              {client: "openclaw", change: replace(".openclaw/openclaw.json", `"plugins": {`, `"plugins": {"enabled": false,`), weight: Off, want: "plugins.enabled = false"},
		"OpenClaw, the entry off":            {client: "openclaw", change: replace(".openclaw/openclaw.json", `"enabled": true`, `"enabled": false`), weight: Off, want: "switches the plugin off"},
		"OpenClaw, not allowed":              {client: "openclaw", change: replace(".openclaw/openclaw.json", `"plugins": {`, `"plugins": {"allow": ["memory"],`), weight: Off, want: "not among them"},
		"OpenClaw, denied":                   {client: "openclaw", change: replace(".openclaw/openclaw.json", `"plugins": {`, `"plugins": {"deny": ["gatehouse"],`), weight: Off, want: "denies the plugin"},
		"OpenClaw, settings that are broken": {client: "openclaw", change: replace(".openclaw/openclaw.json", `{`, `{{`), weight: Off, want: "openclaw.json: "},
		"OpenClaw, an edited plugin":         {client: "openclaw", change: replace(".openclaw/plugins/gatehouse/index.js", "//", "// edited"), weight: Off, want: "the client does not ask"},
		"OpenClaw, a directory for all":      {client: "openclaw", change: func(t *testing.T, h *Host) { _ = os.Chmod(h.Home+"/.openclaw/plugins/gatehouse", 0o777) }, weight: Off, want: "can be written by everybody"},

		"nothing installed": {client: "gemini", scope: "none", weight: Off, want: "nothing in its settings asks the gate"},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t)
			scope := c.scope
			if scope == "" {
				scope = User
			}
			if scope != "none" {
				install(t, h, c.client, scope)
			}
			if c.change != nil {
				c.change(t, &h)
			}
			r, found := status(t, h, c.client, c.hooks)
			if c.want != "" && !contains(found, c.weight, c.want) {
				t.Errorf("no finding %s: …%s… in:\n%s", c.weight, c.want, strings.Join(found, "\n"))
			}
			if r.InForce != c.inForce {
				t.Errorf("in force: %v, want %v; %s\n%+v", r.InForce, c.inForce, strings.Join(found, "\n"), r.Places)
			}
		})
	}
}

func TestGeminiHookDisabledByItsCommandIsFound(t *testing.T) {
	h := host(t)
	install(t, h, "gemini", User)
	write(t, h.Project+"/.gemini/settings.json", string(mustJSON(map[string]any{"hooksConfig": map[string]any{"disabled": []string{h.line(User, "gemini")}}})), 0o644)
	if r, found := status(t, h, "gemini", nil); r.InForce || !contains(found, Off, "disables the hook") {
		t.Errorf("%v", found)
	}
}

func TestAClientIsPresentBySignOrProgram(t *testing.T) {
	h := host(t)
	if got := h.Present(); len(got) != 0 {
		t.Errorf("in an empty home: %v", got)
	}
	write(t, h.Home+"/.claude.json", "{}", 0o644)
	h.Look = func(name string) (string, error) {
		if name == "codex" {
			return "/usr/bin/codex", nil
		}
		return "", os.ErrNotExist
	}
	if got := h.Present(); !slices.Equal(got, []string{"claude-code", "codex"}) {
		t.Errorf("got %v", got)
	}
}
