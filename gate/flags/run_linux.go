package flags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run runs the program args[0] confined, and waits until it and all that it started are gone.
func (h *Harvester) run(ctx context.Context, args []string, env ...string) (output, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	// In namespaces of its own a program that ends takes all its children with it, and there is no network to begin with.
	// Not every container lets us; the confinement holds without them.
	spaces := uintptr(syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC)
	attempts := []uintptr{spaces, spaces | syscall.CLONE_NEWUSER, 0}
	if os.Geteuid() != 0 {
		attempts = attempts[1:]
	}
	var out output
	var err error
	for _, flags := range attempts {
		var started bool
		if out, started, err = h.start(ctx, cancel, flags, args, env); started {
			break
		}
	}
	return out, err
}

func (h *Harvester) start(ctx context.Context, cancel func(), flags uintptr, args, env []string) (out output, started bool, err error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = append(append([]string{}, h.Reexec...), args...)
	cmd.Dir = "/"
	cmd.Env = append(h.environment(args[0]), env...)
	attr := &syscall.SysProcAttr{Setsid: true, Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if flags&syscall.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error {
		err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		if errors.Is(err, unix.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	var stdout, stderr, extra, fault capped
	for _, c := range []*capped{&stdout, &stderr, &extra, &fault} {
		c.full = cancel
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	faults, err := pipe(cmd, &fault)
	if err != nil {
		return output{}, true, err
	}
	answers, err := pipe(cmd, &extra)
	if err != nil {
		faults()
		return output{}, true, err
	}
	err = cmd.Start()
	if err != nil {
		faults()
		answers()
		return output{}, false, fmt.Errorf("run %s confined: %w", args[0], err)
	}
	closeParentEnds(cmd)
	err = cmd.Wait()
	unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // children that outlived it
	faults()
	answers()
	out = output{
		stdout: stdout.data.Bytes(), stderr: stderr.data.Bytes(), extra: extra.data.Bytes(), code: cmd.ProcessState.ExitCode(),
		long: stdout.over || stderr.over || extra.over,
	}
	out.late = !out.long && errors.Is(ctx.Err(), context.DeadlineExceeded)
	if text := fault.data.String(); text != "" {
		return output{}, true, errors.New(strings.TrimSpace(text))
	}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && !out.long && !out.late {
		return output{}, true, fmt.Errorf("run %s confined: %w", args[0], err)
	}
	return out, true, nil
}

// faultDescriptor is where Confined reports that the program was not run.
const faultDescriptor = 3

// argcomplete answers on descriptor 8; ours is 4, and Confined moves it.
const answerDescriptor, argcompleteDescriptor = 4, 8

// Confined is what the re-executed process does: it confines itself, becomes the program, and says so to its parent if
// it could not. It does not return.
func Confined(args []string) {
	unix.CloseOnExec(faultDescriptor)
	if err := unix.Dup3(answerDescriptor, argcompleteDescriptor, 0); err == nil {
		unix.CloseOnExec(answerDescriptor)
	}
	err := confine(args)
	os.NewFile(faultDescriptor, "fault").WriteString(err.Error())
	os.Exit(125)
}
