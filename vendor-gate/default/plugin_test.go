package defaultgate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// driver loads a plugin as its client does, makes one call, and prints what the client would make of it.
const driver = `
import { pathToFileURL } from "node:url";
const [kind, file, gate] = process.argv.slice(2);
const module = await import(pathToFileURL(file));
let result;
if (kind === "opencode") {
  const known = { s: "", child: "s", grandchild: "child" };
  const client = { session: { get: async ({ path }) => ({ data: path.id in known ? { id: path.id, parentID: known[path.id] || undefined } : undefined }) } };
  const hooks = await module.Gatehouse({ directory: "/srv/app", client });
  const output = { args: { command: "ls" } };
  try {
    await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, output);
    result = { runs: output.args.command };
  } catch (err) { result = { refused: err.message }; }
  const after = { title: "", output: "x", metadata: {} };
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s", callID: "c" }, after);
  result.after = after.output;
  for (const id of process.argv.slice(5)) {
    await hooks["chat.message"]({ sessionID: id, agent: "general" }, { message: {}, parts: [{ type: "file", url: "x" }, { type: "text", text: "T", id: "p" }] });
  }
} else {
  const handlers = {};
  module.default.register({ pluginConfig: gate ? { gate } : {}, registrationMode: "full", on(name, f) { handlers[name] = f; }, logger: { warn() {} } });
  const event = { toolName: "exec", params: { command: "ls" }, runId: "r" };
  event.self = event; // circles must not stop it
  const said = handlers.before_tool_call(event, { agentId: "main", sessionKey: "k", abortSignal: {}, workspaceDir: "/srv/app" });
  result = said === undefined ? { runs: "ls" } : said.params ? { runs: said.params.command } : said.block ? { refused: said.blockReason } : { asks: said.requireApproval.title };
  handlers.after_tool_call(event, {});
}
console.log(JSON.stringify(result));
`

// play runs a plugin with a script in the place of the gate, "" for none at all.
func play(t *testing.T, kind, script string, env ...string) (result map[string]any, dir string) {
	t.Helper()
	return playIn(t, kind, script, nil, env...)
}

// playIn is play with messages in sessions of opencode after the call.
func playIn(t *testing.T, kind, script string, sessions []string, env ...string) (result map[string]any, dir string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node, which the clients bring")
	}
	dir = t.TempDir()
	files := map[string]string{"driver.mjs": driver, "package.json": `{"type":"module"}`}
	file := "gatehouse.js"
	if kind == "openclaw" {
		file = "index.js"
		files["openclaw.plugin.json"] = string(read(t, Files(), "plugin/openclaw/openclaw.plugin.json"))
	}
	files[file] = string(read(t, Files(), "plugin/"+kind+"/"+file))
	gate := ""
	if script != "" {
		gate = filepath.Join(dir, "gate")
		files["gate"] = "#!/bin/sh\ncat > " + dir + "/seen\n" + script + "\n"
		files["gatehouse.json"] = `{"gate":"` + gate + `"}`
	}
	for name, text := range files {
		// A process that another test starts meanwhile would hold the gate open to write, and it could not be run.
		syscall.ForkLock.RLock()
		err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(node, append([]string{filepath.Join(dir, "driver.mjs"), kind, filepath.Join(dir, file), gate}, sessions...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	return result, dir
}

func TestPluginsRunNothingUnlessTheGateEndsWithoutAnObjection(t *testing.T) {
	for name, c := range map[string]struct{ script, opencode, openclaw string }{
		"no objection":       {"exit 0", `{"runs":"ls"}`, `{"runs":"ls"}`},
		"refused":            {`echo '{"decision":"deny","reason":"no: R","block":true,"blockReason":"no: R"}'; exit 2`, `{"refused":"no: R"}`, `{"refused":"no: R"}`},
		"refused with 0":     {`echo '{"decision":"deny","reason":"no","block":true,"blockReason":"no"}'`, `{"refused":"no"}`, `{"refused":"no"}`},
		"refused by a word":  {"echo no >&2; exit 2", `{"refused":"no"}`, `{"refused":"no"}`},
		"fails":              {"exit 1", `{"refused":"the gate ended with status 1 and without an answer"}`, `{"refused":"the gate ended with status 1 and without an answer"}`},
		"killed":             {"kill -KILL $$", `{"refused":"the gate ended with SIGKILL and without an answer"}`, `{"refused":"the gate ended with SIGKILL and without an answer"}`},
		"nonsense":           {"echo all is well", `{"refused":"the gate ended with status 0 and without an answer"}`, `{"refused":"the gate ended with status 0 and without an answer"}`},
		"a list":             {"echo '[]'", `{"refused":"the gate ended with status 0 and without an answer"}`, `{"refused":"the gate ended with status 0 and without an answer"}`},
		"cut off":            {`printf '{"dec'`, `{"refused":"the gate ended with status 0 and without an answer"}`, `{"refused":"the gate ended with status 0 and without an answer"}`},
		"another line":       {`echo '{"rewrite":{"command":"ls -l"},"params":{"command":"ls -l"}}'`, `{"runs":"ls -l"}`, `{"runs":"ls -l"}`},
		"a question":         {`echo '{"decision":"ask","reason":"R","requireApproval":{"title":"T"}}'`, `{"refused":"R"}`, `{"asks":"T"}`},
		"no settings at all": {"", "the gate cannot be asked", "the gate cannot be asked"},
	} {
		for kind, want := range map[string]string{"opencode": c.opencode, "openclaw": c.openclaw} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				got, _ := play(t, kind, c.script)
				delete(got, "after")
				text, err := json.Marshal(got)
				if err != nil {
					t.Fatal(err)
				}
				if c.script == "" {
					if !strings.Contains(string(text), want) {
						t.Errorf("got %s", text)
					}
					return
				}
				if diff := cmp.Diff(want, string(text)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestThePluginOfOpencodeSaysWhatTheGateNotes(t *testing.T) {
	got, _ := play(t, "opencode", `echo '{"note":"a credential of kind K is in the output"}'`)
	if got["after"] != "x\n\n[gatehouse] a credential of kind K is in the output" {
		t.Errorf("got %q", got["after"])
	}
}

func TestPluginsSendWhatTheGateReads(t *testing.T) {
	for kind, want := range map[string]string{
		"opencode": `{"directory":"/srv/app","hookInput":{"callID":"c","sessionID":"s","tool":"bash"},"hookOutput":{"metadata":{},"output":"x","title":""},"hook_event_name":"tool.execute.after"}`,
		"openclaw": `"hook_event_name":"after_tool_call"`,
	} {
		_, dir := play(t, kind, "exit 0")
		data, err := os.ReadFile(filepath.Join(dir, "seen"))
		if err != nil {
			t.Fatal(err)
		}
		var sorted any
		if err := json.Unmarshal(data, &sorted); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(sorted)
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: got %s", kind, text)
		}
	}
}

// What is said in a session that an agent has opened is no word of a person, and its calls are part of the person's session.
func TestThePluginOfOpencodeSaysWhoseSessionItIs(t *testing.T) {
	for session, parent := range map[string]any{"s": nil, "child": "s", "grandchild": "s", "of another time": "of another time"} {
		_, dir := playIn(t, "opencode", "exit 0", []string{session})
		data, err := os.ReadFile(filepath.Join(dir, "seen"))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"hook_event_name": "chat.message", "directory": "/srv/app", "hookInput": map[string]any{"sessionID": session},
			"hookOutput": map[string]any{"parts": []any{map[string]any{"type": "text", "text": "T"}}},
		}
		if parent != nil {
			want["parent"] = parent
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", session, diff)
		}
	}
}

func TestPluginsOfAServiceSayWhatTheyHaveLoaded(t *testing.T) {
	for kind, files := range map[string][]string{"opencode": {"gatehouse.js"}, "openclaw": {"index.js", "openclaw.plugin.json", "package.json"}} {
		run := t.TempDir()
		// The test is the parent of node, as systemd's main process would be.
		_, dir := play(t, kind, "exit 0", "INVOCATION_ID=0f1e2d3c4b5a69788796a5b4c3d2e1f0", "RUNTIME_DIRECTORY="+run, "SYSTEMD_EXEC_PID="+strconv.Itoa(os.Getpid()))
		var got struct {
			Schema string            `json:"schema"`
			ID     string            `json:"invocation_id"`
			Files  map[string]string `json:"files"`
		}
		data, err := os.ReadFile(filepath.Join(run, "loaded.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got.Schema != "gatehouse/loaded/v1" || got.ID != "0f1e2d3c4b5a69788796a5b4c3d2e1f0" || len(got.Files) != len(files) {
			t.Errorf("%s: %s", kind, data)
		}
		for _, name := range files {
			if want := sum(t, filepath.Join(dir, name)); got.Files["plugin/"+name] != want {
				t.Errorf("%s: %s is %q, want %s", kind, name, got.Files["plugin/"+name], want)
			}
		}
		_, _ = play(t, kind, "exit 0", "INVOCATION_ID=ffffffffffffffffffffffffffffffff", "RUNTIME_DIRECTORY="+run, "SYSTEMD_EXEC_PID=1")
		if again, _ := os.ReadFile(filepath.Join(run, "loaded.json")); string(again) != string(data) {
			t.Errorf("%s: a process that is not the service's says something for it: %s", kind, again)
		}
	}
}

func sum(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
