//go:build linux

package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/gate"
)

// TestMain is the tests, a stage of a call, or a tool that a catalogue of the tests names.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "stage" {
		Stage(os.Args[2], []string{"/proc/self/exe", "stage"})
	}
	if len(os.Args) > 2 && os.Args[1] == "tool" {
		syscall.Exit(tool(os.Args[2], os.Args[3:])) // os.Exit would wait for the race detector, a second each
	}
	os.Exit(m.Run())
}

// tool does what a tool might do.
func tool(what string, args []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	again := func(attr *syscall.SysProcAttr, args ...string) error {
		cmd := exec.Command("/proc/self/exe", append([]string{"tool"}, args...)...)
		cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = attr, os.Stdout, os.Stderr
		return cmd.Start()
	}
	switch what {
	case "apart":
		return apartTool(args[0], args[1], args[2])
	case "print":
		fmt.Printf("%q\n", args)
	case "exit":
		n, _ := strconv.Atoi(args[0])
		return n
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		dir, _ := os.Getwd()
		fmt.Println("cwd " + dir)
		n, err := io.Copy(io.Discard, os.Stdin)
		fmt.Println("stdin", n, err)
	case "touch":
		if err := os.WriteFile(args[0], nil, 0o600); err != nil {
			return fail(err)
		}
	case "read":
		data, err := os.ReadFile(args[0])
		if err != nil {
			return fail(err)
		}
		os.Stdout.Write(data)
	case "flood":
		n, _ := strconv.Atoi(args[0])
		fmt.Print("BEGIN")
		io.Copy(os.Stdout, io.LimitReader(repeated("é\xff"), int64(n)))
		fmt.Print("END")
	case "sleep": // for ever, and the file says that it is there
		os.WriteFile(args[0]+"."+strconv.Itoa(os.Getpid()), nil, 0o600)
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		os.WriteFile(args[0]+"."+strconv.Itoa(os.Getpid()), nil, 0o600)
		time.Sleep(time.Hour)
	case "family": // a child in the group, one in a group and one in a session of its own, and grandchildren of that
		for _, attr := range []*syscall.SysProcAttr{nil, {Setpgid: true}, {Setsid: true}} {
			if err := again(attr, "stubborn", args[0]); err != nil {
				return fail(err)
			}
		}
		if err := again(&syscall.SysProcAttr{Setsid: true}, "parent", args[0]); err != nil {
			return fail(err)
		}
		for n := 0; n < 4; { // all are there
			found, _ := filepath.Glob(args[0] + ".*")
			n = len(found)
			time.Sleep(time.Millisecond)
		}
		if len(args) > 1 {
			return 0
		}
		time.Sleep(time.Hour)
	case "parent": // leaves a child behind and is gone
		if err := again(&syscall.SysProcAttr{Setsid: true}, "stubborn", args[0]); err != nil {
			return fail(err)
		}
	case "privileges":
		text, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "NoNewPrivs") {
				fmt.Print(line)
			}
		}
		var limit syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		fmt.Println("files", limit.Cur)
		group, _ := syscall.Getpgid(0)
		fmt.Println("leader", group == os.Getpid())
	case "descriptors":
		list, _ := os.ReadDir("/proc/self/fd")
		for _, d := range list {
			to, _ := os.Readlink("/proc/self/fd/" + d.Name())
			if strings.HasPrefix(to, "pipe:") {
				fmt.Println(d.Name())
			}
		}
	case "connect":
		c, err := net.DialTimeout("tcp", args[0], time.Minute)
		if err != nil {
			return fail(err)
		}
		c.Close()
		fmt.Println("connected")
	case "signal":
		pid, _ := strconv.Atoi(args[0])
		if err := syscall.Kill(pid, 0); err != nil {
			return fail(err)
		}
	}
	return 0
}

type repeated string

func (r repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}

// A world is a home with a policy directory in a repository, and a project.
type world struct {
	t                     *testing.T
	dir, home, policy     string
	project, jobs, binary string // binary is the program of the tools
	old                   []byte // state of a job
	judge                 *judge
	host                  *Host
}

// newWorld has a catalogue with these tools, frozen and committed. In the text of a tool BIN stands for the program.
func newWorld(t *testing.T, steps int, tools ...string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home"), judge: &judge{}}
	w.policy, w.project = filepath.Join(w.home, ".config/gatehouse"), filepath.Join(w.home, "project")
	w.jobs, w.binary = filepath.Join(dir, "state"), filepath.Join(dir, "bin/tool")
	for _, d := range []string{w.policy, filepath.Join(w.project, ".git"), filepath.Join(w.project, "sub"), filepath.Dir(w.binary)} {
		w.must(os.MkdirAll(d, 0o755))
	}
	copyProgram(t, w.binary)
	w.write("policy/gate.yaml", "version: 1\n")
	w.write("policy/tools.json", w.catalogue(steps, tools...))
	w.git("init", "--quiet")
	w.freeze()
	w.commit()
	w.host = &Host{
		Place: Place{Policy: gate.Provenance{Mode: gate.ModeLive, Dir: w.policy}, UID: uint32(os.Getuid())},
		Judge: w.judge, Log: w.judge, Jobs: w.jobs, Cwd: filepath.Join(w.project, "sub"), Home: w.home, Client: "test",
		Getenv: func(name string) (string, bool) { return "value of " + name, true },
		Reexec: []string{"/proc/self/exe", "stage"},
	}
	return w
}

func (w *world) catalogue(steps int, tools ...string) string {
	text := fmt.Sprintf("{\"version\": 1, \"steps\": %d, \"tools\": [\n%s\n]}\n", steps, strings.Join(tools, ",\n"))
	return strings.ReplaceAll(text, "BIN", w.binary)
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, to) == nil {
		return
	}
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// write writes a file; policy/ and project/ stand for those directories.
func (w *world) write(name, text string) {
	w.t.Helper()
	w.must(os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *world) path(name string) string {
	for prefix, dir := range map[string]string{"policy/": w.policy, "project/": w.project} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return filepath.Join(dir, rest)
		}
	}
	return filepath.Join(w.dir, name)
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.policy, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) commit() {
	w.t.Helper()
	w.git("add", "--all")
	w.git("commit", "--quiet", "--message", "catalogue")
}

func (w *world) freeze() {
	w.t.Helper()
	data, err := os.ReadFile(w.path("policy/tools.json"))
	w.must(err)
	c, err := Parse("tools.json", data)
	w.must(err)
	l, err := c.Freeze(nil)
	w.must(err)
	text, err := l.Marshal()
	w.must(err)
	w.write("policy/tools.lock", string(text))
}

// call calls a tool; pairs are names and values of arguments.
func (w *world) call(job, tool string, pairs ...string) Result {
	w.t.Helper()
	args := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	data, err := json.Marshal(map[string]any{"tool": tool, "args": args})
	w.must(err)
	return w.raw(job, string(data))
}

func (w *world) raw(job, data string) Result {
	w.t.Helper()
	return w.host.Call(w.t.Context(), Request{Job: job, Call: []byte(data)})
}

// want checks the code of a result, and that a tool ran only where it should.
func (w *world) want(r Result, code Code) {
	w.t.Helper()
	if r.Code != code {
		w.t.Errorf("code %s (%s), want %s\n%s%s", r.Code, r.Error, code, r.Stdout, r.Stderr)
	}
	if (r.Error == "") != (code == OK) {
		w.t.Errorf("with code %s the error is %q", r.Code, r.Error)
	}
	ran := map[Code]bool{OK: true, ToolFailed: true, Timeout: true, Cancelled: true, OutputLimit: true}[code]
	if r.Ran != ran {
		w.t.Errorf("with code %s: ran %t, want %t", r.Code, r.Ran, ran)
	}
}

// judge lets everything pass, but for what it is told to refuse.
type judge struct {
	argv     gate.Decision // the answer about argument vectors; its zero value allows
	asked    func()        // done as it is asked
	refuse   bool          // tools
	decided  []gate.Request
	recorded []gate.Outcome
	refused  []Code
	broken   error
}

func (j *judge) Check(context.Context, gate.Request) gate.Decision {
	if j.asked != nil {
		j.asked()
	}
	if j.argv.Reasons == nil {
		return gate.Decision{Action: gate.Allow}
	}
	return j.argv
}

func (j *judge) Decide(ctx context.Context, r gate.Request) (gate.Decision, error) {
	j.decided = append(j.decided, r)
	d := gate.Decision{ID: "c-000000000001", Action: gate.Allow}
	if r.Tool == nil || j.refuse {
		d.Action = gate.Deny
	}
	return d, j.broken
}

func (j *judge) Record(_ context.Context, _ gate.Request, _ gate.Decision, o gate.Outcome) error {
	j.recorded = append(j.recorded, o)
	return nil
}

func (j *judge) Refused(_ context.Context, r Result, _ string, _ map[string]any) (string, error) {
	j.refused = append(j.refused, r.Code)
	return "c-000000000002", nil
}

// entry writes a tool. more are further keys, each beginning with a comma.
func entry(name string, properties, argv, more string) string {
	required := []string{}
	if properties != "" {
		for p := range strings.SplitSeq(properties, ";") {
			key, _, _ := strings.Cut(p, ":")
			required = append(required, strings.TrimSpace(key))
		}
	}
	return fmt.Sprintf(`{"name": %q, "description": "a tool", "cwd": "project",
  "args": {"type": "object", "additionalProperties": false, "required": [%s], "properties": {%s}},
  "argv": ["BIN", "tool", %s]%s}`, name, strings.Join(required, ","), strings.ReplaceAll(properties, ";", ","), argv, more)
}

var _ Judge = (*gate.Gate)(nil)
