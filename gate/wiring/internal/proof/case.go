package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A testCase is one thing that a client is tried with.
type testCase struct {
	name    string
	command string // %s is the file whose presence says that the command ran
	want    string
	hook    string // a program in the place of the gate; "" is the gate
	policy  bool
	prepare func(h home) error
}

// allCases are those of one client. The command is one that the policy lets pass, so that what stops it is the failure.
func allCases(c client) []testCase {
	fails := func(name, script string) testCase {
		k := testCase{name: name, command: "touch %s", want: "not", hook: "#!/bin/sh\n" + script + "\n", policy: true}
		if c.open[name] {
			k.want = "ran"
		}
		return k
	}
	return []testCase{
		{name: "bare", command: "mkdir %s", want: "ran"}, // without the gate: the client would run it
		{name: "allowed", command: "touch %s", want: "ran", policy: true},
		{name: "denied", command: "mkdir %s", want: "not", policy: true},
		{name: "no-policy", command: "touch %s", want: "not"},
		{name: "full-disk", command: "touch %s", want: "not", policy: true, prepare: fullDisk},
		fails("killed", "kill -KILL $$"),
		fails("hung", "exec sleep 600"),
		fails("missing", "exit 127"),
		fails("garbage", "echo all is well"),
	}
}

// fullDisk makes the directory that the decision would be recorded in one that takes nothing: its place is a file.
func fullDisk(h home) error { return put(h.home+"/.local/state/gatehouse/log", "") }

// policy lets touch pass and nothing else.
const policy = `version: 1
allow: [touch]
check_flags: off
`

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
	h := home{dir + "/home", dir + "/home/work", dir + "/bin"}
	for _, d := range []string{h.work, h.bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fail(err)
		}
	}
	ran := h.work + "/RAN"
	m := &model{command: fmt.Sprintf(k.command, ran)}
	stop, err := m.serve()
	if err != nil {
		return fail(err)
	}
	defer stop()
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.home, "TERM=xterm", "LANG=C.UTF-8"}, c.env(m.url)...)
	if out, err := command(ctx, h.work, env, "git", "init", "-q", "."); err != nil {
		return fail(fmt.Errorf("git init: %w: %s", err, out))
	}
	if err := c.prepare(h.home, h.work, m.url); err != nil {
		return fail(err)
	}
	if k.name != "bare" {
		if err := k.install(ctx, c, h, gate, env); err != nil {
			return fail(err)
		}
	}
	began := time.Now()
	out, err := command(ctx, h.work, env, append(append([]string{}, c.argv...), c.prompt...)...)
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
	}
	return o
}

func tail(out []byte) []byte { return out[max(0, len(out)-300):] }

// install puts the policy and the hook in place, as a person does.
func (k testCase) install(ctx context.Context, c client, h home, gate string, env []string) error {
	if k.policy {
		if err := put(h.home+"/.config/gatehouse/gate.yaml", policy); err != nil {
			return err
		}
	}
	args := []string{gate, "hook", "install", c.name}
	if c.name == "codex" {
		args = append(args, "--codex", c.argv[0])
	}
	if k.hook != "" {
		stub := filepath.Join(h.bin, "gate")
		if err := os.WriteFile(stub, []byte(k.hook), 0o755); err != nil {
			return err
		}
		args = append(args, "--gate", stub)
	}
	if out, err := command(ctx, h.work, env, args...); err != nil {
		return fmt.Errorf("gate hook install: %w: %s", err, out)
	}
	if k.prepare != nil {
		return k.prepare(h)
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
