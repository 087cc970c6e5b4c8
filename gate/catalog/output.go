package catalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxRead bounds how much output of a tool is read at all; more ends it.
const maxRead = 256 << 20

// maxPipe is as much as a pipe holds, unless root let it hold more.
const maxPipe = 1 << 20

// A window keeps the head and the tail of what is written to it.
type window struct {
	mu         sync.Mutex
	head, tail []byte // tail is a ring once it is full
	half, next int
	total      int64
	full       func() // called once when there is more than maxRead
}

func newWindow(limit int, full func()) *window { return &window{half: limit / 2, full: full} }

func (w *window) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	before := w.total
	w.total += int64(n)
	if before <= maxRead && w.total > maxRead {
		w.full()
	}
	if room := w.half - len(w.head); room > 0 {
		k := min(room, len(p))
		w.head = append(w.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > w.half {
		p = p[len(p)-w.half:]
	}
	for len(p) > 0 {
		if len(w.tail) < w.half {
			k := min(w.half-len(w.tail), len(p))
			w.tail = append(w.tail, p[:k]...)
			p = p[k:]
			continue
		}
		k := copy(w.tail[w.next:], p)
		w.next = (w.next + k) % w.half
		p = p[k:]
	}
	return n, nil
}

// take reads a pipe to its end or until its deadline. What lies in the pipe then is taken all the same, once: after a
// deadline that has passed, however slow this process was, nothing more is read of a file.
func (w *window) take(pipe *os.File) {
	if _, err := io.Copy(w, pipe); !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	pipe.SetReadDeadline(time.Time{})
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	raw.Read(func(fd uintptr) bool {
		rest := make([]byte, maxPipe)
		if n, err := unix.Read(int(fd), rest); err == nil {
			w.Write(rest[:n])
		}
		return true // more is not waited for
	})
}

func (w *window) bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// text returns what was kept as UTF-8, with a mark where something was cut, and how many bytes that are.
func (w *window) text() (string, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tail := string(w.tail[w.next:]) + string(w.tail[:w.next])
	cut := w.total - int64(len(w.head)) - int64(len(tail))
	head := string(w.head)
	if cut == 0 {
		return strings.ToValidUTF8(head+tail, "\uFFFD"), 0
	}
	// A character that the cut went through goes with what was cut.
	for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
		if last := head[len(head)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				head = head[:len(head)-i]
				cut += int64(i)
			}
			break
		}
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
		cut++
	}
	head, tail = strings.ToValidUTF8(head, "\uFFFD"), strings.ToValidUTF8(tail, "\uFFFD")
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, cut, tail), cut
}
