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
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
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
	var status syscall.WaitStatus
	select {
	case status = <-children.ended:
	case <-closed:
		r.Ended = true
	case <-limit.C:
		r.Late = true
	}
	if r.Ended || r.Late {
		unix.Kill(-pid, unix.SIGTERM)
		select {
		case status = <-children.ended:
		case <-time.After(grace):
			unix.Kill(-pid, unix.SIGKILL)
			status = <-children.ended
		}
	}
	left, all := children.endAll()
	r.Left, r.Escaped = left, !all
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
	if err == nil && len(said) == 0 {
		return pid, nil // it became the tool, and its end of the pipe closed
	}
	syscall.Wait4(pid, nil, 0, nil)
	r := &report{}
	if err := json.NewDecoder(bytes.NewReader(said)).Decode(r); err != nil {
		return fault(err)
	}
	return 0, r
}

// A reaper waits for every child there is and will be.
type reaper struct {
	ended  chan syscall.WaitStatus // of the tool
	gone   chan struct{}           // closed when there are no more
	killed atomic.Int64            // others that SIGKILL ended
}

func reap(pid int) *reaper {
	r := &reaper{ended: make(chan syscall.WaitStatus, 1), gone: make(chan struct{})}
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
			case status.Signal() == unix.SIGKILL:
				r.killed.Add(1)
			}
		}
	}()
	return r
}

// endAll ends what the tool left behind, and says how many processes that were, and whether all are gone. Those whose
// parents are gone are children of this process, so that ending children comes to all of them. It has to be faster than a
// process that starts the next one and is gone: between the look and the signal there is nothing.
func (r *reaper) endAll() (left int, all bool) {
	before := r.killed.Load()
	deadline := time.Now().Add(10 * time.Second)
	for {
		found := killChildren()
		select {
		case <-r.gone:
			return int(r.killed.Load() - before), true
		default:
		}
		switch {
		case time.Now().After(deadline):
			return int(r.killed.Load() - before), false
		case !found:
			time.Sleep(time.Millisecond)
		}
	}
}

// killChildren reports whether it found any.
func killChildren() (found bool) {
	const tasks = "/proc/self/task" // each thread has children of its own
	end := func(pids []string) {
		for _, pid := range pids {
			if n, err := strconv.Atoi(pid); err == nil && unix.Kill(n, unix.SIGKILL) == nil {
				found = true
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
