package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
	"gatehouse/internal/safefs"
)

func directory(t *testing.T, host string) *Directory {
	t.Helper()
	return at(t, filepath.Join(t.TempDir(), "exchange"), host)
}

func at(t *testing.T, path, host string) *Directory {
	t.Helper()
	if err := errors.Join(os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, Marker), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDirectory(durable.Disk{}, path, host, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An empty mount point is no fleet that fell silent.
func TestAShareThatIsNotMountedIsUnavailable(t *testing.T) {
	empty := t.TempDir()
	for _, path := range []string{empty, filepath.Join(empty, "missing")} {
		if _, err := OpenDirectory(durable.Disk{}, path, "a", nil); !errors.Is(err, ErrUnavailable) {
			t.Errorf("OpenDirectory(%s): %v, want ErrUnavailable", path, err)
		}
	}
	d := directory(t, "a")
	if err := d.Put(t.Context(), Key{Beats, "a", ""}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	away := d.path + ".away"
	if err := os.Rename(d.path, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), Key{Beats, "a", ""}, []byte("y")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Put: %v", err)
	}
	if _, err := d.Get(t.Context(), Key{Beats, "a", ""}); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if _, err := d.Claim(t.Context(), "x", time.Minute); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Claim: %v", err)
	}
	for e, err := range d.List(t.Context(), Key{Kind: Beats}) {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("List: %v, %v", e, err)
		}
	}
	if err := errors.Join(os.Remove(d.path), os.Rename(away, d.path)); err != nil {
		t.Fatal(err)
	}
	if e, err := d.Get(t.Context(), Key{Beats, "a", ""}); err != nil || string(e.Value) != "x" {
		t.Errorf("mounted again: %q, %v", e.Value, err)
	}
}

// What another writer of the share put in the place of a value harms that value only.
func TestHostileFilesAreRefusedOneByOne(t *testing.T) {
	d := directory(t, "a")
	put := func(host string) {
		t.Helper()
		writer := at(t, d.path, host)
		if err := writer.Put(t.Context(), Key{Beats, host, ""}, []byte("beat of "+host)); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	put("good")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	beats := filepath.Join(d.path, "beats")
	hostile := map[string]func(string) error{
		"link":     func(name string) error { return os.Symlink(secret, name) },
		"dangling": func(name string) error { return os.Symlink("nowhere", name) },
		"fifo":     func(name string) error { return unix.Mkfifo(name, 0o644) },
		"socket":   func(name string) error { return unix.Mknod(name, unix.S_IFSOCK|0o644, 0) },
		"huge":     func(name string) error { return errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<40)) },
		"toolarge": func(name string) error { return os.WriteFile(name, make([]byte, MaxStatement+1), 0o644) },
		"hardlink": func(name string) error { return os.Link(secret, name) },
		"dir":      func(name string) error { return os.Mkdir(name, 0o755) },
	}
	if os.Geteuid() == 0 {
		hostile["foreign"] = func(name string) error {
			return errors.Join(os.WriteFile(name, []byte("x"), 0o644), os.Chown(name, 12345, 12345))
		}
	}
	for name, make := range hostile {
		if err := make(filepath.Join(beats, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, junk := range []string{"UPPER", "-x", ".tmp-x", "a b", strings.Repeat("x", 255)} { // no keys
		if err := os.WriteFile(filepath.Join(beats, junk), []byte("junk"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := make(map[string]string)
	for e, err := range d.List(t.Context(), Key{Kind: Beats}) {
		if err != nil {
			t.Fatal(err)
		}
		got[e.Key.Host] = string(e.Value)
		if _, bad := hostile[e.Key.Host]; bad != (e.Err != nil) || bad && e.Value != nil {
			t.Errorf("%s: %q, %v", e.Key, e.Value, e.Err)
		}
	}
	if len(got) != len(hostile)+2 || got["a"] != "beat of a" || got["good"] != "beat of good" {
		t.Errorf("the list is %q", got)
	}
	for name := range hostile {
		if e, err := d.Get(t.Context(), Key{Beats, name, ""}); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("Get of %s: %q, %v", name, e.Value, err)
		}
	}
	if _, err := d.Get(t.Context(), Key{Beats, "huge", ""}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Get of a huge one: %v, want ErrTooLarge", err)
	}
	// A host whose directory is none does not hide the others.
	for _, host := range []string{"good", "a"} {
		writer := at(t, d.path, host)
		if err := writer.Put(t.Context(), Key{Exports, host, "claude"}, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(d.path, "exports", "link")); err != nil {
		t.Fatal(err)
	}
	said := make(map[string]bool)
	for e, err := range d.List(t.Context(), Key{Kind: Exports}) {
		if err != nil {
			t.Fatal(err)
		}
		said[e.Key.String()] = e.Err == nil
	}
	if want := fmt.Sprint(map[string]bool{"exports/a/claude": true, "exports/good/claude": true, "exports/link": false}); fmt.Sprint(said) != want {
		t.Errorf("the exports are %v, want %s", said, want)
	}
}

// Links in the exchange lead no write out of it.
func TestWritesStayInTheDirectory(t *testing.T) {
	outside := t.TempDir()
	for _, name := range []string{"beats", "exports", "exports/a", "claims", "claims/x", "objects"} {
		d := directory(t, "a")
		place := filepath.Join(d.path, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, place); err != nil {
			t.Fatal(err)
		}
		_ = d.Put(t.Context(), Key{Beats, "a", ""}, []byte("x"))
		_ = d.Put(t.Context(), Key{Exports, "a", "g"}, []byte("x"))
		_ = d.Put(t.Context(), Object("a", []byte("x")), []byte("x"))
		_, _ = d.Claim(t.Context(), "x", time.Minute)
	}
	d := directory(t, "a")
	target := filepath.Join(outside, "target")
	if err := os.MkdirAll(filepath.Join(d.path, "beats"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(d.path, "beats", "a")); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), Key{Beats, "a", ""}, []byte("x")); err != nil {
		t.Errorf("a link in the place of a value is replaced: %v", err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("outside the exchange there is %v, %v", list, err)
	}
}

func TestPutIsWholeOrNot(t *testing.T) {
	fault := errors.New("injected")
	key := Key{Beats, "a", ""}
	for name, around := range map[string]func(durable.Step, func() error) error{
		"not done":              func(durable.Step, func() error) error { return fault },
		"done, reported failed": func(_ durable.Step, change func() error) error { return errors.Join(change(), fault) },
	} {
		d := directory(t, "a")
		if err := d.Put(t.Context(), key, []byte("old")); err != nil {
			t.Fatal(err)
		}
		d.disk.Around = around
		if err := d.Put(t.Context(), key, []byte("new")); !errors.Is(err, fault) {
			t.Errorf("%s: %v, want the fault", name, err)
		}
		d.disk.Around = nil
		if e, err := d.Get(t.Context(), key); err != nil || string(e.Value) != "old" && string(e.Value) != "new" {
			t.Errorf("%s: %q, %v", name, e.Value, err)
		}
		if err := d.Put(t.Context(), key, []byte("new")); err != nil {
			t.Errorf("%s: again: %v", name, err)
		}
	}
}

func TestFiftyClaimersHaveOneHolder(t *testing.T) {
	path := directory(t, "a").path
	var wg sync.WaitGroup
	got := make([]Claim, 50)
	for i := range got {
		d := at(t, path, fmt.Sprint("host", i))
		wg.Go(func() {
			var err error
			if got[i], err = d.Claim(t.Context(), "silent", time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mine := 0
	for _, c := range got {
		if c.Mine {
			mine++
		}
		if c.Holder != got[0].Holder {
			t.Errorf("%q holds it, and %q", c.Holder, got[0].Holder)
		}
	}
	if mine != 1 {
		t.Errorf("%d hold it, want one", mine)
	}
}

// What stands in the place of claims is nobody's, and the next number is taken.
func TestHostileClaimsStopNothing(t *testing.T) {
	d := directory(t, "a")
	dir := filepath.Join(d.path, "claims", "x")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(1000 * time.Hour)
	forged := filepath.Join(dir, "3")
	if err := errors.Join(
		os.Symlink("/etc/passwd", filepath.Join(dir, "0")),
		unix.Mkfifo(filepath.Join(dir, "1"), 0o644),
		os.WriteFile(filepath.Join(dir, "2"), []byte("{"), 0o644),
		os.WriteFile(forged, []byte(`{"host":"evil","lease_ns":60000000000}`), 0o644),
		os.Chtimes(forged, future, future),
		os.WriteFile(filepath.Join(dir, "junk"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "007"), nil, 0o644),
	); err != nil {
		t.Fatal(err)
	}
	c, err := d.Claim(t.Context(), "x", time.Minute)
	if err != nil || !c.Mine {
		t.Errorf("%+v, %v; want it to be a's", c, err)
	}
}

func TestWhatIsOldIsSwept(t *testing.T) {
	d := directory(t, "a")
	old, young := []byte("old"), []byte("young")
	for _, content := range [][]byte{old, young} {
		if err := d.Put(t.Context(), Object("a", content), content); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Put(t.Context(), Key{Beats, "a", ""}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Claim(t.Context(), "x", time.Minute); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-ObjectAge - time.Hour)
	for _, name := range []string{Object("a", old).String(), "beats/a", "claims/x"} {
		if err := os.Chtimes(filepath.Join(d.path, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	later := at(t, d.path, "a")
	if err := later.Put(t.Context(), Object("a", young), young); err != nil {
		t.Fatal(err)
	}
	if err := later.Put(t.Context(), Object("a", nil), nil); err != nil { // something new
		t.Fatal(err)
	}
	if _, err := d.Get(t.Context(), Object("a", old)); !errors.Is(err, ErrNotFound) {
		t.Errorf("an object that expired: %v", err)
	}
	if _, err := d.Get(t.Context(), Object("a", young)); err != nil {
		t.Errorf("a young object: %v", err)
	}
	if _, err := d.Get(t.Context(), Key{Beats, "a", ""}); err != nil {
		t.Errorf("an old beat: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(d.path, "claims/x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("old claims: %v", err)
	}
}

// Who can write to the directory can spoil claims; that costs others a moment, however many there are.
func TestClaimsThatSomebodySpoiltAreNotWaitedForOneByOne(t *testing.T) {
	t.Parallel()
	d := directory(t, "a")
	spoilt := filepath.Join(d.path, claimsDir, "x")
	if err := errors.Join(os.MkdirAll(spoilt, 0o755), os.WriteFile(filepath.Join(spoilt, "0"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		if err := os.Link(filepath.Join(spoilt, "0"), filepath.Join(spoilt, fmt.Sprint(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	if got, err := d.Claim(t.Context(), "x", time.Minute); err != nil || !got.Mine || time.Since(start) > 10*claimAgain {
		t.Errorf("%+v, %v, after %v", got, err, time.Since(start))
	}
}

// On a busy machine a moment is over before others at work could end theirs.
func TestWhatIsTriedForLongIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		refused := &safefs.RefusedError{Name: "x", Reason: safefs.InFlux}
		if err := again(t.Context(), valueAgain, func() error {
			if tries++; tries > 1 {
				return nil
			}
			time.Sleep(2 * valueAgain)
			return refused
		}, safefs.InFlux); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		if err := again(t.Context(), valueAgain, func() error { return refused }, safefs.InFlux); err != error(refused) || time.Since(begun) > 3*valueAgain {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestAnObjectThatWasChangedIsCorrupt(t *testing.T) {
	d := directory(t, "a")
	content := []byte("content")
	key := Object("a", content)
	if err := d.Put(t.Context(), key, content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.path, key.String()), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(t.Context(), key); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Get: %v, want ErrCorrupt", err)
	}
	if err := d.Put(t.Context(), key, content); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(t.Context(), key); err != nil {
		t.Errorf("after it was put again: %v", err)
	}
}

func TestAClaimTakesANameThatIsFree(t *testing.T) {
	for by, take := range map[string]func(dir *os.Root, from, to string) error{"rename": renameNew, "link": linkNew} {
		t.Run(by, func(t *testing.T) {
			path := t.TempDir()
			dir, err := os.OpenRoot(path)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			for _, name := range []string{"first", "second"} {
				if err := dir.WriteFile(name, []byte(name), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := take(dir, "first", "0"); err != nil {
				t.Fatal(err)
			}
			if err := take(dir, "second", "0"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("a name that is taken: %v, want that it exists", err)
			}
			var stat unix.Stat_t
			if err := unix.Stat(filepath.Join(path, "0"), &stat); err != nil || stat.Nlink != 1 {
				t.Errorf("%d links, %v; want one", stat.Nlink, err)
			}
			if data, err := dir.ReadFile("0"); err != nil || string(data) != "first" {
				t.Errorf("it holds %q, %v", data, err)
			}
		})
	}
}
