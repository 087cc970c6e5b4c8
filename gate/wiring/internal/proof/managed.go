package main

import (
	"os"
	"strings"
)

// A switchOff is something that an agent, or a person who starts the client, can say so that a user's hooks are not
// called. It is tried against the administrator's file.
type switchOff struct {
	name    string
	args    []string
	env     []string
	prepare func(h home) error
	open    bool // known to get past the administrator's file as well
}

// file is what a file says; the name stands below the home directory, or below the project's directory with "./".
func file(name, text string) func(home) error {
	return func(h home) error {
		if rest, ok := strings.CutPrefix(name, "./"); ok {
			return put(h.work+"/"+rest, text)
		}
		return put(h.home+"/"+name, text)
	}
}

// added is text at the end of a file of the user's.
func added(name string, text func(h home) string) func(home) error {
	return func(h home) error {
		old, err := os.ReadFile(h.home + "/" + name)
		if err != nil {
			return err
		}
		return put(h.home+"/"+name, string(old)+text(h))
	}
}

func both(a, b func(home) error) func(home) error {
	return func(h home) error {
		if err := a(h); err != nil {
			return err
		}
		return b(h)
	}
}

func claudeOffs() []switchOff {
	const off = `{"disableAllHooks": true}`
	return []switchOff{
		{name: "user", prepare: file(".claude/settings.json", off)},
		{name: "project", prepare: file("./.claude/settings.json", off)},
		{name: "local", prepare: file("./.claude/settings.local.json", off)},
		{name: "bare", args: []string{"--bare"}},
		{name: "safe-mode", args: []string{"--safe-mode"}},
		{name: "sources", args: []string{"--setting-sources", "project"}},
		{name: "simple", env: []string{"CLAUDE_CODE_SIMPLE=1"}},
		{name: "safe-variable", env: []string{"CLAUDE_CODE_SAFE_MODE=1"}},
	}
}

func codexOffs() []switchOff {
	const off = "[features]\nhooks = false\n"
	return []switchOff{
		{name: "user", prepare: added(".codex/config.toml", func(home) string { return off })},
		{name: "project", prepare: both(file("./.codex/config.toml", off), added(".codex/config.toml", func(h home) string {
			return `[projects."` + h.work + `"]` + "\ntrust_level = \"trusted\"\n"
		}))},
		{name: "disable", args: []string{"--disable", "hooks"}},
		{name: "override", args: []string{"-c", "features.hooks=false"}},
		{name: "bash-env", prepare: bashEnv(".codex/.env"), open: true},
	}
}

func geminiOffs() []switchOff {
	return []switchOff{
		{name: "project", prepare: file("./.gemini/settings.json", `{"hooksConfig": {"enabled": false}}`)},
		{name: "project-name", prepare: file("./.gemini/settings.json", `{"hooksConfig": {"disabled": ["gatehouse"]}}`), open: true},
		{name: "moved", env: []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH=/nonexistent"}, open: true},
		{name: "moved-by-file", prepare: file("./.env", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/nonexistent\n")},
		{name: "bash-env", prepare: bashEnv("work/.env"), env: []string{"SHLVL=1"}},
		{name: "bashrc", prepare: file(".bashrc", hookEnds)},
	}
}

// hookEnds is a script that ends the shell which would read the line of a hook, and no other.
const hookEnds = "case $(tr '\\0' ' ' </proc/$$/cmdline) in *gatehouse*) exit 0;; esac\n"

// bashEnv is a file of variables below the home directory that has every bash begin with hookEnds.
func bashEnv(name string) func(home) error {
	return func(h home) error {
		script := h.home + "/.begin"
		if err := put(script, hookEnds); err != nil {
			return err
		}
		return put(h.home+"/"+name, "BASH_ENV="+script+"\n")
	}
}

func copilotOffs() []switchOff {
	const off = `{"disableAllHooks": true}`
	return []switchOff{
		{name: "user", prepare: file(".copilot/settings.json", off)},
		{name: "project", args: []string{"--trust-folder"}, prepare: file("./.github/copilot/settings.json", off)},
		{name: "local", args: []string{"--trust-folder"}, prepare: file("./.github/copilot/settings.local.json", off)},
	}
}

func opencodeOffs() []switchOff {
	return []switchOff{
		{name: "project", prepare: file("./opencode.json", `{"plugin": []}`)},
		{name: "pure", args: []string{"--pure"}, open: true},
		{name: "pure-variable", env: []string{"OPENCODE_PURE=1"}, open: true},
		{name: "moved", env: []string{"OPENCODE_TEST_MANAGED_CONFIG_DIR=/nonexistent"}, open: true},
	}
}
