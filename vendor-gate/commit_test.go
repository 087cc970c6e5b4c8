package vendorgate

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommitInAnEmptyRepository(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--bare"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t, args...)
			commit := g.accept(first)
			if got := g.line("rev-parse", "HEAD"); got != commit {
				t.Errorf("HEAD is %s, want %s", got, commit)
			}
			g.fsck()
			if args == nil {
				if got := g.git("status", "--porcelain=v2"); got != "" {
					t.Errorf("status after the commit:\n%s", got)
				}
			}
			g.accept(second)
			g.fsck()
			want := gateDir + "/files/policy/gate.yaml\n" + gateDir + "/files/policy/old.yaml\n" +
				gateDir + "/files/policy/rules/b.yaml\n" + gateDir + "/manifest.json\n"
			if got := g.git("diff", "--name-only", "HEAD^", "HEAD"); got != want {
				t.Errorf("the second commit changes\n%s, want\n%s", got, want)
			}
			v := g.accepted()
			if diff := cmp.Diff(second.generation(), v.Generation); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			f, err := v.Open("policy/gate.yaml")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if data, err := io.ReadAll(f); err != nil || string(data) != second["policy/gate.yaml"] {
				t.Errorf("policy/gate.yaml is %q, %v", data, err)
			}
		})
	}
}

func TestCommitKeepsEveryName(t *testing.T) {
	t.Parallel()
	files := content{
		"policy/.git/config": "x", "policy/.gitattributes": "* text=auto\n", "policy/.GitIgnore": "*\n",
		"policy/.gitmodules": "[submodule]\n",
		"policy/git~1":       "x", "policy/GIT~1/y": "x", "policy/.g\u200cit": "x", "policy/a\\.git": "x",
		"policy/-rf": "x", "policy/:(top)other": "x", "policy/ spaces  ": "x", "policy/\u202eevil": "x",
		"policy/100%": "x", "policy/%2egit": "x",
		"policy/ünï": "x", "policy/" + strings.Repeat("n", 255): "x", "policy/" + strings.Repeat("d/", 60) + "deep": "x",
		"policy/run.sh": "#!/bin/sh\n", "policy/empty": "", "policy/empty dir/": "", "policy/link -> ../../etc/passwd": "",
		"policy/a": "x", "policy/a.b": "x", "policy/a-b/c": "x", "policy/a0": "x", "policy/aa/b": "x", "policy/aa.b": "x",
		"policy/aa-b": "x", "policy/aa0": "x", "single": "a live root that is a file",
	}
	for _, args := range [][]string{nil, {"--bare"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t, args...)
			g.accept(files)
			g.fsck()
			if diff := cmp.Diff(files.generation(), g.accepted().Generation); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if args != nil {
				return
			}
			if got := g.git("status", "--porcelain"); got != "" {
				t.Errorf("status:\n%s", got)
			}
			// Another clone checks all of them out, and the next commit removes them.
			clone := &gitRepo{t, filepath.Join(t.TempDir(), "clone")}
			run(t, ".", "clone", "-q", g.path, clone.path)
			if got := clone.git("status", "--porcelain"); got != "" {
				t.Errorf("status of a clone:\n%s", got)
			}
			g.accept(content{"policy/gate.yaml": "x"})
			g.fsck()
			left, err := os.ReadDir(filepath.Join(g.path, gateDir, "files", "policy"))
			if err != nil || len(left) != 1 {
				t.Errorf("after the removal %v is left, %v", left, err)
			}
			if got := g.git("status", "--porcelain"); got != "" {
				t.Errorf("status after the removal:\n%s", got)
			}
		})
	}
}

// Files become directories and the other way round, and types change under one name.
func TestCommitFollowsEveryChangeOfType(t *testing.T) {
	t.Parallel()
	a := content{"policy/x": "file", "policy/y/z": "file", "policy/l -> x": "", "policy/m": "m", "policy/s.sh": "s"}
	b := content{"policy/x/y/z": "file", "policy/y": "file", "policy/l": "file", "policy/m -> x": "", "policy/s.sh/t": "s"}
	g := newGitRepo(t)
	for i, c := range []content{a, b, a, {}, b, {}} {
		g.accept(c)
		if diff := cmp.Diff(c.generation(), g.accepted().Generation); diff != "" {
			t.Errorf("%d: read back (-want +got):\n%s", i, diff)
		}
		if got := g.git("status", "--porcelain"); got != "" {
			t.Errorf("%d: status:\n%s", i, got)
		}
		if got := g.line("write-tree"); got != g.line("rev-parse", "HEAD^{tree}") {
			t.Errorf("%d: the index makes another tree than that of HEAD", i)
		}
		g.fsck()
	}
}

// What others keep in the gate's directory, and other gates, stay as they are.
func TestCommitKeepsNeighbours(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{vendored, "ops/hosts/vendor"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			for _, name := range []string{
				"/claude/README", "/claude/files.txt", "/claude/z/notes", "/other/manifest.json", "/claude-2/files/x", "x/y", "-/y",
			} {
				g.write(dir+name, name)
			}
			g.commitAll("neighbours")
			before := g.git("ls-tree", "-r", "HEAD")
			r, err := Open(g.path, dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []content{first, second, {}} {
				head, err := r.Head()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.Commit(t.Context(), c.change(head)); err != nil {
					t.Fatal(err)
				}
				var after strings.Builder
				for line := range strings.Lines(g.git("ls-tree", "-r", "HEAD")) {
					if !strings.Contains(line, dir+"/claude/files/") && !strings.Contains(line, dir+"/claude/manifest.json") {
						after.WriteString(line)
					}
				}
				if diff := cmp.Diff(before, after.String()); diff != "" {
					t.Errorf("the commit changed neighbours (-before +after):\n%s", diff)
				}
				if got := g.git("status", "--porcelain"); got != "" {
					t.Errorf("status:\n%s", got)
				}
				g.fsck()
			}
		})
	}
}

func TestCommitTakesTheIdentityThatIsConfigured(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, config string
		author       Identity
		want         string
	}{
		{"global", "", Identity{}, "Op Erator <op@example>|Op Erator <op@example>"},
		{"local", "[user]\n\tname = \"Lo <Cal>\"\n", Identity{}, "Lo Cal <op@example>|Lo Cal <op@example>"},
		{"included", "[include]\n\tpath = ../extra\n", Identity{}, "In Cluded <op@example>|In Cluded <op@example>"},
		{"later wins", "[include]\n\tpath = ../extra\n[user]\n\tname = Later\n", Identity{},
			"Later <op@example>|Later <op@example>"},
		{"none", "[user]\n\tname =\n\temail =\n", Identity{},
			"Gatehouse warden <warden@" + host + ">|Gatehouse warden <warden@" + host + ">"},
		{"author", "", Identity{"Some\nBody", "some@body"}, "SomeBody <some@body>|Op Erator <op@example>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.write("extra", "[user]\n\tname = In Cluded\n")
			g.write(".git/config", g.read(".git/config")+test.config)
			r := g.open()
			c := first.change(Head{Branch: "refs/heads/main"})
			c.Author = test.author
			if _, err := r.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if got := g.line("log", "-1", "--format=%an <%ae>|%cn <%ce>"); got != test.want {
				t.Errorf("author and committer are %s, want %s", got, test.want)
			}
		})
	}
}

func TestCommitOnEveryKindOfBranch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prepare func(g *gitRepo)
	}{
		{"packed", func(g *gitRepo) { g.git("pack-refs", "--all", "--prune") }},
		{"packed objects", func(g *gitRepo) { g.git("gc", "-q", "--prune=now") }},
		{"nested", func(g *gitRepo) { g.git("switch", "-qc", "feature/a/b") }},
		{"nested and packed", func(g *gitRepo) { g.git("switch", "-qc", "feature/a/b"); g.git("pack-refs", "--all", "--prune") }},
		{"empty directory at its place", func(g *gitRepo) {
			g.git("switch", "-qc", "topic/x")
			g.git("switch", "-q", "main")
			g.git("branch", "-qD", "topic/x")
			g.git("switch", "-qc", "topic")
			g.git("pack-refs", "--all", "--prune")
			os.MkdirAll(filepath.Join(g.path, ".git/refs/heads/topic/x"), 0o755)
		}},
		{"unborn", func(g *gitRepo) { g.git("switch", "-q", "--orphan", "new/branch") }},
		{"shared objects", func(g *gitRepo) { share(g, g.path) }},
		{"relative alternates", func(g *gitRepo) {
			share(g, g.path)
			g.write(".git/objects/info/alternates", "../../../shared/.git/objects\n")
		}},
		{"shallow", func(g *gitRepo) {
			g.commitNothing("more")
			shallow := filepath.Join(g.t.TempDir(), "shallow")
			run(g.t, ".", "clone", "-q", "--depth=1", "file://"+g.path, shallow)
			g.path = shallow
		}},
		{"multi-pack index and commit graph", func(g *gitRepo) {
			g.git("repack", "-adq")
			g.git("multi-pack-index", "write")
			g.git("commit-graph", "write")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			test.prepare(g)
			branch := g.line("symbolic-ref", "HEAD")
			commit := g.accept(second)
			if got := g.line("rev-parse", branch); got != commit {
				t.Errorf("%s is %s, want %s", branch, got, commit)
			}
			if diff := cmp.Diff(second.generation(), g.accepted().Generation); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if got := g.git("status", "--porcelain"); got != "" {
				t.Errorf("status:\n%s", got)
			}
			if got := g.line("reflog", "show", "-1", "--format=%H", branch); got != commit {
				t.Errorf("the reflog of the branch ends in %q, want %s", got, commit)
			}
			if log, err := g.open().Log(gateName, 10); err != nil || len(log) == 0 || log[0].Commit != commit {
				t.Errorf("Log: %v, %v", log, err)
			}
			g.fsck()
		})
	}
}

// share makes of g a clone of from that borrows its objects.
func share(g *gitRepo, from string) {
	g.t.Helper()
	parent := g.t.TempDir()
	run(g.t, ".", "clone", "-q", from, filepath.Join(parent, "shared"))
	g.path = filepath.Join(parent, "borrower")
	run(g.t, ".", "clone", "-q", "--shared", filepath.Join(parent, "shared"), g.path)
}

func (g *gitRepo) commitNothing(message string) {
	g.git("commit", "-q", "--allow-empty", "-m", message)
}

func TestBareRepositoryHasNoReflogUnlessConfigured(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"": 0, "false": 0, "true": 1, "always": 1} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t, "--bare")
			if value != "" {
				g.git("config", "core.logAllRefUpdates", value)
			}
			g.accept(first)
			if got := strings.Count(g.git("reflog", "show", "main", "--"), "\n"); got != want {
				t.Errorf("%d entries in the reflog, want %d", got, want)
			}
		})
	}
}

func TestInitMakesARepository(t *testing.T) {
	t.Parallel()
	g := &gitRepo{t, filepath.Join(t.TempDir(), "new")}
	if err := Init(g.path); err != nil {
		t.Fatal(err)
	}
	g.accept(first)
	g.fsck()
	if got := g.git("status", "--porcelain"); got != "" {
		t.Errorf("status:\n%s", got)
	}
	if got := g.line("symbolic-ref", "HEAD"); got != "refs/heads/main" {
		t.Errorf("HEAD is %s", got)
	}
}
