//go:build linux

package manifest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/internal/safefs"
)

// enemyExport is an export that the enemy owns, with one object, "a".
func enemyExport(t *testing.T) string {
	t.Helper()
	needRoot(t)
	dir := openDir(t)
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	plant(t, live, tree{"a": "a"})
	p := testPublisher(live, export)
	_, err := p.Publish(t.Context(), time.Now())
	must(t, err)
	give(t, export)
	return export
}

// TestAnotherUserPublishes is the whole way, as two users.
func TestAnotherUserPublishes(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
	plant(t, live, tree{"gate.yaml": "version: 1\n", "private": "secret"})
	must(t, os.Mkdir(export, 0o755))
	give(t, dir)
	must(t, os.Chown(dir, 0, 0))
	must(t, os.Chown(filepath.Join(live, "private"), 0, 0))
	must(t, os.Chmod(filepath.Join(live, "private"), 0o600))
	if out, err := command(t, enemy, "publish", live, export, "").Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m, contents := readExport(t, export, enemy)
	if len(contents) != 1 || contents["policy/gate.yaml"] != "version: 1\n" {
		t.Errorf("contents: %v", contents)
	}
	if len(m.Refused) != 1 || m.Refused[0].Path != "policy/private" || !strings.HasPrefix(m.Refused[0].Reason, "unreadable: ") {
		t.Errorf("refused: %v", m.Refused)
	}
	if _, err := OpenExport(export, enemy+1, testLimits); err == nil {
		t.Error("somebody else's export is opened")
	}
}

func TestOpenExportRefuses(t *testing.T) {
	export := enemyExport(t)
	dir := filepath.Dir(export)
	refused := func(want safefs.Reason) {
		t.Helper()
		e, err := OpenExport(export, enemy, testLimits)
		if err == nil {
			e.Close()
		}
		if !isRefused(err, want) {
			t.Errorf("got %v, want a refusal for %q", err, want)
		}
	}
	must(t, os.Chmod(export, 0o777))
	refused(safefs.Writable)
	must(t, os.Chmod(export, 0o755))
	must(t, os.Chown(export, enemy+1, 0))
	refused(safefs.Owner)
	must(t, os.Chown(export, enemy, 0))
	must(t, os.Chmod(dir, 0o777))
	refused(safefs.Writable)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Rename(export, export+"-real"))
	refused(safefs.Missing)
	must(t, os.Symlink(export+"-real", export))
	refused(safefs.Symlink)
	must(t, os.Remove(export))
	must(t, os.Symlink("export-real", export))
	refused(safefs.Symlink)
	must(t, os.Remove(export))
	must(t, unix.Mkfifo(export, 0o755))
	refused(safefs.Special)
}

func TestManifestOfAHostileExport(t *testing.T) {
	export := enemyExport(t)
	name := filepath.Join(export, manifestName)
	good, err := os.ReadFile(name)
	must(t, err)
	secret := filepath.Join(filepath.Dir(export), "secret")
	must(t, os.WriteFile(secret, good, 0o600))
	tests := map[string]struct {
		make func() error
		want error // or a refusal:
		kind safefs.Reason
	}{
		"missing":       {func() error { return nil }, fs.ErrNotExist, ""},
		"absolute link": {func() error { return os.Symlink(secret, name) }, nil, safefs.Symlink},
		"relative link": {func() error { return os.Symlink("../secret", name) }, nil, safefs.Symlink},
		"inner link":    {func() error { return os.Symlink("objects", name) }, nil, safefs.Symlink},
		"fifo":          {func() error { return unix.Mkfifo(name, 0o644) }, nil, safefs.Special},
		"socket":        {func() error { return unix.Mknod(name, unix.S_IFSOCK|0o644, 0) }, nil, safefs.Special},
		"device":        {func() error { return unix.Mknod(name, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))) }, nil, safefs.Special},
		"directory":     {func() error { return os.Mkdir(name, 0o755) }, nil, safefs.Directory},
		"hard link":     {func() error { return os.Link(secret, name) }, nil, safefs.Links},
		"sparse":        {func() error { return errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<40)) }, nil, safefs.Size},
		"empty":         {func() error { return os.WriteFile(name, nil, 0o644) }, ErrInvalid, ""},
		"padded":        {func() error { return os.WriteFile(name, append(good, make([]byte, 1<<20)...), 0o644) }, ErrInvalid, ""},
		"nested":        {func() error { return os.WriteFile(name, bytes.Repeat([]byte(`{"log":`), 1<<17), 0o644) }, ErrInvalid, ""},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			must(t, os.RemoveAll(name))
			must(t, test.make())
			if what == "hard link" {
				defer os.Remove(name) // so that the secret has one link again
			}
			e, err := OpenExport(export, enemy, testLimits)
			must(t, err)
			defer e.Close()
			m, err := e.Manifest(t.Context())
			if m != nil || err == nil || test.want != nil && !errors.Is(err, test.want) || test.want == nil && !isRefused(err, test.kind) {
				t.Errorf("got %v, %v; want %v %v", m, err, test.want, test.kind)
			}
		})
	}
}

func TestReadObjectOfAHostileExport(t *testing.T) {
	export := enemyExport(t)
	name := filepath.Join(export, objectsName, objectName(digestA))
	dir := filepath.Dir(name)
	secret := filepath.Join(filepath.Dir(export), "secret")
	must(t, os.WriteFile(secret, []byte("a"), 0o600)) // the very bytes: an oracle if it were opened
	tests := map[string]struct {
		make func() error
		want error
		kind safefs.Reason
	}{
		"missing":        {func() error { return nil }, fs.ErrNotExist, ""},
		"other bytes":    {func() error { return os.WriteFile(name, []byte("b"), 0o644) }, ErrMismatch, ""},
		"no bytes":       {func() error { return os.WriteFile(name, nil, 0o644) }, ErrMismatch, ""},
		"more bytes":     {func() error { return os.WriteFile(name, []byte("ab"), 0o644) }, ErrMismatch, ""},
		"sparse":         {func() error { return errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<40)) }, nil, safefs.Size},
		"absolute link":  {func() error { return os.Symlink(secret, name) }, nil, safefs.Symlink},
		"relative link":  {func() error { return os.Symlink("../../../secret", name) }, nil, safefs.Symlink},
		"hard link":      {func() error { return os.Link(secret, name) }, nil, safefs.Links},
		"fifo":           {func() error { return unix.Mkfifo(name, 0o644) }, nil, safefs.Special},
		"directory":      {func() error { return os.Mkdir(name, 0o755) }, nil, safefs.Directory},
		"somebody's":     {func() error { return errors.Join(os.WriteFile(name, []byte("a"), 0o644), os.Chown(name, enemy+1, 0)) }, nil, safefs.Owner},
		"middle is link": {func() error { return errors.Join(os.Remove(dir), os.Symlink("../objects", dir)) }, nil, safefs.Symlink},
		"middle is file": {func() error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o644)) }, nil, safefs.NotDirectory},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			must(t, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.Chown(dir, enemy, 0)))
			must(t, test.make())
			if what == "hard link" {
				defer os.Remove(name)
			}
			e, err := OpenExport(export, enemy, testLimits)
			must(t, err)
			defer e.Close()
			err = e.ReadObject(t.Context(), digestA, 1, io.Discard)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || test.want == nil && !isRefused(err, test.kind) {
				t.Errorf("got %v; want %v %v", err, test.want, test.kind)
			}
			if sum := sha256.Sum256([]byte("b")); strings.Contains(err.Error(), hex.EncodeToString(sum[:])) {
				t.Errorf("the error tells what the bytes are: %v", err)
			}
		})
	}
}

func TestReadObjectTakesNothingButDigestsAndSizes(t *testing.T) {
	export := enemyExport(t)
	e, err := OpenExport(export, enemy, testLimits)
	must(t, err)
	defer e.Close()
	for _, digest := range []string{"", "ca", "../../../../etc/passwd", strings.ToUpper(digestA), digestA + "0", digestA[:63] + "/",
		digestA[:62] + "..", strings.Repeat("/", 64), strings.Repeat("\x00", 64)} {
		if err := e.ReadObject(t.Context(), digest, 1, io.Discard); err == nil {
			t.Errorf("%q is read", digest)
		}
	}
	for _, size := range []int64{-1, 0, 2, testLimits.File + 1, 1 << 62} {
		if err := e.ReadObject(t.Context(), digestA, size, io.Discard); err == nil {
			t.Errorf("it is read with the size %d", size)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.ReadObject(ctx, digestA, 1, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if _, err := e.Manifest(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if err := e.ReadObject(t.Context(), digestA, 1, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestExportNoticesThatItsDirectoryWasReplaced(t *testing.T) {
	export := enemyExport(t)
	e, err := OpenExport(export, enemy, testLimits)
	must(t, err)
	defer e.Close()
	must(t, e.Same())
	must(t, os.Rename(export, export+"-old"))
	if err := e.Same(); err == nil {
		t.Error("a missing directory is the same")
	}
	must(t, os.CopyFS(export, os.DirFS(export+"-old")))
	give(t, export)
	if err := e.Same(); !isRefused(err, safefs.InFlux) {
		t.Errorf("a copy of the directory: %v, want in flux", err)
	}
}

// TestLeaseIsBusyAtOnce: an open that waits would wait 45 seconds for each file.
func TestLeaseIsBusyAtOnce(t *testing.T) {
	export := enemyExport(t)
	live := filepath.Join(filepath.Dir(export), "live")
	give(t, live)
	start(t, command(t, enemy, "lease", filepath.Join(export, manifestName)))
	start(t, command(t, enemy, "lease", filepath.Join(export, objectsName, objectName(digestA))))
	start(t, command(t, enemy, "lease", filepath.Join(live, "a")))
	began := time.Now()
	e, err := OpenExport(export, enemy, testLimits)
	must(t, err)
	defer e.Close()
	if _, err := e.Manifest(t.Context()); !isRefused(err, safefs.Busy) {
		t.Errorf("manifest: %v, want busy", err)
	}
	if err := e.ReadObject(t.Context(), digestA, 1, io.Discard); !isRefused(err, safefs.Busy) {
		t.Errorf("object: %v, want busy", err)
	}
	src := testSource(live)
	src.Owner = enemy
	got, err := Scan(t.Context(), src)
	must(t, err)
	if len(got.Refused) != 1 || !strings.HasPrefix(got.Refused[0].Reason, "busy: ") {
		t.Errorf("scan: refused %v, want busy", got.Refused)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestNothingOutsideIsReadWhileDirectoriesAreSwapped lets the enemy exchange directories of the tree for links to
// places outside while root scans and reads, and looks for what root alone may read.
func TestNothingOutsideIsReadWhileDirectoriesAreSwapped(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	secret := sha256.Sum256([]byte("secret"))
	digest := hex.EncodeToString(secret[:])
	tree := tree{"arena/live/sub/a": "mine", "arena/objects/" + objectName(digest): "public"}
	plant(t, dir, tree)
	give(t, filepath.Join(dir, "arena"))
	plant(t, dir, map[string]string{"outside/a": "secret", "outside/" + digest[2:]: "secret"})
	must(t, os.Chmod(filepath.Join(dir, "outside"), 0o700))
	in := func(name string) string { return filepath.Join(dir, "arena", name) }
	for _, link := range []string{in("live/link"), in("objects/link")} {
		must(t, errors.Join(os.Symlink(filepath.Join(dir, "outside"), link), os.Lchown(link, enemy, enemy)))
	}
	start(t, command(t, enemy, "swap", in("live/sub"), in("live/link"), in("live/third")))
	start(t, command(t, enemy, "swap", in("objects/"+digest[:2]), in("objects/link"), in("objects/third")))
	src := testSource(in("live"))
	src.Owner = enemy
	e, err := OpenExport(in(""), enemy, testLimits)
	must(t, err)
	defer e.Close()
	var reads, entries int
	for range 2000 {
		got, err := Scan(t.Context(), src)
		must(t, err)
		for _, entry := range got.Entries {
			if entry.SHA256 == digest {
				t.Fatalf("%s holds what is outside", entry.Path)
			}
			if entry.Type == File {
				entries++
			}
		}
		switch err := e.ReadObject(t.Context(), digest, 6, io.Discard); {
		case err == nil:
			t.Fatal("an object from outside is believed")
		case errors.Is(err, ErrMismatch):
			reads++
		}
	}
	if reads == 0 || entries == 0 {
		t.Errorf("the files inside were never read (%d, %d): the race was not run", reads, entries)
	}
}
