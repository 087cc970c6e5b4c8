package manifest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// benchLimits are wide enough for benchTree.
var benchLimits = Limits{Entries: 20_000, File: 1 << 20, Total: 1 << 30}

// benchTree makes 10 000 files of 512 bytes to 128 KiB, most of them small, in 100 directories: about 230 MB.
func benchTree(tb testing.TB) (root string, files []string, bytes int64) {
	tb.Helper()
	root = filepath.Join(tb.TempDir(), "live")
	rng := rand.New(rand.NewPCG(1, 2))
	noise := rand.NewChaCha8([32]byte{})
	for d := range 100 {
		dir := filepath.Join(root, fmt.Sprintf("dir-%02d", d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		for f := range 100 {
			data := make([]byte, int(512*math.Exp(rng.Float64()*math.Log(256))))
			noise.Read(data)
			name := filepath.Join(dir, fmt.Sprintf("file-%02d.yaml", f))
			if err := os.WriteFile(name, data, 0o644); err != nil {
				tb.Fatal(err)
			}
			files = append(files, name)
			bytes += int64(len(data))
		}
	}
	return root, files, bytes
}

func benchSource(root string) Source {
	return Source{Live: []Live{{Name: "live", Root: root}}, Owner: uint32(os.Geteuid()), Limits: benchLimits}
}

// bareHash opens, reads and hashes all files with one goroutine for each processor, and does nothing else.
func bareHash(tb testing.TB, files []string) {
	var next atomic.Int64
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			buf := make([]byte, 256<<10)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				f, err := os.Open(files[i])
				if err != nil {
					tb.Error(err)
					return
				}
				n, err := io.ReadFull(f, buf)
				if err != io.ErrUnexpectedEOF {
					tb.Error(n, err)
				}
				_ = sha256.Sum256(buf[:n])
				f.Close()
			}
		})
	}
	running.Wait()
}

// BenchmarkPublish measures the budget for publishing unchanged files: the share of the rate at which all processors
// together read and hash the same files.
func BenchmarkPublish(b *testing.B) {
	root, files, size := benchTree(b)
	export := filepath.Join(b.TempDir(), "export")
	p := &Publisher{Gate: "bench", Host: "bench", Source: benchSource(root), Export: export}
	if _, err := p.Publish(b.Context(), time.Now()); err != nil {
		b.Fatal(err)
	}
	var bare, publish, scan []float64
	b.SetBytes(size)
	for b.Loop() {
		scan = append(scan, seconds(func() {
			if _, err := Scan(b.Context(), p.Source); err != nil {
				b.Fatal(err)
			}
		}))
		bare = append(bare, seconds(func() { bareHash(b, files) }))
		publish = append(publish, seconds(func() {
			if _, err := p.Publish(b.Context(), time.Now()); err != nil {
				b.Fatal(err)
			}
		}))
	}
	b.ReportMetric(slices.Min(bare)/slices.Min(publish), "min-ratio-publish")
	b.ReportMetric(slices.Min(bare)/slices.Min(scan), "min-ratio-scan")
	b.ReportMetric(median(bare)*1000, "bare-ms")
	b.ReportMetric(median(scan)*1000, "scan-ms")
	b.ReportMetric(median(publish)*1000, "publish-ms")
	b.ReportMetric(median(bare)/median(publish), "of-bare-rate")
	b.ReportMetric(median(bare)/median(scan), "scan-of-bare")
}

func seconds(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}

func cpuSeconds(f func()) float64 {
	start := cpu()
	f()
	return cpu() - start
}
func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

func median(s []float64) float64 {
	slices.Sort(s)
	return s[len(s)/2]
}

var _ = strconv.Itoa
var _ = exec.Command

func BenchmarkManifest(b *testing.B) {
	root, _, _ := benchTree(b)
	s, err := Scan(b.Context(), benchSource(root))
	if err != nil {
		b.Fatal(err)
	}
	m := &Manifest{Schema: Schema, Gate: "bench", Host: "bench", BootID: "0", Sequence: 1, PublishedAt: time.Unix(1, 0),
		Tree: Tree(s.Entries), Entries: s.Entries}
	data, err := m.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(data, benchLimits); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Marshal()
		}
	})
	b.Run("tree", func(b *testing.B) {
		for b.Loop() {
			Tree(s.Entries)
		}
	})
}
