package fleet_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"gatehouse/exchange"
	"gatehouse/fleet"
	"gatehouse/internal/durable"
	"gatehouse/reconcile"
)

// BenchmarkFleet is what a hub does in an hour, by the number of its hosts: it fetches what they published, makes a pass,
// and shows the status. The gate has 20 files of 2 KiB. In "unchanged" every host has published again and nothing else;
// in "drifted" every host has the same new drift; in "apart" each one has its own.
func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("hosts=%d", n), func(b *testing.B) {
			w, hosts, hub := benchFleet(b, n)
			b.Run("unchanged", func(b *testing.B) { hub.hours(b, hosts, func(int, int) string { return "same" }) })
			b.Run("drifted", func(b *testing.B) { hub.hours(b, hosts, func(hour, _ int) string { return fmt.Sprint(hour) }) })
			if n <= 1000 {
				b.Run("apart", func(b *testing.B) { hub.hours(b, hosts, func(hour, i int) string { return fmt.Sprint(hour, "/", i) }) })
			}
			b.Run("status", func(b *testing.B) {
				for b.Loop() {
					if status := must(hub.warden(durable.Disk{}).FleetStatus(hub.fleet())); len(status.Reports) != n {
						b.Fatal(len(status.Reports))
					}
				}
			})
			_ = w
		})
	}
}

func benchFleet(b *testing.B, n int) (*world, []string, *hub) {
	w := newWorld(b)
	var hosts []string
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("agent-%05d", i))
	}
	hub := w.hub(hosts)
	hub.fill(b, hosts, func(int) string { return "same" })
	r := hub.pass()[hosts[0]]
	hub.accept(r.Fingerprint)
	return w, hosts, hub
}

// hours lets every host publish once an hour, and measures what the hub does about it. The time of the processor says
// more than that of the clock where a machine does other things too.
func (h *hub) hours(b *testing.B, hosts []string, content func(hour, i int) string) {
	var fetching, judging time.Duration
	var before, after runtime.MemStats
	hour := 0
	for b.Loop() {
		b.StopTimer()
		hour++
		h.w.later(time.Hour)
		h.fill(b, hosts, func(i int) string { return content(hour, i) })
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		start := processor()
		remotes := h.fetch()
		fetched := processor()
		pass := must(h.warden(durable.Disk{}).ReconcileFleet(b.Context(), h.fleet(), remotes))
		fetching, judging = fetching+fetched-start, judging+processor()-fetched
		runtime.ReadMemStats(&after)
		if len(pass.Reports) != len(hosts) || pass.Worst() != reconcile.InSync && pass.Worst() != reconcile.Drifted {
			b.Fatalf("%d reports, worst %s", len(pass.Reports), pass.Worst())
		}
	}
	b.ReportMetric(float64(fetching.Milliseconds())/float64(b.N), "cpu-ms-fetch/op")
	b.ReportMetric(float64(judging.Milliseconds())/float64(b.N), "cpu-ms-judge/op")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(hosts))/1e3, "kB-allocated/host")
	b.ReportMetric(float64(after.HeapSys)/1e6, "MB-heap")
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill writes what hosts say into the exchange, as their wardens would. Of hosts with the same files the first few have
// objects, which are all that a hub asks.
func (h *hub) fill(b *testing.B, hosts []string, content func(i int) string) {
	b.Helper()
	const asked = 3
	made := make(map[string]*remote)
	sent := make(map[string]int)
	for i, host := range hosts {
		text := content(i)
		if made[text] == nil {
			one := &remote{h.w, fmt.Sprintf("maker-%d", len(made))}
			for f := range 20 {
				one.write(fmt.Sprintf("file-%02d.yaml", f), fmt.Sprintf("%2048d\n", f))
			}
			one.write("file-00.yaml", text)
			one.publish()
			made[text] = one
		}
		ex := files{dir: h.w.path("exchange"), has: sent[text] >= asked}
		sent[text]++
		e := &fleet.Exporter{Exchange: ex, Host: host, Seal: h.w.seal(host), Open: h.w.open, Dir: made[text].path("sent")}
		if _, err := e.Export(b.Context(), made[text].exportSource(), h.w.now); err != nil {
			b.Fatal(err)
		}
	}
}

// files is an exchange that only takes, and flushes nothing.
type files struct {
	dir string
	has bool // objects, as its user may believe
}

func (f files) Put(_ context.Context, key exchange.Key, value []byte) error {
	name := filepath.Join(f.dir, string(key.Kind), key.Host, key.Rest)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, value, 0o644)
}

func (f files) Get(context.Context, exchange.Key) (exchange.Entry, error) {
	if f.has {
		return exchange.Entry{}, nil
	}
	return exchange.Entry{}, exchange.ErrNotFound
}

func (files) List(context.Context, exchange.Key) iter.Seq2[exchange.Entry, error] { panic("not here") }

func (files) Claim(context.Context, string, time.Duration) (exchange.Claim, error) {
	panic("not here")
}
