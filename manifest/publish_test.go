//go:build linux

package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// readExport reads an export as root does, with all that its manifest names, and returns the contents by path.
func readExport(t testing.TB, dir string, owner int) (*Manifest, map[string]string) {
	t.Helper()
	export, err := OpenExport(dir, uint32(owner), testLimits)
	must(t, err)
	defer export.Close()
	m, err := export.Manifest(t.Context())
	must(t, err)
	contents := make(map[string]string)
	for _, e := range m.Entries {
		if e.Type == File {
			var data bytes.Buffer
			if err := export.ReadObject(t.Context(), e.SHA256, e.Size, &data); err != nil {
				t.Fatalf("%s: %v", e.Path, err)
			}
			contents[e.Path] = data.String()
		}
	}
	must(t, export.Same())
	return m, contents
}

func TestPublishMakesAnExportThatRootCanRead(t *testing.T) {
	dir := t.TempDir()
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	large := strings.Repeat("large", 1<<18) // above smallFile
	plant(t, live, tree{"gate.yaml": "version: 1\n", "copy.yaml": "version: 1\n", "specs/a": "a", "empty": "", "l": "->a", "large": large, "a": "a"})
	p := testPublisher(live, export)
	p.Source.Limits.File = 2 << 20
	now := time.Now()
	published, err := p.Publish(t.Context(), now)
	must(t, err)

	e, err := OpenExport(export, uint32(os.Geteuid()), p.Source.Limits)
	must(t, err)
	defer e.Close()
	m, err := e.Manifest(t.Context())
	must(t, err)
	for i := range published.Entries {
		published.Entries[i].CTime = time.Time{}
	}
	if diff := cmp.Diff(published, m); diff != "" {
		t.Errorf("what was published is not what is read: %s", diff)
	}
	for _, entry := range m.Entries {
		if entry.Path == "policy/large" {
			var data bytes.Buffer
			must(t, e.ReadObject(t.Context(), entry.SHA256, entry.Size, &data))
			if data.String() != large {
				t.Errorf("%s comes back as %d bytes, want %d", entry.Path, data.Len(), len(large))
			}
		}
	}
	if m.Sequence != uint64(now.UnixMilli()) || !m.PublishedAt.Equal(now) || m.Gate != "claude" || m.Host != "agent-1" {
		t.Errorf("sequence %d, published at %v, gate %s, host %s", m.Sequence, m.PublishedAt, m.Gate, m.Host)
	}
	for name, mode := range map[string]fs.FileMode{
		"": 0o755, "manifest.json": 0o644, "objects": 0o755, "objects/" + objectName(digestA): 0o644,
		"objects/" + digestA[:2]: 0o755, ".lock": 0o200,
	} {
		info, err := os.Lstat(filepath.Join(export, name))
		must(t, err)
		if info.Mode().Perm() != mode {
			t.Errorf("%q has mode %v, want %v", name, info.Mode().Perm(), mode)
		}
	}
}

// objectsOf lists the files below the objects of an export.
func objectsOf(t testing.TB, export string) map[string]bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(export, objectsName, "*", "*"))
	must(t, err)
	set := make(map[string]bool)
	for _, name := range names {
		set[filepath.Base(filepath.Dir(name))+filepath.Base(name)] = true
	}
	return set
}

func TestPublishKeepsTheObjectsOfTwoManifests(t *testing.T) {
	dir := t.TempDir()
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	p := testPublisher(live, export)
	var past []*Manifest
	for _, content := range []string{"one", "two", "three", "three"} {
		plant(t, live, tree{"gate.yaml": content, "same": "same"})
		m, err := p.Publish(t.Context(), time.Now())
		must(t, err)
		want := digests(m)
		if len(past) > 0 {
			last := past[len(past)-1]
			for digest := range digests(last) {
				want[digest] = true
			}
			if m.Sequence <= last.Sequence {
				t.Errorf("sequence %d after %d", m.Sequence, last.Sequence)
			}
		}
		if diff := cmp.Diff(want, objectsOf(t, export)); diff != "" {
			t.Errorf("%s: objects: %s", content, diff)
		}
		past = append(past, m)
	}
}

func TestPublishRemovesOnlyWhatIsItsOwn(t *testing.T) {
	dir := t.TempDir()
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	plant(t, live, tree{"gate.yaml": "version: 1\n"})
	temp := ".tmp-123"
	if !durable.IsTemp(temp) || !durable.IsTemp(tempName()) {
		t.Fatal("not the name of an unfinished file")
	}
	ours := []string{temp, "objects/aa/" + temp, "objects/" + objectName(digestA), "objects/" + objectName(digestB)}
	others := tree{
		"README": "", "objects/README": "", "objects/aa/short": "", "objects/zz/" + digestA[2:]: "",
		"objects/AA/" + digestA[2:]: "", "objects/aa/" + strings.ToUpper(digestA[2:]): "", "objects/" + digestA: "",
		"objects/bb/.tmp-dir/x": "", "objects/cc/" + digestA[2:] + "/x": "", "objects/dd/" + digestA[2:]: "->x", "other/" + temp: "",
	}
	plant(t, export, others)
	for _, name := range ours {
		plant(t, export, tree{name: "old"})
	}
	_, err := testPublisher(live, export).Publish(t.Context(), time.Now())
	must(t, err)
	for _, name := range ours {
		if _, err := os.Lstat(filepath.Join(export, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	for name := range others {
		if _, err := os.Lstat(filepath.Join(export, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPublishMendsItsObjects(t *testing.T) {
	dir := t.TempDir()
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	plant(t, live, tree{"a": "a", "b": "b"})
	p := testPublisher(live, export)
	_, err := p.Publish(t.Context(), time.Now())
	must(t, err)
	object := filepath.Join(export, objectsName, objectName(digestA))
	for name, damage := range map[string]func() error{
		"same size": func() error { return os.WriteFile(object, []byte("b"), 0o644) },
		"short":     func() error { return os.Truncate(object, 0) },
		"missing":   func() error { return os.Remove(object) },
		"link":      func() error { return errors.Join(os.Remove(object), os.Symlink("/etc/passwd", object)) },
		"hard link": func() error { return os.Link(object, filepath.Join(dir, "second")) },
	} {
		must(t, damage())
		_, err := p.Publish(t.Context(), time.Now())
		must(t, err)
		if _, contents := readExport(t, export, os.Geteuid()); contents["policy/a"] != "a" {
			t.Errorf("%s: the object was not written again", name)
		}
	}
}

func TestPublishCountsOn(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	hour := uint64(time.Hour.Milliseconds())
	for _, test := range []struct{ last, want uint64 }{
		{0, 1_000_000_000},
		{999_999_999, 1_000_000_000},
		{1_000_000_000, 1_000_000_001},
		{1_000_000_000 + hour, 1_000_000_001 + hour},
		{1_000_000_001 + hour, 1_000_000_000},
		{1<<64 - 1, 1_000_000_000},
	} {
		if got := sequence(test.last, now); got != test.want {
			t.Errorf("after %d comes %d, want %d", test.last, got, test.want)
		}
	}
	if got := sequence(0, time.UnixMilli(-5)); got != 1 {
		t.Errorf("before 1970 comes %d, want 1", got)
	}
}

func TestPublishStartsAnewAfterABadManifest(t *testing.T) {
	dir := t.TempDir()
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	plant(t, live, tree{"gate.yaml": "version: 1\n"})
	for _, bad := range []string{"", "{", "{}", `{"sequence":18446744073709551615}`, strings.Repeat(" ", 3<<20)} {
		plant(t, export, tree{manifestName: bad})
		now := time.Now()
		m, err := testPublisher(live, export).Publish(t.Context(), now)
		must(t, err)
		if m.Sequence != uint64(now.UnixMilli()) {
			t.Errorf("%.20q: sequence %d", bad, m.Sequence)
		}
		readExport(t, export, os.Geteuid())
	}
}

func TestPublishSaysWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	plant(t, live, tree{"gate.yaml": "version: 1\n"})
	tests := []struct {
		change func(p *Publisher)
		want   string
	}{
		{func(p *Publisher) { p.Export = filepath.Join(dir, "no/such") }, "as root, run: install -d -m 0755 -o "},
		{func(p *Publisher) { p.Export = "export" }, "no clean absolute path"},
		{func(p *Publisher) { p.Export = filepath.Join(live, "gate.yaml") }, "not a directory"},
		{func(p *Publisher) { p.Gate = "../x" }, `"../x" is no name for a gate`},
		{func(p *Publisher) { p.Host = "" }, `"" is no name for a host`},
		{func(p *Publisher) { p.Source.Live[0].Root = "live" }, "no clean absolute path"},
	}
	for _, test := range tests {
		p := testPublisher(live, filepath.Join(dir, "export"))
		test.change(p)
		if m, err := p.Publish(t.Context(), time.Now()); err == nil || m != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, %v; want %q", m, err, test.want)
		}
	}
}

func TestPublishWaitsForItsLockNoLongerThanItMay(t *testing.T) {
	dir := t.TempDir()
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	plant(t, live, tree{"gate.yaml": "version: 1\n"})
	plant(t, export, nil)
	lock, err := durable.AcquireLock(t.Context(), filepath.Join(export, lockName))
	must(t, err)
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := testPublisher(live, export).Publish(ctx, time.Now()); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("got %v, want %v", err, durable.ErrLocked)
	}
}

func TestPublishersDoNotDisturbEachOther(t *testing.T) {
	dir := t.TempDir()
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	plant(t, live, tree{"gate.yaml": "0", "same": "same"})
	_, err := testPublisher(live, export).Publish(t.Context(), time.Now())
	must(t, err)
	const runs = 15
	var mu sync.Mutex
	sequences := make(map[uint64]bool)
	var publishing, reading sync.WaitGroup
	for i := range 2 {
		publishing.Go(func() {
			for j := range runs {
				name := filepath.Join(live, "gate.yaml")
				if err := (durable.Disk{}).WriteFile(name, fmt.Appendf(nil, "%d/%d", i, j), 0o644); err != nil {
					t.Error(err)
				}
				m, err := testPublisher(live, export).Publish(t.Context(), time.Now())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if sequences[m.Sequence] {
					t.Errorf("sequence %d is there twice", m.Sequence)
				}
				sequences[m.Sequence] = true
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				readWhilePublishing(t, export)
			}
		}
	})
	publishing.Wait()
	close(done)
	reading.Wait()
	if len(sequences) != 2*runs {
		t.Errorf("%d manifests, want %d", len(sequences), 2*runs)
	}
	readExport(t, export, os.Geteuid())
}

// readWhilePublishing reads an export that changes. A content may only be missing when its manifest is two behind.
func readWhilePublishing(t *testing.T, dir string) {
	export, err := OpenExport(dir, uint32(os.Geteuid()), testLimits)
	if err != nil {
		t.Error(err)
		return
	}
	defer export.Close()
	m, err := export.Manifest(t.Context())
	if IsInFlux(err) { // replaced under each attempt
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	for _, e := range m.Entries {
		if e.Type != File {
			continue
		}
		if err := export.ReadObject(t.Context(), e.SHA256, e.Size, io.Discard); err != nil {
			now, again := export.Manifest(t.Context())
			if !IsInFlux(again) && (again != nil || now.Sequence == m.Sequence || errors.Is(err, ErrMismatch)) {
				t.Errorf("%s: %v (manifest %v)", e.Path, err, again)
			}
			return
		}
	}
}
