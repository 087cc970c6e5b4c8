package catalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where a stage finds what it is told, and says what came of it.
const (
	orderDescriptor  = 3
	reportDescriptor = 4
)

// Stage is what a re-executed process does: supervise a tool, or confine itself and become it. It does not return. What it
// is told comes from the program that started it, and only if that is this very program: a stage is no way around the
// catalogue for whoever types it.
func Stage(word string, reexec []string) {
	if err := startedByUs(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		syscall.Exit(2)
	}
	switch word {
	case stageSupervise:
		r := supervise(reexec)
		text, err := json.Marshal(r)
		if err == nil {
			_, err = os.NewFile(reportDescriptor, "report").Write(text)
		}
		if err != nil {
			syscall.Exit(2)
		}
		syscall.Exit(0) // and not os.Exit, with which a build for the race detector sleeps a second, in each call
	case stageBecome:
		code, err := become()
		text, _ := json.Marshal(report{Code: code, Fault: err.Error()})
		os.NewFile(reportDescriptor, "report").Write(text)
		syscall.Exit(2)
	}
	fmt.Fprintf(os.Stderr, "%q is no stage of a call\n", word)
	syscall.Exit(2)
}

func startedByUs() error {
	parent, err := os.Stat(filepath.Join("/proc", strconv.Itoa(os.Getppid()), "exe"))
	if err != nil {
		return fmt.Errorf("who started this stage of a call cannot be told: %w", err)
	}
	us, err := os.Stat(self)
	if err != nil {
		return fmt.Errorf("who started this stage of a call cannot be told: %w", err)
	}
	if !os.SameFile(parent, us) {
		return errors.New("this is a stage of a call that the gate starts itself; run a tool with: gate call")
	}
	return nil
}

// supervise starts a tool and waits for it. It is the reaper of all that the tool starts: a process that leaves the tool's
// group, or its session, still ends up as a child of this one when its own parent is gone, and is found and ended here.
func supervise(reexec []string) report {
	unix.CloseOnExec(orderDescriptor)
	unix.CloseOnExec(reportDescriptor)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report{Code: NotConfined, Fault: "become the reaper of the tool: " + err.Error()}
	}
	in := bufio.NewReader(os.NewFile(orderDescriptor, "order"))
	text, err := in.ReadBytes('\n')
	if err != nil {
		return report{Code: Fault, Fault: "read the order: " + err.Error()}
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return report{Code: Fault, Fault: "read the order: " + err.Error()}
	}
	closed := make(chan struct{})
	go func() {
		in.ReadByte()
		close(closed)
	}()
	pid, failure := launch(reexec, text)
	if failure != nil {
		return *failure
	}
	children := reap(pid)
	limit := time.NewTimer(o.Timeout)
	defer limit.Stop()
	r := report{Started: true}
	select {
	case <-children.over:
	case <-closed:
		r.Ended = true
	case <-limit.C:
		r.Late = true
	}
	if r.Ended || r.Late {
		unix.Kill(-pid, unix.SIGTERM)
		select {
		case <-children.over:
		case <-time.After(grace):
			unix.Kill(-pid, unix.SIGKILL)
			<-children.over
		}
	}
	r.Left, r.Escaped = children.endAll(pid)
	status := <-children.ended
	r.Exit = status.ExitStatus()
	if status.Signaled() {
		r.Signal = unix.SignalName(status.Signal())
	}
	return r
}

// grace is how long a tool has between SIGTERM and SIGKILL.
const grace = 2 * time.Second

// launch starts the stage that becomes the tool, and returns its process once it has.
func launch(reexec []string, order []byte) (pid int, failure *report) {
	fault := func(err error) (int, *report) {
		return 0, &report{Code: Fault, Fault: "start the tool: " + err.Error()}
	}
	readers, writers, err := pipes(2)
	if err != nil {
		return fault(err)
	}
	defer closeAll(readers)
	defer closeAll(writers)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fault(err)
	}
	defer null.Close()
	argv := append(append([]string{}, reexec...), stageBecome)
	pid, err = syscall.ForkExec(self, argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []uintptr{null.Fd(), 1, 2, readers[0].Fd(), writers[1].Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return fault(err)
	}
	writers[1].Close()
	if _, err := writers[0].Write(order); err != nil {
		unix.Kill(pid, unix.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
		return fault(err)
	}
	writers[0].Close()
	said, err := io.ReadAll(io.LimitReader(readers[1], 1<<20))
	if err == nil && string(said) == becoming {
		return pid, nil // it became the tool, and its end of the pipe closed
	}
	var status syscall.WaitStatus
	syscall.Wait4(pid, &status, 0, nil)
	if err == nil && len(said) == 0 {
		how := fmt.Sprintf("exit status %d", status.ExitStatus())
		if status.Signaled() {
			how = unix.SignalName(status.Signal())
		}
		return fault(fmt.Errorf("what was to become it ended before that, by %s; there may be too many processes or too little memory", how))
	}
	r := &report{}
	if err := json.NewDecoder(bytes.NewReader(said)).Decode(r); err != nil {
		return fault(err)
	}
	return 0, r
}

// A reaper waits for every child there is and will be.
type reaper struct {
	over  chan struct{}           // closed when the tool has ended
	ended chan syscall.WaitStatus // of the tool, whose turn comes among all that it left behind
	gone  chan struct{}           // closed when there are no more
}

func reap(pid int) *reaper {
	r := &reaper{over: make(chan struct{}), ended: make(chan syscall.WaitStatus, 1), gone: make(chan struct{})}
	go func() {
		defer close(r.over)
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	go func() {
		defer close(r.gone)
		for {
			var status syscall.WaitStatus
			got, err := syscall.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil:
				return
			case got == pid:
				r.ended <- status
			}
		}
	}()
	return r
}

// endAll ends what the tool with that process left behind, and says how many processes that were, and whether some got
// away. Those whose parents are gone are children of this process, so that ending children comes to all of them. It has
// to be faster than a process that starts the next one and is gone: between the look and the signal there is nothing, and
// the kernel itself takes away what has ended, which would else be in the way.
func (r *reaper) endAll(pid int) (left int, escaped bool) {
	ended := make(map[int]bool)
	deadline := time.Now().Add(10 * time.Second)
	for first := true; ; first = false {
		found := killChildren()
		for _, n := range found {
			ended[n] = true
		}
		if first {
			signal.Ignore(syscall.SIGCHLD)
			unix.Kill(-pid, unix.SIGKILL) // the tool's group, as one
		}
		select {
		case <-r.gone:
			return len(ended), false
		default:
		}
		switch {
		case time.Now().After(deadline):
			return len(ended), true
		case len(found) == 0:
			time.Sleep(time.Millisecond)
		}
	}
}

// killChildren ends the children that live, the newest first: of a chain, the others are gone.
func killChildren() (found []int) {
	const tasks = "/proc/self/task" // each thread has children of its own
	end := func(pids []string) {
		for _, pid := range slices.Backward(pids) {
			n, err := strconv.Atoi(pid)
			var dead unix.Siginfo
			if err != nil || unix.Waitid(unix.P_PID, n, &dead, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != nil || dead.Signo != 0 {
				continue
			}
			if unix.Kill(n, unix.SIGKILL) == nil {
				found = append(found, n)
			}
		}
	}
	threads, _ := os.ReadDir(tasks)
	for _, t := range threads {
		text, err := os.ReadFile(filepath.Join(tasks, t.Name(), "children"))
		if errors.Is(err, fs.ErrNotExist) {
			end(slowChildren())
		}
		end(strings.Fields(string(text)))
	}
	return found
}

// slowChildren is for kernels that do not list children (CONFIG_PROC_CHILDREN).
func slowChildren() (pids []string) {
	entries, _ := os.ReadDir("/proc")
	self := strconv.Itoa(os.Getpid())
	for _, e := range entries {
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		// The name of the program stands in parentheses and may hold anything; the last one closes it.
		_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == self {
			pids = append(pids, e.Name())
		}
	}
	return pids
}
