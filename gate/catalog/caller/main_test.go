//go:build linux

package caller

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/config"
	"gatehouse/gate"
	"gatehouse/gate/catalog"
	"gatehouse/manifest"
)

// TestMain is the tests, or a stage of a call.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "stage" {
		catalog.Stage(os.Args[2], stage())
	}
	os.Exit(m.Run())
}

func stage() []string { return []string{"/proc/self/exe", "stage"} }

// A stranger is a user without an account.
const stranger = 64321

// A site is a host with the service, and a gate that was accepted for root and for another user. Tests are the clients, as
// whichever user they like.
type site struct {
	t       *testing.T
	dir     string
	options Options
	// patience is how long the service waits for a request; most tests send one, however slow the machine is.
	patience time.Duration
}

func newSite(t *testing.T) *site {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: acts as several users")
	}
	dir, err := os.MkdirTemp("", "gatehouse-caller-") // not t.TempDir: other users must get there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &site{t: t, dir: dir, patience: time.Minute, options: Options{Index: filepath.Join(dir, "gates.json"), Unit: filepath.Join(dir, "unit"),
		Socket: filepath.Join(dir, "call.sock"), Client: GateCall, Cwd: "/", Reexec: stage(),
		Getenv: func(name string) (string, bool) { return "value of " + name, true }}}
	s.must(os.Chmod(dir, 0o755))
	s.write("unit", "")
	s.write("accepted/files/policy/gate.yaml", "version: 1\n")
	s.write("accepted/files/policy/tools.json", tools())
	c, err := catalog.Parse("tools.json", []byte(tools()))
	s.must(err)
	lock, err := c.Freeze(nil)
	s.must(err)
	text, err := lock.Marshal()
	s.must(err)
	s.write("accepted/files/policy/tools.lock", string(text))
	compiled, err := gate.Compile([]string{"policy/gate.yaml"}, func(path string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(dir, "accepted/files", path))
	})
	s.must(err)
	s.write("accepted/compiled", string(compiled))
	s.index(s.gate("a", 0), s.gate("b", 1))
	return s
}

func tools() string {
	none := `{"type": "object", "properties": {}, "additionalProperties": false}`
	word := `{"type": "object", "properties": {"word": {"type": "string", "pattern": "^[a-z]{1,8}$"}}, "required": ["word"], "additionalProperties": false}`
	tool := func(name, args, argv, more string) string {
		return fmt.Sprintf(`{"name": %q, "description": "x", "cwd": "/", "args": %s, "argv": [%s]%s}`, name, args, argv, more)
	}
	return `{"version": 1, "steps": 8, "tools": [` + strings.Join([]string{
		tool("say", word, `"/usr/bin/echo", "{word}"`, ""),
		tool("fail", none, `"/usr/bin/false"`, ""),
		tool("sleep", none, `"/usr/bin/sleep", "1000"`, ""),
		tool("vars", none, `"/usr/bin/printenv"`, `, "env": ["LANG", "HOME"]`),
	}, ",") + "]}"
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, []byte(text), 0o644))
}

func (s *site) gate(name string, uid uint32) config.IndexGate {
	return config.IndexGate{Gate: name, UID: uid, User: fmt.Sprint(uid), Decide: config.DecideAccepted, Accepted: filepath.Join(s.dir, "accepted"),
		Tree: strings.Repeat("ab", 32), Export: filepath.Join(s.dir, "export"), Live: []manifest.Live{{Name: "policy", Root: filepath.Join(s.dir, "live")}},
		Limits: manifest.Limits{Entries: 10, File: 1 << 20, Total: 1 << 20}, Interval: time.Hour, Result: "in-sync"}
}

func (s *site) index(gates ...config.IndexGate) {
	s.t.Helper()
	i := config.Index{Schema: config.IndexSchema, Host: "host", WrittenAt: time.Now().UTC().Truncate(time.Second), Gates: gates}
	data, err := i.Marshal()
	s.must(err)
	s.write("gates.json", string(data))
}

// serve starts the service, which tools run as children of, until the test ends or stop is called.
func (s *site) serve() (stop func()) {
	s.t.Helper()
	listener := s.listen()
	service := &Service{Index: s.options.Index, State: filepath.Join(s.dir, "state"), ToolHome: "/nonexistent", Log: discard(),
		patience: s.patience,
		Launch: func(_ context.Context, files [4]*os.File) (func() error, error) {
			cmd := catalog.Supervisor(stage(), files)
			return cmd.Wait, cmd.Start()
		}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(ctx, listener) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("the service ended with %v", err)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

func (s *site) listen() *net.UnixListener {
	s.t.Helper()
	os.Remove(s.options.Socket)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.options.Socket, Net: "unix"})
	s.must(err)
	s.must(os.Chmod(s.options.Socket, 0o777))
	return listener
}

// as does something as another user, on a thread that ends with it.
func as(uid int, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never let go
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			panic(errno)
		}
		do()
	}()
	<-done
}

// dial connects as a user.
func (s *site) dial(uid int) *net.UnixConn {
	s.t.Helper()
	var conn *net.UnixConn
	var err error
	as(uid, func() { conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: s.options.Socket, Net: "unix"}) })
	s.must(err)
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// answers sends a line as it is and returns the last answer.
func (s *site) answers(conn net.Conn, line string) (a answer) {
	s.t.Helper()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if line != "" {
		conn.Write([]byte(line)) // which a service that has refused may no longer take
	}
	for in := bufio.NewReader(conn); ; { // past the progress that a slow machine makes of a call
		text, err := in.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%.80q has no answer: %v", line, err)
		}
		a = answer{}
		s.must(json.Unmarshal([]byte(text), &a))
		if a.Progress == nil {
			return a
		}
	}
}

// call calls as a user.
func (s *site) call(uid int, job, tool, args string) catalog.Result {
	s.t.Helper()
	r := request{Version: wireVersion, Op: "call", Job: job, Client: MCP, Cwd: "/", Call: fmt.Appendf(nil, `{"tool": %q, "args": %s}`, tool, args)}
	data, err := json.Marshal(r)
	s.must(err)
	a := s.answers(s.dial(uid), string(data)+"\n")
	if a.Error != nil {
		return refusal(job, a.Error.err())
	}
	return *a.Result
}

func (s *site) open() catalog.Runner {
	s.t.Helper()
	r, err := Open(s.options)
	s.must(err)
	return r
}

func (s *site) want(r catalog.Result, code catalog.Code, part string) {
	s.t.Helper()
	if r.Code != code || !strings.Contains(r.Error, part) {
		s.t.Errorf("code %s (%s), want %s with %q", r.Code, r.Error, code, part)
	}
}
