package reconcile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/notify"
	vendorgate "gatehouse/vendor-gate"
)

// BenchmarkPass compares a pass with nothing changed over 10 000 entries with a publish of the same, in one run:
//
//	go test -run '^$' -bench Pass -benchtime 10x -count 7 ./reconcile
func BenchmarkPass(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	const dirs, files = 100, 99
	content := make([]byte, 4096)
	for i := range dirs {
		sub := filepath.Join(dir, "live", fmt.Sprintf("d%03d", i))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range files {
			copy(content, fmt.Sprintf("file %d of directory %d", j, i))
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%03d", j)), content, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "export"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := vendorgate.Init(filepath.Join(dir, "repo")); err != nil {
		b.Fatal(err)
	}
	repository, err := vendorgate.Open(filepath.Join(dir, "repo"), "vendor-gate")
	if err != nil {
		b.Fatal(err)
	}
	gate := Gate{Name: "claude", GroupID: -1, Export: filepath.Join(dir, "export"), Witness: true, Interval: time.Hour,
		Source: manifest.Source{Owner: uint32(os.Getuid()), Live: []manifest.Live{{Name: "policy", Root: filepath.Join(dir, "live")}},
			Limits: manifest.Limits{Entries: 20000, File: 1 << 20, Total: 1 << 30}}}
	state := filepath.Join(dir, "state")
	w := &Warden{Host: "host", State: state, Repository: repository, Now: time.Now, LockFor: time.Second,
		Outbox: &notify.Outbox{Dir: filepath.Join(state, "notices"), Host: "host"}}
	publisher := manifest.Publisher{Gate: "claude", Host: "host", Source: gate.Source, Export: gate.Export, Disk: durable.Disk{}}
	ctx := context.Background()
	publish := func() {
		if _, err := publisher.Publish(ctx, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
	pass := func(want Result) Report {
		p, err := w.Reconcile(ctx, []Gate{gate})
		if err != nil {
			b.Fatal(err)
		}
		if p.Reports[0].Result != want {
			b.Fatalf("%s: %+v", p.Reports[0].Result, p.Reports[0].Findings)
		}
		return p.Reports[0]
	}
	publish()
	drift := pass(Drifted)
	if _, _, err := w.Accept(ctx, gate, drift.Fingerprint, Decision{By: "bench"}); err != nil {
		b.Fatal(err)
	}
	pass(InSync)

	b.Run("publish", func(b *testing.B) {
		for b.Loop() {
			publish()
		}
	})
	b.Run("reconcile", func(b *testing.B) {
		for b.Loop() {
			pass(InSync)
		}
	})
	b.Run("reconcile-without-witness", func(b *testing.B) {
		gate.Witness = false
		for b.Loop() {
			pass(InSync)
		}
	})
}
