//go:build linux

package manifest

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// escapes pairs paths with the names under which they are stored.
var escapes = []struct{ path, stored string }{
	{"policy/gate.yaml", "policy/gate.yaml"},
	{"policy/.github/x", "policy/%2egithub/x"},
	{"policy/.git", "policy/%2egit"},
	{"policy/.GiT/config", "policy/%2eGiT/config"},
	{"policy/a.git/.gitmodules", "policy/a.git/%2egitmodules"},
	{"policy/.gi", "policy/.gi"},
	{"policy/.gıt", "policy/.gıt"},
	{"policy/100%", "policy/100%25"},
	{"policy/%2egit", "policy/%252egit"},
	{"policy/git~1", "policy/git%7e1"},
	{"policy/GI7EBA~1", "policy/GI7EBA%7e1"},
	{"policy/~user~", "policy/~user~"},
	{`policy/a\.git`, "policy/a%5c.git"},
	{"policy/.g\u200cit", "policy/.g%e2%80%8cit"},
	{"policy/\ufeff.git", "policy/%ef%bb%bf.git"},
	{"policy/.git\u202e", "policy/%2egit%e2%80%ae"},
	{"policy/.git ", "policy/%2egit "},
	{"policy/.git::$INDEX_ALLOCATION", "policy/%2egit::$INDEX_ALLOCATION"},
	{"policy/naïve", "policy/naïve"},
}

func TestEscapePath(t *testing.T) {
	for _, test := range escapes {
		if got := EscapePath(test.path); got != test.stored {
			t.Errorf("%q is stored as %q, want %q", test.path, got, test.stored)
		}
		if got, err := UnescapePath(test.stored); got != test.path || err != nil {
			t.Errorf("%q is read as %q, %v; want %q", test.stored, got, err, test.path)
		}
	}
}

func TestUnescapePathTakesCanonicalNamesOnly(t *testing.T) {
	for _, stored := range []string{
		"p/.git", "p/%2Egit", "p/%2e", "p/%2egIt%", "p/%", "p/%2", "p/%zz", "p/%61", "p/%2f", "p/%00", "p/a%2fb", "p/git~1",
		`p/a\b`, "p/\u200c", "p/%e2%80", "p/%E2%80%8C", "p/%0a", "p/a\n", "", "/", "p/..", "p/%2e%2e", "../x", "p//x", "p/%c3%af",
	} {
		if got, err := UnescapePath(stored); err == nil {
			t.Errorf("%q is accepted as %q", stored, got)
		}
	}
}

func TestEscapePathIsReversibleAndInjective(t *testing.T) {
	part := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune(`.gGiItT%2e5c7~1\`+"\u200c\u200f\u202e\u206a\ufeffïa")), 1, 12, -1),
		rapid.StringN(1, 20, 80),
	)
	paths := rapid.Custom(func(t *rapid.T) string {
		return "policy/" + strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
	}).Filter(func(path string) bool { return ValidPath(path) == nil })
	rapid.Check(t, func(t *rapid.T) {
		a, b := paths.Draw(t, "a"), paths.Draw(t, "b")
		if got, err := UnescapePath(EscapePath(a)); got != a || err != nil {
			t.Fatalf("%q comes back as %q, %v", a, got, err)
		}
		if a != b && EscapePath(a) == EscapePath(b) {
			t.Fatalf("%q and %q have one stored name", a, b)
		}
	})
}

// TestGitTakesEscapedPaths asks git itself, with every protection on.
func TestGitTakesEscapedPaths(t *testing.T) {
	var paths []string
	for _, e := range escapes {
		paths = append(paths, e.path)
	}
	for _, dot := range []string{".git", ".GIT", ".gitmodules", ".gitattributes", ".gitignore", ".mailmap", "git~1", "gitmod~1",
		"GI7D29~2", "gi250a~1", "maba30~1", ".g\u200cit", ".gi\u206ftmodules", "\ufeff.gitignore", `.git\x`, `x\.git`, "..git",
		".git.", ".git...", ".git :x", "-x", ":(top)x", "con", "aux.txt", "~", "~~1", "a~1b", " ", "%", "%%2e"} {
		paths = append(paths, "p/"+dot, "p/sub/"+dot+"/file")
	}
	for r := rune(0x2000); r <= 0x2070; r++ { // what HFS+ ignores is among these
		paths = append(paths, fmt.Sprintf("p/.g%cit", r))
	}
	dir := t.TempDir()
	git := func(input []byte, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.protectHFS=true", "-c", "core.protectNTFS=true",
			"-c", "user.name=t", "-c", "user.email=t@example"}, args...)...)
		cmd.Stdin = bytes.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(nil, "init", "-q")
	blob := git([]byte("x"), "hash-object", "-w", "--stdin")
	var index bytes.Buffer
	stored := make(map[string]bool)
	for _, path := range paths {
		if err := ValidPath(path); err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		stored[EscapePath(path)] = true
		fmt.Fprintf(&index, "100644 %s\t%s\x00", blob, EscapePath(path))
	}
	git(index.Bytes(), "update-index", "-z", "--index-info")
	add := []string{"update-index", "--add"}
	for name := range stored {
		add = append(add, "--cacheinfo", "100644,"+blob+","+name)
	}
	git(nil, add...)
	commit := git(nil, "commit-tree", "-m", "all", git(nil, "write-tree"))
	if out := git(nil, "fsck", "--strict", "--full", commit); out != "" {
		t.Errorf("git fsck --strict says %s", out)
	}
	git(nil, "read-tree", "--reset", "-u", commit)
	listed := strings.Split(strings.TrimSuffix(git(nil, "ls-tree", "-r", "-z", "--name-only", commit), "\x00"), "\x00")
	if len(listed) != len(stored) {
		t.Errorf("git lists %d names, want %d", len(listed), len(stored))
	}
	for _, name := range listed {
		if !stored[name] {
			t.Errorf("git lists %q", name)
		}
		if _, err := UnescapePath(name); err != nil {
			t.Error(err)
		}
	}
}

func FuzzEscapePath(f *testing.F) {
	for _, e := range escapes {
		f.Add(e.path)
		f.Add(e.stored)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if ValidPath(path) == nil {
			if got, err := UnescapePath(EscapePath(path)); got != path || err != nil {
				t.Errorf("%q comes back as %q, %v", path, got, err)
			}
		}
		if got, err := UnescapePath(path); err == nil && EscapePath(got) != path {
			t.Errorf("%q is read as %q, which is stored as %q", path, got, EscapePath(got))
		}
	})
}
