package vendorgate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// TestMain keeps the configuration of whoever runs the tests out of them. It is also the process that crash tests kill.
func TestMain(m *testing.M) {
	if job := os.Getenv(crashJob); job != "" {
		os.Exit(crashingCommit(job))
	}
	home, err := os.MkdirTemp("", "vendorgate-home")
	if err != nil {
		panic(err)
	}
	for _, name := range os.Environ() {
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "XDG_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", home)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	config := []byte("[user]\n\tname = Op Erator\n\temail = op@example\n")
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), config, 0o644); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// A gitRepo is a repository that the git binary works on.
type gitRepo struct {
	t    testing.TB
	path string
}

func newGitRepo(t testing.TB, args ...string) *gitRepo {
	t.Helper()
	g := &gitRepo{t, filepath.Join(t.TempDir(), "repo")}
	run(t, ".", append(append([]string{"init", "-q", "--template=", "-b", "main"}, args...), g.path)...)
	return g
}

// run runs git and returns what it prints.
func run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := gitCommand(dir, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String()
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	return cmd
}

func (g *gitRepo) git(args ...string) string {
	g.t.Helper()
	return run(g.t, g.path, args...)
}

// line is git without the newline at the end.
func (g *gitRepo) line(args ...string) string {
	g.t.Helper()
	return strings.TrimSuffix(g.git(args...), "\n")
}

func (g *gitRepo) write(name, content string) {
	g.t.Helper()
	write(g.t, filepath.Join(g.path, name), content)
}

func (g *gitRepo) remove(name string) {
	g.t.Helper()
	if err := os.RemoveAll(filepath.Join(g.path, name)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gitRepo) read(name string) string {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.path, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(data)
}

func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commitAll is what an operator does.
func (g *gitRepo) commitAll(message string) string {
	g.t.Helper()
	g.git("add", "-A")
	g.git("commit", "-qm", message)
	return g.line("rev-parse", "HEAD")
}

// fsck holds the whole repository to git's own rules, and lets it print nothing.
func (g *gitRepo) fsck() {
	g.t.Helper()
	// Where there are no such files, git would start two more processes to look for them.
	cmd := gitCommand(g.path, "-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false",
		"fsck", "--full", "--strict", "--no-dangling", "--no-progress")
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 && !strings.HasPrefix(string(out), "notice: ") {
		g.t.Errorf("git fsck: %v\n%s", err, out)
	}
}

func (g *gitRepo) open() *Repository {
	g.t.Helper()
	r, err := Open(g.path, vendored)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

const (
	vendored = "vendor-gate"
	gateName = "claude"
	gateDir  = vendored + "/" + gateName
)

var limits = manifest.Limits{Entries: 1000, File: 1 << 20, Total: 1 << 24}

// content is the files of a gate by path; a name that ends in a slash is a directory, one with -> is a link.
type content map[string]string

var (
	first  = content{"policy/gate.yaml": "version: 1\n", "policy/rules/a.yaml": "a\n", "policy/old.yaml": "old\n"}
	second = content{"policy/gate.yaml": "version: 2\n", "policy/rules/a.yaml": "a\n", "policy/rules/b.yaml": "b\n"}
)

// generation makes the generation of gateName with these files. Names that end in .sh are executable.
func (c content) generation() *manifest.Generation {
	entries := make(map[string]manifest.Entry)
	for name, text := range c {
		mode := manifest.Mode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		sum := sha256.Sum256([]byte(text))
		e := manifest.Entry{Path: name, Type: manifest.File, Mode: mode, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
		if link, target, ok := strings.Cut(name, " -> "); ok {
			e = manifest.Entry{Path: link, Type: manifest.Symlink, Mode: 0o777, Target: target}
		} else if dir, ok := strings.CutSuffix(name, "/"); ok {
			e = manifest.Entry{Path: dir, Type: manifest.Dir, Mode: 0o750}
		}
		entries[e.Path] = e
	}
	for name := range maps.Clone(entries) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := entries[dir]; !ok {
				entries[dir] = manifest.Entry{Path: dir, Type: manifest.Dir, Mode: 0o755}
			}
		}
	}
	return manifest.NewGeneration(gateName, slices.Collect(maps.Values(entries)))
}

func (c content) open(e manifest.Entry) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(c[e.Path])), nil
}

// change is the acceptance of c on top of parent.
func (c content) change(parent Head) Change {
	return Change{
		Gate: gateName, Parent: parent, Generation: c.generation(), Content: c.open,
		Subject: "accept drift d-1234 of claude", Body: "Two files changed.",
		Trailers: [][2]string{{"Gate", gateName}, {"Fingerprint", "1234"}, {"Accepted-by", "op"}},
		When:     time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("", 3600)),
	}
}

// accept commits c on top of HEAD.
func (g *gitRepo) accept(c content) string {
	g.t.Helper()
	commit, err := g.tryAccept(durable.Disk{}, c)
	if err != nil {
		g.t.Fatal(err)
	}
	return commit
}

func (g *gitRepo) tryAccept(disk durable.Disk, c content) (string, error) {
	g.t.Helper()
	r := g.open()
	r.Disk = disk
	head, err := r.Head()
	if err != nil {
		return "", err
	}
	return r.Commit(g.t.Context(), c.change(head))
}

// accepted is what Read returns for HEAD.
func (g *gitRepo) accepted() *Vendored {
	g.t.Helper()
	v, err := g.tryRead()
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

func (g *gitRepo) tryRead() (*Vendored, error) {
	g.t.Helper()
	r := g.open()
	head, err := r.Head()
	if err != nil {
		g.t.Fatal(err)
	}
	return r.Read(g.t.Context(), head.Commit, gateName, limits)
}
