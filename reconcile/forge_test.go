package reconcile

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"gatehouse/manifest"
)

// claimed reads what the export says now.
func claimed(t *testing.T, h *host) *manifest.Manifest {
	t.Helper()
	g := h.gate()
	export, err := manifest.OpenExport(g.Export, g.Source.Owner, g.Source.Limits)
	if err != nil {
		t.Fatal(err)
	}
	defer export.Close()
	m, err := export.Manifest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func manifestTree(t *testing.T, h *host) string { return claimed(t, h).Tree }

// forge replaces the object of an entry by other bytes of the same length.
func forge(t *testing.T, h *host, path string) {
	t.Helper()
	time.Sleep(2 * clockGrain) // the publisher tells by the file's times, which lag by that much
	for _, e := range claimed(t, h).Entries {
		if e.Path != path {
			continue
		}
		object := h.path("export/objects/" + e.SHA256[:2] + "/" + e.SHA256[2:])
		if err := os.Chmod(object, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(object, bytes.Repeat([]byte("x"), int(e.Size)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("the export has no %s", path)
}

// lie rewrites the manifest as a compromised publisher would, under a new number and time.
func lie(t *testing.T, h *host, change func(*manifest.Manifest)) {
	t.Helper()
	m := claimed(t, h)
	m.Sequence, m.PublishedAt = max(m.Sequence+1, uint64(time.Now().UnixMilli())), time.Now().UTC()
	change(m)
	m.Tree = manifest.Tree(m.Entries)
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.path("export/manifest.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// republishOld is a publisher that lies: the entries of before, under a new number and time.
func republishOld(t *testing.T, h *host) {
	t.Helper()
	m := claimed(t, h)
	m.Sequence, m.PublishedAt = uint64(time.Now().UnixMilli()), time.Now().UTC()
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.path("export/manifest.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}
