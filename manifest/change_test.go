//go:build linux

package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func file(path, digest string) Entry {
	return Entry{Path: path, Type: File, Mode: 0o644, Size: 1, SHA256: digest}
}

func TestDiffNamesEachKind(t *testing.T) {
	dir := Entry{Path: "p", Type: Dir, Mode: 0o755}
	link := Entry{Path: "p/l", Type: Symlink, Mode: 0o777, Target: "x"}
	relinked, executable, typed := link, file("p/a", digestA), file("p/l", digestA)
	relinked.Target, executable.Mode = "y", 0o755
	both := executable
	both.SHA256 = digestB
	evidence := file("p/a", digestA)
	evidence.UID, evidence.MTime = 7, sample().PublishedAt
	tests := map[string]struct {
		old, new []Entry
		want     map[string]ChangeKind
	}{
		"nothing":      {nil, nil, nil},
		"same":         {[]Entry{dir, link}, []Entry{dir, link}, nil},
		"evidence":     {[]Entry{file("p/a", digestA)}, []Entry{evidence}, nil},
		"added":        {[]Entry{dir}, []Entry{dir, file("p/a", digestA)}, map[string]ChangeKind{"p/a": Added}},
		"removed":      {[]Entry{dir, link}, []Entry{dir}, map[string]ChangeKind{"p/l": Removed}},
		"all gone":     {[]Entry{dir, link}, nil, map[string]ChangeKind{"p": Removed, "p/l": Removed}},
		"content":      {[]Entry{file("p/a", digestA)}, []Entry{file("p/a", digestB)}, map[string]ChangeKind{"p/a": Content}},
		"target":       {[]Entry{link}, []Entry{relinked}, map[string]ChangeKind{"p/l": Content}},
		"mode":         {[]Entry{file("p/a", digestA)}, []Entry{executable}, map[string]ChangeKind{"p/a": ModeBit}},
		"content wins": {[]Entry{file("p/a", digestA)}, []Entry{both}, map[string]ChangeKind{"p/a": Content}},
		"type":         {[]Entry{link}, []Entry{typed}, map[string]ChangeKind{"p/l": Retyped}},
		"several": {[]Entry{dir, file("p/a", digestA), link}, []Entry{dir, file("p/b", digestB), relinked},
			map[string]ChangeKind{"p/a": Removed, "p/b": Added, "p/l": Content}},
	}
	for name, test := range tests {
		got := make(map[string]ChangeKind)
		last := ""
		for _, c := range Diff(test.old, test.new) {
			if c.Path <= last {
				t.Errorf("%s: %q after %q", name, c.Path, last)
			}
			last = c.Path
			got[c.Path] = c.Kind
			if (c.Old == nil) != (c.Kind == Added) || (c.New == nil) != (c.Kind == Removed) {
				t.Errorf("%s: %v has the wrong sides", name, c)
			}
		}
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDiffShowsRenamesThatAreCertain(t *testing.T) {
	tests := map[string]struct {
		old, new []Entry
		want     map[string]string
	}{
		"one to one":     {[]Entry{file("p/a", digestA)}, []Entry{file("p/b", digestA)}, map[string]string{"p/b": "p/a"}},
		"two to one":     {[]Entry{file("p/a", digestA), file("p/b", digestA)}, []Entry{file("p/c", digestA)}, nil},
		"one to two":     {[]Entry{file("p/a", digestA)}, []Entry{file("p/b", digestA), file("p/c", digestA)}, nil},
		"copy":           {[]Entry{file("p/a", digestA)}, []Entry{file("p/a", digestA), file("p/b", digestA)}, nil},
		"other content":  {[]Entry{file("p/a", digestA)}, []Entry{file("p/b", digestB)}, nil},
		"no directories": {[]Entry{{Path: "p", Type: Dir}}, []Entry{{Path: "q", Type: Dir}}, nil},
	}
	for name, test := range tests {
		got := make(map[string]string)
		for _, c := range Diff(test.old, test.new) {
			if c.RenamedFrom != "" {
				got[c.Path] = c.RenamedFrom
			}
		}
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestIdentitiesAreWhatTheirCommentsSay computes them from the comments, by other means.
func TestIdentitiesAreWhatTheirCommentsSay(t *testing.T) {
	hash := func(fields ...string) string {
		var all []byte
		for _, f := range fields {
			all = append(binary.BigEndian.AppendUint32(all, uint32(len(f))), f...)
		}
		sum := sha256.Sum256(all)
		return hex.EncodeToString(sum[:])
	}
	old := []Entry{file("p/a", digestA)}
	new := []Entry{file("p/a", digestB), {Path: "p/l", Type: Symlink, Mode: 0o777, Target: "x"}}
	changes := Diff(old, new)
	a := []string{"p/a", "content", "file", "0644", digestA, "file", "0644", digestB}
	l := []string{"p/l", "added", "", "", "", "symlink", "0777", "x"}
	if got, want := Fingerprint("claude", changes), hash(slices.Concat([]string{"gatehouse/drift/v1", "claude"}, a, l)...); got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	if got, want := changes[0].ID(), hash(slices.Concat([]string{"gatehouse/change/v1"}, a)...); got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	if got, want := Tree(new), hash("gatehouse/tree/v1", "p/a", "file", "0644", digestB, "p/l", "symlink", "0777", "x"); got != want {
		t.Errorf("tree %s, want %s", got, want)
	}
	if got := Fingerprint("claude", nil); got != "" {
		t.Errorf("no changes have the fingerprint %s", got)
	}
}

func TestIdentitiesDoNotDependOnOrderOrEvidence(t *testing.T) {
	entries := sample().Entries
	other := slices.Clone(entries)
	slices.Reverse(other)
	for i := range other {
		other[i].UID, other[i].MTime = 9, sample().PublishedAt
	}
	if Tree(entries) != Tree(other) {
		t.Error("the tree depends on order or evidence")
	}
	changes := Diff(nil, entries)
	shuffled := slices.Clone(changes)
	slices.Reverse(shuffled)
	if Fingerprint("g", changes) != Fingerprint("g", shuffled) {
		t.Error("the fingerprint depends on order")
	}
	if Fingerprint("g", changes) == Fingerprint("h", changes) {
		t.Error("the fingerprint does not depend on the gate")
	}
}

func TestDifferentEntriesHaveDifferentTrees(t *testing.T) {
	base := sample().Entries
	seen := map[string]int{Tree(base): -1}
	for i, change := range []func(e []Entry){
		func(e []Entry) { e[0].Path = "plugio" },
		func(e []Entry) { e[0].Type = Dir },
		func(e []Entry) { e[0].Mode = 0o700 },
		func(e []Entry) { e[0].SHA256 = digestB },
		func(e []Entry) { e[4].Target = "x" },
		func(e []Entry) { e[4].Path, e[4].Target = e[4].Path+"x", e[4].Target[1:] },
	} {
		entries := slices.Clone(base)
		change(entries)
		if j, ok := seen[Tree(entries)]; ok {
			t.Errorf("change %d has the tree of %d", i, j)
		}
		seen[Tree(entries)] = i
	}
}

// TestDiffLeadsFromOldToNew applies the changes.
func TestDiffLeadsFromOldToNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []Entry {
			paths := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p/a", "p/b", "p/c", "p/d", "p/e"}), 0, 5, rapid.ID).Draw(t, label)
			var entries []Entry
			for _, path := range paths {
				entries = append(entries, rapid.SampledFrom([]Entry{
					file(path, digestA), file(path, digestB), {Path: path, Type: Dir, Mode: 0o755}, {Path: path, Type: Dir, Mode: 0o700},
					{Path: path, Type: Symlink, Mode: 0o777, Target: "x"},
				}).Draw(t, path))
			}
			slices.SortFunc(entries, byPath)
			return entries
		}
		old, new := draw("old"), draw("new")
		state := make(map[string]*Side)
		for i := range old {
			state[old[i].Path] = side(&old[i])
		}
		for _, c := range Diff(old, new) {
			if !cmp.Equal(state[c.Path], c.Old) {
				t.Fatalf("%v does not start from %v", c, state[c.Path])
			}
			if state[c.Path] = c.New; c.New == nil {
				delete(state, c.Path)
			}
		}
		want := make(map[string]*Side)
		for i := range new {
			want[new[i].Path] = side(&new[i])
		}
		if diff := cmp.Diff(want, state); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestModeIsWrittenAndReadAsFourOctalDigits(t *testing.T) {
	for mode, text := range map[Mode]string{0: "0000", 0o644: "0644", 0o7777: "7777", 0o4755: "4755", 0o1: "0001"} {
		if mode.String() != text {
			t.Errorf("%#o is written %s, want %s", uint32(mode), mode, text)
		}
		var got Mode
		if err := got.UnmarshalText([]byte(text)); err != nil || got != mode {
			t.Errorf("%s is read as %v, %v", text, got, err)
		}
		if back := modeOf(mode.fileMode()); back != mode {
			t.Errorf("%s comes back from package os as %s", mode, back)
		}
	}
	for _, text := range []string{"", "644", "00644", "0648", "+644", "0x1f", "064 ", "17777"} {
		if err := new(Mode).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a mode", text)
		}
	}
}
