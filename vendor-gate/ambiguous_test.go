package vendorgate

import (
	"bytes"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// hash stores an object as it is, however odd.
func (g *gitRepo) hash(kind, data string) string {
	g.t.Helper()
	cmd := gitCommand(g.path, "hash-object", "-w", "-t", kind, "--stdin", "--literally")
	cmd.Stdin = strings.NewReader(data)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		g.t.Fatalf("git hash-object: %v", err)
	}
	return strings.TrimSpace(out.String())
}

// rawEntry is one name in a tree.
func rawEntry(mode, name, id string) string {
	hash := plumbing.NewHash(id)
	return mode + " " + name + "\x00" + string(hash[:])
}

// Of two files of one name git shows the first, and others would take the last.
func TestReadRefusesTreesThatReadersReadDifferently(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	good, evil := g.hash("blob", "good\n"), g.hash("blob", "evil\n")
	file := func(name, blob string) string { return rawEntry("100644", name, blob) }
	dir := func(name, entries string) string { return rawEntry("40000", name, g.hash("tree", entries)) }
	policy := func(entries string) string { return dir(gateName, dir("files", dir("policy", entries))) }
	for _, test := range []struct{ name, vendored string }{
		{"a file twice", policy(file("a", good) + file("a", evil))},
		{"a directory twice", policy(dir("a", file("b", good)) + dir("a", file("b", evil)))},
		{"a name with a slash", policy(dir("a", file("b", good)) + file("a/b", evil))},
		{"a name with a slash first", policy(file("a/b", evil) + dir("a", file("b", good)))},
		{"a file and a directory", policy(file("a", good) + file("a.b", good) + dir("a", file("b", evil)))},
		{"no order", policy(file("b", good) + file("a", evil))},
		{"no name", policy(file("", evil))},
		{"files twice", dir(gateName, dir("files", dir("policy", file("a", good)))+dir("files", dir("policy", file("a", evil))))},
		{"the gate twice", policy(file("a", good)) + policy(file("a", evil))},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := g.hash("tree", dir(vendored, test.vendored))
			commit := g.line("commit-tree", "-m", test.name, root)
			v, err := g.open().Read(t.Context(), commit, gateName, limits)
			if err == nil || !strings.Contains(err.Error(), "malformed tree") {
				t.Errorf("got %v and error %v", v, err)
			}
		})
	}
	usual := policy(file("a-", good) + file("a.b", good) + dir("a", file("b", good)) + file("ab", good))
	commit := g.line("commit-tree", "-m", "usual", g.hash("tree", dir(vendored, usual)))
	if _, err := g.open().Read(t.Context(), commit, gateName, limits); err != nil {
		t.Errorf("a tree as git writes it: %v", err)
	}
}

// What git shows in the place of an object is what a reviewer sees, and not what would be in force.
func TestReadRefusesWhatGitShowsAsSomethingElse(t *testing.T) {
	t.Parallel()
	for _, object := range []string{"HEAD", "HEAD^{tree}", "HEAD:" + gateDir, "HEAD:" + gateDir + "/files/policy/gate.yaml"} {
		for _, packed := range []bool{false, true} {
			g := newGitRepo(t)
			g.accept(first)
			g.write(gateDir+"/files/policy/gate.yaml", "evil\n")
			g.commitAll("evil")
			g.git("replace", g.line("rev-parse", object), g.line("rev-parse", strings.Replace(object, "HEAD", "HEAD^", 1)))
			if packed {
				g.git("pack-refs", "--all")
			}
			if shown := g.line("show", "HEAD:"+gateDir+"/files/policy/gate.yaml"); shown != "version: 1" {
				t.Fatalf("git shows %q", shown)
			}
			if v, err := g.tryRead(); err == nil || !strings.Contains(err.Error(), "git replace -d") {
				t.Errorf("%s, packed %v: got %v and error %v", object, packed, v, err)
			}
		}
	}
}

// A few trees that hold each other stand for more directories than can be walked in a life, and a diff shows none of them.
func TestReadDoesNotWalkAForestOfEmptyTrees(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	dir := func(name, id string) string { return rawEntry("40000", name, id) }
	id := g.hash("tree", "")
	for range 30 {
		id = g.hash("tree", dir("a", id)+dir("b", id))
	}
	root := g.hash("tree", dir(vendored, g.hash("tree", dir(gateName, g.hash("tree", dir("files", id))))))
	commit := g.line("commit-tree", "-m", "forest", root)
	if _, err := g.open().Read(t.Context(), commit, gateName, limits); err == nil || !strings.Contains(err.Error(), "limit of 1000 directories") {
		t.Errorf("got error %v", err)
	}
}

// What is stored as a difference is put together in memory, so its size is looked at before.
func TestReadTakesNoLargeObjectApart(t *testing.T) {
	const size = 4 << 20
	g := newGitRepo(t)
	for i, text := range []string{"one", "two"} { // the newer one stays whole
		g.write(gateDir+"/files/policy/big", text+strings.Repeat("x", size>>i))
		g.commitAll(text)
	}
	g.git("-c", "pack.threads=1", "repack", "-adq")
	packs, err := filepath.Glob(filepath.Join(g.path, ".git/objects/pack/*.idx"))
	if err != nil || len(packs) != 1 || !strings.Contains(g.git("verify-pack", "-v", packs[0]), "chain length = 1") {
		t.Fatalf("nothing is stored as a difference: %v, %v", packs, err)
	}
	for _, commit := range []string{"HEAD", "HEAD^"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := g.open().Read(t.Context(), g.line("rev-parse", commit), gateName, limits)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errTooBig) {
			t.Errorf("%s: got error %v", commit, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > size/4 {
			t.Errorf("%s: to refuse it took %d bytes", commit, got)
		}
	}
}
