package vendorgate

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkCommit accepts one changed file of 200, in repositories of other files, beside what git takes for the same.
// The figure that counts is cpu-ms/op, of this process and of git.
func BenchmarkCommit(b *testing.B) {
	if testing.Short() {
		b.Skip("makes a repository of 50000 files")
	}
	for _, files := range []int{1_000, 50_000} {
		g := newGitRepo(b)
		for i := range files {
			g.write(fmt.Sprintf("src/%d/%d/file%d.go", i/1000, i/50%20, i), fmt.Sprintln("package", i))
		}
		gate := content{}
		for i := range 200 {
			gate[fmt.Sprintf("policy/d%d/rule%d.yaml", i%10, i)] = fmt.Sprintf("rule: %d\n", i)
		}
		g.git("config", "gc.auto", "0")
		g.git("add", "-A")
		g.git("commit", "-qm", "x")
		g.accept(gate)
		g.git("gc", "-q")
		time.Sleep(2 * time.Second) // so that git has no reason to doubt its index
		g.git("status")

		n := 0
		b.Run(fmt.Sprintf("warden/%d", files), func(b *testing.B) {
			cpu := cpuTime(unix.RUSAGE_SELF)
			for b.Loop() {
				n++
				g.accept(with(gate, "policy/d3/rule3.yaml", fmt.Sprintf("rule: 3, version %d\n", n)))
			}
			b.ReportMetric((cpuTime(unix.RUSAGE_SELF)-cpu).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
		b.Run(fmt.Sprintf("git/%d", files), func(b *testing.B) {
			cpu := cpuTime(unix.RUSAGE_CHILDREN)
			for b.Loop() {
				n++
				g.write(gateDir+"/files/policy/d3/rule3.yaml", fmt.Sprintf("rule: 3, version %d\n", n))
				g.write(gateDir+"/manifest.json", fmt.Sprintf("{\"version\": %d}\n", n))
				g.git("add", "-A", "--", gateDir)
				g.git("commit", "-qm", "accept", "--", gateDir)
			}
			b.ReportMetric((cpuTime(unix.RUSAGE_CHILDREN)-cpu).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

func cpuTime(who int) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(who, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
