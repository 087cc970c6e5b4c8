package wiring

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A CodexHook is a hook as Codex itself lists it.
type CodexHook struct {
	Key     string `json:"key"`
	Event   string `json:"eventName"`
	Command string `json:"command"`
	Source  string `json:"source"` // user, project, …
	Path    string `json:"sourcePath"`
	Enabled bool   `json:"enabled"`
	Managed bool   `json:"isManaged"`
	Hash    string `json:"currentHash"`
	Trust   string `json:"trustStatus"`
}

func (c CodexHook) trusted() bool { return c.Managed || c.Trust == "trusted" }

// codexLimit is how long Codex may take to list its hooks: on a busy machine it needs long to start.
const codexLimit = time.Minute

// CodexHooks asks a Codex program for the hooks that it would run in the project, over the pipe of its app server.
func (h Host) CodexHooks(ctx context.Context, program string) ([]CodexHook, error) {
	ctx, cancel := context.WithTimeout(ctx, codexLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "app-server")
	cmd.Dir = h.Home
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	hooks, err := listHooks(in, out, h.codexDir())
	cancel()
	_ = cmd.Wait() // it was told to end
	if err != nil {
		return nil, fmt.Errorf("ask %s for its hooks: %w", program, err)
	}
	return hooks, nil
}

func (h Host) codexDir() string {
	if h.Project != "" {
		return h.Project
	}
	return h.Home
}

// listHooks speaks the app server's JSON, one object a line.
func listHooks(in io.Writer, out io.Reader, dir string) ([]CodexHook, error) {
	say := func(v any) error {
		_, err := in.Write(append(mustJSON(v), '\n'))
		return err
	}
	err := say(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{
		"clientInfo":   map[string]any{"name": "gatehouse", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true},
	}})
	if err != nil {
		return nil, err
	}
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, maxFile)
	for scan.Scan() {
		var m struct {
			ID    int             `json:"id"`
			Error json.RawMessage `json:"error"`
			// Result is read where it is that of hooks/list.
			Result struct {
				Data []struct {
					Hooks []CodexHook `json:"hooks"`
				} `json:"data"`
			} `json:"result"`
		}
		if json.Unmarshal(scan.Bytes(), &m) != nil {
			continue // a notice that is none of ours
		}
		switch {
		case m.Error != nil && m.ID > 0:
			return nil, fmt.Errorf("it answers %s", bytes.TrimSpace(m.Error))
		case m.ID == 1:
			err := errors.Join(say(map[string]any{"method": "initialized"}),
				say(map[string]any{"id": 2, "method": "hooks/list", "params": map[string]any{"cwds": []string{dir}}}))
			if err != nil {
				return nil, err
			}
		case m.ID == 2:
			var hooks []CodexHook
			for _, d := range m.Result.Data {
				hooks = append(hooks, d.Hooks...)
			}
			return hooks, nil
		}
	}
	return nil, errors.Join(errors.New("it ended without an answer"), scan.Err())
}

// Trust plans to say in Codex's settings that the gate's hooks may run, as a person would in /hooks. It is to be called
// once they are installed, with what Codex lists.
func (h Host) Trust(hooks []CodexHook) (Plan, error) {
	plan := Plan{Client: "codex", Scope: User, host: h, record: newRecord("codex", User, "")}
	var body strings.Builder
	var already, found int
	for _, hook := range hooks {
		if hook.Source != "user" || !isHook(hook.Command) {
			continue
		}
		found++
		if hook.trusted() {
			already++
		}
		fmt.Fprintf(&body, "[hooks.state.%s]\ntrusted_hash = %s\n", mustJSON(hook.Key), mustJSON(hook.Hash))
	}
	if found == 0 {
		return plan, errors.New("codex lists no hook of the gate's: see gate hook status codex")
	}
	if already == found {
		return plan, nil
	}
	p := h.trustPlace([]byte(body.String()))
	t, err := h.follow(p.path, p.within)
	if err != nil {
		return plan, err
	}
	after, err := p.put(t.orNil())
	if err != nil {
		return plan, fmt.Errorf("%s: %w", p.path, err)
	}
	kept, err := h.readRecord("codex", User)
	if err != nil {
		return plan, err
	}
	before, existed := []byte(nil), false
	if ours := kept.file(t.path); ours != nil && t.exists && digest(t.data) == ours.After {
		before, existed = ours.Before, ours.Existed
	} else if t.exists {
		if before, err = p.cut(t.data); err != nil {
			return plan, fmt.Errorf("%s: %w", p.path, err)
		}
		existed = before != nil
	}
	mode := t.mode
	if !t.exists {
		mode = 0o600
	}
	plan.Changes = []Change{{p.path, t.path, t.data, t.exists, after, false, mode}}
	plan.record.add(fileRecord{Path: p.path, Target: t.path, Existed: existed, Before: before, Mode: uint32(mode), After: digest(after)})
	return plan, nil
}

// trustPlace is Codex's own settings, where its trust in hooks stands.
func (h Host) trustPlace(body []byte) place {
	return h.place(User, h.home("CODEX_HOME", ".codex", "config.toml"), place{
		put: func(old []byte) ([]byte, error) {
			bare, err := cutTOML(old)
			if err != nil {
				return nil, err
			}
			return checkedTOML(putBlock(bare, string(body)))
		},
		cut: cutTOML,
	})
}
