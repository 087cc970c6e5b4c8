package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A testCase is one thing that a client is tried with.
type testCase struct {
	name    string
	command string // %s is the file whose presence says that the command ran
	want    string
	hook    string // a script in the place of the gate, which is GATE in it; "" is the gate
	absent  bool   // the program that the settings name is gone
	full    bool   // the disk for the gate's state is full
	managed bool   // installed in the administrator's files, by root
	policy  string // gate.yaml; "" for no policy
	rules   string // rules.yaml
	off     switchOff
	child   bool // the model has a subagent run the command, if the client has any
	check   func(m *model, h home) error
}

// needsRoot says that the case mounts something.
func (k testCase) needsRoot() bool { return k.full || k.managed }

// allCases are those of one client. Where the gate fails, the command is one that the policy lets pass, so that what
// stops it is the failure.
func allCases(c client) (cases []testCase) {
	add := func(k testCase) {
		if slices.Contains(c.open, k.name) {
			k.want = "ran"
		}
		if slices.Contains(c.lacks, k.name) {
			return
		}
		cases = append(cases, k)
	}
	fails := func(name, script string) {
		add(testCase{name: name, command: "touch %s", want: "not", hook: "#!/bin/sh\n" + script + "\n", policy: policy})
	}
	add(testCase{name: "bare", command: "touch %s", want: "ran"}) // without the gate: the client would run it
	add(testCase{name: "allowed", command: "touch %s", want: "ran", policy: policy})
	add(testCase{name: "denied", command: "cp .git/HEAD %s", want: "not", policy: policy})
	add(testCase{name: "no-policy", command: "touch %s", want: "not"})
	add(testCase{name: "full-disk", command: "touch %s", want: "not", policy: policy, full: true})
	fails("killed", "kill -KILL $$")
	fails("hung", "exec sleep 600")
	fails("garbage", "echo all is well")
	add(testCase{name: "absent", command: "touch %s", want: "not", policy: policy, hook: "#!/bin/sh\n", absent: true})
	add(testCase{name: "rewritten", command: "cp .git/HEAD %s.not", want: "ran", policy: rewriting, hook: "#!/bin/sh\nexec GATE \"$@\" --rewrite\n", check: notTheOriginal})
	add(testCase{name: "turn-end", command: "touch %s", want: "ran", policy: policy, rules: owing, check: c.turnEnds})
	if c.name == "opencode" {
		add(testCase{name: "subagent", command: "cp .git/HEAD %s", want: "not", policy: policy, child: true, hook: recording, check: parentTold})
	}
	add(testCase{name: "managed-allowed", command: "touch %s", want: "ran", policy: policy, managed: true})
	add(testCase{name: "managed-denied", command: "cp .git/HEAD %s", want: "not", policy: policy, managed: true})
	for _, off := range c.offs {
		k := testCase{name: "managed-" + off.name, command: "cp .git/HEAD %s", want: "not", policy: policy, managed: true, off: off}
		if off.open {
			k.want = "ran"
		}
		add(k)
	}
	return cases
}

// policy lets touch pass and nothing else.
const policy = `version: 1
allow: [touch]
check_flags: off
`

// rewriting names what may run instead.
const rewriting = `version: 1
allow: [touch]
deny: [{call: cp, why: files are made with touch, fix: {run: touch RAN}}]
check_flags: off
`

// owing wants something at the end of a turn, which the model never does.
const owing = `version: 1
rules:
  - {id: status-at-the-end, finally: {call: git_status, since: {tool: touch}}, why: a turn ends with a look at what changed}
`

// recording keeps what the gate is told, and asks it.
const recording = "#!/bin/sh\nin=$(cat)\nprintf '%s\\n' \"$in\" >>\"$HOME/told\"\nprintf %s \"$in\" | GATE \"$@\"\n"

// turnEnds holds a client that lets a hook send the agent back to having done so, and to an end of it.
func (c client) turnEnds(m *model, _ home) error {
	switch times := m.reminders(); {
	case c.sentBack && times == 0:
		return errors.New("the agent was not sent back for what it owed")
	case times > 4:
		return fmt.Errorf("the agent was sent back %d times", times)
	}
	return nil
}

// notTheOriginal reports a command that ran although it was rewritten.
func notTheOriginal(_ *model, h home) error {
	if _, err := os.Stat(h.work + "/RAN.not"); err == nil {
		return errors.New("what the model asked for ran")
	}
	return nil
}

// parentTold holds the plugin to naming the session of the person for what a subagent does and is told.
func parentTold(_ *model, h home) error {
	data, err := os.ReadFile(h.home + "/told")
	if err != nil {
		return err
	}
	var person string
	seen := make(map[string]bool)
	for line := range strings.Lines(string(data)) {
		var e struct {
			Event  string `json:"hook_event_name"`
			Parent string `json:"parent"`
			In     struct {
				Session string `json:"sessionID"`
				Tool    string `json:"tool"`
			} `json:"hookInput"`
			Out struct {
				Parts []struct{ Text string } `json:"parts"`
			} `json:"hookOutput"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return fmt.Errorf("what the gate was told: %w", err)
		}
		if e.Event == "chat.message" && len(e.Out.Parts) == 0 {
			return errors.New("a message came without its parts")
		}
		if e.Event == "chat.message" && e.Parent == "" {
			person = e.In.Session
		}
		if e.Parent != "" && e.Parent == person {
			seen[e.Event+" "+e.In.Tool] = true
		}
	}
	for _, want := range []string{"chat.message ", "tool.execute.before bash"} {
		if !seen[want] {
			return fmt.Errorf("%q of a subagent came without its parent", strings.TrimSpace(want))
		}
	}
	return nil
}

// A home is where one case runs.
type home struct{ home, work, bin string }

// runLimit is long: on a busy machine OpenClaw alone takes minutes to start.
const runLimit = 8 * time.Minute

// prove runs one case.
func prove(ctx context.Context, c client, k testCase, gate, dir string) (o outcome) {
	o = outcome{Client: c.name, Case: k.name, Want: k.want}
	fail := func(err error) outcome {
		o.Error = err.Error()
		return o
	}
	if k.needsRoot() && os.Getenv(inside) == "" {
		o.Skipped = "needs root and a mount namespace"
		return o
	}
	h := home{dir + "/home", dir + "/home/work", dir + "/bin"}
	for _, d := range []string{h.work, h.bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fail(err)
		}
	}
	ran := h.work + "/RAN"
	m := &model{command: fmt.Sprintf(k.command, ran), child: k.child}
	stop, err := m.serve()
	if err != nil {
		return fail(err)
	}
	defer stop()
	var mounted mounts
	defer func() {
		if err := mounted.end(); err != nil {
			o.Good, o.Error = false, errors.Join(errors.New(o.Error), err).Error()
		}
	}()
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.home, "TERM=xterm", "LANG=C.UTF-8"}, c.env(m.url)...)
	if out, err := command(ctx, h.work, env, "git", "init", "-q", "."); err != nil {
		return fail(fmt.Errorf("git init: %w: %s", err, out))
	}
	if err := c.prepare(h.home, h.work, m.url); err != nil {
		return fail(err)
	}
	if k.off.prepare != nil {
		if err := k.off.prepare(h); err != nil {
			return fail(err)
		}
	}
	if k.managed {
		if err := mounted.administrator(dir); err != nil {
			return fail(err)
		}
	}
	if k.name != "bare" {
		if err := k.install(ctx, c, h, gate, env, &mounted); err != nil {
			return fail(err)
		}
	}
	began := time.Now()
	argv := append(append(append([]string{}, c.argv...), c.prompt...), k.off.args...)
	out, err := command(ctx, h.work, append(env, k.off.env...), argv...)
	o.Millis, o.Saw = time.Since(began).Milliseconds(), m.told()
	if writeErr := os.WriteFile(dir+"/output", out, 0o644); writeErr != nil {
		return fail(writeErr)
	}
	_, statErr := os.Stat(ran)
	o.Ran = statErr == nil
	o.Good = o.Ran == (k.want == "ran")
	if o.Saw == "" { // the model never heard of the call, so that nothing is proven
		o.Good = false
		o.Error = fmt.Sprintf("the client made no call (%v): %s", err, short(string(tail(out))))
	} else if errors.Is(err, context.DeadlineExceeded) {
		o.Good = false
		o.Error = "the client did not end"
	}
	if k.check != nil {
		if err := k.check(m, h); err != nil {
			o.Good = false
			o.Error = err.Error()
		}
	}
	return o
}

func tail(out []byte) []byte { return out[max(0, len(out)-300):] }

// install puts the policy and the hook in place, as a person does, and then breaks what the case wants broken.
func (k testCase) install(ctx context.Context, c client, h home, gate string, env []string, mounted *mounts) error {
	for name, text := range map[string]string{"gate.yaml": k.policy, "rules.yaml": k.rules} {
		if text == "" {
			continue
		}
		if err := put(h.home+"/.config/gatehouse/"+name, text); err != nil {
			return err
		}
	}
	args := []string{gate, "hook", "install", c.name}
	if c.name == "codex" {
		args = append(args, "--codex", c.argv[0])
	}
	if k.managed {
		args = append(args, "--managed")
	}
	stub := filepath.Join(h.bin, "gate")
	if k.hook != "" {
		if err := os.WriteFile(stub, []byte(strings.ReplaceAll(k.hook, "GATE", gate)), 0o755); err != nil {
			return err
		}
		args = append(args, "--gate", stub)
	}
	out, err := command(ctx, h.work, env, args...)
	if err != nil {
		return fmt.Errorf("gate hook install: %w: %s", err, out)
	}
	if bytes.Contains(out, []byte("skips the hook")) { // then nothing would be proven but that
		return fmt.Errorf("gate hook install: the client was not told to trust the hook: %s", out)
	}
	if k.absent {
		return os.Remove(stub)
	}
	if k.full {
		return mounted.fullDisk(h)
	}
	return nil
}

// command runs a program with nothing on its input, in a process group that is ended with it.
func command(ctx context.Context, dir string, env []string, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left running
	}
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return out.Bytes(), err
}
