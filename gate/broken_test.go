package gate

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ways to break a file: each leaves something at its path that must neither be waited for nor read without end.
var breaks = map[string]func(t *testing.T, p string){
	"a FIFO":            func(t *testing.T, p string) { must(t, syscall.Mkfifo(p, 0o644)) },
	"a directory":       func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o755)) },
	"a link to no end":  func(t *testing.T, p string) { must(t, os.Symlink("/dev/zero", p)) },
	"a link to itself":  func(t *testing.T, p string) { must(t, os.Symlink(filepath.Base(p), p)) },
	"half of it":        func(t *testing.T, p string) { put(t, p, "version: 1\nallow: [\n") },
	"noise":             func(t *testing.T, p string) { put(t, p, "\xff\xfe\x00garbage") },
	"a file of nothing": func(t *testing.T, p string) { put(t, p, ""); must(t, os.Truncate(p, 3<<30)) },
}

func TestBrokenPolicyFilesDeny(t *testing.T) {
	for _, file := range []string{"gate.yaml", "rules.yaml", "AGENTLTL.yaml", "specs/x.yaml", "specs"} {
		for name, broken := range breaks {
			t.Run(file+" is "+name, func(t *testing.T) {
				h := newHost(t, wide)
				p := filepath.Join(h.live, file)
				must(t, os.RemoveAll(p))
				must(t, os.MkdirAll(filepath.Dir(p), 0o755))
				broken(t, p)
				d := h.check("ls")
				if file == "specs" && name == "a directory" {
					return // an empty one is none
				}
				if d.Action != Deny || len(d.Reasons) != 1 || d.Reasons[0].Stage != StagePolicy {
					t.Errorf("%s\n%s", d.Action, reasons(d))
				}
			})
		}
	}
}

func TestBrokenMemoryDenies(t *testing.T) {
	for name, broken := range breaks {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, wide)
			put(t, filepath.Join(h.live, "rules.yaml"), "version: 1\nrules:\n- {id: first, why: x, before: {first: {tool: ls}, then: git_push}}\n")
			r := h.request("ls")
			r.Session = "s"
			g := h.open()
			must(t, g.Problem())
			must(t, g.Record(t.Context(), r, g.Check(t.Context(), r), Outcome{Status: new(int)}))
			r.Line = "git push"
			h.judged(t, row{"git push", "allow"}, g.Check(t.Context(), r))
			var states []string
			must(t, filepath.WalkDir(h.options.State, func(p string, d fs.DirEntry, err error) error {
				if err == nil && d.Name() == "state" && !d.IsDir() {
					states = append(states, p)
				}
				return err
			}))
			if len(states) == 0 {
				t.Fatal("nothing is remembered")
			}
			for _, p := range states {
				data, err := os.ReadFile(p)
				must(t, err)
				must(t, os.Remove(p))
				broken(t, p)
				d := g.Check(t.Context(), r)
				if d.Action != Deny || !strings.Contains(reasons(d), "cannot be read") {
					t.Errorf("%s: %s\n%s", p, d.Action, reasons(d))
				}
				if err := g.Record(t.Context(), r, d, Outcome{}); err == nil {
					t.Errorf("%s: recorded all the same", p)
				}
				must(t, os.RemoveAll(p))
				put(t, p, string(data))
			}
		})
	}
}
