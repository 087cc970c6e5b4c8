package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A link is what the next entry needs of the last one.
type link struct {
	seq  uint64
	hash string
}

// start is before the first entry.
func start() link { return link{hash: strings.Repeat("0", 64)} }

// A tail is the end of a file.
type tail struct {
	last link
	size int64
	torn *Torn // what comes after the last entry
	open bool  // and does not end in a newline
}

// endOf reads the end of a file: of a whole one only the last line.
func endOf(f *os.File) (tail, error) {
	size, err := sizeOf(f)
	t := tail{size: size, last: start()}
	if err != nil || size == 0 {
		return t, err
	}
	for n := int64(4 << 10); ; n *= 16 {
		n = min(n, t.size)
		buf := make([]byte, n)
		if _, err := f.ReadAt(buf, t.size-n); err != nil && err != io.EOF {
			return tail{}, err
		}
		last, rest, ok := lastEntry(buf, n == t.size)
		if !ok && n < t.size {
			continue
		}
		if ok {
			t.last = last
		} else {
			rest = buf
		}
		if len(rest) > 0 {
			sum := sha256.Sum256(rest)
			t.torn = &Torn{Bytes: int64(len(rest)), SHA256: hex.EncodeToString(sum[:])}
			t.open = rest[len(rest)-1] != '\n'
		}
		if !ok { // not one entry in this file: the chain goes on from the file before
			closed, err := lastOf(filepath.Dir(f.Name()))
			if err != nil {
				return tail{}, err
			}
			t.last = closed
		}
		return t, nil
	}
}

// lastEntry finds the last line of buf that is an entry, and what comes after it. The first line of buf counts only if
// buf is the whole file.
func lastEntry(buf []byte, whole bool) (last link, rest []byte, ok bool) {
	end := bytes.LastIndexByte(buf, '\n') + 1
	for end > 0 {
		begin := bytes.LastIndexByte(buf[:end-1], '\n') + 1
		if begin == 0 && !whole {
			return link{}, nil, false
		}
		if seq, _, hash, ok := verified(buf[begin : end-1]); ok {
			return link{seq, hash}, buf[end:], true
		}
		end = begin
	}
	return link{}, nil, false
}

const hashKey = `,"hash":"`

// verified reads of a line what the chain needs, if its hash is that of its bytes.
func verified(line []byte) (seq uint64, prev, hash string, ok bool) {
	end := len(line) - len(hashKey) - 64 - len(`"}`)
	if end < 0 || string(line[end:end+len(hashKey)]) != hashKey || string(line[len(line)-2:]) != `"}` {
		return 0, "", "", false
	}
	hash = string(line[end+len(hashKey) : len(line)-2])
	sum := sha256.Sum256(line[:end])
	if hex.EncodeToString(sum[:]) != hash {
		return 0, "", "", false
	}
	seq, prev, ok = beginning(line)
	return seq, prev, hash, ok
}

// beginning reads the first two fields of a line.
func beginning(line []byte) (seq uint64, prev string, ok bool) {
	const prevKey = `,"prev":"`
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return 0, "", false
	}
	digits, rest, ok := bytes.Cut(rest[:min(len(rest), 128)], []byte(prevKey))
	if !ok || len(rest) < 64 {
		return 0, "", false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	return seq, string(rest[:64]), err == nil && seq > 0
}

// firstOf returns the number of the first entry of a file.
func firstOf(f *os.File) (uint64, error) {
	lines, err := linesOf(f, false)
	if err != nil {
		return 0, err
	}
	for _, line := range lines {
		if seq, _, _, ok := verified(line); ok {
			return seq, nil
		}
	}
	return 0, fmt.Errorf("%s has no entry; move it away", f.Name())
}

// closedName is the name of a closed file whose first entry is seq. Names sort as the entries do.
func closedName(seq uint64) string { return fmt.Sprintf("decisions-%016d.jsonl", seq) }

func isClosed(name string) bool {
	digits := strings.TrimSuffix(strings.TrimPrefix(name, "decisions-"), ".jsonl")
	return len(digits) == 16 && strings.Trim(digits, "0123456789") == "" && name == "decisions-"+digits+".jsonl"
}

func firstSeq(name string) uint64 {
	seq, err := strconv.ParseUint(name[len("decisions-"):len("decisions-")+16], 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// closed lists the closed files, oldest first.
func (l Log) closed() ([]string, error) { return closedIn(l.Dir) }

func closedIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if notThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if isClosed(e.Name()) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// lastClosed is where the closed files end.
func (l Log) lastClosed() (link, error) { return lastOf(l.Dir) }

func lastOf(dir string) (link, error) {
	names, err := closedIn(dir)
	if err != nil || len(names) == 0 {
		return start(), err
	}
	f, err := open(filepath.Join(dir, names[len(names)-1]))
	if err != nil {
		return link{}, err
	}
	defer f.Close()
	buf, err := io.ReadAll(f)
	if err != nil {
		return link{}, err
	}
	last, _, ok := lastEntry(buf, true)
	if !ok {
		return link{}, fmt.Errorf("%s has no entry; move it away", f.Name())
	}
	return last, nil
}

// maxFile bounds what is read of one file. One that Append wrote is full long before.
const maxFile = 8 << 20

// open opens a file of the log to read it. The agent's user may have put anything there: it waits for no writer of a pipe.
func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if _, err := sizeOf(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sizeOf is how long a file of the log is. What the log cannot have written is an error.
func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is no regular file; move it away", f.Name())
	case info.Size() > maxFile:
		return 0, fmt.Errorf("%s is larger than any file of the log; move it away", f.Name())
	}
	return info.Size(), nil
}

// linesOf gives the whole lines of a file with their numbers, without their newlines.
func linesOf(f *os.File, newest bool) (iter.Seq2[int, []byte], error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxFile))
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	return func(yield func(int, []byte) bool) {
		if newest {
			for n := bytes.Count(data, []byte{'\n'}); n > 0; n-- {
				begin := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
				if !yield(n, data[begin:len(data)-1]) {
					return
				}
				data = data[:begin]
			}
			return
		}
		n := 0
		for line := range bytes.Lines(data) {
			if n++; !yield(n, line[:len(line)-1]) {
				return
			}
		}
	}, nil
}
