package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// toolScripts are the programs of the catalogue below. hostile is what an agent would have a tool run if it could.
var toolScripts = map[string]string{
	"where": `id -un; id -Gn; pwd; echo "home $HOME lang $LANG secret $SECRET"; echo made >by-a-tool; wc -c <of-the-agent`,
	"hostile": `ls -a /var/lib/gatehouse-call && echo SEEN
rm -rf /var/lib/gatehouse-call /var/lib/gatehouse-call/* && echo REMOVED
kill -9 $(cat pid-of-the-service) && echo KILLED
echo x >/run/gatehouse-tool.sock && echo WROTE
rm -f /run/gatehouse-call.sock /run/gatehouse-tool.sock && echo REMOVED
: </dev/tcp/127.0.0.1/22 && echo CONNECTED
gate call --tool </dev/null && echo STARTED
true`,
	"family": `trap '' TERM; setsid sh -c "trap '' TERM; sleep 98765" & sleep 98766`,
	"escape": `kill -9 $PPID && sleep 98767; true`,
}

// callCatalogue has eight steps.
func callCatalogue() string {
	none := `{"type": "object", "properties": {}, "additionalProperties": false}`
	word := `{"type": "object", "properties": {"word": {"type": "string", "pattern": "^[a-z]{1,8}$"}}, "required": ["word"], "additionalProperties": false}`
	tools := []string{fmt.Sprintf(`{"name": "say", "description": "say it", "cwd": "project", "args": %s, "argv": ["/usr/bin/echo", "{word}"]}`, word)}
	for _, name := range []string{"where", "hostile", "family", "escape"} {
		tools = append(tools, fmt.Sprintf(`{"name": %q, "description": "x", "cwd": "project", "args": %s, "argv": ["/usr/local/lib/tools/%[1]s"],
			"env": ["HOME", "LANG", "PATH"]}`,
			name, none))
	}
	tools = append(tools, fmt.Sprintf(`{"name": "held", "description": "x", "cwd": "project", "args": %s, "argv": ["/usr/bin/touch", "held"],
		"confine": {"read": ["/usr", "/etc", "/lib", "/lib64"], "write": ["project"]}, "limits": {"open_files": 64}}`, none))
	return `{"version": 1, "steps": 8, "tools": [` + strings.Join(tools, ",\n") + `]}`
}

// as is a command of a user, in the project.
func (h host) as(user, script string) *exec.Cmd {
	return h.Command("timeout", "100", "setpriv", "--reuid", user, "--regid", user, "--init-groups", "--inh-caps=-all",
		"env", "-i", "HOME=/home/"+user, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "SECRET=x", "bash", "-c", "cd /home/agent/project 2>/dev/null; "+script)
}

type callResult struct {
	Code, Error, Stdout, Stderr, Counter, Decision string
	Step                                           int
	Ended, Ran                                     bool
	Killed                                         int
}

// called runs gate call as a user and checks the code.
func (h host) called(t *testing.T, user, job, tool, args, code string, exit int) (r callResult) {
	t.Helper()
	cmd := h.as(user, fmt.Sprintf(`gate call --json --job %s '{"tool": %q, "args": %s}'`, job, tool, args))
	out, err := cmd.Output()
	if json.Unmarshal(out, &r) != nil || r.Code != code || cmd.ProcessState.ExitCode() != exit {
		t.Fatalf("%s calls %s for job %s: %v, want code %s and exit code %d\n%.2000s", user, tool, job, err, code, exit, out)
	}
	return r
}

// TestCallsAreCountedWhereNoAgentCanWrite is the service of an installed host, in front of an agent that does what it can.
func TestCallsAreCountedWhereNoAgentCanWrite(t *testing.T) {
	t.Parallel()
	h := bootHost(t, build(t))
	h.Run(t, "useradd", "--create-home", "other")
	for name, text := range toolScripts {
		h.WriteFile(t, "/usr/local/lib/tools/"+name, "#!/bin/bash\n"+text+"\n", 0o755)
	}
	h.WriteFile(t, "/home/agent/.config/gatehouse/gate.yaml", "version: 1\nallow: [git status]\n", 0o644)
	h.WriteFile(t, "/home/agent/.config/gatehouse/tools.json", callCatalogue(), 0o644)
	h.Run(t, "sh", "-ec", `install -d -o agent -g agent /home/agent/project /home/agent/project/.git; chown -R agent: /home/agent/.config
		setpriv --reuid agent --regid agent --init-groups env HOME=/home/agent /opt/build/gate catalog freeze`)
	h.says(h.exits(1, "/opt/build/warden", append(installArgs, "--dry-run")...), "would  make the system user gatehouse", "would  make the system user gatehouse-tools",
		"would  copy /opt/build/gate-mcp to /usr/local/bin/gate-mcp", "would  systemctl enable gatehouse-call.socket")
	h.exits(0, "/opt/build/warden", installArgs...)
	h.exits(1, "warden", "reconcile")
	drift := regexp.MustCompile(`d-[0-9a-f]{12}`).FindString(h.exits(1, "warden", "status"))
	h.exits(0, "warden", "accept", drift, "--yes", "--why", "first")
	h.exits(0, "warden", "doctor")

	t.Run("a project is opened to the tools by its owner", h.projectOpened)
	t.Run("what counts is out of reach", h.outOfReach)
	t.Run("a caller that goes ends its tool", h.callerGone)
	t.Run("a service that is killed repeats nothing", h.serviceKilled)
	t.Run("it goes with the installation", h.callsUninstalled)
}

const say = `{"word": "hello"}`

func (h host) projectOpened(t *testing.T) {
	h.t = t
	h.Run(t, "chmod", "0700", "/home/agent")
	r := h.called(t, "agent", "closed", "where", `{}`, "no-directory", 2)
	if r.Counter != "boundary" || r.Ran {
		t.Errorf("%+v", r)
	}
	h.Run(t, "sh", "-ec", `chmod 0711 /home/agent; echo 12345 >/home/agent/project/of-the-agent
		chgrp -R gatehouse /home/agent/project; chmod -R g+rwXs /home/agent/project`)
	r = h.called(t, "agent", "first", "where", `{}`, "ok", 0)
	want := "gatehouse-tools\ngatehouse\n/home/agent/project\nhome /var/lib/gatehouse-tools lang C.UTF-8 secret \n6\n"
	if r.Stdout != want || r.Step != 1 || r.Counter != "boundary" || !r.Ran {
		t.Errorf("%+v, want %q", r, want)
	}
	h.says(h.Run(t, "stat", "-c", "%U %a", "/home/agent/project/by-a-tool"), "gatehouse-tools 644")
	h.called(t, "agent", "first", "held", `{}`, "ok", 0)
	h.says(h.Run(t, "stat", "-c", "%U", "/home/agent/project/held"), "gatehouse-tools")
	// The same over MCP.
	out, err := h.as("agent", `printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say","arguments":{"word":"hello"}}}' >in
		(cat in; until grep -q '"id":2' out; do sleep 0.05; done) | gate mcp --job over-mcp >out; cat out`).Output()
	if err != nil || !strings.Contains(string(out), `"stdout":"hello\n"`) || !strings.Contains(string(out), `"counter":"boundary"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// outOfReach tries what an agent, its tools and another user can do to a counter.
func (h host) outOfReach(t *testing.T) {
	h.t = t
	h.Run(t, "sh", "-c", "systemctl show -P MainPID gatehouse-call.service >/home/agent/project/pid-of-the-service")
	if out, err := h.as("agent", `for n in 2 3 4 5 6 7 8; do gate call --job over-mcp '{"tool": "say", "args": `+say+`}' || exit; done`).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	failed := h.called(t, "agent", "ended", "say", `{"word": "no;"}`, "metacharacter", 1)
	if !failed.Ended || failed.Decision == "" {
		t.Errorf("%+v", failed)
	}
	tries := `ls /var/lib/gatehouse-call
rm -rf /var/lib/gatehouse-call
mv /var/lib/gatehouse-call /tmp/x
find /var/lib/gatehouse-call -type f -delete
cp -r /home/agent/.local/state/gatehouse/catalogue/. /var/lib/gatehouse-call/
rm -f /run/gatehouse-call.sock
ln -sf /tmp/mine.sock /run/gatehouse-call.sock
echo x >/run/gatehouse-tool.sock
kill -9 $(cat pid-of-the-service)
systemctl stop gatehouse-call.service
touch /var/lib/gatehouse-tools/x
`
	out, _ := h.as("agent", strings.ReplaceAll(strings.TrimSpace(tries), "\n", " && echo DONE; ")+" && echo DONE; true").CombinedOutput()
	if strings.Contains(string(out), "DONE") || strings.Count(string(out), "\n") < 10 {
		t.Errorf("the agent could do something:\n%s", out)
	}
	r := h.called(t, "agent", "inside", "hostile", `{}`, "ok", 0)
	if r.Stdout != "" || !strings.Contains(r.Stderr, "Operation not permitted") || strings.Count(r.Stderr, "\n") < 7 {
		t.Errorf("a tool could do something: %s\n%.2000s", r.Stdout, r.Stderr)
	}
	if r = h.called(t, "agent", "over-mcp", "say", say, "no-steps", 1); r.Step != 0 || r.Ran {
		t.Errorf("step 9 of 8: %+v", r)
	}
	if r = h.called(t, "agent", "ended", "say", say, "job-ended", 1); r.Ran {
		t.Errorf("a call after a failure: %+v", r)
	}
	// A user whom the index does not list has no use for the socket.
	refused, _ := h.as("other", `python3 -c '
import socket
s = socket.socket(socket.AF_UNIX); s.connect("/run/gatehouse-call.sock")
print(s.makefile().readline())'`).CombinedOutput()
	h.says(string(refused), `"code":"not-listed"`)
	id := strings.TrimSpace(h.Run(t, "id", "-u", "agent"))
	h.says(h.Run(t, "env", "HOME=/var/lib/gatehouse-call/"+id, "gate", "why", failed.Decision), "metacharacter")
}

// callerGone kills the client of a call whose tool is deaf to SIGTERM and has a child in a session of its own.
func (h host) callerGone(t *testing.T) {
	h.t = t
	h.during(t, "gone", func() { h.Run(t, "pkill", "-KILL", "-u", "agent", "-x", "gate") })
	h.called(t, "agent", "gone", "say", say, "job-ended", 1)
	// What kills its own supervisor gets nowhere: the kernel forbids it, or systemd ends the unit.
	if abi, err := landlocksys.LandlockGetABIVersion(); err == nil && abi >= 6 {
		h.called(t, "agent", "escapes", "escape", `{}`, "ok", 0)
	} else if r := h.called(t, "agent", "escapes", "escape", `{}`, "fault", 2); !r.Ended {
		t.Errorf("%+v", r)
	}
	h.noTools(t)
}

// during calls the tool family, does something once it runs, and waits until nothing of it is left.
func (h host) during(t *testing.T, job string, do func()) (said string) {
	t.Helper()
	cmd := h.as("agent", "gate call --json --job "+job+` '{"tool": "family", "args": {}}'`)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.Run(t, "timeout", "60", "sh", "-c", "until test $(pgrep -cx sleep -u gatehouse-tools) = 2; do sleep 0.05; done")
	do()
	cmd.Wait()
	h.noTools(t)
	return out.String()
}

func (h host) noTools(t *testing.T) {
	t.Helper()
	h.Run(t, "timeout", "30", "sh", "-c", "while pgrep -u gatehouse-tools >/dev/null; do sleep 0.05; done")
}

func (h host) serviceKilled(t *testing.T) {
	h.t = t
	h.says(h.during(t, "lost", func() { h.Run(t, "systemctl", "kill", "--signal=KILL", "gatehouse-call.service") }), `"code": "call-lost"`, `"ended": true`)
	if r := h.called(t, "agent", "lost", "say", say, "job-ended", 1); !strings.Contains(r.Error, "never ended") {
		t.Errorf("%+v", r)
	}
	h.Run(t, "systemctl", "stop", "gatehouse-call.socket", "gatehouse-call.service")
	if r := h.called(t, "agent", "dead", "say", say, "no-service", 2); r.Ran || r.Step != 0 {
		t.Errorf("%+v", r)
	}
	h.says(h.exits(0, "warden", "install"), "systemctl start gatehouse-call.socket")
	h.called(t, "agent", "dead", "say", say, "ok", 0)
}

func (h host) callsUninstalled(t *testing.T) {
	h.t = t
	h.says(h.exits(0, "warden", "uninstall"), "done   remove /etc/systemd/system/gatehouse-call.socket", "user gatehouse ", "/var/lib/gatehouse-call")
	h.Run(t, "test", "!", "-e", "/run/gatehouse-call.sock", "-a", "!", "-e", "/run/gatehouse-tool.sock")
	// Without the service the catalogue still counts, as a guard.
	if r := h.called(t, "agent", "here", "say", say, "ok", 0); r.Counter != "guard" {
		t.Errorf("%+v", r)
	}
}
