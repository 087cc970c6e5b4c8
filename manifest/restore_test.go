//go:build linux

package manifest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gatehouse/internal/durable"
)

// accepted stores a generation with the given files and opens it.
func accepted(t testing.TB, files tree) *StoredGeneration {
	t.Helper()
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "live"), files)
	return acceptedFrom(t, filepath.Join(dir, "live"))
}

func acceptedFrom(t testing.TB, live string) *StoredGeneration {
	t.Helper()
	stored := filepath.Join(t.TempDir(), "stored")
	generate(t, live, stored)
	s, err := OpenGeneration(stored, testLimits)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// kinds maps the paths of changes to their kinds.
func kinds(changes []Change) map[string]ChangeKind {
	m := make(map[string]ChangeKind)
	for _, c := range changes {
		m[c.Path] = c.Kind
	}
	return m
}

// inSync fails the test unless the live files are what the generation says.
func inSync(t testing.TB, s *StoredGeneration, src Source) {
	t.Helper()
	now, err := Scan(t.Context(), src)
	must(t, err)
	if diff := Diff(s.Generation.Entries, now.Entries); len(diff) > 0 || len(now.Refused) > 0 {
		t.Errorf("not in sync: %v, refused: %v", kinds(diff), now.Refused)
	}
}

func TestRestore(t *testing.T) {
	good := tree{
		"gate.yaml": "version: 1\n", "specs/a.yaml": "a", "specs/b.yaml": "b", "link": "->gate.yaml", "empty/": "",
		".git/config": "x", "100%": "p",
	}
	edit := func(changes tree, gone ...string) tree {
		files := maps.Clone(good)
		maps.Copy(files, changes)
		for _, name := range gone {
			delete(files, name)
		}
		return files
	}
	tests := map[string]struct {
		live tree
		want map[string]ChangeKind
	}{
		"nothing to do":    {good, nil},
		"content":          {edit(tree{"gate.yaml": "version: 2\n"}), map[string]ChangeKind{"policy/gate.yaml": Content}},
		"added file":       {edit(tree{"specs/evil.yaml": ""}), map[string]ChangeKind{"policy/specs/evil.yaml": Removed}},
		"removed file":     {edit(nil, "specs/a.yaml"), map[string]ChangeKind{"policy/specs/a.yaml": Added}},
		"retargeted link":  {edit(tree{"link": "->/etc/passwd"}), map[string]ChangeKind{"policy/link": Content}},
		"link for a file":  {edit(tree{"gate.yaml": "->/etc/passwd"}), map[string]ChangeKind{"policy/gate.yaml": Retyped}},
		"file for a link":  {edit(tree{"link": "x"}), map[string]ChangeKind{"policy/link": Retyped}},
		"file for a dir":   {edit(tree{"empty": "x"}, "empty/"), map[string]ChangeKind{"policy/empty": Retyped}},
		"half-written":     {edit(tree{tempName(): "versi"}), nil},
		"unfinished empty": {edit(tree{"specs/.tmp-x/": ""}), map[string]ChangeKind{"policy/specs/.tmp-x": Removed}},
		"dir for a file": {edit(tree{"gate.yaml/deep/x": "", "gate.yaml/y": ""}, "gate.yaml"), map[string]ChangeKind{
			"policy/gate.yaml": Retyped, "policy/gate.yaml/deep": Removed, "policy/gate.yaml/deep/x": Removed, "policy/gate.yaml/y": Removed}},
		"dir for a link": {edit(tree{"link/x": ""}, "link"), map[string]ChangeKind{"policy/link": Retyped, "policy/link/x": Removed}},
		"link for a dir": {edit(tree{"specs": "->/etc"}, "specs/a.yaml", "specs/b.yaml"), map[string]ChangeKind{
			"policy/specs": Retyped, "policy/specs/a.yaml": Added, "policy/specs/b.yaml": Added}},
		"added dir": {edit(tree{"new/deep/x": "", "new-/x": ""}), map[string]ChangeKind{
			"policy/new": Removed, "policy/new/deep": Removed, "policy/new/deep/x": Removed, "policy/new-": Removed, "policy/new-/x": Removed}},
		"emptied": {tree{}, map[string]ChangeKind{
			"policy/gate.yaml": Added, "policy/specs": Added, "policy/specs/a.yaml": Added, "policy/specs/b.yaml": Added, "policy/link": Added,
			"policy/empty": Added, "policy/.git": Added, "policy/.git/config": Added, "policy/100%": Added}},
	}
	s := accepted(t, good)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := filepath.Join(t.TempDir(), "live")
			plant(t, live, test.live)
			src := testSource(live)
			before, err := Scan(t.Context(), src)
			must(t, err)
			would, err := Restore(t.Context(), durable.Disk{}, s, src, true)
			must(t, err)
			after, err := Scan(t.Context(), src)
			must(t, err)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the dry run changed something: %s", diff)
			}
			did, err := Restore(t.Context(), durable.Disk{}, s, src, false)
			must(t, err)
			if diff := cmp.Diff(would, did); diff != "" {
				t.Errorf("it did not do what it said: %s", diff)
			}
			if diff := cmp.Diff(test.want, kinds(did), cmpopts.EquateEmpty()); diff != "" && test.want != nil {
				t.Error(diff)
			}
			inSync(t, s, src)
			if again, err := Restore(t.Context(), durable.Disk{}, s, src, false); err != nil || len(again) > 0 {
				t.Errorf("a second time there is something to do: %v, %v", kinds(again), err)
			}
		})
	}
}

func TestRestoreSetsModes(t *testing.T) {
	accept := t.TempDir()
	live := filepath.Join(accept, "live")
	plant(t, live, tree{"run": "#!/bin/sh\n", "sealed/x": "x", "sealed/sub/y": "y", "shared/z": "z"})
	for name, mode := range map[string]uint32{"run": 0o755, "sealed/x": 0o400, "sealed/sub": 0o500, "sealed": 0o555, "shared": 0o2770, "": 0o700} {
		must(t, unix.Chmod(filepath.Join(live, name), mode))
	}
	t.Cleanup(func() { os.Chmod(live+"/sealed", 0o700); os.Chmod(live+"/sealed/sub", 0o700) })
	s := acceptedFrom(t, live)

	fresh := filepath.Join(t.TempDir(), "some/where/live")
	src := testSource(fresh)
	_, err := Restore(t.Context(), durable.Disk{}, s, src, false)
	must(t, err)
	inSync(t, s, src)

	// What is sealed is changed, and sealed again.
	must(t, os.Chmod(filepath.Join(fresh, "sealed/sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(fresh, "sealed/sub/extra"), nil, 0o644))
	must(t, os.Chmod(filepath.Join(fresh, "sealed/sub"), 0o500))
	must(t, os.Chmod(filepath.Join(fresh, "sealed/sub/y"), 0o777))
	must(t, os.Chmod(filepath.Join(fresh, "shared"), 0o755))
	did, err := Restore(t.Context(), durable.Disk{}, s, src, false)
	must(t, err)
	want := map[string]ChangeKind{"policy/sealed/sub/extra": Removed, "policy/sealed/sub/y": ModeBit, "policy/shared": ModeBit}
	if diff := cmp.Diff(want, kinds(did)); diff != "" {
		t.Error(diff)
	}
	inSync(t, s, src)
}

func TestRestoreMakesAMissingRoot(t *testing.T) {
	s := accepted(t, tree{"gate.yaml": "version: 1\n"})
	src := testSource(filepath.Join(t.TempDir(), "a/b/live"))
	did, err := Restore(t.Context(), durable.Disk{}, s, src, false)
	must(t, err)
	if diff := cmp.Diff(map[string]ChangeKind{"policy": Added, "policy/gate.yaml": Added}, kinds(did)); diff != "" {
		t.Error(diff)
	}
	inSync(t, s, src)
}

func TestRestoreOfASingleFile(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, tree{"settings.json": "{}", "other": "not ours"})
	s := acceptedFrom(t, filepath.Join(dir, "settings.json"))
	for name, spoil := range map[string]func(string) error{
		"changed": func(f string) error { return os.WriteFile(f, []byte("{x}"), 0o644) },
		"missing": os.Remove,
		"dir":     func(f string) error { return errors.Join(os.Remove(f), os.MkdirAll(f+"/x/y", 0o755)) },
	} {
		must(t, spoil(filepath.Join(dir, "settings.json")))
		if _, err := Restore(t.Context(), durable.Disk{}, s, testSource(filepath.Join(dir, "settings.json")), false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		inSync(t, s, testSource(filepath.Join(dir, "settings.json")))
	}
	if data, err := os.ReadFile(filepath.Join(dir, "other")); err != nil || string(data) != "not ours" {
		t.Errorf("the file beside it: %q, %v", data, err)
	}
}

func TestRestoreDoesNotTouchWhatIsExcluded(t *testing.T) {
	s := accepted(t, tree{"gate.yaml": "version: 1\n", "flags/old": "from another time", "b.log": "x"})
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"flags/ls": "ours", "a.log": "ours", "dir/a.log": "ours", "dir/b": "new"})
	src := testSource(live)
	src.Live[0].Exclude = []string{"flags/**", "**/*.log"}
	did, err := Restore(t.Context(), durable.Disk{}, s, src, false)
	var left *LeftError
	if !errors.As(err, &left) || len(left.Left) != 1 || left.Left[0].Path != "policy/dir" {
		t.Errorf("got %v, want policy/dir left alone for what is excluded in it", err)
	}
	if diff := cmp.Diff(map[string]ChangeKind{"policy/gate.yaml": Added, "policy/dir/b": Removed}, kinds(did)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"flags/ls", "a.log", "dir/a.log"} {
		if data, err := os.ReadFile(filepath.Join(live, name)); err != nil || string(data) != "ours" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"flags/old", "b.log"} {
		if _, err := os.Lstat(filepath.Join(live, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func TestRestoreDoesNotEmptyARootThatNobodyAccepted(t *testing.T) {
	s := accepted(t, tree{"gate.yaml": "version: 1\n"})
	dir := t.TempDir()
	plant(t, dir, tree{"live/gate.yaml": "version: 2\n", "plugin/index.js": "new"})
	src := testSource(filepath.Join(dir, "live"))
	src.Live = append(src.Live, Live{Name: "plugin", Root: filepath.Join(dir, "plugin")}, Live{Name: "gone", Root: filepath.Join(dir, "gone")})
	did, err := Restore(t.Context(), durable.Disk{}, s, src, false)
	var left *LeftError
	if !errors.As(err, &left) || len(left.Left) != 1 || left.Left[0].Path != "plugin" {
		t.Errorf("got %v, want plugin left alone", err)
	}
	if diff := cmp.Diff(map[string]ChangeKind{"policy/gate.yaml": Content}, kinds(did)); diff != "" {
		t.Error(diff)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "plugin/index.js")); err != nil || string(data) != "new" {
		t.Errorf("the plugin: %q, %v", data, err)
	}
}

func TestRestoreLeavesAloneWhatItCannotJudge(t *testing.T) {
	needRoot(t)
	s := accepted(t, tree{"gate.yaml": "version: 1\n", "hard": "one link", "pipe": "a file", "dir/x": "x", "open/y": "y"})
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"gate.yaml": "version: 2\n", "hard": "two links", "dir/": "", "open/y": "changed", "stray": "two links",
		"bad\xff": "", "foreign/z": ""})
	must(t, errors.Join(
		os.Link(filepath.Join(live, "hard"), filepath.Join(live, "../outside")),
		os.Link(filepath.Join(live, "stray"), filepath.Join(live, "../stray")),
		unix.Mkfifo(filepath.Join(live, "pipe"), 0o644),
		unix.Mkfifo(filepath.Join(live, "dir/socket"), 0o644),
		os.Chmod(filepath.Join(live, "open"), 0o777),
		os.Chown(filepath.Join(live, "foreign"), enemy, enemy),
	))
	src := testSource(live)
	did, err := Restore(t.Context(), durable.Disk{}, s, src, false)
	var left *LeftError
	if !errors.As(err, &left) {
		t.Fatalf("got %v, want a list of what was left", err)
	}
	var paths []string
	for _, r := range left.Left {
		paths = append(paths, r.Path)
	}
	if diff := cmp.Diff([]string{`policy/bad\xff`, "policy/dir/socket", "policy/foreign", "policy/open", "policy/stray"}, paths); diff != "" {
		t.Errorf("left alone: %s", diff)
	}
	want := map[string]ChangeKind{"policy/gate.yaml": Content, "policy/hard": Added, "policy/pipe": Added, "policy/dir/x": Added}
	if diff := cmp.Diff(want, kinds(did)); diff != "" {
		t.Error(diff)
	}
	for name, content := range map[string]string{"gate.yaml": "version: 1\n", "hard": "one link", "pipe": "a file", "dir/x": "x",
		"../outside": "two links", "open/y": "changed", "stray": "two links"} {
		if data, err := os.ReadFile(filepath.Join(live, name)); err != nil || string(data) != content {
			t.Errorf("%s: %q, %v; want %q", name, data, err, content)
		}
	}
}

func TestRestoreChangesNothingUnlessItCanGoThrough(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	plant(t, live, tree{"gate.yaml": "version: 2\n", "z": "z"})
	tests := map[string]struct {
		src  func() Source
		from func() *StoredGeneration
		want error
		text string
	}{
		"bad content": {nil, func() *StoredGeneration {
			s := accepted(t, tree{"gate.yaml": "version: 1\n", "z": "y"})
			must(t, os.WriteFile(filepath.Join(s.root.Name(), "files/policy/z"), []byte("?"), 0o644))
			return s
		}, ErrMismatch, `"policy/z"`},
		"unknown root": {func() Source {
			src := testSource(live)
			src.Live[0].Name = "plugin"
			return src
		}, nil, nil, `the generation has files of "policy", and no live root has this name`},
		"too many entries": {func() Source {
			src := testSource(live)
			src.Limits.Entries = 2
			return src
		}, nil, nil, "a limit hides some of the live files"},
		"link as root": {func() Source {
			must(t, os.Symlink("live", filepath.Join(dir, "link")))
			return testSource(filepath.Join(dir, "link"))
		}, nil, nil, `"policy" (symlink: `},
	}
	for name, test := range tests {
		src, s := testSource(live), accepted(t, tree{"gate.yaml": "version: 1\n", "z": "z"})
		if test.src != nil {
			src = test.src()
		}
		if test.from != nil {
			s = test.from()
		}
		did, err := Restore(t.Context(), durable.Disk{}, s, src, false)
		if left := new(LeftError); name == "too many entries" && errors.As(err, &left) {
			t.Errorf("%s: the error says that the rest was restored", name)
		}
		if len(did) > 0 || err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v, %v; want %v %q", name, did, err, test.want, test.text)
		}
		if data, err := os.ReadFile(filepath.Join(live, "gate.yaml")); err != nil || string(data) != "version: 2\n" {
			t.Errorf("%s: something was changed: %q, %v", name, data, err)
		}
	}
}

// TestRestoreByAUserWhoMayNotWrite restores as somebody else than root, to whom nothing is forbidden.
func TestRestoreByAUserWhoMayNotWrite(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	live, stored := filepath.Join(dir, "live"), filepath.Join(dir, "stored")
	plant(t, live, tree{"gate.yaml": "version: 1\n", "own/x": "x", "roots/y": "y"})
	snapshot, err := Scan(t.Context(), testSource(live))
	must(t, err)
	must(t, WriteGeneration(t.Context(), durable.Disk{}, stored, NewGeneration("claude", snapshot.Entries), openLive(live),
		GenerationPerms{Dir: 0o755, File: 0o644, GID: -1}))
	plant(t, live, tree{"gate.yaml": "version: 2\n", "own/x": "changed", "roots/y": "changed"})
	give(t, live)
	must(t, os.Chmod(filepath.Join(live, "own"), 0o555))
	must(t, os.Chown(filepath.Join(live, "roots"), 0, 0))
	restore := func() (string, error) {
		cmd := command(t, enemy, "restore", stored, live, "")
		var errs strings.Builder
		cmd.Stderr = &errs
		err := cmd.Run()
		return errs.String(), err
	}
	if out, err := restore(); err == nil || !strings.Contains(out, "nothing was changed") || !strings.Contains(out, live+"/roots") {
		t.Errorf("got %v: %s", err, out)
	}
	if data, _ := os.ReadFile(filepath.Join(live, "gate.yaml")); string(data) != "version: 2\n" {
		t.Errorf("something was changed: %q", data)
	}
	must(t, os.Chown(filepath.Join(live, "roots"), enemy, enemy))
	if out, err := restore(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	src := testSource(live)
	src.Owner = enemy
	s, err := OpenGeneration(stored, testLimits)
	must(t, err)
	defer s.Close()
	inSync(t, s, src)
}

func TestRestoreSeesThatSomebodyElseIsAtWork(t *testing.T) {
	s := accepted(t, tree{"gate.yaml": "version: 1\n", "z": "z"})
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"gate.yaml": "version: 2\n", "z": "y"})
	disk := durable.Disk{Around: func(step durable.Step, change func() error) error {
		err := change()
		if filepath.Base(step.Name) == "z" {
			plant(t, live, tree{"gate.yaml": "version: 3\n"})
		}
		return err
	}}
	if _, err := Restore(t.Context(), disk, s, testSource(live), false); err == nil || !strings.Contains(err.Error(), `"policy/gate.yaml" is not as restored`) {
		t.Errorf("got %v", err)
	}
}

// TestRestoreFollowsNoLink puts a link in the place of a directory after the scan.
func TestRestoreFollowsNoLink(t *testing.T) {
	for _, target := range []string{"->../outside", "->other"} {
		s := accepted(t, tree{"a": "a", "dir/sub/gate.yaml": "version: 1\n", "other/sub/gate.yaml": "mine"})
		dir := t.TempDir()
		live := filepath.Join(dir, "live")
		plant(t, dir, tree{"outside/sub/gate.yaml": "theirs"})
		plant(t, live, tree{"a": "x", "dir/sub/gate.yaml": "version: 2\n", "other/sub/gate.yaml": "mine"})
		disk := durable.Disk{Around: func(step durable.Step, change func() error) error {
			if filepath.Base(step.Name) == "a" {
				must(t, os.Rename(filepath.Join(live, "dir"), filepath.Join(dir, "away")))
				plant(t, live, tree{"dir": target})
			}
			return change()
		}}
		if _, err := Restore(t.Context(), disk, s, testSource(live), false); err == nil {
			t.Errorf("%s: no error", target)
		}
		for name, want := range map[string]string{"outside/sub/gate.yaml": "theirs", "live/other/sub/gate.yaml": "mine"} {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
				t.Errorf("%s: %s is %q, %v", target, name, data, err)
			}
		}
	}
}

func TestRestoreStepsComeInOrder(t *testing.T) {
	dir := func(path string, mode Mode) Entry { return Entry{Path: path, Type: Dir, Mode: mode} }
	old := []Entry{dir("p", 0o755), dir("p/gone", 0o755), file("p/gone/x", digestA), file("p/old", digestA),
		dir("p/tofile", 0o755), file("p/tofile/y", digestA), file("p/todir", digestA)}
	new := []Entry{dir("p", 0o555), dir("p/new", 0o755), file("p/new/z", digestB), file("p/tofile", digestA),
		dir("p/todir", 0o755), file("p/todir/w", digestB)}
	slices.SortFunc(old, byPath)
	slices.SortFunc(new, byPath)
	var got []string
	for _, s := range restoreSteps(Diff(old, new)) {
		got = append(got, fmt.Sprintf("%s %s %v", s.op, s.change.Path, s.last))
	}
	want := []string{
		"mkdir p/new false", "write p/new/z true",
		"remove p/todir false", "mkdir p/todir false", "write p/todir/w true",
		"remove p/tofile/y true", "remove p/tofile false", "write p/tofile true",
		"remove p/gone/x true", "remove p/old true", "remove p/gone true",
		"chmod p/todir true", "chmod p/new true", "chmod p true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRestoreLeadsFromAnyTreeToAnyOther tries trees at random.
func TestRestoreLeadsFromAnyTreeToAnyOther(t *testing.T) {
	names := []string{"a", "a/b", "a/b/c", "a-b", "a-b/c", "b", "b/c"}
	rapid.Check(t, func(r *rapid.T) {
		draw := func(dir, label string) {
			must(t, os.MkdirAll(dir, 0o755))
			for _, name := range names {
				full := filepath.Join(dir, name)
				if info, err := os.Lstat(filepath.Dir(full)); err != nil || !info.IsDir() {
					continue
				}
				switch rapid.IntRange(0, 4).Draw(r, label+" "+name) {
				case 1:
					must(t, os.WriteFile(full, []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(r, "content")), 0o644))
				case 2:
					must(t, os.Symlink(rapid.SampledFrom([]string{"x", "/"}).Draw(r, "target"), full))
				case 3, 4:
					must(t, os.Mkdir(full, 0o755))
				}
			}
			for _, name := range slices.Backward(names) {
				full := filepath.Join(dir, name)
				if info, err := os.Lstat(full); err == nil && info.Mode().Type() != os.ModeSymlink {
					must(t, os.Chmod(full, rapid.SampledFrom([]os.FileMode{0o755, 0o700, 0o555}).Draw(r, "mode")))
				}
			}
		}
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		defer func() {
			filepath.WalkDir(dir, func(name string, d os.DirEntry, _ error) error {
				if d.IsDir() {
					return os.Chmod(name, 0o755)
				}
				return nil
			})
			os.RemoveAll(dir)
		}()
		draw(filepath.Join(dir, "accepted"), "accepted")
		draw(filepath.Join(dir, "live"), "live")
		generate(t, filepath.Join(dir, "accepted"), filepath.Join(dir, "stored"))
		s, err := OpenGeneration(filepath.Join(dir, "stored"), testLimits)
		must(t, err)
		defer s.Close()
		src := testSource(filepath.Join(dir, "live"))
		if _, err := Restore(t.Context(), durable.Disk{}, s, src, false); err != nil {
			r.Fatal(err)
		}
		now, err := Scan(t.Context(), src)
		must(t, err)
		if diff := Diff(s.Generation.Entries, now.Entries); len(diff) > 0 || len(now.Refused) > 0 {
			r.Fatalf("not in sync: %v, refused: %v", kinds(diff), now.Refused)
		}
	})
}
