//go:build linux

package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"gatehouse/gate"

	"github.com/google/go-cmp/cmp"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

func TestHowAToolEnds(t *testing.T) {
	w := newWorld(t, 100,
		entry("exits", `"n": {"type": "string", "pattern": "^[0-9]+$"}`, `"exit", "{n}"`, `, "ok_exit": [0, 3]`),
		entry("killed", "", `"kill"`, ""))
	for n, code := range map[string]Code{"0": OK, "3": OK, "1": ToolFailed} {
		r := w.call("job "+n, "exits", "n", n)
		w.want(r, code)
		if r.Exit == nil || strconv.Itoa(*r.Exit) != n {
			t.Errorf("exit %v, want %s", r.Exit, n)
		}
	}
	r := w.call("job", "killed")
	w.want(r, ToolFailed)
	if r.Exit != nil || r.Signal != "SIGKILL" {
		t.Errorf("exit %v, signal %q", r.Exit, r.Signal)
	}
	if last := w.judge.recorded[len(w.judge.recorded)-1]; last.Status != nil || !last.Failed {
		t.Errorf("recorded %+v", last)
	}
}

// alive lists the processes that wrote files of that name and are still there.
func alive(t *testing.T, mark string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob(mark + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(f), "."))
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func started(mark string) int {
	files, _ := filepath.Glob(mark + ".*")
	return len(files)
}

func TestNothingOutlivesATool(t *testing.T) {
	for name, test := range map[string]struct {
		argv    string
		seconds string
		code    Code
	}{
		"the time limit":      {`"family", "mark"`, "3", Timeout},
		"its own end":         {`"family", "mark", "go"`, "600", OK},
		"a stubborn one":      {`"stubborn", "mark"`, "2", Timeout},
		"one that would obey": {`"sleep", "mark"`, "2", Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 10, entry("family", "", test.argv, `, "timeout_seconds": `+test.seconds))
			r := w.call("job", "family")
			w.want(r, test.code)
			mark := filepath.Join(w.project, "mark")
			if test.code == OK && (started(mark) != 4 || r.Killed < 4) {
				t.Errorf("%d were started and %d ended, want 4", started(mark), r.Killed)
			}
			if left := alive(t, mark); len(left) > 0 {
				t.Errorf("still there: %v", left)
			}
			if test.code == Timeout {
				w.want(w.call("job", "family"), JobEnded)
			}
		})
	}
}

func TestACallerEndsATool(t *testing.T) {
	w := newWorld(t, 10, entry("family", "", `"family", "mark"`, `, "timeout_seconds": 600`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mark := filepath.Join(w.project, "mark")
	var told atomic.Int32
	r := w.host.Call(ctx, Request{Job: "job", Call: []byte(`{"tool": "family", "args": {}}`), Progress: func(p Progress) {
		told.Add(1)
		if p.Tool != "family" || p.Timeout != 10*time.Minute || p.Elapsed < time.Second {
			t.Errorf("progress %+v", p)
		}
		if started(mark) == 4 {
			cancel()
		}
	}})
	w.want(r, Cancelled)
	if left := alive(t, mark); len(left) > 0 || told.Load() == 0 {
		t.Errorf("still there: %v; told %d times", left, told.Load())
	}
	if len(w.judge.recorded) != 1 {
		t.Errorf("what ran was not recorded")
	}
}

func TestACallerThatGivesUpBeforehand(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := w.host.Call(ctx, Request{Job: "job", Call: []byte(`{"tool": "print", "args": {}}`)})
	w.want(r, Fault)
	if r.Ended || r.Step != 0 || !strings.Contains(r.Error, "gave up") {
		t.Errorf("%+v", r)
	}
	w.want(w.call("job", "print"), OK)
}

// A decision that the caller cut short denies, since nobody could tell. That is no refusal, and the job goes on.
func TestACallerThatGivesUpWhileThePolicyIsAsked(t *testing.T) {
	for _, stage := range []gate.Stage{gate.StagePaths, gate.StageFault} {
		w := newWorld(t, 10, entry("print", "", `"print"`, ""))
		ctx, cancel := context.WithCancel(t.Context())
		denied := gate.Decision{Action: gate.Deny, Reasons: []gate.Reason{{Action: gate.Deny, Stage: stage, Rule: "deny", Text: "the time for the decision ran out"}}}
		w.judge.argv, w.judge.asked = denied, cancel
		r := w.host.Call(ctx, Request{Job: "job", Call: []byte(`{"tool": "print", "args": {}}`)})
		w.want(r, Fault)
		if r.Ended || r.Step != 0 || !strings.Contains(r.Error, "gave up") {
			t.Errorf("%+v", r)
		}
		w.judge.argv, w.judge.asked = gate.Decision{}, nil
		w.want(w.call("job", "print"), OK)
	}
}

// A gate that fails has not said no.
func TestAGateThatFailsIsNoRefusal(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	w.judge.argv = gate.Decision{Action: gate.Deny, Reasons: []gate.Reason{{Action: gate.Deny, Stage: gate.StageFault, Text: "the gate itself failed"}}}
	r := w.call("job", "print")
	w.want(r, Fault)
	if r.Ended || !strings.Contains(r.Error, "the gate itself failed") {
		t.Errorf("%+v", r)
	}
}

func TestATermSignalComesFirst(t *testing.T) {
	// One that has no handler: the kernel itself ends it, so that SIGKILL comes too late on the slowest machine.
	sleep := strings.Replace(entry("sleep", "", `"x"`, `, "timeout_seconds": 1`), `"BIN", "tool", "x"`, `"/usr/bin/sleep", "1000"`, 1)
	w := newWorld(t, 10, sleep)
	if r := w.call("job", "sleep"); r.Signal != "SIGTERM" {
		t.Errorf("ended by %s", r.Signal)
	}
}

func TestOutputIsCapped(t *testing.T) {
	w := newWorld(t, 10,
		entry("some", "", `"flood", "300"`, `, "output_bytes": 1000`),
		entry("much", "", `"flood", "100000"`, `, "output_bytes": 1000`),
		entry("cut", "", `"flood", "100000"`, `, "output_bytes": 1000, "cut_output": true`))
	r := w.call("some", "some")
	w.want(r, OK)
	if r.Cut != 0 || !strings.HasPrefix(r.Stdout, "BEGINé\uFFFD") || !strings.HasSuffix(r.Stdout, "END") {
		t.Errorf("%d cut: %q", r.Cut, r.Stdout)
	}
	for tool, code := range map[string]Code{"much": OutputLimit, "cut": OK} {
		r := w.call(tool, tool)
		w.want(r, code)
		if !utf8.ValidString(r.Stdout) || !strings.HasPrefix(r.Stdout, "BEGINé") || !strings.HasSuffix(r.Stdout, "END") ||
			!strings.Contains(r.Stdout, fmt.Sprintf("[… %d bytes left out …]", r.Cut)) || r.Cut < 99000 || r.Cut > 99020 {
			t.Errorf("%s: %d cut: %q", tool, r.Cut, r.Stdout)
		}
	}
}

func TestAWindowKeepsHeadAndTail(t *testing.T) {
	text := strings.Repeat("0123456789", 20)
	for size := range 60 {
		for _, step := range []int{1, 3, 7, 200} {
			w := newWindow(20, func() {})
			for at := 0; at < size; at += step {
				w.Write([]byte(text[at:min(at+step, size)]))
			}
			got, cut := w.text()
			want := text[:size]
			if size > 20 {
				want = fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:10], size-20, text[size-10:size])
			}
			if got != want || cut != int64(max(size-20, 0)) || w.bytes() != int64(size) {
				t.Errorf("%d bytes in steps of %d: %q, cut %d", size, step, got, cut)
			}
		}
	}
}

func TestOutputIsTakenHoweverLateOneComesToIt(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close() // somebody still has it, and is not waited for
	text := strings.Repeat("0123456789", 5000)
	if _, err := write.WriteString(text); err != nil {
		t.Fatal(err)
	}
	read.SetReadDeadline(time.Unix(1, 0))
	w := newWindow(2*len(text), func() {})
	if w.take(read); w.bytes() != int64(len(text)) {
		t.Errorf("%d bytes of %d", w.bytes(), len(text))
	}
}

func TestAnEndlessFloodIsEnded(t *testing.T) {
	ended := 0
	w := newWindow(20, func() { ended++ })
	chunk := make([]byte, 1<<20)
	for range maxRead>>20 + 3 {
		w.Write(chunk)
	}
	if ended != 1 {
		t.Errorf("ended %d times", ended)
	}
}

func TestWhatAToolFindsAround(t *testing.T) {
	w := newWorld(t, 10, entry("env", "", `"env"`, `, "env": ["HOME", "PATH", "LANG", "MODE=a b", "CI", "TERM"]`),
		entry("self", "", `"privileges"`, `, "limits": {"open_files": 99, "cpu_seconds": 60, "memory_bytes": 8589934592, "file_bytes": 1000000}`),
		entry("open", "", `"descriptors"`, ""))
	w.host.Getenv = func(name string) (string, bool) {
		values := map[string]string{"LANG": "C.UTF-8", "HOME": "/elsewhere", "PATH": "/tmp/evil", "CI": "a\nb", "LD_PRELOAD": "/tmp/x.so"}
		value, ok := values[name]
		return value, ok
	}
	r := w.call("job", "env")
	w.want(r, OK)
	want := []string{"HOME=" + w.home, "PATH=" + systemPath, "LANG=C.UTF-8", "MODE=a b", "cwd " + w.project, "stdin 0 <nil>"}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(r.Stdout), "\n")); diff != "" {
		t.Error(diff)
	}
	if r := w.call("job", "self"); r.Stdout != "NoNewPrivs:\t1\nfiles 99\nleader true\n" {
		t.Errorf("%q %s", r.Stdout, r.Error)
	}
	if r := w.call("job", "open"); r.Stdout != "1\n2\n" {
		t.Errorf("open descriptors: %q", r.Stdout)
	}
}

func TestLandlockHoldsATool(t *testing.T) {
	if err := (&Confine{Connect: []uint16{}}).supported(); err != nil {
		t.Skip(err)
	}
	abi, err := landlocksys.LandlockGetABIVersion()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	base := `, "confine": {"read": ["/usr", "/proc", "/lib", "/lib64", "BIN", "project"], "write": ["project/sub"]`
	address, other := strconv.Quote(address), strconv.Itoa(os.Getpid())
	w := newWorld(t, 100,
		entry("read", file, `"read", "{file}"`, base+`}`),
		entry("outside", "", `"read", "../secret"`, base+`}`),
		entry("free", "", `"read", "../secret"`, ""),
		entry("write", "", `"touch", "sub/new"`, base+`}`),
		entry("write_top", "", `"touch", "new"`, base+`}`),
		entry("open_net", "", `"connect", `+address, base+`}`),
		entry("this_port", "", `"connect", `+address, base+`, "connect_tcp": [`+port+`]}`),
		entry("no_port", "", `"connect", `+address, base+`, "connect_tcp": []}`),
		entry("signal", "", `"signal", "`+other+`"`, base+`}`),
		entry("not_itself", "", `"print"`, `, "confine": {"read": ["project"]}`),
		entry("nowhere", "", `"print"`, `, "confine": {"read": ["project/none"]}`))
	w.write("home/secret", "secret")
	w.write("project/here", "here")
	for tool, code := range map[string]Code{
		"outside": ToolFailed, "free": OK, "write": OK, "write_top": ToolFailed, "open_net": OK, "this_port": OK, "no_port": ToolFailed,
		"not_itself": NotConfined, "nowhere": NotConfined,
	} {
		t.Run(tool, func(t *testing.T) {
			w.t = t
			r := w.call(tool, tool)
			w.want(r, code)
			if code == ToolFailed && !strings.Contains(r.Stderr, "permission denied") {
				t.Errorf("failed otherwise: %s", r.Stderr)
			}
		})
	}
	w.t = t
	w.want(w.call("read", "read", "file", "here"), OK)
	if r := w.call("signal", "signal"); r.Code != ToolFailed && abi >= 6 {
		t.Errorf("signalled a process outside: %s", r.Code)
	}
}

// A stage does nothing for whoever starts it by hand.
func TestAStageIsNoWayAround(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	for _, word := range []string{stageSupervise, stageBecome} {
		cmd := exec.Command("/bin/sh", "-c", `"$0" stage "$1" 3<"$2"; exit $?`, w.binary, word, w.path("policy/gate.yaml"))
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "run a tool with: gate call") {
			t.Errorf("%s: %v: %s", word, err, out)
		}
	}
}

func TestASupervisorThatIsKilledIsAFault(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	w.host.Reexec = []string{"gate", "tool", "exit"} // ends without a word
	r := w.call("job", "print")
	w.want(r, Fault)
	if !r.Ended || r.Step != 1 {
		t.Errorf("step %d, ended %t: a step that was counted and did not end well ends the job", r.Step, r.Ended)
	}
}

// A Go program that gets no thread, since there are too many processes, ends with status 2 by itself.
func TestWhatEndsBeforeItBecomesTheToolIsNotTheTool(t *testing.T) {
	for how, stage := range map[string][]string{"exit status 2": {"gate", "tool", "exit", "2"}, "SIGKILL": {"gate", "tool", "kill"}} {
		_, failure := launch(stage, nil)
		if failure == nil || failure.Started || failure.Code != Fault || !strings.Contains(failure.Fault, "ended before that, by "+how) {
			t.Errorf("%s: %+v", how, failure)
		}
	}
}

func TestResultsAreJSON(t *testing.T) {
	text, err := json.Marshal(Result{Schema: ResultSchema, Code: OK})
	if err != nil || !strings.Contains(string(text), `"counter":""`) {
		t.Errorf("%s %v", text, err)
	}
}

func TestProcessesThatGotAwayFailTheCall(t *testing.T) {
	c := &call{bound: bound{tool: &Tool{Name: "bomb", OKExit: []int{0}}}, result: &Result{}}
	for _, r := range []report{{Started: true, Escaped: true}, {Started: true, Escaped: true, Late: true}} {
		if err := c.outcome(t.Context(), ran{report: r}, nil); CodeOf(err) != ToolFailed || !strings.Contains(err.Error(), "could not all be ended") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// Of a chain of processes, each of which starts the next one and is gone, only the newest can be ended; the others would
// take up the time that there is.
func TestOnlyChildrenThatLiveAreEndedTheNewestFirst(t *testing.T) {
	runtime.LockOSThread() // whose children they are
	defer runtime.UnlockOSThread()
	var pids []int
	for _, args := range [][]string{{"sleep", "1000"}, {"true"}, {"sleep", "1000"}} {
		child := exec.Command("/usr/bin/"+args[0], args[1:]...)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		defer child.Wait()
		defer child.Process.Kill()
		pids = append(pids, child.Process.Pid)
	}
	if err := unix.Waitid(unix.P_PID, pids[1], nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, pid := range killChildren() {
		if slices.Contains(pids, pid) {
			found = append(found, pid)
		}
	}
	if diff := cmp.Diff([]int{pids[2], pids[0]}, found); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestChildrenAreFoundWhereTheKernelDoesNotListThem(t *testing.T) {
	child := exec.Command("/usr/bin/sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	if found := slowChildren(); !slices.Contains(found, strconv.Itoa(child.Process.Pid)) || slices.Contains(found, strconv.Itoa(os.Getppid())) {
		t.Errorf("%q, and %d is a child", found, child.Process.Pid)
	}
}
