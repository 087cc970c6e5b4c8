//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/config"
	"gatehouse/gate"
	"gatehouse/gate/flags"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// BenchmarkCheck runs gate check as whole processes beside a bare cobra program's --help, each round all of them in turn,
// and reports the ratio of the medians: with the policy that root accepted, in its compiled form, and with the same one
// read from YAML; 50 allow entries and 200 rules each. Root's index is one of the benchmark's own, put over /etc/gatehouse
// in a mount namespace, and so is root's home. Peers that PATH finds (cc-safety-net, codex) run in the same rounds; what is
// reported of them is how many times as long as gate hook and gate check they take.
//
//	go test -run '^$' -bench Check -benchtime 200x ./cmd/gate
func BenchmarkCheck(b *testing.B) {
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

	// The thread keeps its namespace, and the processes it starts are in it; it ends with the benchmark.
	runtime.LockOSThread()
	mountIndex(b, dir, index)

	project := filepath.Join(home, "app")
	one := `cd src && grep -rn "TODO" --include='*.go' . | head -20; git status --short`
	hook := fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q}}`, project, one)
	type process struct {
		name  string
		args  []string
		stdin string
		says  string // what it prints
	}
	accepted := "accepted copy"
	runs := []process{
		{"bare", []string{bare, "--help"}, "", ""},
		{"ls", []string{program, "check", "ls"}, "", accepted},
		{"line", []string{program, "check", one}, "", accepted},
		{"session", []string{program, "check", "--session", "s", one}, "", accepted},
		{"hook", []string{program, "hook", "claude-code", "--approve"}, hook, `"allow"`},
		{"yaml", []string{program, "check", "--policy", filepath.Join(home, ".config/gatehouse"), one}, "", "ALLOW"},
	}
	ours := len(runs)
	if _, err := exec.LookPath("cc-safety-net"); err == nil {
		runs = append(runs, process{"cc-safety-net", []string{"cc-safety-net", "hook", "-cc"}, hook, ""})
	}
	if _, err := exec.LookPath("codex"); err == nil {
		rules := filepath.Join(dir, "codex.rules")
		if err := os.WriteFile(rules, []byte("prefix_rule(pattern=[\"ls\"], decision=\"allow\")\n"), 0o644); err != nil {
			b.Fatal(err)
		}
		runs = append(runs, process{"codex", []string{"codex", "execpolicy", "check", "--rules", rules, "--", "ls"}, "", `"allow"`})
	}
	times, cpu := make([][]time.Duration, len(runs)), make([][]time.Duration, len(runs))
	for b.Loop() {
		for i, run := range runs {
			cmd := exec.Command(run.args[0], run.args[1:]...)
			cmd.Dir = project
			cmd.Env = append(os.Environ(), "HOME="+home)
			var out bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(run.stdin), &out, &out
			start := time.Now()
			err := cmd.Run()
			took := time.Since(start)
			if err != nil || !strings.Contains(out.String(), run.says) {
				b.Fatalf("%s: %v, does not say %q\n%s", run.name, err, run.says, out.String())
			}
			times[i] = append(times[i], took)
			cpu[i] = append(cpu[i], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2])
	}
	wall, busy := make(map[string]float64), make(map[string]float64)
	for i, run := range runs {
		wall[run.name], busy[run.name] = median(times[i]), median(cpu[i])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(wall["bare"]/1e3, "bare-µs")
	b.ReportMetric(busy["bare"]/1e3, "bare-cpu-µs")
	compare := func(name, with string) {
		b.ReportMetric(wall[name]/wall[with], name+"/"+with)
		b.ReportMetric(busy[name]/busy[with], name+"/"+with+"-cpu")
	}
	for _, run := range runs[1:ours] {
		compare(run.name, "bare")
	}
	for _, peer := range runs[ours:] {
		compare(peer.name, "hook")
		compare(peer.name, "ls")
	}
}

// benchHome lays out a home with a project and a policy of 50 entries and 200 rules.
func benchHome(b *testing.B, dir string) string {
	home := filepath.Join(dir, "home")
	policy := filepath.Join(home, ".config/gatehouse")
	for _, d := range []string{policy, filepath.Join(home, "app/.git"), filepath.Join(home, "app/src")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	var gateYAML, rulesYAML strings.Builder
	gateYAML.WriteString("version: 1\nunlisted: deny\nallow: [cd, ls, grep, head, git status, git log, git diff, git add, git commit, git push")
	for n := range 40 {
		fmt.Fprintf(&gateYAML, ", tool%d run%d", n, n)
	}
	gateYAML.WriteString("]\ndeny:\n  - {call: git push, flags: [--force], why: history is shared}\npaths: {within: " + dir + ", deny: [\".env*\", \"**/*.pem\"]}\n")
	rulesYAML.WriteString("version: 1\nrules:\n")
	for n := range 200 {
		switch n % 4 {
		case 0:
			fmt.Fprintf(&rulesYAML, "  - {id: r%d, never: {tool: rule%d, with: {force: true}}}\n", n, n)
		case 1:
			fmt.Fprintf(&rulesYAML, "  - {id: r%d, mode: ask, before: {first: rule%d, then: git_push, since: Edit}}\n", n, n)
		case 2:
			fmt.Fprintf(&rulesYAML, "  - {id: r%d, at_most: {call: rule%d, times: 3}}\n", n, n)
		default:
			fmt.Fprintf(&rulesYAML, "  - {id: r%d, never: {tool: grep, where: {paths: \"*.secret%d\"}}}\n", n, n)
		}
	}
	for name, text := range map[string]string{"gate.yaml": gateYAML.String(), "rules.yaml": rulesYAML.String()} {
		if err := os.WriteFile(filepath.Join(policy, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return home
}

// benchIndex accepts the policy of home as a warden does, and harvests into root's store. It returns the index.
func benchIndex(b *testing.B, dir, home string) []byte {
	ctx := context.Background()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	live := []manifest.Live{{Name: "policy", Root: filepath.Join(home, ".config/gatehouse")}}
	limits := manifest.Limits{Entries: 1000, File: 1 << 20, Total: 1 << 24}
	scan, err := manifest.Scan(ctx, manifest.Source{Live: live, Owner: 0, Limits: limits})
	check(err)
	generation := manifest.NewGeneration("bench", scan.Entries)
	open := func(path string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(live[0].Root, strings.TrimPrefix(path, "policy/")))
	}
	state := filepath.Join(dir, "state")
	check(os.MkdirAll(filepath.Join(state, "accepted"), 0o755))
	accepted := filepath.Join(state, "accepted/bench")
	check(manifest.WriteGeneration(ctx, durable.Disk{}, accepted, generation, func(e manifest.Entry) (io.ReadCloser, error) { return open(e.Path) },
		manifest.GenerationPerms{Dir: 0o755, File: 0o644, GID: -1}))
	var paths []string
	for _, e := range generation.Entries {
		if e.Type == manifest.File {
			paths = append(paths, e.Path)
		}
	}
	compiled, err := gate.Compile(paths, open)
	check(err)
	check(os.WriteFile(filepath.Join(accepted, "compiled"), compiled, 0o644))

	machine, err := flags.Machine()
	check(err)
	for _, words := range [][]string{{"ls"}, {"grep"}, {"head"}, {"git"}, {"git", "status"}} {
		path, err := program(words[0])
		check(err)
		h := &flags.Harvester{Reexec: []string{filepath.Join(dir, "gate"), "flags", "--confined", "--"},
			Allowed: func(string) bool { return true }, Getenv: os.Getenv, Machine: machine}
		entry, err := h.Harvest(ctx, path, words[1:], nil)
		check(err)
		for _, store := range []string{filepath.Join(state, "flags"), filepath.Join(live[0].Root, "flags")} {
			check(os.MkdirAll(store, 0o755))
			check(flags.Store{Dir: store, Root: true}.Save(durable.Disk{}, entry))
		}
	}
	index := config.Index{Schema: config.IndexSchema, Host: "here", WrittenAt: time.Now().UTC().Truncate(time.Second), Gates: []config.IndexGate{{
		Gate: "bench", UID: 0, User: "root", Decide: config.DecideAccepted, Accepted: accepted, Tree: generation.Tree,
		Export: filepath.Join(dir, "export"), Live: live, Limits: limits, Interval: time.Hour, Result: "in-sync",
	}}}
	data, err := index.Marshal()
	check(err)
	return data
}

// mountIndex puts the index over /etc/gatehouse, and an empty directory over root's home, where the hook keeps its log, in
// a mount namespace of this thread.
func mountIndex(b *testing.B, dir string, index []byte) {
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Skipf("needs a mount namespace: %v", err)
		}
	}
	check(unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS))
	check(unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	over := filepath.Join(dir, "over")
	check(os.Mkdir(over, 0o755))
	check(unix.Mount("tmpfs", over, "tmpfs", 0, ""))
	b.Cleanup(func() {
		for _, mounted := range []string{"/root", "/etc", over} {
			if err := unix.Unmount(mounted, unix.MNT_DETACH); err != nil {
				b.Error(err)
			}
		}
	})
	upper, work := filepath.Join(over, "upper"), filepath.Join(over, "work")
	check(os.MkdirAll(filepath.Join(upper, "gatehouse"), 0o755))
	check(os.Mkdir(work, 0o755))
	check(unix.Mount("overlay", "/etc", "overlay", 0, fmt.Sprintf("lowerdir=/etc,upperdir=%s,workdir=%s", upper, work)))
	check(unix.Mount("tmpfs", "/root", "tmpfs", 0, ""))
	if err := os.WriteFile(config.DefaultIndex, index, 0o644); err != nil {
		b.Fatal(err)
	}
}
