// Gatehouse for opencode: every call of a tool is put to the gate before it runs.
//
// opencode has no hooks that are programs, so this plugin starts one, "gate hook opencode", and obeys it: nothing said
// and exit 0 lets the call run, everything else refuses it. That holds for a gate that is missing, fails, is killed,
// takes too long or answers nonsense. Which gate it is stands beside this file in gatehouse.json, which
// "gate hook install opencode" writes, so that these bytes are the ones that were reviewed.
//
// A plugin that throws while it is loaded is left out by opencode without a word; so nothing at load may throw, and what
// was wrong then refuses the first call.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const limit = 5000; // milliseconds; the gate answers within two seconds
const largest = 8 << 20;

// settings reads gatehouse.json. An error in it is kept, to refuse with.
function settings(file) {
  try {
    const s = JSON.parse(readFileSync(join(dirname(file), "gatehouse.json"), "utf8"));
    if (typeof s.gate !== "string" || s.gate === "") throw new Error("it names no gate");
    return { gate: s.gate, flags: Array.isArray(s.flags) ? s.flags.map(String) : [], live: String(s.live || "plugin") };
  } catch (err) {
    return { problem: "gatehouse.json beside the plugin: " + err.message, live: "plugin" };
  }
}

// report says to the warden which bytes this process has loaded, where it is the process of a service.
function report(file, live) {
  try {
    const { INVOCATION_ID: id, SYSTEMD_EXEC_PID: main, RUNTIME_DIRECTORY: own, XDG_RUNTIME_DIR: run } = process.env;
    if (!id || ![String(process.pid), String(process.ppid)].includes(main)) return;
    const dir = own ? own.split(":")[0] : run ? join(run, "gatehouse") : "";
    if (!dir) return;
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    mkdirSync(dir, { recursive: true });
    const fresh = join(dir, ".loaded.json." + process.pid);
    writeFileSync(fresh, JSON.stringify({ schema: "gatehouse/loaded/v1", invocation_id: id, files: { [live + "/gatehouse.js"]: sum } }) + "\n");
    renameSync(fresh, join(dir, "loaded.json"));
  } catch {
    // A record never makes a verdict better: without one the warden looks at the clocks.
  }
}

// ask starts the gate and returns what it says: {} for no objection, {refused} for everything that is none.
function ask(s, event) {
  if (s.problem) return { refused: "the gate cannot be asked: " + s.problem };
  let r;
  try {
    r = spawnSync(s.gate, ["hook", "opencode", ...s.flags], {
      input: JSON.stringify(event), timeout: limit, killSignal: "SIGKILL", maxBuffer: largest, encoding: "utf8",
    });
  } catch (err) {
    return { refused: "the gate cannot be asked: " + err.message };
  }
  const out = (r.stdout || "").trim();
  let said;
  try {
    said = out === "" ? {} : JSON.parse(out);
  } catch {
    said = null;
  }
  const isObject = said !== null && typeof said === "object" && !Array.isArray(said);
  if (r.error) return { refused: "the gate cannot be asked: " + r.error.message };
  if (r.signal || r.status !== 0 || !isObject) {
    const reason = isObject && typeof said.reason === "string" ? said.reason : (r.stderr || "").trim();
    return { refused: reason || `the gate ended with ${r.signal || "status " + r.status} and without an answer` };
  }
  if (said.decision === "deny" || said.decision === "block" || said.decision === "ask") {
    return { refused: String(said.reason || "the gate refuses it and gives no reason") };
  }
  return said;
}

export const Gatehouse = async (ctx) => {
  const file = fileURLToPath(import.meta.url);
  const s = settings(file);
  report(file, s.live);
  const directory = ctx && ctx.directory;
  const parents = new Map(); // of sessions that an agent has opened
  const reminded = new Map(); // how often a session was told to go on
  const event = (name, hookInput, hookOutput) => ({
    hook_event_name: name, hookInput, hookOutput, directory, parent: parents.get(hookInput && hookInput.sessionID),
  });
  return {
    "tool.execute.before": async (input, output) => {
      const { refused, rewrite } = ask(s, event("tool.execute.before", { ...input, args: undefined }, { args: output.args }));
      if (refused) throw new Error(refused);
      if (rewrite && typeof rewrite === "object") Object.assign(output.args, rewrite); // in place: a new object is not looked at
    },
    "tool.execute.after": async (input, output) => {
      const { refused, note } = ask(s, event("tool.execute.after", input, { title: output.title, output: output.output, metadata: output.metadata }));
      const word = refused ? "this call could not be recorded: " + refused : note;
      if (word && typeof output.output === "string") output.output += "\n\n[gatehouse] " + word;
    },
    "chat.message": async (input) => {
      if (parents.has(input.sessionID)) return; // an agent speaks there, no person
      if (reminded.get(input.sessionID) < 0) { // these are our own words
        reminded.set(input.sessionID, -reminded.get(input.sessionID));
        return;
      }
      reminded.delete(input.sessionID);
      ask(s, event("chat.message", { sessionID: input.sessionID }, {}));
    },
    event: async ({ event: e }) => {
      const info = e.properties && e.properties.info;
      if (e.type === "session.created" && info) {
        if (info.parentID) parents.set(info.id, info.parentID);
        else ask(s, event("session.created", { sessionID: info.id }, {}));
      }
      const id = e.properties && e.properties.sessionID;
      if (e.type !== "session.idle" || !id || parents.has(id)) return;
      const { refused } = ask(s, event("session.idle", { sessionID: id }, {}));
      const times = Math.abs(reminded.get(id) || 0) + 1;
      if (!refused || times > 3 || !ctx.client) return;
      reminded.set(id, -times);
      ctx.client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text: "[gatehouse] " + refused }] } }).catch(() => {});
    },
  };
};
