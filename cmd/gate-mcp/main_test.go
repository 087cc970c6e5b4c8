//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/gate/catalog"
)

// asServer in the environment makes the program of the tests the server.
const asServer = "GATE_MCP_TEST"

// TestMain is the tests, the server, a stage of its calls, or a tool that a catalogue of the tests names.
func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" || len(os.Args) > 1 && os.Args[1] == stageFlag {
		main()
	}
	if len(os.Args) > 2 && os.Args[1] == "tool" {
		syscall.Exit(tool(os.Args[2], os.Args[3:])) // os.Exit would wait for the race detector, a second each
	}
	os.Exit(m.Run())
}

// tool does what a tool might do.
func tool(what string, args []string) int {
	child := func(what string) {
		cmd := exec.Command("/proc/self/exe", "tool", what, args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
	}
	switch what {
	case "flood":
		io.Copy(os.Stdout, io.LimitReader(endless{}, 1<<20))
	case "while": // as long as the test wants
		for enough := errors.New("not yet"); enough != nil; time.Sleep(time.Millisecond) {
			_, enough = os.Stat(filepath.Join(args[0], "enough"))
		}
	case "family": // a child that has a child; both in sessions of their own and deaf to SIGTERM
		child("parent")
		stubborn(args[0])
	case "parent":
		child("leaf")
		stubborn(args[0])
	case "leaf":
		stubborn(args[0])
	}
	return 0
}

func stubborn(place string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	os.WriteFile(filepath.Join(place, "pid."+strconv.Itoa(os.Getpid())), nil, 0o600)
	time.Sleep(time.Hour)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A world is a home with a policy that is committed, a catalogue that is frozen, and a project.
type world struct {
	t                           *testing.T
	home, policy, project, bait string
	program, echo               string // of the tools
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, policy: filepath.Join(home, ".config/gatehouse"), project: filepath.Join(home, "project"),
		bait: filepath.Join(home, "bait"), program: filepath.Join(home, "bin/tool"), echo: filepath.Join(home, "bin/echo")}
	for _, dir := range []string{w.policy, filepath.Join(w.project, ".git"), w.bait, filepath.Dir(w.program)} {
		w.must(os.MkdirAll(dir, 0o755))
	}
	copied := map[string]string{"/usr/bin/echo": w.echo}
	if self, err := os.Executable(); err != nil || os.Link(self, w.program) != nil { // it is large
		copied["/proc/self/exe"] = w.program
	}
	for from, to := range copied {
		data, err := os.ReadFile(from)
		w.must(err)
		w.must(os.WriteFile(to, data, 0o755))
	}
	w.write("gate.yaml", "version: 1\ntools:\n  - {tool: catalog__forbidden, unlisted: deny}\n")
	w.write("tools.json", w.catalogue(8))
	w.git("init", "--quiet")
	w.freeze()
	w.commit()
	return w
}

// catalogue is a tools.json of the tools above.
func (w *world) catalogue(steps int) string {
	none := `{"type": "object", "properties": {}, "additionalProperties": false}`
	word := `{"type": "object", "properties": {"word": {"type": "string", "pattern": "^[a-z.]{1,8}$", "description": "what to print"}}, "required": ["word"], "additionalProperties": false}`
	path := `{"type": "object", "properties": {"path": {"type": "string", "format": "path"}}, "required": ["path"], "additionalProperties": false}`
	var tools []string
	for _, t := range []struct{ name, args, argv, more string }{
		{"say", word, `"` + w.echo + `", "{word}"`, ``},
		{"see", path, `"/usr/bin/echo", "{path}"`, ``},
		{"forbidden", none, `"/usr/bin/echo"`, ``},
		{"fail", none, `"/usr/bin/ls", "/dev/null/none"`, ``},
		{"late", none, `"/usr/bin/sleep", "1000"`, `, "timeout_seconds": 1`},
		{"while", none, `"` + w.program + `", "tool", "while", "` + w.bait + `"`, ``},
		{"flood", none, `"` + w.program + `", "tool", "flood"`, ``},
		{"family", none, `"` + w.program + `", "tool", "family", "` + w.bait + `"`, ``},
	} {
		tools = append(tools, fmt.Sprintf(`{"name": %q, "description": "the tool %s", "cwd": "project", "args": %s, "argv": [%s]%s}`,
			t.name, t.name, t.args, t.argv, t.more))
	}
	return fmt.Sprintf("{\"version\": 1, \"steps\": %d, \"tools\": [\n%s\n]}\n", steps, strings.Join(tools, ",\n"))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	w.must(os.WriteFile(filepath.Join(w.policy, name), []byte(text), 0o644))
}

func (w *world) git(args ...string) {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.policy, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *world) commit() {
	w.t.Helper()
	w.git("add", "--all")
	w.git("commit", "--quiet", "--message", "catalogue")
}

func (w *world) freeze() {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.policy, catalog.File))
	w.must(err)
	c, err := catalog.Parse(catalog.File, data)
	w.must(err)
	lock, err := c.Freeze(nil)
	w.must(err)
	text, err := lock.Marshal()
	w.must(err)
	w.write(catalog.LockFile, string(text))
}

// command is the server as a process of its own, in the project.
func (w *world) command(args ...string) (*exec.Cmd, *buffer) {
	w.t.Helper()
	self, err := os.Executable()
	w.must(err)
	cmd := exec.Command(self, args...)
	cmd.Dir = w.project
	cmd.Env = []string{asServer + "=1", "HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
	said := &buffer{}
	cmd.Stderr = said
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("standard error of %v:\n%s", args, said)
		}
	})
	return cmd, said
}

// decisions are the entries of the log of decisions.
func (w *world) decisions() (entries []map[string]any) {
	w.t.Helper()
	files, _ := filepath.Glob(filepath.Join(w.home, ".local/state/gatehouse/log/*"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		w.must(err)
		for line := range bytes.Lines(data) {
			var e map[string]any
			if json.Unmarshal(line, &e) == nil {
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// family waits until the three processes of the tool of that name are there.
func (w *world) family() (pids []int) {
	w.t.Helper()
	w.eventually("the family is there", func() bool {
		found, err := filepath.Glob(filepath.Join(w.bait, "pid.*"))
		w.must(err)
		pids = nil
		for _, name := range found {
			pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), "."))
			w.must(err)
			pids = append(pids, pid)
		}
		return len(pids) == 3
	})
	return pids
}

// gone waits until no process of pids is left.
func (w *world) gone(pids []int) {
	w.t.Helper()
	w.eventually("the family is gone", func() bool {
		for _, pid := range pids {
			if err := syscall.Kill(pid, 0); err == nil {
				return false
			}
		}
		return true
	})
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it never came about that %s", what)
		}
	}
}

// A buffer can be written and read at once.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// result reads the structured content of an answer.
func (w *world) result(r *mcp.CallToolResult) (out catalog.Result) {
	w.t.Helper()
	data, err := json.Marshal(r.StructuredContent)
	w.must(err)
	w.must(json.Unmarshal(data, &out))
	if out.Schema != catalog.ResultSchema {
		w.t.Errorf("the schema of the structured content is %q", out.Schema)
	}
	return out
}

// text is what the model reads.
func text(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n---\n")
}
