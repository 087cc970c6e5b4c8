//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hookLimit is what a hook may take, with the start of the process and a machine that is busy with other tests: clients wait
// for ten seconds.
const hookLimit = 9 * time.Second

const hookPolicy = `version: 1
check_flags: off
allow: [ls, git status, git push]
deny:
  - {call: git push, flags: [--force], why: history is shared}
`

// A hookHost is a home with a policy and a project.
type hookHost struct {
	t          *testing.T
	home, work string
}

func newHookHost(t *testing.T) hookHost {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := hookHost{t: t, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "home/app")}
	for _, d := range []string{filepath.Join(h.work, ".git"), h.policy(), h.state()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.write(filepath.Join(h.policy(), "gate.yaml"), hookPolicy)
	return h
}

func (h hookHost) policy() string { return filepath.Join(h.home, ".config/gatehouse") }
func (h hookHost) state() string  { return filepath.Join(h.home, ".local/state/gatehouse") }

func (h hookHost) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h hookHost) input(line string) string {
	return fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q}}`, h.work, line)
}

// command is the program itself, as TestMain has put it into PATH.
func (h hookHost) command(args ...string) *exec.Cmd {
	cmd := exec.Command("gate", append([]string{"hook"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+h.home)
	cmd.Dir = h.work
	return cmd
}

// A said is what a hook's process said.
type said struct {
	out, errOut string
	exit        int
	took        time.Duration
}

// tooLate is what a hook says that found no time to decide.
const tooLate = "no decision within"

// run runs a hook, again where the machine was too busy for it.
func (h hookHost) run(cmd *exec.Cmd) (s said) {
	h.t.Helper()
	for range 5 {
		again := &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin, Stdout: cmd.Stdout, SysProcAttr: cmd.SysProcAttr}
		if s = h.once(again); !strings.Contains(s.out+s.errOut, tooLate) {
			break
		}
		if in, ok := cmd.Stdin.(*strings.Reader); ok {
			in.Seek(0, io.SeekStart)
		}
	}
	return s
}

func (h hookHost) once(cmd *exec.Cmd) said {
	h.t.Helper()
	var out, errOut bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	cmd.Stderr = &errOut
	start := time.Now()
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		h.t.Fatal(err)
	}
	return said{out.String(), errOut.String(), cmd.ProcessState.ExitCode(), time.Since(start)}
}

// refuses checks that what was said keeps Claude Code from running a command, and in time.
func (s said) refuses(t *testing.T, part string) {
	t.Helper()
	var m struct {
		HookSpecificOutput struct{ HookEventName, PermissionDecision, PermissionDecisionReason string }
	}
	inner := &m.HookSpecificOutput
	byJSON := s.exit == 0 && json.Unmarshal([]byte(s.out), &m) == nil && inner.PermissionDecision == "deny" && inner.HookEventName == "PreToolUse"
	byStatus := s.exit == 2 && strings.TrimSpace(s.errOut) != ""
	if !byJSON && !byStatus || !strings.Contains(s.out+s.errOut, part) {
		t.Errorf("exit %d, no refusal with %q\n%s\n%s", s.exit, part, s.out, s.errOut)
	}
	if s.took > hookLimit {
		t.Errorf("it took %s", s.took)
	}
}

func TestHookOfAProcess(t *testing.T) {
	h := newHookHost(t)
	for line, part := range map[string]string{
		"ls": "", "git push --force": "history is shared", "rm x": "no allow entry covers rm",
	} {
		cmd := h.command("claude-code")
		cmd.Stdin = strings.NewReader(h.input(line))
		s := h.run(cmd)
		if part == "" {
			if s.exit != 0 || s.out != "" || s.errOut != "" {
				t.Errorf("%s: exit %d, %q, %q; want silence", line, s.exit, s.out, s.errOut)
			}
			continue
		}
		s.refuses(t, part)
	}
}

func TestHookWithABadCommandLine(t *testing.T) {
	h := newHookHost(t)
	for _, args := range [][]string{{"claude-code", "--aprove"}, {"claude-code", "codex"}, {"--harness=claude"}, {"nobody"}, {}} {
		cmd := h.command(args...)
		cmd.Stdin = strings.NewReader(h.input("ls"))
		s := h.run(cmd)
		s.refuses(t, "refused")
		if s.exit != 2 || !strings.Contains(s.out, `"decision":"block"`) {
			t.Errorf("%v: exit %d, %s", args, s.exit, s.out)
		}
	}
}

func TestHookWhoseInputIsNeverClosed(t *testing.T) {
	h := newHookHost(t)
	for name, input := range map[string]string{"nothing": "", "a whole object": h.input("ls")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			defer r.Close()
			if _, err := io.WriteString(w, input); err != nil {
				t.Fatal(err)
			}
			cmd := h.command("claude-code")
			cmd.Stdin = r
			h.once(cmd).refuses(t, tooLate)
		})
	}
}

func TestHookWithoutInput(t *testing.T) {
	h := newHookHost(t)
	h.run(h.command("claude-code")).refuses(t, "empty")
	closed := exec.Command("sh", "-c", `exec gate hook claude-code <&-`)
	closed.Env = h.command().Env
	h.run(closed).refuses(t, "")
}

func TestHookWithTooMuchInput(t *testing.T) {
	h := newHookHost(t)
	cmd := h.command("claude-code")
	cmd.Stdin = strings.NewReader(h.input("ls " + strings.Repeat("a", 9<<20)))
	h.run(cmd).refuses(t, "could not judge")
}

// TestHookWhoseOutputIsLost has clients that cannot read what is written; a refusal is exit 2 then.
func TestHookWhoseOutputIsLost(t *testing.T) {
	h := newHookHost(t)
	for name, redirect := range map[string]string{"closed": ">&-", "nowhere": ">/dev/null", "full": ">/dev/full"} {
		t.Run(name, func(t *testing.T) {
			for line, exit := range map[string]int{"git push --force": 2, "ls": 0} {
				cmd := exec.Command("sh", "-c", "exec gate hook claude-code "+redirect)
				cmd.Env, cmd.Dir = h.command().Env, h.work
				cmd.Stdin = strings.NewReader(h.input(line))
				s := h.run(cmd)
				if s.exit != exit || exit == 2 && !strings.Contains(s.errOut, "history is shared") {
					t.Errorf("%s: exit %d, %q", line, s.exit, s.errOut)
				}
			}
		})
	}
	t.Run("nobody reads", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		defer w.Close()
		cmd := h.command("claude-code")
		cmd.Stdin, cmd.Stdout = strings.NewReader(h.input("git push --force")), w
		if s := h.run(cmd); s.exit != 2 || !strings.Contains(s.errOut, "history is shared") {
			t.Errorf("exit %d (a signal is -1), %q", s.exit, s.errOut)
		}
	})
}

func TestHookWithoutAPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h hookHost) error
		part   string
	}{
		"missing": {func(h hookHost) error { return os.RemoveAll(h.policy()) }, "there is no policy"},
		"broken": {func(h hookHost) error {
			h.write(filepath.Join(h.policy(), "gate.yaml"), "version: 1\nalow: [ls]\n")
			return nil
		}, "alow"},
		"no YAML":      {func(h hookHost) error { h.write(filepath.Join(h.policy(), "gate.yaml"), "\x00\xff{{"); return nil }, "gate.yaml"},
		"broken rules": {func(h hookHost) error { h.write(filepath.Join(h.policy(), "rules.yaml"), "rules: 5\n"); return nil }, "rules.yaml"},
		"a FIFO": {func(h hookHost) error {
			name := filepath.Join(h.policy(), "gate.yaml")
			if err := os.Remove(name); err != nil {
				return err
			}
			return unix.Mkfifo(name, 0o600)
		}, "gate.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHookHost(t)
			if err := c.change(h); err != nil {
				t.Fatal(err)
			}
			cmd := h.command("claude-code")
			cmd.Stdin = strings.NewReader(h.input("ls"))
			h.run(cmd).refuses(t, c.part)
		})
	}
}

// mounted runs the hook in a mount namespace of its own, behind a script that mounts something.
func (h hookHost) mounted(script string) *exec.Cmd {
	h.t.Helper()
	if os.Geteuid() != 0 {
		h.t.Skip("needs root: mounts file systems")
	}
	cmd := exec.Command("sh", "-ec", "mount --make-rprivate /\n"+script+"\nexec gate hook claude-code")
	cmd.Env, cmd.Dir = append(h.command().Env, "STATE="+h.state()), h.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	cmd.Stdin = strings.NewReader(h.input("ls"))
	return cmd
}

func TestHookThatCannotKeepItsLog(t *testing.T) {
	for name, c := range map[string]struct{ script, part string }{
		"read-only": {`mount -t tmpfs -o ro none "$STATE"`, "read-only file system"},
		"full":      {`mount -t tmpfs -o size=4k none "$STATE"; mkdir -m 700 "$STATE/log"; head -c 4096 /dev/zero > "$STATE/filler"`, "no space left on device"},
		"no inodes": {`mount -t tmpfs -o nr_inodes=1 none "$STATE"`, "no space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHookHost(t)
			h.run(h.mounted(c.script)).refuses(t, c.part)
		})
	}
	t.Run("a file in its place", func(t *testing.T) {
		h := newHookHost(t)
		if err := os.Remove(h.state()); err != nil {
			t.Fatal(err)
		}
		h.write(h.state(), "")
		cmd := h.command("claude-code")
		cmd.Stdin = strings.NewReader(h.input("ls"))
		h.run(cmd).refuses(t, "not a directory")
	})
}

func TestHookWhoseIndexCannotBeRead(t *testing.T) {
	const over = `O=$(mktemp -d); mount -t tmpfs none "$O"; mkdir -p "$O/up/gatehouse" "$O/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$O/up,workdir=$O/work" none /etc
`
	for name, script := range map[string]string{
		"no JSON":     `echo '{' > /etc/gatehouse/gates.json`,
		"empty":       `: > /etc/gatehouse/gates.json`,
		"a directory": `mkdir /etc/gatehouse/gates.json`,
		"a loop":      `ln -s gates.json /etc/gatehouse/gates.json`,
		"a FIFO":      `mkfifo /etc/gatehouse/gates.json`,
		"a new form":  `echo '{"schema":"gatehouse/index/v99"}' > /etc/gatehouse/gates.json`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHookHost(t)
			h.run(h.mounted(over+script)).refuses(t, "which policy is in force is not known")
		})
	}
}

// TestHookOnADiskThatDoesNotAnswer puts a file system whose server never answers where the gate looks.
func TestHookOnADiskThatDoesNotAnswer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mounts a file system")
	}
	for name, at := range map[string]func(hookHost) string{"policy": hookHost.policy, "state": hookHost.state, "project": func(h hookHost) string { return h.work }} {
		t.Run(name, func(t *testing.T) {
			h := newHookHost(t)
			input, dir := h.input("ls"), at(h)
			deaf(t, dir)
			cmd := h.command("claude-code")
			cmd.Dir = "/"
			cmd.Stdin = strings.NewReader(input)
			h.once(cmd).refuses(t, tooLate)
		})
	}
}

// deaf mounts a FUSE file system that nobody serves.
func deaf(t *testing.T, dir string) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there is no FUSE here: %v", err)
	}
	t.Cleanup(func() {
		unix.Close(fd) // aborts what waits
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount("deaf", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		unix.Close(fd)
		t.Skipf("there is no FUSE here: %v", err)
	}
}

func TestHookThatIsToldToEnd(t *testing.T) {
	h := newHookHost(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	cmd := h.command("claude-code")
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "{"); err != nil {
		t.Fatal(err)
	}
	// Once it has taken that, it is past its start and has its handler.
	for {
		left, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	said{out: out.String(), errOut: errOut.String(), exit: cmd.ProcessState.ExitCode()}.refuses(t, "")
}

func TestHookKeepsALog(t *testing.T) {
	h := newHookHost(t)
	say := func(input string) said {
		cmd := h.command("claude-code")
		cmd.Stdin = strings.NewReader(input)
		return h.once(cmd)
	}
	after := strings.Replace(h.input("ls"), "PreToolUse", "PostToolUse", 1)
	var all []said
	for range 5 { // all of it again where the machine was too busy: who is too late may have written an entry
		if err := os.RemoveAll(h.state()); err != nil {
			t.Fatal(err)
		}
		all = []said{say(h.input("ls")), say(h.input("git push --force")), say(after)}
		if !slices.ContainsFunc(all, func(s said) bool { return strings.Contains(s.out+s.errOut, tooLate) }) {
			break
		}
	}
	if s := all[2]; s.exit != 0 || s.out != "" {
		t.Errorf("after: exit %d, %s", s.exit, s.out)
	}
	data, err := os.ReadFile(filepath.Join(h.state(), "log/decisions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var ids []string
	for l := range strings.Lines(string(data)) {
		var e struct{ Kind, Verdict, Client, ID string }
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Client+" "+e.Kind+" "+e.Verdict)
		ids = append(ids, e.ID)
	}
	if got := strings.Join(kinds, "; "); got != "claude-code decision allow; claude-code decision deny; claude-code ran " || ids[0] != ids[2] {
		t.Errorf("%s; ids %v", got, ids)
	}
}
