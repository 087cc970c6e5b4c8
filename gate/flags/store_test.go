package flags

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

const machine = "0123456789abcdef0123456789abcdef"

// entryFor makes an entry for a program of its own.
func entryFor(t *testing.T, sub ...string) (*Entry, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho hi\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	id, err := stat(machine, path)
	if err != nil {
		t.Fatal(err)
	}
	if id.SHA256, _, err = digest(path); err != nil {
		t.Fatal(err)
	}
	return &Entry{File: id, Sub: sub, Sources: []string{"prog --help", "man \"prog\""}, Help: Help{
		Flags: []Flag{
			{Names: []string{"-a", "--all"}, Value: None, Repeat: true},
			{Names: []string{"--c"}, Value: Required, Choices: []string{"a b", "\t"}, Arity: 2, Uncertain: true},
			{Names: []string{"--d"}, Value: Optional, Choices: []string{}, Next: true, EndsOptions: true, Variadic: true},
			{Names: []string{"-NUM"}, Value: Required, Digits: true},
			{Names: []string{"--e"}},
		},
		Subcommands: []string{"go", "stop"},
	}}, path
}

func TestWhatIsKeptIsFoundAgain(t *testing.T) {
	for _, sub := range [][]string{nil, {"compose", "up"}} {
		want, path := entryFor(t, sub...)
		store := Store{Dir: filepath.Join(t.TempDir(), "a/flags")}
		if _, err := Lookup([]Store{store}, machine, path, sub); !errors.Is(err, ErrMiss) {
			t.Errorf("before: %v", err)
		}
		if err := store.Save(durable.Disk{}, want); err != nil {
			t.Fatal(err)
		}
		got, err := Lookup([]Store{store}, machine, path, sub)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if _, err := Lookup([]Store{store}, machine, path, append(sub, "x")); !errors.Is(err, ErrMiss) {
			t.Errorf("another subcommand: %v", err)
		}
		kept, err := store.List(machine)
		if err != nil || len(kept) != 1 || kept[0].Problem != nil {
			t.Errorf("list: %v %v", kept, err)
		}
	}
}

func TestEntriesThatDoNotCount(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, path, file string)
		want   string // in the error; empty if it counts all the same
	}{
		"another machine's": {func(t *testing.T, _, file string) { edit(t, file, machine, strings.Repeat("f", 32)) }, "another machine"},
		"the program was upgraded": {func(t *testing.T, path, _ string) { write(t, path, "#!/bin/sh\necho longer\n") },
			"the program has changed"},
		"changed with its size and times kept": {func(t *testing.T, path, _ string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, "#!/bin/sh\necho ho\n")
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "the program has changed"},
		"touched": {func(t *testing.T, path, _ string) {
			if err := os.Chtimes(path, time.Now(), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"cut short":        {func(t *testing.T, _, file string) { edit(t, file, "end\n", "") }, "not a whole entry"},
		"of a later form":  {func(t *testing.T, _, file string) { edit(t, file, header, "gatehouse flags 2") }, "not a whole entry"},
		"a line of no use": {func(t *testing.T, _, file string) { edit(t, file, "\nend", "\nfoo\tbar\nend") }, "not a whole entry"},
		"for another path": {func(t *testing.T, path, file string) { edit(t, file, path, "/bin/other") }, "another command"},
		"a link": {func(t *testing.T, _, file string) {
			if err := errors.Join(os.Rename(file, file+"~"), os.Symlink(file+"~", file)); err != nil {
				t.Fatal(err)
			}
		}, "too many levels"},
		"huge": {func(t *testing.T, _, file string) {
			if err := os.Truncate(file, maxEntry+1); err != nil {
				t.Fatal(err)
			}
		}, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			entry, path := entryFor(t)
			store := Store{Dir: t.TempDir()}
			if err := store.Save(durable.Disk{}, entry); err != nil {
				t.Fatal(err)
			}
			test.change(t, path, filepath.Join(store.Dir, fileName(path, nil)))
			_, err := Lookup([]Store{store}, machine, path, nil)
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrMiss) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestTheFirstStoreThatCountsDecides(t *testing.T) {
	entry, path := entryFor(t)
	first, second := Store{Dir: t.TempDir(), Root: true}, Store{Dir: t.TempDir()}
	entry.Sources = []string{"second"}
	if err := second.Save(durable.Disk{}, entry); err != nil {
		t.Fatal(err)
	}
	entry.Sources = []string{"first"}
	if err := first.Save(durable.Disk{}, entry); err != nil {
		t.Fatal(err)
	}
	from := func() string {
		got, err := Lookup([]Store{first, second}, machine, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Sources[0]
	}
	want := "first"
	if os.Geteuid() != 0 {
		want = "second" // the first is not root's
	}
	if got := from(); got != want {
		t.Errorf("got the %s, want the %s", got, want)
	}
	if err := os.Chmod(filepath.Join(first.Dir, fileName(path, nil)), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := from(); got != "second" {
		t.Errorf("a file that anybody can write was believed as root's")
	}
}

func TestAMissingProgramIsNoMiss(t *testing.T) {
	if _, err := Lookup(nil, machine, "/nonexistent/prog", nil); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrMiss) {
		t.Errorf("got %v", err)
	}
	if _, err := Lookup(nil, machine, "/etc/passwd", nil); !errors.Is(err, errNotProgram) {
		t.Errorf("a file that cannot be run: %v", err)
	}
}

func TestFileNamesStayInTheirDirectory(t *testing.T) {
	for _, sub := range [][]string{{"../../x"}, {"\x00"}, {strings.Repeat("a", 300)}, {"a", "b"}, {"a\x00b"}} {
		name := fileName("/usr/bin/../git", sub)
		if strings.ContainsAny(name, "/\x00.") || len(name) > 100 {
			t.Errorf("%q: %q", sub, name)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, name, old, text string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%s: no %q: %v", name, old, err)
	}
	write(t, name, strings.Replace(string(data), old, text, 1))
}

func BenchmarkLookup(b *testing.B) {
	path := "/bin/sh"
	id, err := stat(machine, path)
	if err != nil {
		b.Fatal(err)
	}
	id.SHA256 = strings.Repeat("0", 64)
	entry := &Entry{File: id}
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		entry.Flags = append(entry.Flags, Flag{Names: []string{"-" + string(c), "--long-" + string(c)}, Value: Required})
	}
	store := Store{Dir: b.TempDir()}
	if err := store.Save(durable.Disk{}, entry); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e, err := Lookup([]Store{store}, machine, path, nil)
		if err != nil || !e.Known("-ab", false).Known {
			b.Fatal(err)
		}
	}
}
