package harness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"gatehouse/gate"
	"gatehouse/gate/harness"
	"gatehouse/gate/secret"
	"gatehouse/internal/durable"
)

var update = os.Getenv("UPDATE") != ""

// TestExchanges answers recorded inputs with a real gate, and compares what the client gets byte by byte. A file is
//
//	gate hook CLIENT [FLAGS]         the command line, on the first line
//	with: WORD                       what is wrong with the gate: hang, panic, log, open, policy; or attended
//	-- gate.yaml, rules.yaml --      the policy, if it is not that of testdata
//	-- input --                      what the client sends; several (input 2, …) are hooks of one session, one after another
//	-- stdout --, -- stderr --, -- exit --   what the gate says to the last one
//
// $WORK is the project's directory, ids of decisions are c-000000000000, and the place of a panic is FILE.go:0. UPDATE=1 writes what the gate says.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	seen := make(map[string]map[string]bool)
	for _, file := range files {
		client, name := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".txtar")
		if seen[client] == nil {
			seen[client] = make(map[string]bool)
		}
		seen[client][name] = true
		t.Run(client+"/"+name, func(t *testing.T) { exchange(t, file) })
	}
	for _, c := range harness.Clients() {
		for _, name := range []string{"allow", "deny", "ask", "rewrite", "broken", "fault", "no-policy", "hang", "panic", "tool"} {
			if !seen[c.Name][name] {
				t.Errorf("%s: no exchange %q", c.Name, name)
			}
		}
	}
}

func exchange(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	var inputs []string
	want := make(map[string]string)
	for _, f := range archive.Files {
		text := p.expand(string(f.Data))
		switch {
		case strings.HasPrefix(f.Name, "input"):
			inputs = append(inputs, text)
		case f.Name == "gate.yaml" || f.Name == "rules.yaml":
			put(t, filepath.Join(p.policy, f.Name), text)
		default:
			want[f.Name] = string(f.Data)
		}
	}
	command, with, _ := strings.Cut(strings.TrimSpace(string(archive.Comment)), "\n")
	words := strings.Fields(command)
	client, flags := words[2], words[3:]
	with = strings.TrimSpace(strings.TrimPrefix(with, "with:"))

	var out, errOut bytes.Buffer
	var exit int
	for i, input := range inputs {
		out.Reset()
		errOut.Reset()
		wrong := with
		if i < len(inputs)-1 && with != "attended" {
			wrong = ""
		}
		run := func(t *testing.T) {
			exit = harness.Run(t.Context(), client, strings.NewReader(strings.TrimSuffix(input, "\n")), &out, &errOut, p.options(t, flags, wrong))
		}
		if wrong == "hang" { // its limit ends while it hangs, however slow the machine is before that
			synctest.Test(t, run)
			continue
		}
		run(t)
	}
	got := map[string]string{"stdout": p.fold(out.String()), "stderr": p.fold(errOut.String()), "exit": fmt.Sprintln(exit)}
	if update {
		var kept []txtar.File
		for _, f := range archive.Files {
			if _, ours := got[f.Name]; !ours {
				kept = append(kept, f)
			}
		}
		for _, name := range []string{"stdout", "stderr", "exit"} {
			kept = append(kept, txtar.File{Name: name, Data: []byte(got[name])})
		}
		archive.Files = kept
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-recorded +real\n%s", diff)
	}
}

// A site is a home with a policy and a project.
type site struct{ home, work, policy string }

func newPlace(t *testing.T) site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := site{home: filepath.Join(dir, "home"), work: filepath.Join(dir, "home/project"), policy: filepath.Join(dir, "home/.config/gatehouse")}
	for _, name := range []string{"gate.yaml", "rules.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(p.policy, name), string(data))
	}
	put(t, filepath.Join(p.work, ".git/HEAD"), "ref: refs/heads/main\n")
	put(t, filepath.Join(p.work, "sub/notes"), "x\n")
	return p
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p site) expand(text string) string {
	return strings.NewReplacer("$WORK", p.work, "$HOME", p.home).Replace(text)
}

var (
	decisionID = regexp.MustCompile(`c-[0-9a-f]{12}`)
	sourceLine = regexp.MustCompile(`\w+\.go:\d+`)
)

func (p site) fold(text string) string {
	text = strings.NewReplacer(p.work, "$WORK", p.home, "$HOME").Replace(text)
	return sourceLine.ReplaceAllString(decisionID.ReplaceAllString(text, "c-000000000000"), "FILE.go:0")
}

func (p site) options(t *testing.T, flags []string, wrong string) harness.Options {
	o := harness.Options{
		Cwd: func() (string, error) { return p.work, nil },
		Env: func(name string) (string, bool) { return "/usr/bin:/bin", name == "PATH" },
		Secrets: func(text string) (kinds []string) {
			for _, f := range secret.Find(text) {
				kinds = append(kinds, f.Kind)
			}
			return kinds
		},
		Attended: func() bool { return wrong == "attended" },
	}
	for _, flag := range flags {
		switch flag {
		case "--approve":
			o.Approve = true
		case "--rewrite":
			o.Rewrite = true
		case "--unattended":
			o.Unattended = true
		default:
			t.Fatalf("no flag %s", flag)
		}
	}
	options := gate.Options{Index: filepath.Join(p.home, "none"), Home: p.home, UID: uint32(os.Geteuid()), Strict: true}
	if wrong == "policy" {
		if err := os.RemoveAll(p.policy); err != nil {
			t.Fatal(err)
		}
	}
	if wrong == "log" {
		options.Disk = durable.Disk{Around: func(durable.Step, func() error) error { return errors.New("no space left on device") }}
	}
	o.Limit = unhurried
	end := make(chan struct{})
	if wrong == "hang" {
		o.Limit = 300 * time.Millisecond
		t.Cleanup(func() { close(end) })
	}
	o.Open = func(context.Context) (harness.Gate, error) {
		if wrong == "open" {
			return nil, errors.New("the gate does not open")
		}
		g, err := gate.Open(options)
		if err != nil {
			return nil, err
		}
		switch wrong {
		case "hang":
			return hanging{g, end}, nil
		case "panic":
			return panicking{g}, nil
		}
		return g, nil
	}
	return o
}

// hanging waits for a disk that does not answer before the end of the test, whatever the context says.
type hanging struct {
	harness.Gate
	end chan struct{}
}

func (h hanging) Decide(context.Context, gate.Request) (d gate.Decision, err error) { <-h.end; return }
func (h hanging) Ran(context.Context, gate.Request, gate.Outcome) (err error)       { <-h.end; return }
func (h hanging) Prompt(context.Context, gate.Request) (err error)                  { <-h.end; return }
func (h hanging) Finish(context.Context, gate.Request) (r []gate.Reason, err error) { <-h.end; return }
func (h hanging) Start(context.Context, gate.Request) (text string, err error)      { <-h.end; return }

// panicking has a fault in it.
type panicking struct{ harness.Gate }

func (panicking) Decide(context.Context, gate.Request) (gate.Decision, error) {
	var calls []string
	return gate.Decision{Action: gate.Allow, ID: calls[0]}, nil
}
