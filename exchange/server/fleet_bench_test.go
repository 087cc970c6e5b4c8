package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
)

// BenchmarkFleet is a fleet of simulated hosts on three nodes, all in this process and on one machine: each host connects
// anew (TLS, nkey), puts its beat and leaves, as the step after a pass does; then one watcher reads all beats.
//
//	go test -run '^$' -bench Fleet -benchtime 3x ./exchange/server
func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { fleetOf(b, n) })
	}
}

func fleetOf(b *testing.B, n int) {
	before := resident(b)
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host-%05d.example", i)
	}
	c := newCluster(b, hosts...)
	started := resident(b)

	beatOf := func(host string) []byte { return append([]byte(host), bytes.Repeat([]byte("x"), 1200)...) }
	begin, idle := time.Now(), cpuTime(b)
	work := make(chan string)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for host := range work {
				x, err := jetstream.Connect(context.Background(), c.options(host))
				if err == nil {
					err = x.Put(context.Background(), beat(host), beatOf(host))
					x.Close()
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, host := range hosts {
		work <- host
	}
	close(work)
	wg.Wait()
	putting, worked := time.Since(begin), cpuTime(b)-idle

	begin = time.Now()
	if list, err := c.home.Hosts(); err != nil {
		b.Error(err)
	} else if err := c.nodes[0].Reload(list); err != nil {
		b.Error(err)
	}
	reload := time.Since(begin)

	x := c.connect(b, hosts[0])
	key := exchange.Key{Kind: exchange.Beats}
	spent := cpuTime(b)
	for b.Loop() {
		seen := 0
		for e, err := range x.List(context.Background(), key) {
			if err != nil || e.Err != nil {
				b.Fatal(err, e.Err)
			}
			seen++
		}
		if seen != n {
			b.Fatalf("%d beats, want %d", seen, n)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-spent).Milliseconds())/float64(b.N), "cpu-ms/sweep")
	b.ReportMetric(float64(putting.Microseconds())/float64(n), "µs/connect+put")
	b.ReportMetric(float64(worked.Microseconds())/float64(n), "cpu-µs/connect+put")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/listed")
	b.ReportMetric(float64(reload.Milliseconds()), "ms/reload")
	b.ReportMetric(float64(started-before), "MiB-3-nodes-started")
	b.ReportMetric(float64(resident(b)-before), "MiB-after")
}

// cpuTime is what this process, hosts and nodes together, has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// resident is the memory of this process, in MiB, after what is garbage has gone.
func resident(b *testing.B) int {
	runtime.GC()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		b.Fatal(err)
	}
	return pages * os.Getpagesize() >> 20
}
