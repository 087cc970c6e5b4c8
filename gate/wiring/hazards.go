package wiring

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What follows is what was seen, or is documented, to switch a client's hooks off. docs/hooks-install.md lists it.

func claudeHazards(h Host, s *survey) {
	user := h.home("CLAUDE_CONFIG_DIR", ".claude", "settings.json")
	mine := []Scope{User, Project}
	files := []string{user}
	if h.Project != "" {
		files = append(files, filepath.Join(h.Project, ".claude/settings.json"), filepath.Join(h.Project, ".claude/settings.local.json"))
	}
	for _, path := range files {
		t := s.settings(path, plainJSON, nil)
		if t.value("disableAllHooks") == true {
			s.off(mine, "take it out, or have root run gate hook install claude-code --managed", "%s says disableAllHooks", where(path, t, "disableAllHooks"))
		}
	}
	managed, _ := filepath.Glob(h.system("/etc/claude-code/managed-settings.d/*.json"))
	for _, path := range append([]string{h.system("/etc/claude-code/managed-settings.json")}, managed...) {
		t := s.settings(path, plainJSON, func(err error) { s.weak("mend it", "%s: %v", path, err) })
		if t.value("allowManagedHooksOnly") == true {
			s.off(mine, "have root run gate hook install claude-code --managed", "%s says allowManagedHooksOnly", where(path, t, "allowManagedHooksOnly"))
		}
		if t.value("disableAllHooks") == true {
			s.off([]Scope{User, Project, Managed}, "have root take it out", "%s says disableAllHooks", where(path, t, "disableAllHooks"))
		}
	}
	for _, name := range []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"} {
		if h.env(name) != "" {
			s.off(mine, "unset it", "$%s is set, with which no settings are read", name)
		}
	}
	if s.asks(User) && !s.asks(Managed) {
		s.note("a person who starts it with --bare, --safe-mode or --setting-sources without user starts it without the hook; gate hook install --managed, as root, holds against these")
	}
}

func codexHazards(h Host, s *survey) {
	config := h.home("CODEX_HOME", ".codex", "config.toml")
	mine := []Scope{User, Project}
	readConfig := func(path string) map[string]any {
		data, err := readSome(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		var have map[string]any
		if err == nil {
			have, err = readTOML(data)
		}
		if err != nil {
			s.weak("mend it", "%s: %v", path, err)
		}
		return have
	}
	user := readConfig(config)
	if dig(user, "features", "hooks") == false {
		s.off(mine, "take it out", "%s says features.hooks = false", config)
	}
	trusted := false
	if h.Project != "" {
		trusted = dig(user, "projects", h.Project, "trust_level") == "trusted"
		path := filepath.Join(h.Project, ".codex/config.toml")
		if dig(readConfig(path), "features", "hooks") == false {
			if trusted {
				s.off(mine, "take it out, or have root run gate hook install codex --managed", "%s says features.hooks = false, and the project is trusted", path)
			} else {
				s.weak("take it out", "%s says features.hooks = false, which counts once the project is trusted", path)
			}
		}
		if s.asks(Project) && !trusted {
			s.off([]Scope{Project}, "trust the project in Codex, or install it for the user", "the project is not trusted, so its hooks are not read")
		}
	}
	requirements := h.system("/etc/codex/requirements.toml")
	managed := readConfig(requirements)
	if dig(managed, "allow_managed_hooks_only") == true {
		s.off(mine, "have root run gate hook install codex --managed", "%s says allow_managed_hooks_only", requirements)
	}
	if hooks, _ := dig(managed, "hooks", "PreToolUse").([]any); len(hooks) > 0 && dig(managed, "features", "hooks") != true {
		s.off([]Scope{Managed}, "gate hook install codex --managed, as root", "%s does not say features.hooks = true, without which --disable hooks switches its hooks off", requirements)
	}
	s.envFile(h.home("CODEX_HOME", ".codex", ".env"), shellVariables())
	s.codexTrust(user, config)
	if s.asks(User) && !s.asks(Managed) {
		s.note("a person who starts it with --disable hooks or --ignore-user-config starts it without the hook; gate hook install --managed, as root, holds against these")
	}
}

// codexTrust looks for hooks that Codex skips since nobody has agreed to them.
func (s *survey) codexTrust(user map[string]any, config string) {
	const way = "gate hook install codex, where codex is on PATH; or start codex and agree in /hooks"
	if !s.asks(User) {
		return
	}
	if s.hooks != nil {
		for _, hook := range s.hooks {
			if hook.Source == "user" && isHook(hook.Command) && (!hook.trusted() || !hook.Enabled) {
				weight := Weak // without the events that only tell the gate, calls are judged all the same
				if hook.Event == "preToolUse" {
					weight = Off
				}
				s.add(Finding{Weight: weight, Scopes: []Scope{User}, Way: way, Text: "Codex does not trust the gate's " + hook.Event + " hook (" + hook.Trust + "), and skips it without a word"})
			}
		}
		return
	}
	states, _ := dig(user, "hooks", "state").(map[string]any)
	for key, state := range states {
		if hash, _ := dig(state, "trusted_hash").(string); hash != "" && strings.Contains(key, "hooks.json:pre_tool_use:") && dig(state, "enabled") != false {
			s.note("whether Codex still trusts the gate's hook, only Codex can say: it was not asked")
			return
		}
	}
	s.off([]Scope{User}, way, "%s has no trust for the gate's hook, which Codex then skips without a word", config)
}

func geminiHazards(h Host, s *survey) {
	system := h.system("/etc/gemini-cli/settings.json")
	mine := []Scope{User, Project}
	files := []string{h.home("", ".gemini", "settings.json"), system}
	if h.Project != "" {
		files = append(files, filepath.Join(h.Project, ".gemini/settings.json"))
	}
	pinned := s.settings(system, comments, nil).value("hooksConfig", "enabled") == true
	for _, path := range files {
		t := s.settings(path, comments, func(err error) { s.weak("mend it", "%s: %v (the client does not start with it)", path, err) })
		if t.value("hooksConfig", "enabled") == false && (!pinned || path == system) {
			s.off(append(mine, Managed), "take it out", "%s says hooksConfig.enabled = false", where(path, t, "hooksConfig", "enabled"))
		}
		for _, name := range t.list("hooksConfig", "disabled") {
			text, _ := name.(string)
			if text == "gatehouse" || isHook(text) {
				s.off(append(mine, Managed), "take it out", "%s disables the hook %q", where(path, t, "hooksConfig", "disabled"), text)
			}
		}
	}
	for _, dir := range append(upwards(h.Project), h.Home) {
		for _, name := range []string{".gemini/.env", ".env"} {
			s.envFile(filepath.Join(dir, name), []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH"})
		}
	}
	if moved := h.env("GEMINI_CLI_SYSTEM_SETTINGS_PATH"); moved != "" {
		s.off([]Scope{Managed}, "unset it", "$GEMINI_CLI_SYSTEM_SETTINGS_PATH moves the administrator's file to %q", moved)
	}
	if h.Project != "" {
		path := h.home("", ".gemini", "trustedFolders.json")
		if t := s.settings(path, comments, nil); t.value(h.Project) == "DO_NOT_TRUST" {
			s.off(append(mine, Managed), "trust the folder in Gemini", "%s does not trust %s, and hooks of settings are not read there", path, h.Project)
		}
	}
}

func copilotHazards(h Host, s *survey) {
	files := []string{h.home("COPILOT_HOME", ".copilot", "settings.json")}
	if h.Project != "" {
		files = append(files, filepath.Join(h.Project, ".github/copilot/settings.json"), filepath.Join(h.Project, ".github/copilot/settings.local.json"))
	}
	for _, path := range files {
		t := s.settings(path, comments, nil)
		if t.value("disableAllHooks") == true {
			s.off([]Scope{User, Project}, "take it out, or have root run gate hook install copilot --managed", "%s says disableAllHooks", where(path, t, "disableAllHooks"))
		}
	}
	for _, scope := range []Scope{User, Project} {
		for _, p := range s.report.Places {
			if p.Scope != scope || p.State == Absent {
				continue
			}
			if data, err := readSome(p.Path); err == nil && bytes.Contains(data, []byte(`"preToolUse"`)) {
				s.weak(installCommand("copilot", scope), "%s has both preToolUse and PreToolUse: every call is asked about twice", p.Path)
			}
		}
	}
}

func cursorHazards(h Host, s *survey) {
	for _, p := range s.report.Places {
		if p.State != Older {
			continue
		}
		t := s.settings(p.Path, plainJSON, nil)
		for _, event := range []string{"beforeShellExecution", "preToolUse", "beforeMCPExecution"} {
			for _, entry := range t.list("hooks", event) {
				if n, _ := oursIn(entry); n > 0 && dig(entry, "failClosed") != true {
					s.weak(installCommand("cursor", p.Scope), "%s: the hook of %s has no failClosed, so that a gate that fails counts for nothing", p.Path, event)
				}
			}
		}
	}
	unmeasured(h, s)
}

func unmeasured(_ Host, s *survey) {
	if s.report.Present || s.asks(User) || s.asks(Managed) {
		s.note("this client is known from its documentation only: prove it by an order that the policy refuses")
	}
}

func opencodeHazards(h Host, s *survey) {
	if h.env("OPENCODE_PURE") != "" {
		s.off([]Scope{User, Project, Managed}, "unset it", "$OPENCODE_PURE is set, with which no plugin is loaded")
	}
	if moved := h.env("OPENCODE_TEST_MANAGED_CONFIG_DIR"); moved != "" {
		s.off([]Scope{Managed}, "unset it", "$OPENCODE_TEST_MANAGED_CONFIG_DIR moves the administrator's settings to %q", moved)
	}
	if h.env("OPENCODE_DISABLE_PROJECT_CONFIG") != "" {
		s.off([]Scope{Project}, "unset it", "$OPENCODE_DISABLE_PROJECT_CONFIG is set, with which plugins of a project are not loaded")
	}
	if s.asks(User) || s.asks(Project) || s.asks(Managed) {
		s.note("a person who starts it with --pure starts it without the plugin; shell text in custom commands (!`…`) comes to no plugin")
	}
}

func openclawHazards(h Host, s *survey) {
	path := h.openclawSettings()
	dir := h.openclawPlugin()
	mine := []Scope{User}
	t, err := func() (*text, error) {
		data, err := readSome(path)
		if errors.Is(err, fs.ErrNotExist) {
			return parseText(nil, comments)
		}
		if err != nil {
			return nil, err
		}
		return openclawText(data)
	}()
	if err != nil {
		s.off(mine, "mend it", "%s: %v", path, err)
		return
	}
	if t.value("plugins", "enabled") == false {
		s.off(mine, "take it out", "%s says plugins.enabled = false", where(path, t, "plugins", "enabled"))
	}
	if t.value("plugins", "entries", "gatehouse", "enabled") == false {
		s.off(mine, "set it to true", "%s switches the plugin off", where(path, t, "plugins", "entries", "gatehouse", "enabled"))
	}
	if t.at("plugins", "allow") != nil && !holds(t.list("plugins", "allow"), "gatehouse") {
		s.off(mine, "add gatehouse to it", "%s lists the allowed plugins, and gatehouse is not among them", where(path, t, "plugins", "allow"))
	}
	if holds(t.list("plugins", "deny"), "gatehouse") {
		s.off(mine, "take it out", "%s denies the plugin", where(path, t, "plugins", "deny"))
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o002 != 0 {
		s.off(mine, "chmod o-w "+dir, "%s can be written by everybody, and the client refuses such a plugin", dir)
	}
	if s.asks(User) {
		s.note("openclaw agent exec calls no plugin; a running gateway keeps the code that it loaded until openclaw plugins reload gatehouse or its restart: warden loaded tells")
	}
}
