package wiring

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// host is a user's host with an executable gate, in a directory of the test's own.
func host(t *testing.T) Host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := Host{
		Home: dir + "/home", Project: dir + "/home/project", Root: dir + "/root", Gate: dir + "/bin/gate", State: dir + "/state",
		UID: os.Getuid(), Look: func(string) (string, error) { return "", fs.ErrNotExist },
		Plugins: fstest.MapFS{
			"plugin/opencode/gatehouse.js":         {Data: []byte("// gatehouse for opencode\n")},
			"plugin/openclaw/index.js":             {Data: []byte("// gatehouse for openclaw\n")},
			"plugin/openclaw/package.json":         {Data: []byte(`{"name":"gatehouse"}`)},
			"plugin/openclaw/openclaw.plugin.json": {Data: []byte(`{"id":"gatehouse"}`)},
		},
	}
	for _, d := range []string{h.Project, h.Root + "/etc", dir + "/bin"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, h.Gate, "#!/bin/sh\n", 0o755)
	return h
}

func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func install(t *testing.T, h Host, client string, s Scope) Plan {
	t.Helper()
	p, err := h.Install(client, s)
	if err != nil {
		t.Fatalf("install %s: %v", client, err)
	}
	if err := p.Apply(t.Context()); err != nil {
		t.Fatalf("install %s: %v", client, err)
	}
	return p
}

func remove(t *testing.T, h Host, client string, s Scope) Plan {
	t.Helper()
	p, err := h.Remove(client, s)
	if err != nil {
		t.Fatalf("remove %s: %v", client, err)
	}
	if err := p.Apply(t.Context()); err != nil {
		t.Fatalf("remove %s: %v", client, err)
	}
	return p
}

// tree lists what is below a directory: files with their contents and modes, links with where they lead.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			got[rel] = "-> " + to
			return err
		case d.IsDir():
			got[rel] = "dir"
		default:
			data, err := os.ReadFile(name)
			got[rel] = info.Mode().String() + " " + string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// every runs a test for each client in each of its scopes.
func every(t *testing.T, f func(t *testing.T, client string, s Scope)) {
	for _, name := range Names() {
		for _, s := range Scopes(name) {
			t.Run(name+" "+string(s), func(t *testing.T) { f(t, name, s) })
		}
	}
}

func TestInstallingWhereNothingWasAndRemovingLeavesNothing(t *testing.T) {
	every(t, func(t *testing.T, client string, s Scope) {
		h := host(t)
		before := tree(t, filepath.Dir(h.Home))
		if p := install(t, h, client, s); len(p.Changes) == 0 {
			t.Fatal("nothing was installed")
		}
		argv, _, err := h.Hook(client)
		if err != nil {
			t.Fatal(err)
		}
		if line := strings.Join(argv, " "); !strings.Contains(line, "gate hook "+client) && client != "cline" {
			t.Errorf("the configured hook is %q", argv)
		}
		if p, err := h.Install(client, s); err != nil || len(p.Changes) != 0 {
			t.Errorf("the second install changes %d files (%v)", len(p.Changes), err)
		}
		r, err := h.Status(client, nil)
		if err != nil {
			t.Fatal(err)
		}
		if client != "codex" && s != Project && !r.InForce { // Codex has to be told to trust it
			t.Errorf("status: %+v", r)
		}
		remove(t, h, client, s)
		after := tree(t, filepath.Dir(h.Home))
		delete(after, "state")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("removing leaves something (-before +after):\n%s", diff)
		}
		if p, err := h.Remove(client, s); err != nil || !p.Missing {
			t.Errorf("the second remove: %v, %+v", err, p)
		}
	})
}

// existing are settings that somebody has made, by the file that the client reads.
func existing(client string) (files map[string]string) {
	const claude = `{
    "model": "opus",   "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "/opt/other check"}]}
        ],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send hi"}]}]
    }
}
`
	switch client {
	case "claude-code":
		return map[string]string{".claude/settings.json": claude}
	case "codex":
		return map[string]string{".codex/hooks.json": `{"description":"mine","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"other"}]}]}}`,
			".codex/config.toml": "model = \"gpt-5.5\" # mine\n\n[features]\nfast = true\n"}
	case "gemini":
		return map[string]string{".gemini/settings.json": "{\n  // mine\n  \"general\": {\"vimMode\": true, /* yes */},\n  \"hooks\": {\n    \"BeforeTool\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"other\"}]}, // theirs\n    ],\n  },\n}\n"}
	case "cursor":
		return map[string]string{".cursor/hooks.json": "{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"stop\": [{\"command\": \"./done.sh\"}]\n\t}\n}"}
	case "windsurf":
		return map[string]string{".codeium/windsurf/hooks.json": `{"hooks": {"pre_run_command": [{"command": "other"}], "post_run_command": []}}` + "\n"}
	case "openclaw":
		return map[string]string{".openclaw/openclaw.json": "{\n  // the house\n  \"agents\": {\"defaults\": {\"model\": \"x\"}},\n  \"plugins\": {\n    \"allow\": [\"memory\"], // only these\n    \"load\": {\"paths\": [\"/opt/p\"]}\n  }\n}\n"}
	case "vibe":
		return map[string]string{".vibe/hooks.toml": "# mine\n[[hooks]]\nname = \"other\"\ntype = \"pre_tool\"\ncommand = \"x\"\n"}
	case "hermes":
		return map[string]string{".hermes/config.yaml": "# mine\nmodel: x\nplugins:\n  enabled: [a]\n"}
	}
	return nil
}

func TestOtherSettingsKeepTheirBytes(t *testing.T) {
	for _, client := range Names() {
		files := existing(client)
		if files == nil {
			continue // every file of this client is the gate's own
		}
		t.Run(client, func(t *testing.T) {
			h := host(t)
			for name, text := range files {
				write(t, filepath.Join(h.Home, name), text, 0o640)
			}
			before := tree(t, h.Home)
			install(t, h, client, User)
			if p, err := h.Install(client, User); err != nil || len(p.Changes) != 0 {
				t.Errorf("the second install changes %+v (%v)", p.Changes, err)
			}
			t.Run("structurally", func(t *testing.T) { // as if the record were lost
				bare := h
				bare.State = t.TempDir()
				p, err := bare.Remove(client, User)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range p.Changes {
					rel, _ := filepath.Rel(h.Home, c.Path)
					if want, ok := files[rel]; ok && string(c.After) != want {
						t.Errorf("without the record (-want +got):\n%s", cmp.Diff(want, string(c.After)))
					}
				}
			})
			remove(t, h, client, User)
			if diff := cmp.Diff(before, tree(t, h.Home)); diff != "" {
				t.Errorf("removing does not give the bytes back:\n%s", diff)
			}
		})
	}
}

func TestWhatOthersChangeAfterwardsStays(t *testing.T) {
	h := host(t)
	name := h.Home + "/.claude/settings.json"
	write(t, name, "{\n  \"model\": \"opus\"\n}\n", 0o644)
	install(t, h, "claude-code", User)
	write(t, name, strings.Replace(read(t, name), `"opus"`, `"sonnet"`, 1), 0o644)
	remove(t, h, "claude-code", User)
	if got, want := read(t, name), "{\n  \"model\": \"sonnet\"\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnOlderEntryIsReplacedAndRemovingStillGivesTheFirstBytesBack(t *testing.T) {
	h := host(t)
	name := h.Home + "/.claude/settings.json"
	const first = `{"model":"opus"}`
	write(t, name, first, 0o644)
	install(t, h, "claude-code", User)
	h.Flags = []string{"--unattended"}
	install(t, h, "claude-code", User)
	if got := strings.Count(read(t, name), `"--unattended"`); got != len(claudeEvents(h, User)) {
		t.Errorf("%d entries have the new flag:\n%s", got, read(t, name))
	}
	if got := strings.Count(read(t, name), `"claude-code"`); got != len(claudeEvents(h, User)) {
		t.Errorf("an older entry is left:\n%s", read(t, name))
	}
	remove(t, h, "claude-code", User)
	if got := read(t, name); got != first {
		t.Errorf("got %q", got)
	}
}

func TestAHandlerAmongOthersOfAGroupIsCutOutAlone(t *testing.T) {
	h := host(t)
	name := h.Home + "/.codex/hooks.json"
	write(t, name, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"gate hook codex"},{"type":"command","command":"other"}]}]}}`, 0o644)
	remove(t, h, "codex", User)
	var got any
	if err := json.Unmarshal([]byte(read(t, name)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"hooks": map[string]any{"PreToolUse": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "other"}}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesThatCannotBeUsedAreRefusedWithTheWayOut(t *testing.T) {
	outside := t.TempDir()
	for name, c := range map[string]struct {
		client string
		make   func(t *testing.T, h Host)
		want   string
	}{
		"broken JSON names its line": {"claude-code", func(t *testing.T, h Host) {
			write(t, h.Home+"/.claude/settings.json", "{\n \"a\": 1,\n \"b\": }\n", 0o644)
		}, "line 3"},
		"a comment voids Claude's file": {"claude-code", func(t *testing.T, h Host) {
			write(t, h.Home+"/.claude/settings.json", "{\n \"a\": 1, // x\n \"b\": 2}\n", 0o644)
		}, "line 2: a comment or a trailing comma"},
		"an entry of an unknown type voids it too": {"claude-code", func(t *testing.T, h Host) {
			write(t, h.Home+"/.claude/settings.json", `{"hooks":{"Stop":[{"hooks":[{"type":"shell","command":"x"}]}]}}`, 0o644)
		}, `hooks.Stop has a hook of type "shell", so the client ignores the whole file`},
		"a key twice": {"gemini", func(t *testing.T, h Host) {
			write(t, h.Home+"/.gemini/settings.json", "{\"hooks\":{},\n\"hooks\":{}}", 0o644)
		}, `line 2: the key "hooks" is there twice`},
		"an array instead of an object": {"cursor", func(t *testing.T, h Host) {
			write(t, h.Home+"/.cursor/hooks.json", "[]", 0o644)
		}, "something else than an object"},
		"hooks that are no list": {"gemini", func(t *testing.T, h Host) {
			write(t, h.Home+"/.gemini/settings.json", `{"hooks":{"BeforeTool":{}}}`, 0o644)
		}, "hooks.BeforeTool is no list"},
		"an unknown key of Codex": {"codex", func(t *testing.T, h Host) {
			write(t, h.Home+"/.codex/hooks.json", `{"version":1}`, 0o644)
		}, `"version"`},
		"broken TOML names its line": {"vibe", func(t *testing.T, h Host) {
			write(t, h.Home+"/.vibe/hooks.toml", "a = 1\nb = \n", 0o644)
		}, "line 2"},
		"hooks in YAML": {"hermes", func(t *testing.T, h Host) {
			write(t, h.Home+"/.hermes/config.yaml", "a: 1\nhooks: {}\n", 0o644)
		}, "line 2: it has hooks already"},
		"somebody else's file of the same name": {"copilot", func(t *testing.T, h Host) {
			write(t, h.Home+"/.copilot/hooks/gatehouse.json", "{}", 0o644)
		}, "none of the gate's"},
		"plugins switched off": {"openclaw", func(t *testing.T, h Host) {
			write(t, h.Home+"/.openclaw/openclaw.json", `{"plugins":{"enabled":false}}`, 0o644)
		}, "plugins.enabled is false"},
		"JSON5": {"openclaw", func(t *testing.T, h Host) {
			write(t, h.Home+"/.openclaw/openclaw.json", `{plugins:{}}`, 0o644)
		}, "of JSON5, comments and trailing commas are understood"},
		"read-only": {"claude-code", func(t *testing.T, h Host) {
			write(t, h.Home+"/.claude/settings.json", "{}", 0o444)
		}, "is read-only (mode 0444)"},
		"a link out of the home directory": {"claude-code", func(t *testing.T, h Host) {
			write(t, outside+"/settings.json", "{}", 0o644)
			link(t, outside+"/settings.json", h.Home+"/.claude/settings.json")
		}, "outside of"},
		"a directory that is a link out of it": {"claude-code", func(t *testing.T, h Host) {
			link(t, outside, h.Home+"/.claude")
		}, "outside of"},
		"a link that leads nowhere": {"claude-code", func(t *testing.T, h Host) {
			link(t, h.Home+"/none", h.Home+"/.claude/settings.json")
		}, "leads nowhere"},
		"a FIFO": {"claude-code", func(t *testing.T, h Host) {
			if err := os.MkdirAll(h.Home+"/.claude/settings.json", 0o755); err != nil {
				t.Fatal(err)
			}
		}, "no regular file"},
		"no gate": {"claude-code", func(t *testing.T, h Host) {
			if err := os.Remove(h.Gate); err != nil {
				t.Fatal(err)
			}
		}, "the gate that hooks would call"},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t)
			c.make(t, h)
			before := tree(t, h.Home)
			_, err := h.Install(c.client, User)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff(before, tree(t, h.Home)); diff != "" {
				t.Errorf("something was changed:\n%s", diff)
			}
		})
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestALinkOfADotfilesManagerIsWrittenThrough(t *testing.T) {
	h := host(t)
	write(t, h.Home+"/dotfiles/claude.json", "{\n  \"model\": \"opus\"\n}\n", 0o600)
	link(t, "../dotfiles/claude.json", h.Home+"/.claude/settings.json")
	before := tree(t, h.Home)
	install(t, h, "claude-code", User)
	if got, _ := os.Readlink(h.Home + "/.claude/settings.json"); got != "../dotfiles/claude.json" {
		t.Errorf("the link is %q", got)
	}
	if info, err := os.Stat(h.Home + "/dotfiles/claude.json"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if !strings.Contains(read(t, h.Home+"/dotfiles/claude.json"), `"hook"`) {
		t.Error("the file behind the link is as it was")
	}
	remove(t, h, "claude-code", User)
	if diff := cmp.Diff(before, tree(t, h.Home)); diff != "" {
		t.Error(diff)
	}
}

func TestManagedFilesAreRootsAlone(t *testing.T) {
	h := host(t)
	if err := os.Chmod(h.Root+"/etc", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Install("claude-code", Managed); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a directory for all: %v", err)
	}
	if err := os.Chmod(h.Root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, h.Home+"/x", h.Root+"/etc/codex/requirements.toml")
	if _, err := h.Install("codex", Managed); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a link: %v", err)
	}
	if err := os.Chmod(h.Gate, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Install("gemini", Managed); err == nil || !strings.Contains(err.Error(), "program of root's") {
		t.Errorf("a program for all: %v", err)
	}
}

func TestRequirementsOfCodexArePinned(t *testing.T) {
	for name, c := range map[string]struct{ before, want string }{
		"nothing":         {"", "[features]\nhooks = true"},
		"features":        {"allow_managed_hooks_only = true\n[features] # ours\nfast = true\n", "[features] # ours\nhooks = true # gatehouse\nfast = true"},
		"features and on": {"[features]\nhooks = true\n", "[features]\nhooks = true\n"},
		"hooks":           {"[hooks]\nmanaged_dir = \"/opt\"\n\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"x\"\n", "[features]\nhooks = true"},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t)
			path := h.Root + "/etc/codex/requirements.toml"
			if c.before != "" {
				write(t, path, c.before, 0o644)
			}
			install(t, h, "codex", Managed)
			got := read(t, path)
			if !strings.Contains(got, c.want) || !requirementsAsk([]byte(got)) {
				t.Errorf("got:\n%s", got)
			}
			bare, err := cutTOML([]byte(got))
			if err != nil || string(bare) != c.before {
				t.Errorf("cut: %v (-want +got)\n%s", err, cmp.Diff(c.before, string(bare)))
			}
			remove(t, h, "codex", Managed)
			if c.before != "" && read(t, path) != c.before {
				t.Errorf("after removing:\n%s", read(t, path))
			}
		})
	}
	h := host(t)
	write(t, h.Root+"/etc/codex/requirements.toml", "[features]\nhooks = false\n", 0o644)
	if _, err := h.Install("codex", Managed); err == nil || !strings.Contains(err.Error(), "features.hooks = false") {
		t.Errorf("got %v", err)
	}
}

var errInjected = errors.New("injected fault")

// A step that fails before or after it took place leaves settings that can be read, with or without the gate, and a
// second run brings them where they belong; removing then gives the first bytes back.
func TestAFaultAtAnyStepIsMendedByTheNextRun(t *testing.T) {
	for _, client := range []string{"openclaw", "claude-code", "copilot"} {
		for step := range 12 {
			for _, late := range []bool{false, true} {
				h := host(t)
				for name, text := range existing(client) {
					write(t, filepath.Join(h.Home, name), text, 0o644)
				}
				before := tree(t, h.Home)
				n := 0
				faulty := h
				faulty.Disk = durable.Disk{Around: func(_ durable.Step, change func() error) error {
					n++
					if n-1 != step {
						return change()
					}
					if late {
						_ = change()
					}
					return errInjected
				}}
				p, err := faulty.Install(client, User)
				if err != nil {
					t.Fatal(err)
				}
				err = p.Apply(t.Context())
				if n > step && !errors.Is(err, errInjected) {
					t.Errorf("%s, step %d: got %v", client, step, err)
				}
				for name := range existing(client) {
					if _, err := parseText([]byte(read(t, filepath.Join(h.Home, name))), comments); err != nil {
						t.Errorf("%s, step %d: %s: %v", client, step, name, err)
					}
				}
				install(t, h, client, User)
				remove(t, h, client, User)
				if diff := cmp.Diff(before, tree(t, h.Home)); diff != "" {
					t.Errorf("%s, step %d, late %v:\n%s", client, step, late, diff)
				}
			}
		}
	}
}

func TestApplyRefusesAFileThatHasJustChanged(t *testing.T) {
	h := host(t)
	name := h.Home + "/.claude/settings.json"
	write(t, name, "{}", 0o644)
	p, err := h.Install("claude-code", User)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, `{"a": 1}`, 0o644)
	if err := p.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "has just been changed") {
		t.Errorf("got %v", err)
	}
	if got := read(t, name); got != `{"a": 1}` {
		t.Errorf("got %q", got)
	}
}

func TestNamesAndScopes(t *testing.T) {
	if got, err := Canonical("claude"); got != "claude-code" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := Canonical("emacs"); err == nil || !strings.Contains(err.Error(), "claude-code, codex") {
		t.Errorf("got %v", err)
	}
	if got := Scopes("openclaw"); !slices.Equal(got, []Scope{User}) {
		t.Errorf("got %v", got)
	}
	if _, err := host(t).Install("openclaw", Managed); !errors.Is(err, errNoScope) {
		t.Errorf("got %v", err)
	}
}
