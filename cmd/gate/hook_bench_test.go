//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkHook runs the hook of each client as whole processes, each round all of them in turn, beside a bare cobra
// program's --help and, where $CC_SAFETY_NET names it or PATH has it, cc-safety-net with the same lines. The policy is one
// that root accepted, in its compiled form, with 50 entries and 200 rules; every decision is logged. Ratios are of medians.
//
//	CC_SAFETY_NET=…/node_modules/.bin/cc-safety-net go test -run '^$' -bench Hook -benchtime 100x ./cmd/gate
func BenchmarkHook(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root: mounts an index of its own")
	}
	dir := b.TempDir()
	build := func(name, pkg string) string {
		bin := filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return bin
	}
	bare, program := build("bare", "./testdata/bare"), build("gate", ".")
	home := benchHome(b, dir)
	index := benchIndex(b, dir, home)
	peer := os.Getenv("CC_SAFETY_NET")
	if peer == "" {
		peer, _ = exec.LookPath("cc-safety-net")
	}

	// The thread keeps its namespace, and the processes it starts are in it; it ends with the benchmark.
	runtime.LockOSThread()
	mountIndex(b, dir, index)
	hideHome(b)

	project := filepath.Join(home, "app")
	pass := `cd src && grep -rn "TODO" --include='*.go' . | head -20; git status --short`
	deny := `git push --force origin main`
	snake := `{"session_id":"s","transcript_path":"/t/.claude/x","turn_id":"t","cwd":%q,"hook_event_name":%q,"tool_name":%q,"tool_input":{"command":%q}}`
	copilot := `{"sessionId":"s","timestamp":1,"cwd":%[1]q,"toolName":"bash","toolArgs":{"command":%[4]q}}`
	cursor := `{"conversation_id":"s","cursor_version":"3","hook_event_name":"beforeShellExecution","workspace_roots":[%[1]q],"command":%[4]q,"cwd":""}`
	type run struct {
		name     string
		args     []string
		input    string
		silent   bool // nothing is said
		measured bool // against bare
	}
	runs := []run{{name: "bare", args: []string{bare, "--help"}}}
	add := func(name, client, form, event, tool string) {
		runs = append(runs,
			run{name + "-pass", []string{program, "hook", client}, fmt.Sprintf(form, project, event, tool, pass), client != "cursor", true},
			run{name + "-deny", []string{program, "hook", client}, fmt.Sprintf(form, project, event, tool, deny), false, true})
	}
	add("claude", "claude-code", snake, "PreToolUse", "Bash")
	add("codex", "codex", snake, "PreToolUse", "Bash")
	add("gemini", "gemini", snake, "BeforeTool", "run_shell_command")
	add("copilot", "copilot", copilot, "", "")
	add("cursor", "cursor", cursor, "", "")
	if peer != "" {
		runs = append(runs,
			run{"peer-pass", []string{peer, "hook", "-cc"}, fmt.Sprintf(snake, project, "PreToolUse", "Bash", pass), true, false},
			run{"peer-deny", []string{peer, "hook", "-cc"}, fmt.Sprintf(snake, project, "PreToolUse", "Bash", deny), false, false})
	}
	times := make(map[string][]time.Duration)
	cpu := make(map[string][]time.Duration)
	for b.Loop() {
		for _, r := range runs {
			cmd := exec.Command(r.args[0], r.args[1:]...)
			cmd.Dir = project
			cmd.Env = append(os.Environ(), "HOME="+home)
			cmd.Stdin = strings.NewReader(r.input)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			start := time.Now()
			err := cmd.Run()
			took := time.Since(start)
			if err != nil || r.silent != (out.Len() == 0) {
				b.Fatalf("%s: %v\n%s", r.name, err, out.String())
			}
			times[r.name] = append(times[r.name], took)
			cpu[r.name] = append(cpu[r.name], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2])
	}
	base, baseCPU := median(times["bare"]), median(cpu["bare"])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(base/1e3, "bare-µs")
	b.ReportMetric(baseCPU/1e3, "bare-cpu-µs")
	for _, r := range runs {
		if r.measured {
			b.ReportMetric(median(times[r.name])/base, r.name+"/bare")
		}
	}
	for _, end := range []string{"-pass", "-deny"} {
		b.ReportMetric(median(cpu["claude"+end])/baseCPU, "claude"+end+"/bare-cpu")
		if peer != "" {
			b.ReportMetric(median(times["peer"+end])/1e3, "peer"+end+"-µs")
			b.ReportMetric(median(times["peer"+end])/median(times["claude"+end]), "peer/claude"+end)
		}
	}
}

// hideHome puts an empty file system over the home of the user in this thread's mount namespace: where root's index
// lists the user, the hook keeps its log there.
func hideHome(b *testing.B) {
	u, err := user.Current()
	if err != nil {
		b.Fatal(err)
	}
	if err := unix.Mount("tmpfs", u.HomeDir, "tmpfs", 0, ""); err != nil {
		b.Skipf("needs a mount namespace: %v", err)
	}
	b.Cleanup(func() {
		if err := unix.Unmount(u.HomeDir, unix.MNT_DETACH); err != nil {
			b.Error(err)
		}
	})
}
