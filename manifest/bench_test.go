//go:build linux

package manifest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkPublish measures what the budgets are about: publishing files that have not changed and are in the page
// cache, against others who read and hash the same files, in turns. The figures are medians over the turns, as times and
// as ratios to publish within one turn:
//
//   - bare: one goroutine for each processor opens, reads and hashes what a list names, and that is all;
//   - plain: filepath.WalkDir and one goroutine for each processor with os.ReadFile and sha256.Sum256;
//   - xargs: find -print0 | xargs -0 -P2 -n100 sha256sum;
//   - aide: aide --check with SHA-256 and attributes, where it is installed.
//
// Repeat with: go test -run='^$' -bench=Publish -benchtime=20x ./manifest/
func BenchmarkPublish(b *testing.B) {
	for _, shape := range []benchShape{{10_000, 512, 128 << 10}, {3_000, 1 << 10, 512 << 10}} {
		b.Run(fmt.Sprintf("%d-files-of-%dB-to-%dKiB", shape.files, shape.least, shape.most>>10), func(b *testing.B) {
			live := filepath.Join(b.TempDir(), "live")
			files, size := shape.plant(b, live)
			src := benchSource(live)
			p := &Publisher{Gate: "bench", Host: "bench", Source: src, Export: filepath.Join(b.TempDir(), "export")}
			work := map[string]func() error{
				"publish": func() error { _, err := p.Publish(b.Context(), time.Now()); return err },
				"scan":    func() error { _, err := Scan(b.Context(), src); return err },
				"bare":    func() error { return bareHash(files) },
				"plain":   func() error { return plainHash(live) },
				"xargs":   func() error { return xargs(live) },
			}
			if check := aide(b, live); check != nil {
				work["aide"] = check
			}
			times, ratios := make(map[string][]float64), make(map[string][]float64)
			must(b, work["publish"]())
			b.SetBytes(size)
			for b.Loop() {
				now := make(map[string]float64)
				for name, do := range work {
					began := time.Now()
					must(b, do())
					now[name] = time.Since(began).Seconds()
				}
				for name := range work {
					times[name] = append(times[name], now[name])
					ratios[name] = append(ratios[name], now[name]/now["publish"])
				}
			}
			for name := range work {
				b.ReportMetric(median(times[name])*1000, name+"-ms")
				b.ReportMetric(median(ratios[name]), name+"/publish")
			}
		})
	}
}

// A benchShape is a number of files of skewed sizes: as many between 1 and 2 KiB as between 64 and 128.
type benchShape struct{ files, least, most int }

// plant makes the files, with noise in them, in directories of 100.
func (s benchShape) plant(b *testing.B, dir string) (files []string, size int64) {
	rng, noise := rand.New(rand.NewPCG(1, 2)), rand.NewChaCha8([32]byte{})
	for i := range s.files {
		name := fmt.Sprintf("%s/dir-%03d/file-%02d.yaml", dir, i/100, i%100)
		data := make([]byte, int(float64(s.least)*math.Exp(rng.Float64()*math.Log(float64(s.most)/float64(s.least)))))
		noise.Read(data)
		must(b, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)))
		files, size = append(files, name), size+int64(len(data))
	}
	return files, size
}

func benchSource(live string) Source {
	return Source{Live: []Live{{Name: "live", Root: live}}, Owner: uint32(os.Geteuid()), Limits: Limits{20_000, 1 << 20, 2 << 30}}
}

func bareHash(files []string) error {
	var next atomic.Int64
	return onAllProcessors(func() error {
		buf := make([]byte, 1<<20)
		for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
			f, err := os.Open(files[i])
			if err != nil {
				return err
			}
			n, err := io.ReadFull(f, buf)
			if f.Close(); err != io.ErrUnexpectedEOF {
				return fmt.Errorf("read %s: %w", files[i], err)
			}
			_ = sha256.Sum256(buf[:n])
		}
		return nil
	})
}

func plainHash(live string) error {
	names := make(chan string, 100)
	var walked error
	go func() {
		defer close(names)
		walked = filepath.WalkDir(live, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names <- name
			}
			return err
		})
	}()
	return errors.Join(onAllProcessors(func() error {
		for name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			_ = sha256.Sum256(data)
		}
		return nil
	}), walked)
}

func onAllProcessors(work func() error) error {
	errs := make([]error, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() { errs[i] = work() })
	}
	running.Wait()
	return errors.Join(errs...)
}

func xargs(live string) error {
	cmd := exec.Command("sh", "-c", `find "$1" -type f -print0 | xargs -0 -P2 -n100 sha256sum`, "sh", live)
	cmd.Stdout = io.Discard
	return cmd.Run()
}

// aide makes a database of the live files and returns what checks them against it, or nil where there is no aide.
func aide(b *testing.B, live string) func() error {
	if _, err := exec.LookPath("aide"); err != nil {
		return nil
	}
	dir := b.TempDir()
	conf := filepath.Join(dir, "aide.conf")
	must(b, os.WriteFile(conf, fmt.Appendf(nil, "database_in=file:%[1]s/db\ndatabase_out=file:%[1]s/db\nreport_url=stdout\n%[2]s p+u+g+s+m+c+sha256\n",
		dir, live), 0o644))
	run := func(flag string) error {
		out, err := exec.Command("aide", "--config="+conf, flag).CombinedOutput()
		if err != nil {
			return fmt.Errorf("aide %s: %w: %s", flag, err, bytes.TrimSpace(out))
		}
		return nil
	}
	must(b, run("--init"))
	return func() error { return run("--check") }
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkScan is the witness.
func BenchmarkScan(b *testing.B) {
	live := filepath.Join(b.TempDir(), "live")
	_, size := benchShape{10_000, 512, 128 << 10}.plant(b, live)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(b.Context(), benchSource(live)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManifest is what a manifest of 10 000 entries costs besides.
func BenchmarkManifest(b *testing.B) {
	at := time.Unix(1<<30, 123456789).UTC()
	entries := []Entry{{Path: "policy", Type: Dir, Mode: 0o755, MTime: at}}
	for i := range 10_000 {
		path := fmt.Sprintf("policy/specs-of-something-%04d.yaml", i)
		entries = append(entries, Entry{Path: path, Type: File, Mode: 0o644, Size: 4096, MTime: at, SHA256: digestA})
	}
	m := sample()
	m.Entries, m.Tree = entries, Tree(entries)
	data, err := m.Marshal()
	must(b, err)
	limits := Limits{20_000, 1 << 20, 1 << 30}
	for name, do := range map[string]func() error{
		"parse":   func() error { _, err := parse(string(data), limits); return err },
		"marshal": func() error { _, err := m.Marshal(); return err },
		"tree":    func() error { _ = Tree(entries); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, do())
			}
		})
	}
}
