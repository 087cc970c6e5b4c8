package wiring

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hostileBin is a directory with programs that say nothing and end well, as a gate that has no objection does.
func hostileBin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "timeout", "gate", "printf", "echo", "[", "case", "env", "command"} {
		write(t, filepath.Join(dir, name), "#!/bin/sh\nexit 0\n", 0o755)
	}
	return dir
}

// Gates that refuse, in the two ways in which clients are told.
var refusing = map[string]string{
	"by its status": "#!/bin/sh\necho no >&2\nexit 2\n",
	"in words":      "#!/bin/sh\necho '{\"decision\":\"deny\"}'\n",
	"by being gone": "#!/bin/sh\nkill -9 $$\n",
}

// refused reports whether an answer keeps a client from running the command.
func refused(cmd *exec.Cmd) (bool, string) {
	var out bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	cmd.Run()
	status := cmd.ProcessState.ExitCode()
	return status == 2 || status == 0 && strings.Contains(out.String(), "deny"), out.String()
}

func TestARefusalComesThroughWhateverIsFirstInThePath(t *testing.T) {
	bin := hostileBin(t)
	for how, script := range refusing {
		for _, name := range []string{"plain", "with space", "o'brien", `a"b$(exit)c`, `back\slash`, "semi;colon&", "näme", "-dash", "line\nbreak"} {
			h := Host{Gate: filepath.Join(t.TempDir(), name, "gate")}
			write(t, h.Gate, script, 0o755)
			cmd := exec.Command("/bin/sh", "-c", h.line(User, "codex"))
			cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=/x y'z"}
			if yes, out := refused(cmd); !yes {
				t.Errorf("%s, gate in %q: %v %q", how, name, cmd.ProcessState, out)
			}
		}
	}
}

func TestARefusalComesThroughWhateverTheEnvironmentDoesToTheShell(t *testing.T) {
	bin := hostileBin(t)
	for how, script := range refusing {
		gate := filepath.Join(t.TempDir(), "gate")
		write(t, gate, script, 0o755)
		for _, set := range []string{
			"BASH_FUNC_printf%%=() { :; }", "BASH_FUNC_echo%%=() { :; }", "BASH_FUNC_timeout%%=() { :; }", "BASH_FUNC_unset%%=() { :; }",
			"BASH_FUNC_exit%%=() { :; }", "BASH_FUNC_[%%=() { exit 0; }", "BASH_FUNC_test%%=() { exit 0; }", "BASH_ENV=" + filepath.Join(bin, "sh"), "ENV=" + filepath.Join(bin, "sh"), "IFS=2{", "POSIXLY_CORRECT=1",
			"SHELLOPTS=noglob:errexit", "PS4=$(exit)", "CDPATH=/", "LC_ALL=xx", "t=/bin/true", "a=", "TMPDIR=/nonexistent",
		} {
			for _, shell := range []string{"/bin/sh", "/bin/bash"} {
				cmd := exec.Command(shell)
				cmd.Args = []string{"sh", "-c", judged, "gatehouse", gate, "hook", "codex"} // as a bash that is called sh
				cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", set}
				if yes, out := refused(cmd); !yes {
					t.Errorf("%s, %s, %s: %v %q", how, shell, set, cmd.ProcessState, out)
				}
			}
		}
	}
}

func TestARefusalThatCannotBePrintedIsOneAllTheSame(t *testing.T) {
	for how, script := range refusing {
		h := Host{Gate: filepath.Join(t.TempDir(), "gate")}
		write(t, h.Gate, script, 0o755)
		for _, closed := range []string{">&-", "<&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", ">/dev/full 2>/dev/full", "2>/dev/full"} {
			cmd := exec.Command("/bin/sh", "-c", "{ "+h.line(User, "codex")+"; } "+closed)
			if yes, out := refused(cmd); !yes {
				t.Errorf("%s, %s: %v %q", how, closed, cmd.ProcessState, out)
			}
		}
	}
}

func TestASmallEternityOfOutputIsNoAnswer(t *testing.T) {
	h := Host{Gate: filepath.Join(t.TempDir(), "gate")}
	write(t, h.Gate, "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\n", 0o755)
	if yes, _ := refused(exec.Command("/bin/sh", "-c", h.line(User, "codex"))); !yes {
		t.Error("it passes")
	}
}

func TestTheScriptOfClineFindsItsProgramsItself(t *testing.T) {
	bin := hostileBin(t)
	h := host(t)
	write(t, h.Gate, refusing["by being gone"], 0o755)
	install(t, h, "cline", User)
	cmd := exec.Command(filepath.Join(h.Home, ".cline/hooks/PreToolUse.sh"))
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "BASH_FUNC_printf%%=() { :; }"}
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"cancel":true`) {
		t.Errorf("%v %q", err, out)
	}
}

// TestTheHookOfGeminiDoesNotHeedItsEnvironmentFiles starts the hook as the client does: bash reads its line, with a socket
// as its input, in an environment that a project's .env file has a part in.
func TestTheHookOfGeminiDoesNotHeedItsEnvironmentFiles(t *testing.T) {
	h := host(t)
	write(t, h.Gate, refusing["by its status"], 0o755)
	install(t, h, "gemini", User)
	var settings struct {
		Hooks struct {
			BeforeTool []struct {
				Hooks []struct {
					Command string            `json:"command"`
					Env     map[string]string `json:"env"`
				} `json:"hooks"`
			}
		} `json:"hooks"`
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(h.Home, ".gemini/settings.json"))), &settings); err != nil {
		t.Fatal(err)
	}
	hook := settings.Hooks.BeforeTool[0].Hooks[0]
	write(t, filepath.Join(h.Home, ".bashrc"), "exit 0\n", 0o644)
	for _, set := range []string{"A=", "BASH_ENV=" + filepath.Join(h.Home, ".bashrc"), "SHELLOPTS=noexec"} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		input, other := os.NewFile(uintptr(pair[0]), "input"), os.NewFile(uintptr(pair[1]), "other")
		cmd := exec.Command("/bin/bash", "-c", hook.Command)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + h.Home, set}
		for name, value := range hook.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Stdin = input
		if yes, out := refused(cmd); !yes {
			t.Errorf("%s: %v %q", set, cmd.ProcessState, out)
		}
		input.Close()
		other.Close()
	}
}
