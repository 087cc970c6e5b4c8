package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// escapeScripts are the programs of a catalogue whose tools run what an agent wrote. Each prints a word in capitals for
// what must not be possible.
var escapeScripts = map[string]string{
	// What it leaves for the next tool, and whom it could ask to run something once it is over.
	"leaves": `for d in "$HOME" /dev/shm /tmp /var/tmp; do echo x >$d/left || echo "$d cannot be written"; done
touch /run/lock/left /run/left 2>/dev/null && echo RUN
ls /run/dbus /run/user 2>/dev/null && echo REACHED
python3 -c 'import ctypes; print("RING" if ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(200)) >= 0 else "no ring")'`,
	"finds": `for d in "$HOME" /dev/shm /tmp /var/tmp /run/lock; do test -e $d/left && echo LEFT $d; done; true`,
	// Two tools at once.
	"waits": `touch waiting; sleep 8; exit 3`,
	"meddles": `for n in $(seq 100); do test -e waiting && break; sleep 0.1; done
pkill -x sleep && echo KILLED
for p in /proc/[0-9]*; do
	test $p = /proc/$$ && continue
	: 2>/dev/null <>$p/mem && echo MEMORY $p
done
kill -9 -1 2>/dev/null
true`,
	// What a profile lets through: the agent makes project/out a link.
	"held": `echo x >/home/other/open/by-a-tool && echo WROTE; true`,
}

// TestToolsOfTheServiceStayApart is an agent whose tools run what it likes.
func TestToolsOfTheServiceStayApart(t *testing.T) {
	t.Parallel()
	h := bootHost(t, build(t))
	h.Run(t, "useradd", "--create-home", "other")
	var tools []string
	for name, text := range escapeScripts {
		h.WriteFile(t, "/usr/local/lib/tools/"+name, "#!/bin/bash\n"+text+"\n", 0o755)
		more := ""
		if name == "held" {
			more = `, "confine": {"read": ["/usr", "/etc", "/lib", "/lib64", "/bin"], "write": ["project/out"]}`
		}
		tools = append(tools, fmt.Sprintf(`{"name": %q, "description": "x", "cwd": "project", "env": ["HOME", "PATH"], "argv": ["/usr/local/lib/tools/%[1]s"],
			"args": {"type": "object", "properties": {}, "additionalProperties": false}%s}`, name, more))
	}
	h.WriteFile(t, "/home/agent/.config/gatehouse/tools.json", `{"version": 1, "steps": 50, "tools": [`+strings.Join(tools, ",\n")+`]}`, 0o644)
	h.Run(t, "sh", "-ec", `install -d -o agent -g gatehouse -m 2775 /home/agent/project /home/agent/project/.git 2>/dev/null ||
			install -d -o agent -m 0777 /home/agent/project /home/agent/project/.git
		chown -R agent: /home/agent/.config; chmod 0711 /home/agent
		setpriv --reuid agent --regid agent --init-groups env HOME=/home/agent /opt/build/gate catalog freeze`)
	h.exits(0, "/opt/build/warden", installArgs...)
	h.exits(1, "warden", "reconcile")
	drift := regexp.MustCompile(`d-[0-9a-f]{12}`).FindString(h.exits(1, "warden", "status"))
	h.exits(0, "warden", "accept", drift, "--yes", "--why", "first")

	t.Run("what one leaves the next does not find", h.nothingLeft)
	t.Run("a link does not widen a profile", h.profileStays)
	t.Run("a project that is exchanged for another's", h.projectExchanged)
	t.Run("two at once", h.twoAtOnce)
}

func (h host) nothingLeft(t *testing.T) {
	h.t = t
	if r := h.called(t, "agent", "leaves", "leaves", `{}`, "ok", 0); r.Stdout != "no ring\n" {
		t.Errorf("%s\n%s", r.Stdout, r.Stderr)
	}
	if r := h.called(t, "agent", "finds", "finds", `{}`, "ok", 0); r.Stdout != "" {
		t.Errorf("%s", r.Stdout)
	}
}

func (h host) profileStays(t *testing.T) {
	h.t = t
	h.Run(t, "install", "-d", "-o", "other", "-m", "0777", "/home/other/open")
	h.Run(t, "chmod", "0711", "/home/other")
	h.as("agent", "ln -s / out").Run()
	if r := h.called(t, "agent", "widened", "held", `{}`, "not-confined", 2); r.Ran || !strings.Contains(r.Error, "out of the project") {
		t.Errorf("%+v", r)
	}
	h.as("agent", "rm out; mkdir out; chmod 0777 out").Run()
	if r := h.called(t, "agent", "narrow", "held", `{}`, "ok", 0); r.Stdout != "" {
		t.Errorf("%+v", r)
	}
}

// projectExchanged calls tools while a program of the agent's exchanges the project and a link to one of another user's, as
// often as it can.
func (h host) projectExchanged(t *testing.T) {
	h.t = t
	h.Run(t, "sh", "-ec", `install -d -o other -m 0777 /home/other/project /home/other/project/.git
		install -d -o agent -m 0777 /home/agent/swapped /home/agent/swapped/.git; ln -s /home/other/project /home/agent/link`)
	h.WriteFile(t, "/home/agent/swap.py", `import ctypes, time
libc, end = ctypes.CDLL(None), time.time() + 60
while time.time() < end:
    libc.renameat2(-100, b"/home/agent/swapped", -100, b"/home/agent/link", 2)
`, 0o644)
	out, err := h.as("agent", `python3 /home/agent/swap.py & for n in $(seq 8); do
		cd /; until cd /home/agent/swapped; do :; done; gate call --job swap$n '{"tool": "waits", "args": {}}' & sleep 0.3; pkill -INT -x gate; wait $!
		done >/dev/null 2>&1; kill %1`).CombinedOutput()
	if left := h.Run(t, "ls", "/home/other/project"); left != "" {
		t.Errorf("a tool was at work in the project of another user: %s\n%v\n%s", left, err, out)
	}
}

func (h host) twoAtOnce(t *testing.T) {
	h.t = t
	if abi, err := landlocksys.LandlockGetABIVersion(); err != nil || abi < 6 {
		t.Skipf("this kernel's Landlock is of version %d and cannot keep signals apart", abi)
	}
	h.as("agent", "rm -f waiting").Run()
	waits := h.as("agent", `gate call --json --job waits '{"tool": "waits", "args": {}}'`)
	var said strings.Builder
	waits.Stdout = &said
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	meddled := h.called(t, "agent", "meddles", "meddles", `{}`, "ok", 0)
	if meddled.Stdout != "" {
		t.Errorf("it reached another tool: %s", meddled.Stdout)
	}
	waits.Wait()
	if !strings.Contains(said.String(), `"exit": 3`) {
		t.Errorf("the other tool did not come to its own end: %s", said.String())
	}
}
