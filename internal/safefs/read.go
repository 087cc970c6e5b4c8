package safefs

import (
	"io"
	"slices"

	"golang.org/x/sys/unix"
)

// chunk is how much is read at once, and how much memory a file gets before any byte of it has come.
const chunk = 64 << 10

// ReadFile reads the regular file name into buf[:0], which it grows as needed. It makes one attempt. On an error
// there are no bytes: those of a file that changed meanwhile are nobody's. The reason of a refusal says what else the
// thing is, so there is no need to look first.
func (d *Dir) ReadFile(name string, buf []byte) ([]byte, Info, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, Info{}, err
	}
	defer unix.Close(f.fd)
	buf = buf[:0]
	for more := true; more; {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, int(min(f.left, chunk)))
		}
		var n int
		if n, more, err = f.next(buf[len(buf):cap(buf)]); err != nil {
			return nil, Info{}, err
		}
		buf = buf[:len(buf)+n]
	}
	if err := f.finish(); err != nil {
		return nil, Info{}, err
	}
	return buf, f.info, nil
}

// CopyFile writes the content of the regular file name to w. It makes one attempt, in memory that does not grow with
// the file. After an error, what w has got is worth nothing.
func (d *Dir) CopyFile(w io.Writer, name string) (Info, error) {
	f, err := d.open(name)
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(f.fd)
	buf := make([]byte, min(f.left, chunk))
	for more := true; more; {
		var n int
		if n, more, err = f.next(buf); err != nil {
			return Info{}, err
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return Info{}, err
		}
	}
	if err := f.finish(); err != nil {
		return Info{}, err
	}
	return f.info, nil
}

// A file is open for one reading from its beginning to its end.
type file struct {
	fd   int
	name string
	info Info  // before the first byte was read
	left int64 // how much may still be read: what was announced, and one byte that shows that it grew
}

// next reads into p, and reports whether there may be more.
func (f *file) next(p []byte) (n int, more bool, err error) {
	p = p[:min(int64(len(p)), f.left)]
	n, err = retry(func() (int, error) { return unix.Read(f.fd, p) })
	if err != nil {
		return 0, false, failed("read", f.name, err)
	}
	f.left -= int64(n)
	return n, n == len(p) && f.left > 0, nil // less is the end of the file, or else finish sees that it is not
}

// finish refuses a file of which more or less than its size was read, or that is not what it was before.
func (f *file) finish() error {
	after, err := fstat(f.fd)
	if err != nil {
		return failed("stat", f.name, err)
	}
	if after != f.info || f.left != 1 {
		return refuse(f.name, InFlux, "it changed while it was read")
	}
	return nil
}

// open opens a regular file that may be read.
func (d *Dir) open(name string) (*file, error) {
	in, err := d.find(name)
	if err != nil {
		return nil, err
	}
	defer in.close()
	seen, err := look(in.fd, base(name), in.info.Dev, inTree)
	if err != nil {
		return nil, failed("look at", name, err)
	}
	if err := d.opt.judgeFile(name, seen); err != nil {
		return nil, err
	}
	fd, err := d.opt.openat(in, base(name), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, inTree)
	if err != nil {
		return nil, failed("open", name, err)
	}
	info, err := d.judgeOpen(fd, name, seen)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &file{fd: fd, name: name, info: info, left: info.Size + 1}, nil
}

// judgeOpen judges an open file anew: between the look and the open its owner had time for anything.
func (d *Dir) judgeOpen(fd int, name string, seen Info) (Info, error) {
	info, err := fstat(fd)
	if err != nil {
		return Info{}, failed("stat", name, err)
	}
	if !info.sameFile(seen) {
		return Info{}, refuse(name, InFlux, "it was replaced while it was opened")
	}
	if err := d.opt.judgeFile(name, info); err != nil {
		return Info{}, err
	}
	return info, judgeAttributes(name, fd)
}
