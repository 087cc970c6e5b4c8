package vendorgate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
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

func TestIndexIsCopied(t *testing.T) {
	t.Parallel()
	for name, data := range indexes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := parseIndex(data)
			if name == "version 4" || name == "split" || name == "sparse" {
				if err == nil || !strings.Contains(err.Error(), "not supported") {
					t.Errorf("got error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkBytes(t, x, data)
			checkSplice(t, x, data)
		})
	}
}

// checkBytes holds the entries to the bytes that git wrote.
func checkBytes(t *testing.T, x *index, data []byte) {
	same, err := x.encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	entries := bytes.Clone(data[:indexHeader])
	for i := range x.entries {
		entries = append(entries, x.entries[i].raw...)
	}
	if !bytes.HasPrefix(data, entries) || !bytes.HasPrefix(same, entries) {
		t.Error("the entries are not the bytes that git wrote")
	}
}

// checkSplice lets git read an index in which entries were replaced.
func checkSplice(t *testing.T, x *index, data []byte) {
	long := "aaa/" + strings.Repeat("n", 5000)
	empty := vendoredFile{modeFile, plumbing.NewHash("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")}
	changes := map[string][]byte{
		"vendor-gate/claude/manifest.json": nil,
		"vendor-gate/claude/files/a":       newIndexEntry("vendor-gate/claude/files/a", empty, nil),
		"a/y/z":                            nil,
		"zzz":                              newIndexEntry("zzz", empty, nil),
		"not there":                        nil,
		long:                               newIndexEntry(long, empty, nil),
	}
	spliced, err := x.encode(changes)
	if err != nil {
		t.Fatal(err)
	}
	g := newGitRepo(t)
	// list returns what git says of the entries of other paths, and how many there are of the changed ones.
	list := func(data []byte) (others string, changed int) {
		if err := os.WriteFile(filepath.Join(g.path, ".git/index"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(g.git("ls-files", "-s", "-v", "--debug"), "\n")
		for ; len(lines) >= 6; lines = lines[6:] {
			_, file, _ := strings.Cut(strings.TrimSuffix(lines[0], "\n"), "\t")
			if _, ok := changes[file]; ok {
				changed++
			} else {
				others += strings.Join(lines[:6], "")
			}
		}
		return others, changed
	}
	before, _ := list(data)
	after, changed := list(spliced)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("entries of other paths (-before +after):\n%s", diff)
	}
	if changed != 3 {
		t.Errorf("git sees %d new entries, want 3", changed)
	}
}

// The cached trees that are left must be those that git itself would compute.
func TestCachedTreesStayTrue(t *testing.T) {
	t.Parallel()
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
func TestCommitHidesNoEditOfTheSameSecond(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	g.git("config", "core.trustctime", "false") // as where a backup was restored
	then := time.Now().Add(-time.Hour)
	stamp := func(name string) {
		if err := os.Chtimes(filepath.Join(g.path, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	g.write("file", "one\n")
	stamp("file")
	g.commitAll("x")
	g.write("file", "two\n") // of the same size
	stamp("file")
	stamp(".git/index")
	before := g.git("--no-optional-locks", "status", "--porcelain")
	g.accept(first)
	if got := g.git("status", "--porcelain"); before != " M file\n" || got != before {
		t.Errorf("status was %q and is %q", before, got)
	}
}

func TestIndexEntryMatches(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	write(t, name, "x")
	var stat unix.Stat_t
	if err := unix.Lstat(name, &stat); err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		edit func(*unix.Stat_t)
		age  time.Duration // of the file when the index was written
		want bool
	}{
		"same":          {func(*unix.Stat_t) {}, 2 * time.Second, true},
		"same second":   {func(*unix.Stat_t) {}, 0, false},
		"other device":  {func(s *unix.Stat_t) { s.Dev++ }, 2 * time.Second, true},
		"other inode":   {func(s *unix.Stat_t) { s.Ino++ }, 2 * time.Second, false},
		"other size":    {func(s *unix.Stat_t) { s.Size++ }, 2 * time.Second, false},
		"other owner":   {func(s *unix.Stat_t) { s.Uid++ }, 2 * time.Second, false},
		"other mtime":   {func(s *unix.Stat_t) { s.Mtim.Nsec ^= 1 }, 2 * time.Second, false},
		"other ctime":   {func(s *unix.Stat_t) { s.Ctim.Nsec ^= 1 }, 2 * time.Second, false},
		"later ctime":   {func(s *unix.Stat_t) { s.Ctim.Sec++ }, 2 * time.Second, false},
		"earlier mtime": {func(s *unix.Stat_t) { s.Mtim.Sec-- }, 2 * time.Second, false},
	} {
		e := new(indexEntry)
		if _, err := e.parse(newIndexEntry("file", vendoredFile{mode: modeFile}, &stat)); err != nil {
			t.Fatal(err)
		}
		now := stat
		test.edit(&now)
		if got := e.matches(&now, &index{time: time.Unix(stat.Mtim.Sec, 0).Add(test.age)}); got != test.want {
			t.Errorf("%s: matches is %v", what, got)
		}
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
