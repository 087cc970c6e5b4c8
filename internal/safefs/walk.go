package safefs

import (
	"strings"

	"golang.org/x/sys/unix"
)

// A place is a directory that a name led to.
type place struct {
	fd       int // of the thing itself (O_PATH), but in a Dir, where it can be read
	info     Info
	borrowed bool // the descriptor belongs to a Dir
}

func (p place) close() {
	if !p.borrowed {
		unix.Close(p.fd)
	}
}

// A way is what names may lead through.
type way bool

const (
	toTree way = false // parents of the tree: mounts, and sticky directories
	inTree way = true  // the tree itself: neither
)

// find returns the directory that holds the last component of name. It goes component by component from the
// directory from, which it closes unless it returns it.
func (o *Options) find(from place, name string, w way) (place, error) {
	for start := 0; ; {
		i := strings.IndexByte(name[start:], '/')
		if i < 0 {
			return from, nil
		}
		next, err := o.enter(from, name[:start+i], w)
		from.close()
		if err != nil {
			return place{}, err
		}
		from = next
		start += i + 1
	}
}

// enter steps into the directory that the last component of name means in the directory in.
func (o *Options) enter(in place, name string, w way) (place, error) {
	p, err := o.hold(in, name, w)
	if err != nil {
		return place{}, err
	}
	judge := o.judgeDir
	if w == toTree {
		judge = o.judgeParent
	}
	if err := judge(w.full(name), p.info); err != nil {
		p.close()
		return place{}, err
	}
	return p, nil
}

// hold returns the thing itself that the last component of name means in the directory in, without opening it.
func (o *Options) hold(in place, name string, w way) (place, error) {
	fd, err := o.openat(in, base(name), holding, w)
	if err != nil {
		return place{}, failed("look at", w.full(name), err)
	}
	info, err := look(fd, "", in.info.Dev, w)
	if err != nil {
		unix.Close(fd)
		return place{}, failed("look at", w.full(name), err)
	}
	if info.Dev != in.info.Dev && w == toTree {
		if err := judgeMount(w.full(name), fd); err != nil {
			unix.Close(fd)
			return place{}, err
		}
	}
	return place{fd: fd, info: info}, nil
}

// full is the name that a person knows.
func (w way) full(name string) string {
	if w == toTree {
		return "/" + name
	}
	return name
}

// openDir makes a Dir of a place, which it closes.
func (o *Options) openDir(at place, name string) (*Dir, error) {
	defer at.close()
	if err := o.judgeDir(name, at.info); err != nil {
		return nil, err
	}
	fd, err := openSelf(at.fd)
	if err != nil {
		return nil, failed("open", name, err)
	}
	if err := judgeAttributes(name, fd); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Dir{at: place{fd: fd, info: at.info}, name: name, opt: *o}, nil
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
