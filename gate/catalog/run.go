package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// An order is what a tool's supervisor is told, as JSON in one line. The descriptor that it comes on stays open: when it
// closes, because the caller wants the tool ended or is no more, the supervisor ends everything.
type order struct {
	Argv     []string
	Env      []string
	Dir      spot
	Strict   bool     // places are only where root's own links lead
	Apart    bool     // processes of other tools are out of its reach, where the kernel can do that
	Program  identity // that Argv[0] has to be
	Timeout  time.Duration
	Limits   Limits
	Confined bool
	Read     []spot
	Write    []spot
	Connect  []uint16
	TCP      bool // connections are held to Connect
}

// A report is what the supervisor says in the end, as JSON.
type report struct {
	Started bool
	Fault   string // why it was not started
	Code    Code   // of the fault
	Exit    int
	Signal  string
	Late    bool // ended by the time limit
	Ended   bool // ended because the order's descriptor closed
	Left    int  // processes that it left behind, ended
	Escaped bool // not all of them could be ended
}

// A ran is what a run came to.
type ran struct {
	report
	stdout, stderr string
	cut            int64
	over           bool // more output than the tool may give
	flood          bool // ended for that
}

// The words for Stage.
const (
	stageSupervise = "supervise"
	stageBecome    = "become"
)

// A Launcher starts a process that runs Stage with the word supervise and the files, in this order: what it is told comes in
// the first, its report goes into the second, and what the tool prints into the others. wait returns when that process
// is gone, and is called once its report is there or its end of the second file is closed.
type Launcher func(ctx context.Context, files [4]*os.File) (wait func() error, err error)

// launchHere starts the supervisor as a child of this process.
func (h *Host) launchHere(_ context.Context, files [4]*os.File) (wait func() error, err error) {
	cmd := Supervisor(h.Reexec, files)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd.Wait, nil
}

// Supervisor is the command that a Launcher starts. reexec is as Host.Reexec.
func Supervisor(reexec []string, files [4]*os.File) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Args = append(append([]string{}, reexec...), stageSupervise)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.Stdout, cmd.Stderr = files[2], files[3]
	cmd.ExtraFiles = []*os.File{files[0], files[1]}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// self is this program, whatever has become of its path.
const self = "/proc/self/exe"

// run starts a tool and waits until it and all that it started are gone.
func (h *Host) run(ctx context.Context, t *Tool, o order, progress func(Progress)) (ran, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	flooded := false
	outputs := [2]*window{}
	for i := range outputs {
		outputs[i] = newWindow(t.Output, cancel)
	}
	readers, writers, err := pipes(4) // order, report, stdout, stderr
	if err != nil {
		return ran{}, err
	}
	defer closeAll(readers)
	defer closeAll(writers)
	launch := h.Launch
	if launch == nil {
		launch = h.launchHere
	}
	wait, err := launch(ctx, [4]*os.File{readers[0], writers[1], writers[2], writers[3]})
	if err != nil {
		return ran{}, fmt.Errorf("start the supervisor: %w", err)
	}
	for _, f := range []*os.File{readers[0], writers[1], writers[2], writers[3]} {
		f.Close()
	}
	copied := make(chan struct{}, 2)
	for i := range outputs {
		go func() {
			outputs[i].take(readers[2+i])
			copied <- struct{}{}
		}()
	}
	text, err := json.Marshal(o)
	if err == nil {
		_, err = writers[0].Write(append(text, '\n'))
	}
	if err != nil {
		err = fmt.Errorf("tell the supervisor: %w", err)
		writers[0].Close()
	}
	told := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(io.LimitReader(readers[1], 1<<20))
		told <- data
	}()
	answer := h.watch(ctx, t, o, told, writers[0], outputs, progress)
	flooded = outputs[0].bytes() > maxRead || outputs[1].bytes() > maxRead
	waitErr := wait()
	// All that the supervisor knew of is gone. What got away from it may hold the pipes, and is not waited for.
	for i := range outputs {
		readers[2+i].SetReadDeadline(time.Now().Add(time.Second))
	}
	<-copied
	<-copied
	result := ran{flood: flooded}
	if err := errors.Join(err, decodeReport(answer, &result.report, waitErr)); err != nil {
		return ran{}, err
	}
	var cut [2]int64
	result.stdout, cut[0] = outputs[0].text()
	result.stderr, cut[1] = outputs[1].text()
	result.cut = cut[0] + cut[1]
	result.over = result.cut > 0
	return result, nil
}

func decodeReport(data []byte, r *report, waitErr error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(r); err != nil {
		if waitErr == nil {
			waitErr = err
		}
		return fmt.Errorf("the supervisor was ended and did not say how the tool did: %w", waitErr)
	}
	return nil
}

// lateness is how much longer than the time limit the supervisor may take to end everything.
const lateness = 20 * time.Second

// watch waits for the supervisor's report. When ctx is done it closes the descriptor of the order, which ends the tool.
func (h *Host) watch(ctx context.Context, t *Tool, o order, told <-chan []byte, line io.Closer, outputs [2]*window, progress func(Progress)) []byte {
	begun := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	stuck := time.NewTimer(o.Timeout + lateness)
	defer stuck.Stop()
	done := ctx.Done()
	for {
		select {
		case data := <-told:
			return data
		case <-done:
			line.Close()
			done = nil
		case <-stuck.C:
			line.Close()
		case <-tick.C:
			if progress != nil {
				progress(Progress{Tool: t.Name, Elapsed: time.Since(begun), Timeout: o.Timeout, Bytes: outputs[0].bytes() + outputs[1].bytes()})
			}
		}
	}
}

func pipes(n int) (readers, writers []*os.File, err error) {
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(readers)
			closeAll(writers)
			return nil, nil, err
		}
		readers, writers = append(readers, r), append(writers, w)
	}
	return readers, writers, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
