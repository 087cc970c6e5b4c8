package wiring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Two clients have no hooks that are programs: a plugin inside the client starts the gate. It ships with the default
// gate; what differs from host to host stands beside it, so that the plugin's own bytes are those that were reviewed.

// opencode is opencode, which loads every file of a directory, and goes on without a word where one cannot be loaded. An
// administrator's settings name the plugin by its path; they are read last, and add to the lists of the others.
func opencode() client {
	return client{
		name: "opencode", programs: []string{"opencode"}, signs: []string{".config/opencode"},
		places: func(h Host, s Scope) []place {
			dir := h.home("XDG_CONFIG_HOME", ".config", "opencode")
			switch s {
			case Project:
				dir = filepath.Join(h.Project, ".opencode")
			case Managed:
				dir = h.system("/etc/opencode")
			}
			if s == Managed { // not where the client would look for plugins by itself, so that it loads this one once
				plugin := filepath.Join(dir, "gatehouse/gatehouse.js")
				return []place{
					h.place(s, filepath.Join(dir, "gatehouse/gatehouse.json"), ownJSON(h.pluginSettings(s), nil)),
					h.place(s, plugin, h.shipped("plugin/opencode/gatehouse.js", true)),
					h.place(s, filepath.Join(dir, "opencode.json"), listed("file://"+plugin, "plugin")),
				}
			}
			return []place{
				h.place(s, filepath.Join(dir, "plugins/gatehouse.json"), ownJSON(h.pluginSettings(s), nil)),
				h.place(s, filepath.Join(dir, "plugins/gatehouse.js"), h.shipped("plugin/opencode/gatehouse.js", true)),
			}
		},
		hazards: opencodeHazards,
	}
}

// listed is a JSON file with a text in a list.
func listed(entry string, path ...string) place {
	return place{
		put: func(old []byte) ([]byte, error) {
			t, err := parseText(old, comments)
			if err != nil {
				return nil, err
			}
			if old != nil && holds(t.list(path...), entry) {
				return old, nil
			}
			if err := t.add(entry, path...); err != nil {
				return nil, err
			}
			return t.src, nil
		},
		cut: func(old []byte) ([]byte, error) {
			t, err := parseText(old, comments)
			if err != nil {
				return nil, err
			}
			was := t.src
			if err := t.dropText(entry, path...); err != nil {
				return nil, err
			}
			switch {
			case bytes.Equal(was, t.src):
				return old, nil
			case onlyBraces(t.src):
				return nil, nil
			}
			return t.src, nil
		},
		asks: func(src []byte) bool {
			t, err := parseText(src, comments)
			return err == nil && holds(t.list(path...), entry)
		},
	}
}

// pluginSettings are what a plugin is told: which gate to start, and by which name of live files it reports itself.
func (h Host) pluginSettings(s Scope) map[string]any {
	settings := map[string]any{"about": "gatehouse: which program the plugin beside this asks", "gate": h.program(s), "live": "plugin"}
	if len(h.Flags) > 0 {
		settings["flags"] = h.Flags
	}
	return settings
}

// shipped is a file of a plugin as it ships.
func (h Host) shipped(name string, decides bool) place {
	content, err := fs.ReadFile(orNone(h.Plugins), name)
	if err != nil {
		fail := func([]byte) ([]byte, error) {
			return nil, fmt.Errorf("read the plugin that ships with the gate: %w", err)
		}
		return place{put: fail, cut: func([]byte) ([]byte, error) { return nil, nil }}
	}
	p := ownFile(content)
	if decides {
		p.asks = func(src []byte) bool { return bytes.Equal(src, content) }
	}
	return p
}

// orNone is a file system without files in the place of none.
func orNone(files fs.FS) fs.FS {
	if files == nil {
		return noFiles{}
	}
	return files
}

type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// openclawFiles are those of the OpenClaw plugin; the one that names the others comes last.
func openclawFiles() []string { return []string{"openclaw.plugin.json", "package.json", "index.js"} }

// openclaw is OpenClaw, which loads a plugin that its settings name by path and switch on by its id.
func openclaw() client {
	return client{
		name: "openclaw", programs: []string{"openclaw"}, signs: []string{".openclaw"},
		lacks: []Scope{Project, Managed}, why: map[Scope]string{
			Project: "of a workspace are the agent's to change; install it for the user", Managed: "it reads none; install it for the user",
		},
		places: func(h Host, s Scope) []place {
			dir := h.openclawPlugin()
			var places []place
			for _, name := range openclawFiles() {
				places = append(places, h.place(s, filepath.Join(dir, name), h.shipped("plugin/openclaw/"+name, name == "index.js")))
			}
			return append(places, h.place(s, h.openclawSettings(), h.openclawEntry(dir)))
		},
		hazards: openclawHazards,
	}
}

func (h Host) openclawPlugin() string {
	return h.home("OPENCLAW_STATE_DIR", ".openclaw", "plugins/gatehouse")
}

func (h Host) openclawSettings() string {
	if path := h.env("OPENCLAW_CONFIG_PATH"); filepath.IsAbs(path) {
		return path
	}
	return h.home("OPENCLAW_STATE_DIR", ".openclaw", "openclaw.json")
}

// openclawEntry names the plugin in the settings, switches it on, and puts it on the list of allowed ones if there is one.
func (h Host) openclawEntry(dir string) place {
	config := map[string]any{"gate": h.Gate, "live": "plugin"}
	if len(h.Flags) > 0 {
		config["flags"] = h.Flags
	}
	return place{
		mode: 0o600, // the client keeps tokens there
		put: func(old []byte) ([]byte, error) {
			t, err := openclawText(old)
			if err != nil {
				return nil, err
			}
			if t.value("plugins", "enabled") == false {
				return nil, fmt.Errorf("line %d: plugins.enabled is false, which switches every plugin off: take that out", t.line(t.at("plugins", "enabled").StartOffset))
			}
			if !holds(t.list("plugins", "load", "paths"), dir) {
				if err := t.add(dir, "plugins", "load", "paths"); err != nil {
					return nil, err
				}
			}
			if t.at("plugins", "allow") != nil && !holds(t.list("plugins", "allow"), "gatehouse") {
				if err := t.add("gatehouse", "plugins", "allow"); err != nil {
					return nil, err
				}
			}
			for _, s := range []setting{{path: []string{"enabled"}, value: true}, {path: []string{"config"}, value: config}} {
				if err := t.set(s.value, append([]string{"plugins", "entries", "gatehouse"}, s.path...)...); err != nil {
					return nil, err
				}
			}
			if old != nil && bytes.Equal(old, t.src) {
				return old, nil
			}
			return t.src, nil
		},
		cut: func(old []byte) ([]byte, error) {
			t, err := openclawText(old)
			if err != nil {
				return nil, err
			}
			was := t.src
			err = errors.Join(t.remove("plugins", "entries", "gatehouse"),
				t.dropText(dir, "plugins", "load", "paths"), t.dropText("gatehouse", "plugins", "allow"))
			if err != nil {
				return nil, err
			}
			if bytes.Equal(was, t.src) {
				return old, nil
			}
			if onlyBraces(t.src) {
				return nil, nil
			}
			return t.src, nil
		},
		asks: func(src []byte) bool {
			t, err := openclawText(src)
			return err == nil && t.value("plugins", "entries", "gatehouse", "enabled") == true &&
				holds(t.list("plugins", "load", "paths"), dir) && t.value("plugins", "enabled") != false
		},
	}
}

// openclawText reads the client's settings. They may be JSON5, of which only comments and trailing commas are read here.
func openclawText(src []byte) (*text, error) {
	t, err := parseText(src, comments)
	if err != nil {
		return nil, fmt.Errorf("%w (of JSON5, comments and trailing commas are understood; quote keys and texts with \")", err)
	}
	return t, nil
}

// dropText takes a text out of a list of texts.
func (t *text) dropText(s string, path ...string) error {
	for i, v := range t.list(path...) {
		if v == s {
			return t.drop(i, path...)
		}
	}
	return nil
}

func holds(list []any, s string) bool { return slices.Contains(list, any(s)) }
