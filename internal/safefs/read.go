package safefs

import (
	"io"
	"slices"

	"golang.org/x/sys/unix"
)

// chunk is how much is read at once, and how much memory a file gets before any byte of it has come.
const chunk = 64 << 10

// ReadFile reads the regular file name into buf[:0], which it grows as needed. It makes one attempt. On an error
// there are no bytes: those of a file that changed meanwhile are nobody's.
func (d *Dir) ReadFile(name string, buf []byte) ([]byte, Info, error) {
	fd, info, err := d.openFile(name)
	if err != nil {
		return nil, Info{}, err
	}
	defer unix.Close(fd)
	buf = buf[:0]
	limit := int(info.Size) + 1 // a byte too many shows that it grew
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, min(limit-len(buf), chunk))
		}
		next := buf[len(buf):min(cap(buf), limit)]
		n, err := retry(func() (int, error) { return unix.Read(fd, next) })
		if err != nil {
			return nil, Info{}, failed("read", name, err)
		}
		buf = buf[:len(buf)+n]
		if n < len(next) {
			break // the end of the file, or else the sizes will differ
		}
	}
	if err := unchanged(fd, name, info, int64(len(buf))); err != nil {
		return nil, Info{}, err
	}
	return buf, info, nil
}

// CopyFile writes the content of the regular file name to w. It makes one attempt, in memory that does not grow with
// the file. After an error, what w has got is worth nothing.
func (d *Dir) CopyFile(w io.Writer, name string) (Info, error) {
	fd, info, err := d.openFile(name)
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(fd)
	buf := make([]byte, min(info.Size+1, chunk))
	var total int64
	for total <= info.Size {
		next := buf[:min(int64(len(buf)), info.Size+1-total)]
		n, err := retry(func() (int, error) { return unix.Read(fd, next) })
		if err != nil {
			return Info{}, failed("read", name, err)
		}
		if _, err := w.Write(next[:n]); err != nil {
			return Info{}, err
		}
		total += int64(n)
		if n < len(next) {
			break // the end of the file, or else the sizes will differ
		}
	}
	if err := unchanged(fd, name, info, total); err != nil {
		return Info{}, err
	}
	return info, nil
}

// openFile opens a regular file that may be read.
func (d *Dir) openFile(name string) (int, Info, error) {
	in, err := d.find(name)
	if err != nil {
		return -1, Info{}, err
	}
	defer in.close()
	seen, err := look(in.fd, base(name), in.info.Dev, inTree)
	if err != nil {
		return -1, Info{}, failed("look at", name, err)
	}
	if err := d.opt.judgeFile(name, seen); err != nil {
		return -1, Info{}, err
	}
	fd, err := d.opt.openat(in, base(name), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, inTree)
	if err != nil {
		return -1, Info{}, failed("open", name, err)
	}
	info, err := d.judgeOpen(fd, name, seen)
	if err != nil {
		unix.Close(fd)
		return -1, Info{}, err
	}
	return fd, info, nil
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

// unchanged refuses a file of which other than its size was read, or that is not what it was before.
func unchanged(fd int, name string, before Info, read int64) error {
	after, err := fstat(fd)
	if err != nil {
		return failed("stat", name, err)
	}
	if after != before || read != before.Size {
		return refuse(name, InFlux, "it changed while it was read")
	}
	return nil
}
