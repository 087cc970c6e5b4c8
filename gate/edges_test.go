package gate

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestProjectBoundsTheFiles(t *testing.T) {
	h := newHost(t, wide).files("src/a.go", "README.md")
	put(t, filepath.Join(h.home, "notes.txt"), "x")
	put(t, filepath.Join(h.dir, "srv", "app", ".git", "HEAD"), "x")
	put(t, filepath.Join(h.dir, "srv", "app", "f"), "x")
	h.rows([]row{
		{"cat README.md", "allow"},
		{"cat ../notes.txt", "deny paths outside"},
		{"cat ~/notes.txt", "deny paths outside"},
		{"cat /etc/hosts", "deny paths outside"},
		{"cd src && cat ../README.md", "allow"},
		{"cd src && cat ../../notes.txt", "deny paths outside"},
		{"pushd src && cat a.go", "allow"},
		{"(cd src; cat a.go); cat README.md", "allow"},
	})
	for dir, want := range map[string]string{
		h.work + "/src":    "allow",
		h.home:             "deny paths no project",
		"/":                "deny paths no project",
		h.dir + "/srv/app": "allow", // without a warden a directory may be its own ground
	} {
		r := h.request("ls .")
		r.Cwd = dir
		h.judged(t, row{dir, want}, h.open().Check(t.Context(), r))
	}
}

func TestNothingThatBlocksIsOpened(t *testing.T) {
	h := newHost(t, wide+"paths: {deny: [x]}\n").files("src/a.go")
	for _, name := range []string{"fifo", ".gitignore", "dir/fifo"} {
		must(t, os.MkdirAll(filepath.Join(h.work, "dir"), 0o755))
		must(t, syscall.Mkfifo(filepath.Join(h.work, name), 0o644))
	}
	h.rows([]row{
		{"cat fifo", "allow"},
		{"cat f*", "allow"},
		{"grep -r x .", "allow"},
		{"git apply fifo", "deny dynamic"},
		{"git add .", "allow"},
		{"patch < fifo", "deny"},
	})
}

func TestMoreFilesThanTheGateLooksAt(t *testing.T) {
	h := newHost(t, wide+"paths: {deny: [secret]}\n")
	h.options.Home = h.home
	g := h.open()
	g.disk = endless{machine{}, filepath.Join(h.work, "many")}
	for _, c := range []row{
		{"cat many/*", "deny paths more files"},
		{"grep -r x many", "deny paths more files"},
		{"rm -rf many", "deny paths more files"},
		{"ls many", "allow"},
	} {
		h.judged(t, c, g.Check(t.Context(), h.request(c.line)))
	}
}

// endless is a disk with a directory that never ends.
type endless struct {
	machine
	dir string
}

func (e endless) Lstat(path string) (os.FileInfo, error) {
	if path == e.dir {
		return os.Lstat("/")
	}
	return e.machine.Lstat(path)
}

func (e endless) List(dir string, max int) ([]os.DirEntry, bool, error) {
	if dir != e.dir {
		return e.machine.List(dir, max)
	}
	names, err := os.ReadDir("/")
	return names[:1], true, err
}

func TestFaultOfTheGateDenies(t *testing.T) {
	h := newHost(t, wide).files("README.md")
	g := h.open()
	g.disk = broken{}
	d := g.Check(t.Context(), h.request("cat README.md"))
	if d.Action != Deny || len(d.Reasons) != 1 || d.Reasons[0].Stage != StageFault {
		t.Errorf("%+v", d)
	}
}

// broken is a disk whose driver has a bug.
type broken struct{ machine }

func (broken) Lstat(string) (os.FileInfo, error) { panic("bug") }

func TestTools(t *testing.T) {
	h := newHost(t, `version: 1
paths: {deny: [".env*"], read_only: ["migrations/**"]}
tools:
  - {tool: [Edit, Write], paths: {deny: ["**/*.lock"]}}
  - {tool: "mcp__*", unlisted: ask}
  - {tool: WebFetch, unlisted: deny}
`).files("README.md", "yarn.lock", ".env", "migrations/1.sql", ".claude/settings.json")
	must(t, os.Symlink(filepath.Join(h.work, ".claude", "settings.json"), filepath.Join(h.work, "plain.json")))
	g := h.open()
	for _, c := range []struct {
		tool, path, want string
	}{
		{"Read", "README.md", "allow"},
		{"Read", ".env", "deny paths"},
		{"Edit", "README.md", "allow"},
		{"Edit", "yarn.lock", "deny paths"},
		{"Read", "yarn.lock", "allow"},
		{"Write", "migrations/1.sql", "deny paths"},
		{"Read", "migrations/1.sql", "allow"},
		{"Edit", ".claude/settings.json", "deny protect"},
		{"Write", "plain.json", "deny protect"},
		{"Read", ".claude/settings.json", "allow"},
		{"Write", h.live + "/gate.yaml", "deny protect"},
		{"mcp__server__thing", "", "ask entry"},
		{"WebFetch", "", "deny entry"},
		{"SomethingNew", "", "allow"},
	} {
		path := c.path
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(h.work, path)
		}
		d := g.Check(t.Context(), Request{Tool: &Tool{Name: c.tool, Args: map[string]any{"file_path": path}}, Cwd: h.work})
		h.judged(t, row{c.tool + " " + c.path, c.want}, d)
	}
}
