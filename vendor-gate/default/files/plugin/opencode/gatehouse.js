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
const own = "[gatehouse] "; // begins what the plugin says in a session

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

// within is what a promise comes to, undefined if it fails or is not there in time.
async function within(ms, promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, ms); });
  try {
    return await Promise.race([promise, late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

// words are the texts of a message, as far as the gate needs them to know whose they are.
function words(output) {
  const parts = output && Array.isArray(output.parts) ? output.parts : [];
  return parts.filter((p) => p && p.type === "text" && typeof p.text === "string").map((p) => ({ type: "text", text: p.text.slice(0, 1 << 16) }));
}

export const Gatehouse = async (ctx) => {
  const file = fileURLToPath(import.meta.url);
  const s = settings(file);
  report(file, s.live);
  const directory = ctx && ctx.directory;
  const parents = new Map(); // of each session that is known: the one that opened it, "" where a person did
  const reminded = new Map(); // how often a session was told to go on since a person last spoke

  // parentOf is the session that opened another one. Where opencode does not say, a session counts as its own parent, so
  // that what is said in it is no word of a person.
  const parentOf = async (id) => {
    if (!parents.has(id)) {
      const r = ctx && ctx.client ? await within(2000, ctx.client.session.get({ path: { id } })) : undefined;
      if (!r || !r.data || r.data.id !== id) return id;
      parents.set(id, r.data.parentID || "");
    }
    return parents.get(id);
  };

  // top is the session in which a person speaks with the agent whose agent opened this one, "" for that session itself.
  const top = async (id) => {
    let found = "";
    for (let depth = 0; id && depth < 16; depth++) {
      const parent = await parentOf(id);
      if (parent === id) return id;
      if (parent === "") return found;
      found = id = parent;
    }
    return found;
  };

  const event = async (name, hookInput, hookOutput) => ({
    hook_event_name: name, hookInput, hookOutput, directory, parent: (await top(hookInput.sessionID)) || undefined,
  });

  return {
    "tool.execute.before": async (input, output) => {
      const { refused, rewrite } = ask(s, await event("tool.execute.before", { ...input, args: undefined }, { args: output.args }));
      if (refused) throw new Error(refused);
      if (rewrite && typeof rewrite === "object") Object.assign(output.args, rewrite); // in place: a new object is not looked at
    },
    "tool.execute.after": async (input, output) => {
      const { refused, note } = ask(s, await event("tool.execute.after", input, { title: output.title, output: output.output, metadata: output.metadata }));
      const word = refused ? "this call could not be recorded: " + refused : note;
      if (word && typeof output.output === "string") output.output += "\n\n[gatehouse] " + word;
    },
    "chat.message": async (input, output) => {
      const parts = words(output);
      if (!parts.some((p) => p.text.startsWith(own))) reminded.delete(input.sessionID);
      ask(s, await event("chat.message", { sessionID: input.sessionID }, { parts }));
    },
    event: async ({ event: e }) => {
      const { info, sessionID: id } = e.properties || {};
      if (e.type === "session.created" && info) {
        parents.set(info.id, info.parentID || "");
        if (!info.parentID) ask(s, await event("session.created", { sessionID: info.id }, {}));
      }
      if (e.type !== "session.idle" || !id || await top(id)) return;
      const { refused } = ask(s, await event("session.idle", { sessionID: id }, {}));
      const times = (reminded.get(id) || 0) + 1;
      if (!refused || times > 3 || !ctx.client) return;
      reminded.set(id, times);
      ctx.client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text: own + refused }] } }).catch(() => {});
    },
  };
};
