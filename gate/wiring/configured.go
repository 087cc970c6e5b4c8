package wiring

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Hook returns the argv by which a client starts the gate before a call, as its settings say, from the first of its
// places that asks: the administrator's, the user's, the project's. A command line is given to a shell, as the client does.
func (h Host) Hook(name string) (argv []string, path string, err error) {
	c, err := find(name)
	if err != nil {
		return nil, "", err
	}
	for _, scope := range []Scope{Managed, User, Project} {
		places, err := h.places(c, scope)
		if err != nil {
			continue
		}
		argv, path, err := h.hookOf(c.name, places)
		if argv != nil || err != nil {
			return argv, path, err
		}
	}
	return nil, "", fmt.Errorf("nothing in the settings of %s asks the gate: gate hook install %s", c.name, c.name)
}

// hookOf is Hook for the files of one scope, which all have to be in order.
func (h Host) hookOf(client string, places []place) (argv []string, path string, err error) {
	for _, p := range places {
		data, err := readSome(p.path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && p.asks != nil && !p.asks(data) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		if found := h.configured(client, p, data); found != nil && argv == nil {
			argv, path = found, p.path
		}
	}
	return argv, path, nil
}

// configured finds the command line of the hook in a file.
func (h Host) configured(client string, p place, data []byte) []string {
	switch {
	case strings.HasSuffix(p.path, ".toml"):
		have, err := readTOML(data)
		if err != nil {
			return nil
		}
		return firstHook(have)
	case client == "cline":
		return []string{p.path}
	case client == "hermes":
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "command: "); ok && isHook(rest) {
				var command string
				if json.Unmarshal([]byte(rest), &command) != nil {
					command = rest
				}
				return shell(command)
			}
		}
		return nil
	case client == "opencode" && filepath.Base(p.path) != "gatehouse.json":
		return nil
	case client == "opencode":
		gate, flags := settingsOf(data)
		if gate == "" {
			return nil
		}
		return append([]string{gate, "hook", client}, flags...)
	case client == "openclaw":
		t, err := openclawText(data)
		if err != nil {
			return nil
		}
		gate, flags := settingsOf(mustJSON(t.value("plugins", "entries", "gatehouse", "config")))
		if gate == "" {
			return nil
		}
		return append([]string{gate, "hook", client}, flags...)
	}
	t, err := parseText(data, comments)
	if err != nil {
		return nil
	}
	return firstHook(t.value())
}

// firstHook finds a handler of ours in decoded settings, those for what is about to run first.
func firstHook(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		if isOurs(v) {
			line, _ := v["command"].(string)
			if line == "" {
				line, _ = v["bash"].(string)
			}
			if args, ok := v["args"].([]any); ok {
				return append([]string{line}, texts(args)...)
			}
			return shell(line)
		}
		keys := slices.Sorted(maps.Keys(v))
		slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
		for _, key := range keys {
			if argv := firstHook(v[key]); argv != nil {
				return argv
			}
		}
	case []any:
		for _, e := range v {
			if argv := firstHook(e); argv != nil {
				return argv
			}
		}
	}
	return nil
}

func rank(key string) int {
	before := []string{"PreToolUse", "BeforeTool", "beforeShellExecution", "pre_run_command", "pre_tool_call"}
	if slices.Contains(before, key) {
		return 0
	}
	return 1
}

func shell(line string) []string { return []string{"/bin/sh", "-c", line} }

// settingsOf reads what stands beside the opencode plugin.
func settingsOf(src []byte) (gate string, flags []string) {
	var s struct {
		Gate  string   `json:"gate"`
		Flags []string `json:"flags"`
	}
	if json.Unmarshal(src, &s) != nil {
		return "", nil
	}
	return s.Gate, s.Flags
}

// gateOf is the program called gate on a command line, or on the one that a script of ours has.
func gateOf(argv []string, path string) string {
	if i := gateIn(argv); i >= 0 {
		return argv[i]
	}
	if len(argv) != 1 && argv[0] != "/bin/sh" {
		return argv[0]
	}
	line := argv[len(argv)-1]
	if len(argv) == 1 { // a script
		data, err := readSome(path)
		if err != nil {
			return ""
		}
		line = string(data)
	}
	if before, _, ok := strings.Cut(line, "gate hook "); ok {
		return before[strings.LastIndexAny(before, " \t\n(")+1:] + "gate"
	}
	if before, _, ok := strings.Cut(line, "gate' hook "); ok {
		return before[strings.LastIndex(before, "'")+1:] + "gate"
	}
	return ""
}
