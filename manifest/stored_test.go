//go:build linux

package manifest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

var storedPerms = GenerationPerms{Dir: 0o750, File: 0o640, GID: -1}

// generate makes a generation of live files and stores it in dir.
func generate(t testing.TB, live, dir string) *Generation {
	t.Helper()
	s, err := Scan(t.Context(), testSource(live))
	must(t, err)
	if len(s.Refused) > 0 {
		t.Fatal(s.Refused)
	}
	g := NewGeneration("claude", s.Entries)
	must(t, WriteGeneration(t.Context(), durable.Disk{}, dir, g, openLive(live), storedPerms))
	return g
}

// openLive gives contents from live files.
func openLive(live string) func(Entry) (io.ReadCloser, error) {
	return func(e Entry) (io.ReadCloser, error) { return os.Open(live + strings.TrimPrefix(e.Path, "policy")) }
}

func TestAStoredGenerationIsReadAsItWas(t *testing.T) {
	dir := t.TempDir()
	live, stored := filepath.Join(dir, "live"), filepath.Join(dir, "stored")
	plant(t, live, tree{
		"gate.yaml": "version: 1\n", "a/b/c": "deep", "empty/": "", "null": "", "link": "->gate.yaml", ".git/config": "x",
		"git~1": "y", "100%": "z", "run": "#!/bin/sh\n",
	})
	must(t, os.Chmod(filepath.Join(live, "run"), 0o755))
	g := generate(t, live, stored)

	s, err := OpenGeneration(stored, testLimits)
	must(t, err)
	defer s.Close()
	if diff := cmp.Diff(g, s.Generation); diff != "" {
		t.Error(diff)
	}
	must(t, s.Verify(t.Context()))
	for _, e := range g.Entries {
		r, err := s.Open(e.Path)
		if e.Type != File {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, a %s, can be opened: %v", e.Path, e.Type, err)
			}
			continue
		}
		must(t, err)
		got, err := io.ReadAll(r)
		must(t, errors.Join(err, r.Close()))
		want, err := os.ReadFile(live + strings.TrimPrefix(e.Path, "policy"))
		must(t, err)
		if string(got) != string(want) {
			t.Errorf("%s: %q, want %q", e.Path, got, want)
		}
	}
	var files []string
	must(t, filepath.WalkDir(stored, func(name string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if want := map[bool]fs.FileMode{true: 0o750, false: 0o640}[d.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
		if !d.IsDir() {
			files = append(files, strings.TrimPrefix(name, stored+"/"))
		}
		return nil
	}))
	want := []string{"files/policy/%2egit/config", "files/policy/100%25", "files/policy/a/b/c", "files/policy/gate.yaml",
		"files/policy/git%7e1", "files/policy/null", "files/policy/run", "manifest.json"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Open("policy/../../etc/passwd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is no entry: %v", err)
	}
}

func TestAnOpenGenerationStaysWhatItWas(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	plant(t, live, tree{"a": "old"})
	generate(t, live, filepath.Join(dir, "one"))
	must(t, os.Symlink("one", filepath.Join(dir, "current")))
	s, err := OpenGeneration(filepath.Join(dir, "current"), testLimits)
	must(t, err)
	defer s.Close()
	plant(t, live, tree{"a": "new"})
	generate(t, live, filepath.Join(dir, "two"))
	must(t, durable.Disk{}.Symlink("two", filepath.Join(dir, "current")))
	must(t, s.Verify(t.Context()))
	must(t, os.Rename(filepath.Join(dir, "one"), filepath.Join(dir, "away")))
	must(t, s.Verify(t.Context()))
}

func TestWriteGenerationBelievesNoContent(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	plant(t, live, tree{"a": "a", "b": "b"})
	snapshot, err := Scan(t.Context(), testSource(live))
	must(t, err)
	g := NewGeneration("claude", snapshot.Entries)
	text := func(s string) func(Entry) (io.ReadCloser, error) {
		return func(Entry) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
	}
	tests := map[string]struct {
		content func(Entry) (io.ReadCloser, error)
		want    error
	}{
		"other":   {text("x"), ErrMismatch},
		"shorter": {text(""), ErrMismatch},
		"longer":  {text("aa"), ErrMismatch},
		"endless": {func(Entry) (io.ReadCloser, error) { return io.NopCloser(endless{}), nil }, ErrMismatch},
		"missing": {func(Entry) (io.ReadCloser, error) { return nil, fs.ErrNotExist }, fs.ErrNotExist},
	}
	for name, test := range tests {
		stored := filepath.Join(dir, name)
		err := WriteGeneration(t.Context(), durable.Disk{}, stored, g, test.content, storedPerms)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), `"policy/a"`) {
			t.Errorf("%s: got %v, want %v for policy/a", name, err, test.want)
		}
		if _, err := OpenGeneration(stored, testLimits); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: what is unfinished can be opened: %v", name, err)
		}
	}
	must(t, os.Mkdir(filepath.Join(dir, "there"), 0o755))
	if err := WriteGeneration(t.Context(), durable.Disk{}, filepath.Join(dir, "there"), g, openLive(live), storedPerms); !errors.Is(err, fs.ErrExist) {
		t.Errorf("into a directory that exists: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteGeneration(ctx, durable.Disk{}, filepath.Join(dir, "late"), g, openLive(live), storedPerms); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestWriteGenerationGivesItToAGroup(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	live, stored := filepath.Join(dir, "live"), filepath.Join(dir, "stored")
	plant(t, live, tree{"sub/a": "a"})
	snapshot, err := Scan(t.Context(), testSource(live))
	must(t, err)
	perms := GenerationPerms{Dir: 0o750, File: 0o640, GID: enemy}
	must(t, WriteGeneration(t.Context(), durable.Disk{}, stored, NewGeneration("claude", snapshot.Entries), openLive(live), perms))
	must(t, filepath.WalkDir(stored, func(name string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if st := info.Sys().(*syscall.Stat_t); st.Gid != enemy || st.Uid != 0 {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
		return nil
	}))
}

func TestVerifyListsAllThatIsWrong(t *testing.T) {
	dir := t.TempDir()
	live, stored := filepath.Join(dir, "live"), filepath.Join(dir, "stored")
	plant(t, live, tree{"a": "a", "b": "b", "c": "c", "d": "d"})
	generate(t, live, stored)
	files := filepath.Join(stored, "files/policy")
	must(t, errors.Join(os.WriteFile(files+"/a", []byte("x"), 0o644), os.Remove(files+"/b"), os.Truncate(files+"/c", 9)))
	s, err := OpenGeneration(stored, testLimits)
	must(t, err)
	defer s.Close()
	err = s.Verify(t.Context())
	if !errors.Is(err, ErrMismatch) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for name, want := range map[string]bool{"a": true, "b": true, "c": true, "d": false} {
		if got := err != nil && strings.Contains(err.Error(), `"policy/`+name+`"`); got != want {
			t.Errorf("%s is named: %v, want %v", name, got, want)
		}
	}
}

func TestOpenGenerationRefusesABadManifest(t *testing.T) {
	dir := t.TempDir()
	live, stored := filepath.Join(dir, "live"), filepath.Join(dir, "stored")
	plant(t, live, tree{"a": "a"})
	generate(t, live, stored)
	name := filepath.Join(stored, manifestName)
	good, err := os.ReadFile(name)
	must(t, err)
	for what, bad := range map[string]string{
		"empty": "", "torn": string(good[:len(good)/2]), "zeros": strings.Repeat("\x00", len(good)),
		"edited": strings.Replace(string(good), `"0644"`, `"0755"`, 1), "long": string(good) + strings.Repeat(" ", 2<<20),
	} {
		must(t, os.WriteFile(name, []byte(bad), 0o644))
		if s, err := OpenGeneration(stored, testLimits); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, %v", what, s, err)
		}
	}
}
