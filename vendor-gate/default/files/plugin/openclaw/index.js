// Gatehouse for OpenClaw: every call of a tool is put to the gate before it runs.
//
// OpenClaw has no hooks that are programs, so this plugin starts one, "gate hook openclaw", and obeys it: nothing said
// and exit 0 lets the call run, everything else blocks it. That holds for a gate that is missing, fails, is killed,
// takes too long or answers nonsense. Which gate it is stands in the plugin's entry of openclaw.json, which
// "gate hook install openclaw" writes, so that these bytes are the ones that were reviewed.
//
// A gateway goes on without a plugin that throws while it registers; so nothing there may throw, and what was wrong then
// blocks the first call.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const limit = 5000; // milliseconds; the gate answers within two seconds
const largest = 8 << 20;

function settings(api) {
  const c = (api && api.pluginConfig) || {};
  const live = typeof c.live === "string" && c.live !== "" ? c.live : "plugin";
  if (typeof c.gate !== "string" || c.gate === "") {
    return { problem: "the plugin's settings name no gate: gate hook install openclaw", live };
  }
  return { gate: c.gate, flags: Array.isArray(c.flags) ? c.flags.map(String) : [], live };
}

// report says to the warden which bytes this process has loaded, where it is the process of a service.
function report(live) {
  try {
    const { INVOCATION_ID: id, SYSTEMD_EXEC_PID: main, RUNTIME_DIRECTORY: own, XDG_RUNTIME_DIR: run } = process.env;
    if (!id || ![String(process.pid), String(process.ppid)].includes(main)) return;
    const dir = own ? own.split(":")[0] : run ? join(run, "gatehouse") : "";
    if (!dir) return;
    const here = dirname(fileURLToPath(import.meta.url));
    const files = {};
    for (const name of ["index.js", "openclaw.plugin.json", "package.json"]) {
      files[live + "/" + name] = createHash("sha256").update(readFileSync(join(here, name))).digest("hex");
    }
    mkdirSync(dir, { recursive: true });
    const fresh = join(dir, ".loaded.json." + process.pid);
    writeFileSync(fresh, JSON.stringify({ schema: "gatehouse/loaded/v1", invocation_id: id, files }) + "\n");
    renameSync(fresh, join(dir, "loaded.json"));
  } catch {
    // A record never makes a verdict better: without one the warden looks at the clocks.
  }
}

// plain is a value without functions, signals and circles, as the gate can read it.
function plain(v) {
  const seen = new WeakSet();
  const text = JSON.stringify(v === undefined ? null : v, (key, x) => {
    if (key === "abortSignal" || key === "trace" || typeof x === "function" || typeof x === "bigint") return undefined;
    if (x !== null && typeof x === "object") {
      if (seen.has(x)) return undefined;
      seen.add(x);
    }
    return x;
  });
  return JSON.parse(text);
}

function workspace(api, ctx) {
  try {
    if (ctx && typeof ctx.workspaceDir === "string" && ctx.workspaceDir !== "") return ctx.workspaceDir;
    const dir = api.runtime.agent.resolveAgentWorkspaceDir(api.config, (ctx && ctx.agentId) || "main");
    if (typeof dir === "string" && dir !== "") return dir;
  } catch {
    // Then it is where the gateway runs, and the gate says what it cannot place.
  }
  return process.cwd();
}

// ask starts the gate and returns what it says: {} for no objection, {refused} for everything that is none.
function ask(s, event) {
  if (s.problem) return { refused: "the gate cannot be asked: " + s.problem };
  let r;
  try {
    r = spawnSync(s.gate, ["hook", "openclaw", ...s.flags], {
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
    const reason = isObject && typeof said.blockReason === "string" ? said.blockReason : (r.stderr || "").trim();
    return { refused: reason || `the gate ended with ${r.signal || "status " + r.status} and without an answer` };
  }
  if (said.block) return { refused: String(said.blockReason || "the gate refuses it and gives no reason") };
  return said;
}

export default {
  id: "gatehouse",
  name: "Gatehouse",
  description: "Puts every call of a tool to the gate before it runs",
  register(api) {
    const s = settings(api);
    if (api.registrationMode === undefined || api.registrationMode === "full") report(s.live);
    const event = (name, e, ctx) => ({ hook_event_name: name, event: plain(e), ctx: plain(ctx), cwd: workspace(api, ctx) });
    const tell = (name) => (e, ctx) => {
      const { refused } = ask(s, event(name, e, ctx));
      if (refused && api.logger && api.logger.warn) api.logger.warn("gatehouse: " + name + ": " + refused);
    };
    api.on("before_tool_call", (e, ctx) => {
      const said = ask(s, event("before_tool_call", e, ctx));
      if (said.refused) return { block: true, blockReason: said.refused };
      if (said.requireApproval) return { requireApproval: said.requireApproval };
      if (said.params) return { params: { ...e.params, ...said.params } };
      return undefined;
    }, { timeoutMs: 2 * limit, priority: -1000 }); // last: what other plugins have rewritten is not shown, so they should be done
    for (const name of ["after_tool_call", "message_received", "session_start"]) api.on(name, tell(name));
  },
};
