package vendorgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"gatehouse/manifest"
)

// A reviewer edits the files with plain git, and the files count.
func TestReadTakesTheContentFromGit(t *testing.T) {
	t.Parallel()
	const files = gateDir + "/files/"
	base := content{
		"policy/gate.yaml": "1\n", "policy/run.sh": "run\n", "policy/dir/": "", "policy/sub/x": "x\n", "policy/link -> gate.yaml": "",
	}
	for _, test := range []struct {
		name string
		edit func(g *gitRepo)
		want content
		also func(e *manifest.Entry) // what content cannot say
	}{
		{"nothing", func(*gitRepo) {}, base, nil},
		{"edit", func(g *gitRepo) { g.write(files+"policy/gate.yaml", "2\n") },
			with(base, "policy/gate.yaml", "2\n"), nil},
		{"add", func(g *gitRepo) { g.write(files+"policy/new/deep/file", "new\n") },
			with(base, "policy/new/deep/file", "new\n"), nil},
		{"add executable", func(g *gitRepo) {
			g.write(files+"policy/tool.sh", "x\n")
			os.Chmod(filepath.Join(g.path, files+"policy/tool.sh"), 0o755)
		}, with(base, "policy/tool.sh", "x\n"), nil},
		{"remove", func(g *gitRepo) { g.remove(files + "policy/gate.yaml") }, without(base, "policy/gate.yaml"), nil},
		{"remove a directory", func(g *gitRepo) { g.remove(files + "policy/sub") },
			with(without(base, "policy/sub/x"), "policy/sub/", ""), func(e *manifest.Entry) {
				if e.Path == "policy/sub" {
					e.Mode = 0o755
				}
			}},
		{"remove all", func(g *gitRepo) { g.remove(files) }, content{"policy/dir/": "", "policy/sub/": "", "policy/link -> gate.yaml": ""},
			func(e *manifest.Entry) {
				if e.Path == "policy/sub" {
					e.Mode = 0o755
				}
			}},
		{"set executable", func(g *gitRepo) { os.Chmod(filepath.Join(g.path, files+"policy/gate.yaml"), 0o755) }, base,
			func(e *manifest.Entry) {
				if e.Path == "policy/gate.yaml" {
					e.Mode = 0o755
				}
			}},
		{"clear executable", func(g *gitRepo) { os.Chmod(filepath.Join(g.path, files+"policy/run.sh"), 0o644) }, base,
			func(e *manifest.Entry) {
				if e.Path == "policy/run.sh" {
					e.Mode = 0o644
				}
			}},
		{"no manifest.json", func(g *gitRepo) { g.remove(gateDir + "/manifest.json") },
			without(without(base, "policy/dir/"), "policy/link -> gate.yaml"), nil},
		{"no directory", func(g *gitRepo) { g.remove(gateDir) }, content{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(base)
			test.edit(g)
			if g.git("status", "--porcelain") != "" {
				g.commitAll("reviewed")
			}
			want := test.want.generation()
			if test.also != nil {
				for i := range want.Entries {
					test.also(&want.Entries[i])
				}
				want = manifest.NewGeneration(gateName, want.Entries)
			}
			v := g.accepted()
			if diff := cmp.Diff(want, v.Generation); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if tree, err := g.open().TreeID(v.Commit, gateName); err != nil || tree != v.TreeID {
				t.Errorf("TreeID is %q, %v; Read says %q", tree, err, v.TreeID)
			}
			// What was read can be accepted again, whatever manifest.json said.
			g.accept(with(test.want, "policy/more", "more\n"))
			g.fsck()
		})
	}
}

func with(c content, name, text string) content {
	out := content{name: text}
	for k, v := range c {
		if k != name {
			out[k] = v
		}
	}
	return out
}

func without(c content, name string) content {
	out := with(c, name, "")
	delete(out, name)
	return out
}

func TestReadKeepsListedModes(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	c := first.change(Head{Branch: "refs/heads/main"})
	for i := range c.Generation.Entries {
		e := &c.Generation.Entries[i]
		e.Mode = map[manifest.Type]manifest.Mode{manifest.File: 0o640, manifest.Dir: 0o2770}[e.Type]
	}
	c.Generation = manifest.NewGeneration(gateName, c.Generation.Entries)
	if _, err := g.open().Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Generation, g.accepted().Generation); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const files = gateDir + "/files/"
	base := content{"policy/gate.yaml": "1\n", "policy/dir/": "", "policy/link -> gate.yaml": ""}
	for _, test := range []struct {
		name string
		edit func(g *gitRepo)
		want string
	}{
		{"a link", func(g *gitRepo) { os.Symlink("/etc/shadow", filepath.Join(g.path, files+"policy/x")) }, `policy/x" is a symbolic link`},
		{"a submodule", func(g *gitRepo) {
			g.git("update-index", "--add", "--cacheinfo", "160000,"+g.line("rev-parse", "HEAD")+","+files+"policy/x")
		}, `policy/x" is a submodule`},
		{"a bad escape", func(g *gitRepo) { g.write(files+"policy/%zz", "x") }, "policy/%zz"},
		{"an unneeded escape", func(g *gitRepo) { g.write(files+"policy/%41", "x") }, "policy/%41"},
		{"an unescaped name", func(g *gitRepo) { g.write(files+"policy/.gitignore", "x") }, "policy/.gitignore"},
		{"a name that no entry has", func(g *gitRepo) { g.write(files+"Policy!/x", "x") }, "Policy!/x"},
		{"a control character", func(g *gitRepo) { g.write(files+"policy/a\nb", "x") }, `policy/a\nb`},
		{"a file for a listed directory", func(g *gitRepo) { g.write(files+"policy/dir", "x") }, `"policy/dir" is below files/`},
		{"a file for a listed link", func(g *gitRepo) { g.write(files+"policy/link", "x") }, `"policy/link" is below files/`},
		{"a directory for a listed link", func(g *gitRepo) { g.write(files+"policy/link/x", "x") }, `"policy/link/" is below files/`},
		{"no JSON", func(g *gitRepo) { g.write(gateDir+"/manifest.json", "{") }, "manifest.json"},
		{"another gate's", func(g *gitRepo) {
			g.write(gateDir+"/manifest.json", strings.Replace(g.read(gateDir+"/manifest.json"), `"gate":"claude"`, `"gate":"other"`, 1))
		}, `gate "other"`},
		{"a large file", func(g *gitRepo) { g.write(files+"policy/big", strings.Repeat("x", 1<<20+1)) }, "limit"},
		{"a large file in a pack", func(g *gitRepo) {
			g.write(files+"policy/big", strings.Repeat("x", 1<<20+1))
			g.commitAll("big")
			g.git("gc", "-q")
		}, "limit"},
		{"too much in all", func(g *gitRepo) {
			for i := range 17 {
				g.write(fmt.Sprint(files, "policy/big", i), fmt.Sprint(i, strings.Repeat("x", 1<<20-10)))
			}
		}, "limit"},
		{"too many files", func(g *gitRepo) {
			for i := range 1001 {
				g.write(fmt.Sprint(files, "policy/", i), "x")
			}
		}, "limit of 1000 entries"},
		{"too many directories", func(g *gitRepo) {
			for i := range 501 {
				g.write(fmt.Sprint(files, "policy/", i, "/x"), "x")
			}
		}, "limit of 1000"},
		{"a deep directory", func(g *gitRepo) { g.write(files+"policy/"+strings.Repeat("d/", 100)+"x", "x") }, "too deep"},
		{"a file for the gate", func(g *gitRepo) { g.remove(gateDir); g.write(gateDir, "x") }, "is a file"},
		{"a file for files", func(g *gitRepo) { g.remove(gateDir + "/files"); g.write(gateDir+"/files", "x") }, "is a file"},
		{"a directory for manifest.json", func(g *gitRepo) {
			g.remove(gateDir + "/manifest.json")
			g.write(gateDir+"/manifest.json/x", "x")
		}, "is a directory"},
		{"a link for manifest.json", func(g *gitRepo) {
			g.remove(gateDir + "/manifest.json")
			os.Symlink("x", filepath.Join(g.path, gateDir, "manifest.json"))
		}, "is a symbolic link"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(base)
			test.edit(g)
			g.git("-c", "core.protectHFS=false", "add", "-A", "--", ":!"+files+"policy/x")
			if test.name == "a link" {
				g.git("add", "-A")
			}
			if g.git("diff", "--cached", "--name-only") != "" {
				g.git("commit", "-qm", "edited")
			}
			_, err := g.tryRead()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

func TestReadNoticesCorruption(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(g *gitRepo, file string){
		"other bytes": func(g *gitRepo, file string) {
			// A whole object, under the name of another one.
			id := g.line("hash-object", "-w", ".git/HEAD")
			data := g.read(".git/objects/" + id[:2] + "/" + id[2:])
			g.remove(file)
			g.write(file, data)
		},
		"cut short": func(g *gitRepo, file string) {
			os.Chmod(filepath.Join(g.path, file), 0o644)
			os.Truncate(filepath.Join(g.path, file), 5)
		},
		"missing": func(g *gitRepo, file string) { g.remove(file) },
	} {
		for _, object := range []string{"files/policy/gate.yaml", "files/policy", "manifest.json"} {
			t.Run(name+" "+object, func(t *testing.T) {
				t.Parallel()
				g := newGitRepo(t)
				g.accept(first)
				id := g.line("rev-parse", "HEAD:"+gateDir+"/"+object)
				damage(g, ".git/objects/"+id[:2]+"/"+id[2:])
				if v, err := g.tryRead(); err == nil {
					t.Errorf("read %v", v.Generation)
				}
			})
		}
	}
}

func TestReadSurvivesRepacking(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	g.accept(first)
	r := g.open()
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		v, err := r.Read(t.Context(), head.Commit, gateName, limits)
		if err != nil {
			t.Fatal(err)
		}
		g.commitNothing(fmt.Sprint(i))
		g.git("repack", "-adq")
		g.git("prune-packed", "-q")
		f, err := v.Open("policy/gate.yaml")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func TestReadByManyAtOnce(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	commit := g.accept(first)
	g.git("gc", "-q")
	r := g.open()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			v, err := r.Read(t.Context(), commit, gateName, limits)
			if err != nil {
				t.Error(err)
				return
			}
			for path := range first {
				f, err := v.Open(path)
				if err != nil {
					t.Error(err)
					return
				}
				if data, err := io.ReadAll(f); err != nil || string(data) != first[path] {
					t.Errorf("%s is %q, %v", path, data, err)
				}
				f.Close()
			}
			if log, err := r.Log(gateName, 2); err != nil || len(log) != 1 {
				t.Errorf("Log: %v, %v", log, err)
			}
		})
	}
	group.Wait()
}

func TestReadLargeFiles(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	text := strings.Repeat("0123456789abcdef", 1<<18)
	big := content{"policy/big": text, "policy/big2": text + "!"}
	g.accept(big)
	g.git("gc", "-q", "--prune=now") // packs one as a delta of the other
	r := g.open()
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Read(t.Context(), head.Commit, gateName, manifest.Limits{Entries: 10, File: 1 << 23, Total: 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(big.generation(), v.Generation); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestReadOfNothing(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	r := g.open()
	for _, commit := range []string{"", func() string { g.commitNothing("x"); return g.line("rev-parse", "HEAD") }()} {
		v, err := r.Read(t.Context(), commit, gateName, limits)
		if err != nil || v.TreeID != "" || len(v.Generation.Entries) != 0 {
			t.Errorf("%q: got %+v, %v", commit, v, err)
		}
		if tree, err := r.TreeID(commit, gateName); tree != "" || err != nil {
			t.Errorf("%q: TreeID is %q, %v", commit, tree, err)
		}
	}
	if _, err := r.Read(t.Context(), strings.Repeat("1", 40), gateName, limits); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("a commit that is not there: got error %v", err)
	}
	if _, err := r.Read(t.Context(), "", "no/gate", limits); err == nil {
		t.Error("a name that is none of a gate: no error")
	}
	if _, err := (&Vendored{}).Open("policy/x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of a file that is not there: got error %v", err)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	commit := g.accept(first)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.open().Read(ctx, commit, gateName, limits); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if _, err := g.open().Commit(ctx, second.change(Head{"refs/heads/main", commit})); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: got error %v", err)
	}
}
