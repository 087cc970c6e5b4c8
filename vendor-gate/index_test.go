package vendorgate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-git/go-git/v5/plumbing"
)

// indexes are real index files of every kind that git writes.
func indexes(t testing.TB) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	for name, prepare := range map[string]func(g *gitRepo){
		"empty":     func(g *gitRepo) { g.git("read-tree", "--empty") },
		"committed": func(g *gitRepo) { g.commitAll("x") },
		"busy":      func(g *gitRepo) { g.busy() },
		"conflict":  func(g *gitRepo) { stopped(g, "merge", "side") },
		"resolved": func(g *gitRepo) {
			stopped(g, "merge", "side")
			g.write("file", "resolved\n")
			g.git("add", "file")
		},
		"long name": func(g *gitRepo) {
			g.git("add", "-A")
			for _, n := range []int{4094, 4095, 4096, 5000} {
				g.git("update-index", "--add", "--cacheinfo", "100644,"+g.line("hash-object", "-w", "a/x")+","+strings.Repeat("n", n))
			}
		},
		"threads": func(g *gitRepo) {
			g.git("config", "index.threads", "4")
			for i := range 500 {
				g.write(fmt.Sprintf("many/%d/file", i), "x")
			}
			g.commitAll("x")
		},
		"untracked cache": func(g *gitRepo) {
			g.commitAll("x")
			g.git("update-index", "--untracked-cache")
			g.git("status")
		},
		"fsmonitor": func(g *gitRepo) {
			g.commitAll("x")
			g.git("config", "core.fsmonitor", "/bin/true")
			g.git("status")
		},
		"version 4": func(g *gitRepo) { g.git("add", "-A"); g.git("update-index", "--index-version", "4") },
		"split":     func(g *gitRepo) { g.git("add", "-A"); g.git("update-index", "--split-index") },
		"sparse": func(g *gitRepo) {
			g.commitAll("x")
			g.git("sparse-checkout", "set", "--cone", "--sparse-index", "a")
		},
	} {
		g := newGitRepo(t)
		for _, file := range []string{"a/x", "a/y/z", "b/x", "vendor-gate/claude/manifest.json", "z"} {
			g.write(file, file)
		}
		prepare(g)
		all[name] = []byte(g.read(".git/index"))
	}
	return all
}

func TestIndexIsCopiedByteForByte(t *testing.T) {
	all := indexes(t)
	for name, data := range all {
		x, err := parseIndex(data)
		if name == "version 4" || name == "split" || name == "sparse" {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same, err := x.encode(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// Without the extensions that are left out and the checksum, nothing may differ.
		entries := data[:indexHeader]
		for i := range x.entries {
			entries = append(entries[:len(entries):len(entries)], x.entries[i].raw...)
		}
		if !bytes.HasPrefix(data, entries) || !bytes.HasPrefix(same, entries) {
			t.Errorf("%s: the entries are not the bytes that git wrote", name)
		}
	}
}

func TestGitReadsASplicedIndex(t *testing.T) {
	blob := plumbing.NewHash("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
	for name, data := range indexes(t) {
		x, err := parseIndex(data)
		if err != nil {
			continue
		}
		changes := map[string][]byte{
			"vendor-gate/claude/manifest.json": nil,
			"vendor-gate/claude/files/a":       newIndexEntry("vendor-gate/claude/files/a", vendoredFile{modeFile, blob}, nil),
			"a/y/z":                            nil,
			"zzz":                              newIndexEntry("zzz", vendoredFile{modeExecutable, blob}, nil),
			"not there":                        nil,
			"aaa/" + strings.Repeat("n", 5000): newIndexEntry("aaa/"+strings.Repeat("n", 5000), vendoredFile{modeFile, blob}, nil),
		}
		spliced, err := x.encode(changes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		list := func(data []byte) string {
			g := newGitRepo(t)
			if err := os.WriteFile(filepath.Join(g.path, ".git/index"), data, 0o644); err != nil {
				t.Fatal(err)
			}
			g.git("-c", "core.fsmonitor=false", "hash-object", "-w", "-t", "blob", "/dev/null")
			return g.git("-c", "core.fsmonitor=false", "ls-files", "-s", "-v", "--debug")
		}
		var want strings.Builder
		lines := strings.SplitAfter(list(data), "\n")
		for ; len(lines) >= 6; lines = lines[6:] {
			_, file, _ := strings.Cut(strings.TrimSuffix(lines[0], "\n"), "\t")
			if _, ok := changes[file]; !ok {
				want.WriteString(strings.Join(lines[:6], ""))
			}
		}
		var got strings.Builder
		added := 0
		lines = strings.SplitAfter(list(spliced), "\n")
		for ; len(lines) >= 6; lines = lines[6:] {
			_, file, _ := strings.Cut(strings.TrimSuffix(lines[0], "\n"), "\t")
			if changes[file] != nil {
				added++
				continue
			}
			got.WriteString(strings.Join(lines[:6], ""))
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%s: entries of other paths (-before +after):\n%s", name, diff)
		}
		if added != 3 {
			t.Errorf("%s: git sees %d new entries, want 3", name, added)
		}
	}
}

// The cached trees that are left must be those that git itself would compute.
func TestCachedTreesStayTrue(t *testing.T) {
	g := newGitRepo(t)
	for _, name := range []string{"a/x", "a/y/z", "vendor-gate/other/x", "vendor-gate/claude/sub/x", "vendor-gate/z", "z/z"} {
		g.write(name, name)
	}
	g.commitAll("x")
	for _, c := range []content{first, second, {}, {"policy/rules/a.yaml/x": "x"}, first} {
		g.accept(c)
		x, err := readIndex(filepath.Join(g.path, ".git/index"), nil)
		if err != nil {
			t.Fatal(err)
		}
		root, _, err := parseCachedTree(x.tree, 0)
		if err != nil {
			t.Fatal(err)
		}
		valid := 0
		var check func(tree *cachedTree, dir string)
		check = func(tree *cachedTree, dir string) {
			for _, child := range tree.children {
				check(child, dir+child.name+"/")
			}
			if tree.count < 0 {
				return
			}
			valid++
			if want := g.line("rev-parse", "HEAD:"+strings.TrimSuffix(dir, "/")); plumbing.Hash(tree.id).String() != want {
				t.Errorf("%q is cached as %x, want %s", dir, tree.id, want)
			}
		}
		check(root, "")
		if valid < 5 {
			t.Errorf("only %d directories are still cached", valid)
		}
		if got := g.line("write-tree"); got != g.line("rev-parse", "HEAD^{tree}") {
			t.Error("git makes another tree of the index than that of HEAD")
		}
	}
}

// git must go on doubting the entries that it doubts, or an edit in the same second would be lost from its sight.
func TestCommitHidesNoEditInTheSameSecond(t *testing.T) {
	g := newGitRepo(t)
	g.write("file", "one\n")
	g.write("zeta", "one\n")
	g.git("add", "-A")
	g.git("commit", "-qm", "x")
	// The same size, the same second: only the time of the index tells.
	stamp := func(name string) {
		info, err := os.Stat(filepath.Join(g.path, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(g.path, name), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	g.git("config", "core.trustctime", "false")
	stamp("file")
	g.git("update-index", "--refresh")
	stamp("file")
	g.write("file", "two\n")
	stamp("file")
	g.accept(first)
	if got := g.git("status", "--porcelain"); got != " M file\n" {
		t.Errorf("status is %q", got)
	}
}

func FuzzIndex(f *testing.F) {
	for _, data := range indexes(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Nearly everything has a wrong checksum; zeros pass for a right one.
		if len(data) > 20 {
			data = append(data[:len(data)-20:len(data)-20], make([]byte, 20)...)
		}
		x, err := parseIndex(data)
		if err != nil {
			return
		}
		name := "vendor-gate/claude/files/x"
		fresh := newIndexEntry(name, vendoredFile{mode: modeFile}, nil)
		spliced, err := x.encode(map[string][]byte{name: fresh})
		if err != nil {
			return
		}
		y, err := parseIndex(spliced)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if e := y.find(name); e == nil || !bytes.Equal(e.raw, fresh) {
			t.Fatal("the new entry is not there")
		}
		back, err := y.encode(map[string][]byte{name: nil})
		if err != nil {
			t.Fatal(err)
		}
		z, err := parseIndex(back)
		if err != nil {
			t.Fatal(err)
		}
		rest := 0
		for i := range x.entries {
			if string(x.entries[i].name) == name {
				continue
			}
			if rest >= len(z.entries) || !bytes.Equal(x.entries[i].raw, z.entries[rest].raw) {
				t.Fatalf("entry %q has changed", x.entries[i].name)
			}
			rest++
		}
		if rest != len(z.entries) {
			t.Fatalf("%d entries have become %d", rest, len(z.entries))
		}
	})
}
