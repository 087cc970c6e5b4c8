package flags

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"time"
)

const (
	runLimit    = 10 * time.Second
	outputLimit = 1 << 20
)

// An output is what a confined program printed.
type output struct {
	stdout, stderr []byte
	extra          []byte // on descriptor 8, where argcomplete answers
	code           int
	late, long     bool // ended by the time limit, by the limit of output
}

// pipe gives cmd one more descriptor to write to, read into c. The function it returns waits until all is read, but not
// for a child that keeps its end open.
func pipe(cmd *exec.Cmd, c *capped) (wait func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, w)
	done := make(chan struct{})
	go func() {
		io.Copy(c, r)
		close(done)
	}()
	return func() {
		w.Close()
		r.SetReadDeadline(time.Now().Add(time.Second))
		<-done
		r.Close()
	}, nil
}

func closeParentEnds(cmd *exec.Cmd) {
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
}

// capped keeps what is written to it up to outputLimit; what goes over it ends the run.
type capped struct {
	data bytes.Buffer
	over bool
	full func()
}

func (c *capped) Write(p []byte) (int, error) {
	if room := outputLimit - c.data.Len(); len(p) > room {
		c.data.Write(p[:room])
		c.over = true
		c.full()
		return len(p), nil
	}
	return c.data.Write(p)
}
