package wiring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stub puts a script in the place of the gate. It answers by the client's own dialect where there is one for a refusal.
func stub(t *testing.T, h Host, script string) {
	t.Helper()
	write(t, h.Gate, "#!/bin/sh\n"+script+"\n", 0o755)
}

func TestAskingTheConfiguredHook(t *testing.T) {
	const universal = `cat >/dev/null; printf '%s' '{"decision":"deny","reason":"R","block":true,"permission":"deny","cancel":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"}}'`
	for name, c := range map[string]struct {
		script string
		runs   map[string]bool // clients that run the command; "" is all others
	}{
		"no objection": {"cat >/dev/null", map[string]bool{"": true}},
		"refused":      {universal + "; echo R >&2; exit 2", nil},
		"killed":       {"kill -KILL $$", nil},
		"fails":        {"exit 1", nil},
		"nonsense":     {"echo all is well", nil},
		"a word more":  {"echo warning; " + universal, nil},
		"a list":       {"echo '[]'", nil},
	} {
		for _, client := range Names() {
			t.Run(name+" "+client, func(t *testing.T) {
				h := host(t)
				stub(t, h, c.script)
				install(t, h, client, User)
				argv, _, err := h.Hook(client)
				if err != nil {
					t.Fatal(err)
				}
				got, err := h.Ask(t.Context(), client, argv, "ls", h.Project, false)
				if err != nil {
					t.Fatal(err)
				}
				want, ok := c.runs[client]
				if !ok {
					want = c.runs[""]
				}
				if got.Runs != want {
					t.Errorf("runs: %v, want %v (%+v)", got.Runs, want, got)
				}
			})
		}
	}
}

func TestTheInputOfAProofIsWhatTheHookGets(t *testing.T) {
	for _, client := range Names() {
		t.Run(client, func(t *testing.T) {
			h := host(t)
			seen := filepath.Join(h.Project, "seen")
			stub(t, h, "cat > "+seen)
			install(t, h, client, User)
			argv, _, err := h.Hook(client)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Ask(t.Context(), client, argv, "rm 'a b'", h.Project, false); err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal([]byte(read(t, seen)), &got); err != nil {
				t.Fatal(err)
			}
			if text := string(mustJSON(got)); !strings.Contains(text, "rm 'a b'") || !strings.Contains(text, h.Project) {
				t.Errorf("got %s", text)
			}
		})
	}
}

func TestTrustOfCodexIsWrittenAndTakenOut(t *testing.T) {
	h := host(t)
	const config = "model = \"gpt-5.5\" # mine\n"
	write(t, h.Home+"/.codex/config.toml", config, 0o600)
	install(t, h, "codex", User)
	server := filepath.Join(filepath.Dir(h.Gate), "codex")
	key := h.Home + "/.codex/hooks.json:pre_tool_use:0:0"
	hook := map[string]any{"key": key, "eventName": "preToolUse", "command": h.line(User, "codex"), "source": "user", "enabled": true,
		"currentHash": "sha256:abc", "trustStatus": "untrusted"}
	other := map[string]any{"key": "x", "command": "other", "source": "user", "currentHash": "sha256:no", "trustStatus": "untrusted"}
	answer := map[string]any{"id": 2, "result": map[string]any{"data": []any{map[string]any{"hooks": []any{hook, other}}}}}
	write(t, server, "#!/bin/sh\nread a; echo '{\"method\":\"notice\"}'; echo '{\"id\":1,\"result\":{}}'; read b; read c; cat <<'END'\n"+string(mustJSON(answer))+"\nEND\n", 0o755)

	hooks, err := h.CodexHooks(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Trust(hooks)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	have, err := readTOML([]byte(read(t, h.Home+"/.codex/config.toml")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"model": "gpt-5.5", "hooks": map[string]any{"state": map[string]any{key: map[string]any{"trusted_hash": "sha256:abc"}}}}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(h.Home + "/.codex/config.toml"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	remove(t, h, "codex", User)
	if got := read(t, h.Home+"/.codex/config.toml"); got != config {
		t.Errorf("after removing: %q", got)
	}

	write(t, server, "#!/bin/sh\nread a; echo '{\"id\":1,\"error\":{\"message\":\"no\"}}'\n", 0o755)
	if _, err := h.CodexHooks(t.Context(), server); err == nil || !strings.Contains(err.Error(), "it answers") {
		t.Errorf("got %v", err)
	}
	write(t, server, "#!/bin/sh\nexit 0\n", 0o755)
	if _, err := h.CodexHooks(t.Context(), server); err == nil {
		t.Error("a server that ends says nothing, and that is no error")
	}
}
