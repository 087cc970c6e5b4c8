package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart runs whole processes, each round all of them in turn, and reports the ratio of the median of each to
// that of a bare cobra program's --help: of the time on the clock and, for a busy machine, of the processor time.
//
//	go test -run '^$' -bench Start -benchtime 200x ./cmd/gate
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	build := func(name, pkg string) string {
		bin := filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return bin
	}
	bare, gate := build("bare", "./testdata/bare"), build("gate", ".")
	one := `cd src && grep -rn "TODO" --include='*.go' . | head -20; git status --short`
	runs := []struct {
		name string
		args []string
	}{
		{"bare", []string{bare, "--help"}},
		{"help", []string{gate, "--help"}},
		{"ls", []string{gate, "translate", "ls"}},
		{"line", []string{gate, "translate", "--effects", "--cwd", "/w", one}},
	}
	times, cpu := make([][]time.Duration, len(runs)), make([][]time.Duration, len(runs))
	for b.Loop() {
		for i, run := range runs {
			cmd := exec.Command(run.args[0], run.args[1:]...)
			cmd.Env = append(os.Environ(), "HOME="+dir)
			start := time.Now()
			if err := cmd.Run(); err != nil {
				b.Fatalf("%s: %v", run.name, err)
			}
			times[i] = append(times[i], time.Since(start))
			cpu[i] = append(cpu[i], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2])
	}
	base, baseCPU := median(times[0]), median(cpu[0])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(base/1e3, "bare-µs")
	b.ReportMetric(baseCPU/1e3, "bare-cpu-µs")
	for i, run := range runs[1:] {
		b.ReportMetric(median(times[i+1])/base, run.name+"/bare")
		b.ReportMetric(median(cpu[i+1])/baseCPU, run.name+"/bare-cpu")
	}
}
