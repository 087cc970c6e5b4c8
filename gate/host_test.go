package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A host is a machine with one policy, a project, and programs that nobody runs.
type host struct {
	t                          testing.TB
	dir, home, work, bin, live string
	options                    Options
}

func newHost(t testing.TB, policy string) *host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	h := &host{t: t, dir: dir, home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin")}
	h.work = filepath.Join(h.home, "project")
	h.live = filepath.Join(h.home, ".config", "gatehouse")
	must(t, os.MkdirAll(filepath.Join(h.work, ".git"), 0o755))
	must(t, os.MkdirAll(h.bin, 0o755))
	put(t, filepath.Join(h.live, "gate.yaml"), policy)
	h.options = Options{Index: filepath.Join(dir, "gates.json"), Home: h.home, State: filepath.Join(dir, "state"), UID: uint32(os.Geteuid())}
	return h
}

// files puts files into the project; a name that ends in a slash is a directory.
func (h *host) files(names ...string) *host {
	for _, name := range names {
		p := filepath.Join(h.work, name)
		if strings.HasSuffix(name, "/") {
			must(h.t, os.MkdirAll(p, 0o755))
			continue
		}
		put(h.t, p, "x\n")
	}
	return h
}

func (h *host) open() *Gate {
	h.t.Helper()
	g, err := Open(h.options)
	must(h.t, err)
	return g
}

func (h *host) request(line string) Request {
	return Request{Line: line, Cwd: h.work, Env: environment("PATH", h.bin+":/usr/bin:/bin")}
}

func (h *host) check(line string) Decision {
	h.t.Helper()
	return h.open().Check(h.t.Context(), h.request(line))
}

// A row is a line and what is answered: the action, and with a refusal the stage that says so first and a part of what
// it says.
type row struct{ line, want string }

func (h *host) rows(rows []row) {
	t := h.t.(*testing.T)
	g := h.open()
	for _, r := range rows {
		t.Run(r.line, func(t *testing.T) { h.judged(t, r, g.Check(t.Context(), h.request(r.line))) })
	}
}

func (h *host) judged(t *testing.T, r row, d Decision) {
	t.Helper()
	want := strings.SplitN(r.want, " ", 3)
	got := d.Action.String()
	ok := got == want[0]
	if len(want) > 1 {
		found := false
		for _, reason := range d.Reasons {
			found = found || string(reason.Stage) == want[1] && (len(want) < 3 || strings.Contains(reason.Text+"; "+reason.Hint, want[2]))
		}
		ok = ok && found
	}
	if !ok {
		t.Errorf("%s: %s, want %s\n%s", r.line, got, r.want, reasons(d))
	}
}
